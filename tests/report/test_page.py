"""The page as a file: says what it should, escapes everything, fetches nothing."""

import base64
import gzip
import hashlib
import html
import json
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest

import thresher as th
from thresher.evaluation.comparison import compare
from thresher.report import Comparison, Imprint, release_page

from .releases import HOSTILE, MECHANISMS, people, workload


class Elements(HTMLParser):
    """The elements of a page, and whether each is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.seen.append((name, dict(attributes)))
        if name != "meta":
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.text.append(data)

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for seen, attributes in self.seen if seen == name]


def facts(page: str) -> dict:
    """What the page holds of the release, without the arrays."""
    [text] = re.findall(r'id="release">([^<]+)</script>', page)
    content = gzip.decompress(base64.b64decode(text))
    return json.loads(content[4 : 4 + int.from_bytes(content[:4], "little")])


@pytest.fixture(scope="module")
def records() -> th.Records:
    return people()


@pytest.fixture(scope="module")
def rap(records) -> th.Release:
    mechanism = th.RAP(epsilon=1.0, rounds=3, queries_per_round=4, synthetic_rows=40)
    return mechanism.fit(records, workload(records.schema))


def test_it_says_what_was_promised_spent_and_measured_and_by_whom(rap):
    imprint = Imprint("rel", title="Health 2026", owner="The Office", contact="ask@example.org")
    page = html.unescape(release_page(rap, imprint, "report"))
    for words in ("ε = 1", "73.1\xa0%", "All of it was spent", "12 single queries", "replaced by",
                  "Health 2026", "The Office", "ask@example.org", rap.created[:10]):  # fmt: skip
        assert words in page
    assert f"σ = {rap.measurements[0].sigma:.4g}" in page
    assert f"with an error of up to {100 * rap.source.prediction_error:.3g}"[:30] in page
    assert "NOT PRIVATE" not in page
    assert '<body data-view="report">' in page
    assert facts(page)["name"] == "rel"


def test_nothing_is_fetched_and_only_the_script_of_the_bundle_runs(rap):
    page = release_page(rap)
    elements = Elements(page)
    names = {name for name, _ in elements.seen}
    assert not names & {"link", "img", "iframe", "object", "embed", "form", "base"}
    for name, attributes in elements.seen:
        assert not any(key.startswith("on") or key in ("src", "href") for key in attributes), name
    script = page.rsplit("<script>", 1)[1].split("</script>")[0]
    code = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = [a for a in elements.named("meta") if "http-equiv" in a]
    assert policy["content"] == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{code}'"
    )


def test_the_same_release_gives_the_same_page(rap):
    assert release_page(rap) == release_page(rap)


def test_hostile_words_are_text_and_nothing_else():
    hostile = people(HOSTILE)
    release = MECHANISMS["tables"].fit(hostile, workload(hostile.schema))
    compared = Comparison(release.workload, compare(release, hostile, release.workload, seed=0))
    page = release_page(release, Imprint("r", *HOSTILE[:3]), "report", compared)
    elements = Elements(page)
    assert len(elements.named("h1")) == 1
    assert len(elements.named("script")) == 2
    for label in HOSTILE[:3]:
        assert label in "".join(elements.text)


def test_a_page_with_data_is_stamped(rap, records):
    compared = Comparison(rap.workload, compare(rap, records, rap.workload, seed=0))
    page = release_page(rap, view="report", comparison=compared)
    text = "".join(Elements(page).text)
    assert text.count("NOT PRIVATE") >= 2
    assert "NOT PRIVATE" in page.split("</title>")[0]
    assert f"{compared.errors['release'].max:.4f}" in text
    assert [*facts(page)["comparison"]["errors"]] == [*compared.errors]
    assert "NOT PRIVATE" not in release_page(rap)


def test_a_seeded_release_is_flagged(records):
    seeded = th.GaussianJoint(epsilon=1.0).fit(
        records, workload(records.schema), randomness=th.InsecureSeededRandomness(1)
    )
    assert "Not private" in release_page(seeded)


@pytest.mark.parametrize("kind", [th.All0, th.GaussianPerQuery, th.GaussianJoint])
@pytest.mark.parametrize("r", [1, 2])
def test_releases_without_rows_have_a_page(kind, r, records):
    work = th.Workload(
        records.schema, [th.Threshold(("age", "grade"), r), th.Threshold(("since",))]
    )
    page = release_page(kind(rho=Fraction(1, 2)).fit(records, work))
    Elements(page)
    assert "How it was made" in page
    assert facts(page)["points"] == []
    if kind is th.All0:
        assert "tells nothing about anybody" in page


def test_the_points_are_measurements_beside_answers(rap):
    points = facts(release_page(rap))["points"]
    for point, m in zip(points, rap.measurements, strict=True):
        assert point["measured"] == m.answer
        assert point["answer"] == rap.answer(m.query)
        assert point["noise"] == pytest.approx(1.96 * m.noise)
