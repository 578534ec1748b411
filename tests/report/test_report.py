"""The report: says what it should, escapes everything, fetches nothing, opens in a browser."""

import html
import shutil
import subprocess
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.evaluation.comparison import compare
from thresher.privacy import TableMeasurement
from thresher.report import Comparison, report_page
from thresher.report.dots import errors
from thresher.report.last_round import last_round
from thresher.report.markup import escaped, tag
from thresher.report.shares import one_way, telling_pairs, two_way

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</style></svg><h1>you</h1>",
    "'-- javascript:alert(3)",
    "a & b &lt; c",
    "\u200fdesrever\u200e",
)


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
        self.text.append(data)

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for seen, attributes in self.seen if seen == name]


def people(labels: tuple[str, ...]) -> th.Records:
    schema = th.Schema(
        (
            th.Categorical(name=labels[0], categories=labels, outside=labels[0], nulls=labels[0]),
            th.IntegerRange(name="age", low=20, high=29, nulls=20),
            th.Bins.equal("pay", low=0, high=100, bins=250, nulls="unknown", extra=("unknown",)),
            th.Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
        )
    )
    rng = np.random.default_rng(3)
    return th.Records(schema, [rng.integers(0, size, 300) for size in schema.sizes])


@pytest.fixture(scope="module")
def records() -> th.Records:
    return people(("north", "south", "west"))


@pytest.fixture(scope="module")
def workload(records) -> th.Workload:
    return th.Workload.all(records.schema, k=2)


@pytest.fixture(scope="module")
def rap(records, workload) -> th.Release:
    mechanism = th.RAP(epsilon=1.0, rounds=3, queries_per_round=4, synthetic_rows=40)
    return mechanism.fit(records, workload)


def test_the_page_says_what_was_promised_spent_and_measured(rap):
    page = html.unescape(report_page(rap))
    for words in ("ε = 1", "73.1\xa0%", "All of it was spent", "12 single queries", "replaced by"):
        assert words in page
    assert f"σ = {rap.measurements[0].sigma:.4g}" in page
    assert "NOT PRIVATE" not in page


def test_nothing_on_the_page_is_fetched_or_run(rap, records, workload):
    compared = Comparison(workload, compare(rap, records, workload, seed=0))
    elements = Elements(report_page(rap, compared))
    names = {name for name, _ in elements.seen}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "a", "form", "base"}
    for name, attributes in elements.seen:
        assert not any(key.startswith("on") or key in ("src", "href") for key in attributes), name
    style = report_page(rap)
    assert "url(" not in style
    assert "@import" not in style
    [policy] = [a for a in elements.named("meta") if "http-equiv" in a]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_picture_has_words_and_every_table_has_heads(rap):
    elements = Elements(report_page(rap))
    pictures = elements.named("svg")
    assert len(pictures) == 1 + 4 + 6
    assert all(p["role"] == "img" and p["aria-label"] for p in pictures)
    assert all(head["scope"] == "col" for head in elements.named("th"))
    assert elements.named("html") == [{"lang": "en"}]
    assert len(elements.named("h1")) == 1


def page_about(records: th.Records) -> str:
    work = th.Workload.all(records.schema, k=2)
    mechanism = th.RAP(epsilon=5.0, rounds=2, queries_per_round=8, synthetic_rows=20)
    release = mechanism.fit(records, work)
    return report_page(release, Comparison(work, compare(release, records, work, seed=0)))


def test_hostile_labels_are_text_and_nothing_else():
    page = page_about(people(HOSTILE))
    elements, usual = Elements(page), Elements(page_about(people(tuple("abcdef"))))
    assert {name for name, _ in elements.seen} == {name for name, _ in usual.seen}
    assert len(elements.named("h1")) == 1
    for label in HOSTILE[:-1]:
        assert label in "".join(elements.text)
    assert "\u202e" not in page
    assert "\u2066" not in page


@given(st.text(), st.text())
def test_no_text_leaves_its_element_or_its_attribute(text, value):
    elements = Elements(tag("p", text, title=value))
    assert [name for name, _ in elements.seen] == ["p"]
    [attributes] = elements.named("p")
    assert attributes.keys() == {"title"}
    if value.isprintable():
        assert attributes["title"] == value
    assert escaped(tag("b", text)) == tag("b", text)


def test_a_page_with_data_is_stamped(rap, records, workload):
    compared = Comparison(workload, compare(rap, records, workload, seed=0))
    page = report_page(rap, compared)
    text = "".join(Elements(page).text)
    assert text.count("NOT PRIVATE") >= 2
    assert "NOT PRIVATE" in page.split("</title>")[0]
    assert f"{compared.errors['release'].max:.4f}" in text
    for name in ("all0", "gaussian_per_query", "gaussian_joint"):
        assert name in text


def test_a_seeded_release_is_flagged(records, workload):
    seeded = th.GaussianJoint(epsilon=1.0).fit(
        records, workload, randomness=th.InsecureSeededRandomness(1)
    )
    assert "Not private" in report_page(seeded)


@pytest.mark.parametrize("kind", [th.All0, th.GaussianPerQuery, th.GaussianJoint])
@pytest.mark.parametrize("r", [1, 2])
def test_releases_without_rows_have_a_page(kind, r, records):
    work = th.Workload(records.schema, [th.Threshold(("age", "sex"), r), th.Threshold(("pay",))])
    page = report_page(kind(rho=Fraction(1, 2)).fit(records, work))
    Elements(page)
    assert "How it was made" in page
    if kind is th.All0:
        assert "tells nothing about anybody" in page


def test_error_bars_of_noisy_tables_cover_the_truth(records):
    """At ten standard deviations instead of two, none of some hundred bars misses (1e-20)."""
    work = th.Workload(records.schema, [th.Threshold(("age", "sex"))])
    release = th.GaussianJoint(rho=1).fit(records, work)
    table = one_way(release, "age")
    assert table is not None
    truth = np.bincount(records.codes("age"), minlength=10) / records.n
    for bar, share in zip(table.bars, truth, strict=True):
        assert bar.reach is not None
        assert bar.reach == pytest.approx(1.96 * np.sqrt(2) * 1.0 / records.n)
        assert abs(bar.share - share) <= 10 / 1.96 * bar.reach
    assert one_way(release, "pay") is None
    assert two_way(release, ("sex", "age")).shares.shape == (2, 10)  # type: ignore[union-attr]


def test_a_value_that_no_measurement_asked_about_has_no_error_bar(rap):
    asked = {
        (condition.feature, code)
        for m in rap.measurements
        for condition in m.query.conditions
        for code in condition.codes
    }
    table = one_way(rap, "age")
    for code, bar in enumerate(table.bars):
        assert (bar.reach is not None) == (("age", code) in asked)
    assert sum(bar.share for bar in table.bars) == pytest.approx(1.0, abs=1e-3)


def test_many_values_are_drawn_in_groups(rap):
    table = one_way(rap, "pay")
    assert len(table.bars) == 84 + 1
    assert table.bars[-1].label == "unknown"
    assert sum(bar.share for bar in table.bars) == pytest.approx(1.0, abs=1e-3)
    pair = two_way(rap, ("age", "pay"))
    assert max(pair.shares.shape) <= 21
    assert pair.shares.sum() == pytest.approx(1.0, abs=1e-3)


def test_the_pairs_shown_are_those_tied_most_closely(records, workload):
    from dataclasses import replace

    from thresher.relaxed.rows import RelaxedRows
    from thresher.release.sources import SyntheticRows

    codes = np.stack([records.columns[i] for i in range(4)], axis=1).astype(np.int64)
    codes[:, 3] = codes[:, 1] % 2
    rows = RelaxedRows.from_codes(records.schema.sizes, codes)
    empty = th.All0(epsilon=1.0).fit(records, workload[3:])
    release = replace(empty, source=SyntheticRows(rows, records.schema))
    [closest] = telling_pairs(release, 1)
    assert {feature.name for feature in closest.features} == {"age", "sex"}


def test_the_last_round_is_checked_without_private_data(rap, records, workload):
    check = last_round(rap)
    assert check is not None
    assert check.count == 4
    assert 0 <= check.typical <= check.largest
    assert last_round(th.GaussianJoint(epsilon=1.0).fit(records, workload)) is None
    once = th.RAP(epsilon=1.0, rounds=1, queries_per_round=4, synthetic_rows=10)
    assert last_round(once.fit(records, workload)) is None


def test_every_method_that_is_compared_has_marks():
    compared = {f"method {i}": [0.1, 0.2, 0.0] for i in range(8)}
    elements = Elements(errors(["a", "b", "c"], compared))
    marks = [name for name, _ in elements.seen if name in ("circle", "rect", "path")]
    assert len(marks) == 8 * (1 + 3)


@pytest.mark.parametrize("r", [1, 2])
def test_rows_fitted_to_whole_tables_have_a_page(r, records):
    work = th.Workload(records.schema, [th.Threshold(("age", "sex"), r), th.Threshold(("pay",))])
    mechanism = th.RAP(epsilon=5.0, rounds=1, queries_per_round=work.query_count, synthetic_rows=20)
    release = mechanism.fit(records, work)
    assert {type(m) for m in release.measurements} == {TableMeasurement}
    text = "".join(Elements(report_page(release)).text)
    assert "2 tables with 271 cells" in text
    assert "40 measured answers (of each table" in text


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs the browser chromium")
def test_a_real_browser_opens_and_prints_it(tmp_path):
    page = tmp_path / "report.html"
    page.write_text(page_about(people(HOSTILE)), encoding="utf-8")
    browser = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
    ]  # fmt: skip
    dom = subprocess.run(
        [*browser, "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True
    ).stdout
    elements = Elements(dom)
    assert len(elements.named("svg")) == 1 + 4 + 6 + 1
    assert not elements.named("script")
    assert not elements.named("img")
    printed = tmp_path / "report.pdf"
    subprocess.run(
        [*browser, f"--print-to-pdf={printed}", page.as_uri()], capture_output=True, check=True
    )
    assert printed.read_bytes().startswith(b"%PDF")
