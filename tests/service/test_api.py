"""The API: it says what the library says, and refuses in one shape."""

import json
import subprocess
import sys

import pandas as pd
import pytest
from starlette.testclient import TestClient

from thresher.errors import ParameterError
from thresher.release.statement import statement_of
from thresher.report import Imprint, release_page
from thresher.service import Limits, application, open_releases

TABLES = "/v1/releases/tables"


def refused(response, status, code):
    assert response.status_code == status
    assert set(response.json()) == {"error"}
    error = response.json()["error"]
    assert set(error) == {"code", "message"}
    assert error["code"] == code
    return error["message"]


def test_the_list_of_releases(client):
    listed = client.get("/v1/releases").json()["releases"]
    assert [entry["name"] for entry in listed] == ["tables", "gaussian_joint", "all0"]
    assert listed[0]["features"] == ["age", "town", "pay"]
    assert [entry["can_sample"] for entry in listed] == [True, False, False]
    assert client.get(TABLES).json() == listed[0]


def test_facts_are_those_of_the_files(client, releases):
    release = releases["tables"]
    assert client.get(f"{TABLES}/schema").json() == release.schema.as_json()
    assert client.get(f"{TABLES}/statement").json() == json.loads(json.dumps(statement_of(release)))


@pytest.mark.parametrize("query", ["town=A", "any of: town=C, pay=none", "age=21, town=B"])
def test_an_answer_is_that_of_the_library(client, releases, query):
    expected = releases["tables"].answer(query)
    found = client.get(f"{TABLES}/answer", params={"query": query}).json()
    assert found["query"] == query
    assert (found["answer"], found["error_bar"]) == (expected, expected.error_bar)
    assert (found["count"], found["read_as"]) == (expected.count, expected.read_as)


def test_one_bad_query_does_not_lose_the_others(client, releases):
    asked = ["town=A", "shoe=1", "age=21, town=B", ""]
    found = client.post(f"{TABLES}/answers", json={"queries": asked}).json()["answers"]
    assert [entry["query"] for entry in found] == asked
    assert ["error" in entry for entry in found] == [False, True, False, True]
    assert found[2]["answer"] == releases["tables"].answer(asked[2])
    assert "no feature 'shoe'" in found[1]["error"]["message"]


def test_a_release_of_noisy_tables_answers_what_it_can(client):
    asked = ["age=21, town=B", "pay=none, age=20"]
    url = "/v1/releases/gaussian_joint"
    found = client.post(f"{url}/answers", json={"queries": asked}).json()["answers"]
    assert ["error" in entry for entry in found] == [False, True]
    assert "has no answers" in refused(
        client.get(f"{url}/answer", params={"query": asked[1]}), 422, "invalid"
    )


@pytest.mark.parametrize("features", [["town"], ["town", "pay"]])
@pytest.mark.parametrize("asked", [{}, {"percent": "row", "where": "age=21"}])
def test_a_table_is_that_of_the_library(client, releases, features, asked):
    expected = releases["tables"].table(*features, **asked)
    found = client.get(f"{TABLES}/table", params={"feature": features, **asked}).json()
    assert found["features"] == features
    cells = pd.DataFrame(found["cells"]).astype({"values": str})
    labels = [[label] if len(features) == 1 else list(label) for label in expected.index]
    assert cells.pop("values").tolist() == [str(label) for label in labels]
    pd.testing.assert_frame_equal(cells, expected.reset_index(drop=True), check_dtype=False)


def test_a_share_of_nobody_is_null(client):
    asked = "share of town=A among age in {}"
    found = client.get(f"{TABLES}/answer", params={"query": asked}).json()
    assert (found["answer"], found["count"]) == (None, None)


def test_a_sample_as_json_and_as_csv(client, releases):
    asked = {"rows": 5, "seed": 7}
    records = releases["tables"].sample(5, 7)
    found = client.get(f"{TABLES}/sample", params=asked).json()
    assert found["columns"] == list(records.columns)
    assert found["rows"] == records.to_numpy().tolist()
    text = client.get(f"{TABLES}/sample", params={**asked, "format": "csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert text.text == records.to_csv(index=False)
    assert "no synthetic rows" in refused(client.get("/v1/releases/all0/sample"), 422, "invalid")


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "code"),
    [
        ("GET", "/v1/releases/other", {}, 404, "not_found"),
        ("GET", "/v1/nowhere", {}, 404, "not_found"),
        ("GET", "/explore/other", {}, 404, "not_found"),
        ("DELETE", "/v1/releases", {}, 405, "method_not_allowed"),
        ("GET", f"{TABLES}/answer", {}, 422, "invalid"),
        ("GET", f"{TABLES}/answer", {"params": {"query": "shoe=1"}}, 422, "invalid"),
        ("GET", f"{TABLES}/answer", {"params": {"query": "x" * 201}}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"json": {"queries": []}}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"json": {"queries": ["town=A"] * 21}}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"json": {"queries": ["x" * 201]}}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"json": {"queries": [1]}}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"json": []}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"content": b"["}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"content": b"[" * 1900}, 422, "invalid"),
        ("POST", f"{TABLES}/answers", {"content": b" " * 2001}, 413, "too_large"),
        ("POST", f"{TABLES}/answers", {"content": iter([b" " * 999] * 3)}, 413, "too_large"),
        ("GET", f"{TABLES}/table", {}, 422, "invalid"),
        ("GET", f"{TABLES}/table", {"params": {"feature": "shoe"}}, 422, "invalid"),
        ("GET", f"{TABLES}/table", {"params": {"feature": ["age", "age"]}}, 422, "invalid"),
        ("GET", f"{TABLES}/table", {"params": {"feature": list("abcd")}}, 422, "invalid"),
        (
            "GET",
            f"{TABLES}/table",
            {"params": {"feature": "age", "percent": "some"}},
            422,
            "invalid",
        ),
        (
            "GET",
            f"{TABLES}/table",
            {"params": {"feature": "age", "where": "any of: town=A, pay=none"}},
            422,
            "invalid",
        ),
        ("GET", f"{TABLES}/table", {"params": {"feature": ["age", "town"]}}, 422, "invalid"),
        ("GET", f"{TABLES}/sample", {"params": {"rows": 51}}, 422, "invalid"),
        ("GET", f"{TABLES}/sample", {"params": {"rows": 0}}, 422, "invalid"),
        ("GET", f"{TABLES}/sample", {"params": {"format": "xml"}}, 422, "invalid"),
    ],
)
def test_refusals_have_one_shape(client, method, path, sent, status, code):
    assert refused(client.request(method, path, **sent), status, code)


def test_other_hosts_are_refused(releases):
    app = application(releases, hosts=("localhost", "[::1]"))
    with TestClient(app, base_url="http://localhost:8000") as client:
        assert client.get("/v1/releases").status_code == 200
        assert client.get("/v1/releases", headers={"host": "[::1]:8000"}).status_code == 200
        for host in ("evil.example", "evil.example:8000", "", "localhost.evil.example"):
            refused(client.get("/v1/releases", headers={"host": host}), 421, "unknown_host")


def test_a_mistake_of_ours_has_the_same_shape_and_tells_nothing(releases, monkeypatch):
    monkeypatch.setattr("thresher.service.api.statement_of", lambda release: 1 / 0)
    with TestClient(application(releases), raise_server_exceptions=False) as client:
        assert "division" not in refused(client.get(f"{TABLES}/statement"), 500, "failed")


def test_pages(client, releases):
    assert (
        '<a href="/explore/gaussian_joint">gaussian_joint</a>: 300 records' in client.get("/").text
    )
    assert client.get("/explore/tables").text == release_page(
        releases["tables"], Imprint(name="tables")
    )
    with TestClient(application({"a <b> & ü?": releases["tables"]})) as one:
        assert "learns almost the same about you" in one.get("/").text


def test_releases_of_one_name_are_told_apart_by_their_owner(tmp_path, releases):
    for place in ("a", "b"):
        releases["all0"].save(tmp_path / place / "people")
    with pytest.raises(ParameterError, match="two releases are called people"):
        open_releases([tmp_path / "a" / "people", tmp_path / "b" / "people"])


def test_limits_are_above_0():
    with pytest.raises(ParameterError, match="rows must be above 0"):
        Limits(rows=0)


FORBIDDEN = (
    *("thresher.data", "thresher.mechanisms", "thresher.evaluation", "thresher.privacy.curator"),
    *("thresher.privacy.noise", "thresher.privacy.ledger"),
)


def test_a_process_that_serves_has_imported_nothing_that_reads_records():
    """Import-linter looks at the source; this looks at what a process has loaded."""
    done = subprocess.run(
        [sys.executable, "-c",
         "import sys, thresher.cli.serve, thresher.service.server, thresher.service.api\n"
         f"print([m for m in sys.modules if m.startswith({FORBIDDEN})])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_numbers_are_those_of_the_library(client, releases):
    release = releases["tables"]
    asked = "mean of age among town=A"
    mean = release.number(asked)
    found = client.get(f"{TABLES}/number", params={"query": asked}).json()
    assert found == {
        "query": asked, "read_as": None, "value": mean, "low": mean.low, "high": mean.high,
        "is_estimated": mean.is_estimated,
    }  # fmt: skip
    told = client.get(f"{TABLES}/numbers", params={"feature": "age", "where": "town=A"}).json()
    assert told["mean"]["value"] == mean
    assert told["quantiles"][1]["value"] == release.number("median of age among town=A")
    assert told["histogram"][0]["from"] == 20
    refused(client.get(f"{TABLES}/numbers", params={"feature": "town"}), 422, "invalid")
    refused(client.get(f"{TABLES}/number", params={"query": "mean of"}), 422, "invalid")


def test_every_way_to_ask_says_how_a_range_was_read(client):
    """The bins of pay end at 0, 25, 50 and so on, so half of one is read as all of it."""
    where, read_as = "pay=0..10", "pay=0..25"
    for path, asked in (
        ("answer", {"query": where}),
        ("table", {"feature": "town", "where": where}),
        ("number", {"query": f"mean of age among {where}"}),
        ("numbers", {"feature": "age", "where": where}),
    ):
        told = client.get(f"{TABLES}/{path}", params=asked).json()
        assert told["read_as"].endswith(read_as), path
