"""The report: says what it should, escapes everything, fetches nothing, opens in a browser."""

import html
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.evaluation.comparison import compare
from thresher.privacy import TableMeasurement
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import SyntheticRows
from thresher.report import Comparison, report_page
from thresher.report.dots import errors
from thresher.report.drawing import margin, percent
from thresher.report.groups import groups_of
from thresher.report.markup import escaped, tag
from thresher.report.pictures import PALE, bars
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
    for name in ("all0", "gaussian_per_query", "gaussian_joint", "residual"):
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


MECHANISMS = {
    "rap": th.RAP(epsilon=5.0, rounds=3, queries_per_round=4, synthetic_rows=40),
    "rap, not adaptive": th.RAP(epsilon=5.0, rounds=1, queries_per_round=800, synthetic_rows=20),
    "tables": th.AdaptiveTables(epsilon=5.0, rounds=3, synthetic_rows=40),
    "auto": th.Auto(epsilon=5.0),
    "gaussian_joint": th.GaussianJoint(epsilon=5.0),
    "residual": th.Residual(epsilon=5.0),
    "gaussian_per_query": th.GaussianPerQuery(epsilon=5.0),
    "all0": th.All0(epsilon=5.0),
}


class Tables(HTMLParser):
    """The tables of a page whose last column is a margin of error, as lists of cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tables: list[list[list[str]]] = []
        self.is_cell = False
        self.feed(page)
        self.tables = [t for t in self.tables if t[0][-1] == "margin of error (95 %)"]

    def handle_starttag(self, name, attributes):
        self.is_cell = name in ("td", "th")
        if name == "table":
            self.tables.append([])
        elif name == "tr":
            self.tables[-1].append([])
        elif self.is_cell:
            self.tables[-1][-1].append("")

    def handle_endtag(self, name):
        self.is_cell = self.is_cell and name not in ("td", "th")

    def handle_data(self, data):
        if self.is_cell:
            self.tables[-1][-1][-1] += data


def codes_of(feature: th.Feature, label: str, others: set[int]) -> tuple[int, ...]:
    """The codes that a label on the page stands for, found in another way than the page does."""
    if label.endswith(" others"):
        return tuple(sorted(set(range(feature.size)) - others))
    if label in feature.labels:
        return (feature.labels.index(label),)
    low, _, high = label.replace(",", "").partition("–")
    return tuple(feature.between(float(low), float(high)).codes)


def asked_as_printed(release: th.Release, heads: list[str], row: list[str], above) -> th.Query:
    """The query that a row of a printed table is about."""
    if heads[0] == "query":
        return th.Query.parse(row[0], release.schema)
    features = [release.schema[name] for name in heads[: heads.index("share")]]
    codes = {}
    for place, feature in enumerate(features):
        single = {feature.labels.index(r[place]) for r in above if r[place] in feature.labels}
        codes[feature.name] = codes_of(feature, row[place], single)
    named = release.source.answerable(tuple(codes))
    for name in named:
        codes.setdefault(name, tuple(range(release.schema[name].size)))
    return th.Query([th.Condition(name, some) for name, some in codes.items()])


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_margin_that_the_page_prints_is_that_of_answer(name):
    data = people(tuple("abcdefghijklmnopqrs"))  # more categories than there are bars
    work = th.Workload(data.schema, [th.Threshold(("a", "sex")), th.Threshold(("age", "sex"), 1),
                                     th.Threshold(("age", "pay"))])  # fmt: skip
    release = MECHANISMS[name].fit(data, work, randomness=th.InsecureSeededRandomness(3))
    found = Tables(report_page(release)).tables
    printed = [(heads, row, rows[:i]) for heads, *rows in found for i, row in enumerate(rows)]
    assert len(printed) > 100 or name == "all0"
    for heads, row, above in printed:
        answer = release.answer(asked_as_printed(release, heads, row, above))
        if row[0].endswith("others") and len(heads) > 3:
            continue  # the largest cells are listed, so the others cannot be told from the list
        assert row[-2:] == [percent(answer), margin(answer)], (heads, row)
    for shown in [*(one_way(release, n) for n in release.schema.names),
                  *telling_pairs(release, 6)]:  # fmt: skip
        if shown is None:
            continue
        one = hasattr(shown, "bars")
        for bar in shown.bars if one else [bar for row in shown.cells for bar in row]:
            answer = release.answer(bar.query)
            assert (bar.answer, bar.answer.error_bar) == (answer, answer.error_bar)


def test_a_share_of_noisy_tables_is_a_sum_of_cells(records):
    work = th.Workload(records.schema, [th.Threshold(("age", "sex"))])
    release = th.GaussianJoint(rho=1).fit(records, work)
    [measured] = release.measurements
    shown = one_way(release, "age")
    assert shown is not None
    for code, bar in enumerate(shown.bars):
        assert bar.answer == pytest.approx(max(0.0, measured.answers[code].sum()))
        assert bar.answer.error_bar == pytest.approx(1.96 * np.sqrt(2) * 1.0 / records.n)
    assert one_way(release, "pay") is None
    assert two_way(release, ("sex", "age")).shares.shape == (2, 10)  # type: ignore[union-attr]


def test_a_share_whose_margin_of_error_is_an_estimate_is_pale(records):
    work = th.Workload(records.schema, [th.Threshold(("age",))])
    rap = th.RAP(epsilon=1.0, rounds=2, queries_per_round=4, synthetic_rows=40)
    release = rap.fit(records, work)
    for name, is_known in (("age", True), ("pay", False)):
        shown = one_way(release, name)
        assert {not bar.answer.is_estimated for bar in shown.bars} == {is_known}
        assert (f'fill="{PALE}"' in bars(shown)) is not is_known
        assert sum(bar.answer for bar in shown.bars) == pytest.approx(1.0, abs=1e-3)


def test_many_values_are_drawn_in_groups(rap):
    shown = one_way(rap, "pay")
    assert len(shown.bars) == 84 + 1
    assert shown.bars[-1].label == "unknown"
    assert sum(bar.answer for bar in shown.bars) == pytest.approx(1.0, abs=1e-3)
    pair = two_way(rap, ("age", "pay"))
    assert max(pair.shares.shape) <= 21
    assert pair.shares.sum() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("feature", "most", "labels"),
    [
        (th.Bins.equal("x", low=0, high=9000, bins=9, nulls=0), 5,
         ["0–2,000", "2,000–4,000", "4,000–6,000", "6,000–8,000", "8,000–9,000"]),
        (th.Bins.equal("x", low=0, high=1, bins=4, nulls=0), 4,
         ["0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1"]),
        (th.IntegerRange(name="x", low=17, high=40, nulls="no", extra=("no",)), 3,
         ["17–24", "25–32", "33–40", "no"]),
        (th.IntegerRange(name="x", low=17, high=19, nulls=17), 3, ["17", "18", "19"]),
        (th.Dates(name="x", low="2019-01-01", high="2019-12-31", step="month", nulls="2019-01"), 4,
         ["2019-01–2019-03", "2019-04–2019-06", "2019-07–2019-09", "2019-10–2019-12"]),
        (th.Categorical(name="x", categories=tuple("abcd"), ordered=True, extra=("no",), nulls="no",
                        outside="no"), 4, ["a", "b", "c", "d", "no"]),
        (th.Categorical(name="x", categories=tuple("abcd"), ordered=True, nulls="a", outside="a"),
         2, ["a–b", "c–d"]),
    ],
)  # fmt: skip
def test_groups_of_values_with_an_order_are_labelled_by_their_true_ends(feature, most, labels):
    groups = groups_of(feature, most, list)
    assert [group.label for group in groups] == labels
    assert [code for group in groups for code in group.codes] == list(range(feature.size))


def test_the_rarest_categories_are_one_group():
    letters = th.Categorical(name="x", categories=tuple("abcde"), outside="a", nulls="a")
    groups = groups_of(letters, 3, lambda: [0.1, 0.4, 0.0, 0.3, 0.2])
    assert [(g.label, g.codes) for g in groups] == [
        ("b", (1,)),
        ("d", (3,)),
        ("3 others", (0, 2, 4)),
    ]


def test_the_pairs_shown_are_the_most_closely_related(records, workload):
    codes = np.stack([records.columns[i] for i in range(4)], axis=1).astype(np.int64)
    codes[:, 3] = codes[:, 1] % 2
    rows = RelaxedRows.from_codes(records.schema.sizes, codes)
    empty = th.All0(epsilon=1.0).fit(records, workload[3:])
    release = replace(empty, source=SyntheticRows(rows, records.schema))
    [closest] = telling_pairs(release, 1)
    assert {feature.name for feature in closest.features} == {"age", "sex"}


def test_the_prediction_error_is_that_of_the_release(rap, records, workload):
    error = rap.source.prediction_error
    assert f"with an error of up to {percent(error)} (95 %" in report_page(rap)
    page = report_page(th.GaussianJoint(epsilon=1.0).fit(records, workload))
    assert "Prediction error" not in page


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
