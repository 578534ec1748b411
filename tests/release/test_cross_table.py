"""Tables for people: labels, totals, percentages and margins agree with single answers."""

import math
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from thresher.errors import QueryError
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.release.answer import Answer
from thresher.release.cross_table import ratio


@pytest.fixture(scope="module")
def release(records, workload):
    auto = th.Auto(epsilon=2.0, synthetic_rows=40)
    return auto.fit(records, workload, randomness=InsecureSeededRandomness(0))


def test_cells_and_totals_are_answers(release):
    table = release.table("age", "Sex", where="job!=none")
    assert table.index.names == ["age", "sex"]
    assert table.index.levels[0].tolist() == ["20", "21", "22", "23", "24", "Total"]
    for label, query in {
        ("21", "F"): "age=21, sex=F, job!=none",
        ("Total", "F"): "sex=F, job!=none",
        ("21", "Total"): "age=21, job!=none",
        ("Total", "Total"): "job!=none",
    }.items():
        cell, answer = table.loc[label], release.answer(query)
        assert (cell["share"], cell["margin"]) == (answer, answer.error_bar)
        assert (cell["count"], cell["count_margin"]) == (answer.count, answer.count_error_bar)
        assert cell["estimated"] == answer.is_estimated
        assert cell["unreliable"] == (answer.error_bar > answer / 2)
    assert table["share"].unstack().columns.tolist() == ["F", "M", "Total"]


def test_it_displays_in_a_notebook(release):
    html = release.table("job", "sex", percent="row")._repr_html_()
    for word in ("job", "sex", "none", "Total", "share", "count_margin", "percent_margin"):
        assert f">{word}<" in html


def test_a_table_says_how_a_range_was_read():
    old = th.load(Path(__file__).parent / "first_build" / "tables")
    assert old.table("town", where="pay=0..10").attrs["read_as"].endswith("pay=0..25")
    assert old.table("town", where="pay=0..25").attrs["read_as"] is None
    assert old.table("town").attrs["read_as"] is None


def test_where_leaves_rows_out(release):
    table = release.table("town", where={"town": ["A", "C"]})
    assert table.index.tolist() == ["A", "C", "Total"]
    assert table.loc["Total", "share"] == release.answer("town in {A,C}")


@pytest.mark.parametrize(
    ("percent", "whole"), [("row", ("21", "Total")), ("column", ("Total", "F")), ("total", None)]
)
def test_percentages(release, percent, whole):
    table = release.table("age", "sex", percent=percent)
    cell, base = table.loc[("21", "F")], table.loc[whole or ("Total", "Total")]
    assert cell["percent"] == pytest.approx(100 * cell["share"] / base["share"])
    if percent == "row":
        sums = table["percent"].unstack().drop(columns="Total").sum(axis=1)
        assert sums.to_numpy() == pytest.approx(100.0, abs=3.0)
        assert (table["percent"].unstack()["Total"] == 100.0).all()
        assert (table["percent_margin"].unstack()["Total"] == 0.0).all()


def test_three_features(release):
    table = release.table("age", "sex", "job")
    assert len(table) == 6 * 3 * 4
    assert table.loc[("20", "F", "none"), "share"] == release.answer("age=20, sex=F, job=none")
    assert table.loc[("Total", "Total", "Total"), "share"] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("features", "options", "words"),
    [
        ((), {}, "one to 3 features"),
        (("age", "sex", "job", "town"), {}, "one to 3 features"),
        (("age", "age"), {}, "'age' twice"),
        (("agee",), {}, "did you mean age"),
        (("age",), {"percent": "all"}, "percent must be one of"),
        (("age",), {"where": "any of: sex=F, job=none"}, "all their conditions"),
    ],
)
def test_mistakes(release, features, options, words):
    with pytest.raises(QueryError, match=words):
        release.table(*features, **options)


def test_noisy_tables_have_tables_too(records):
    work = th.Workload(records.schema, [th.Threshold(("age", "sex"))])
    noisy = th.GaussianJoint(rho=1).fit(records, work)
    table = noisy.table("sex")
    assert table.loc["F", "share"] == noisy.answer("age in {20,21,22,23,24}, sex=F")
    with pytest.raises(QueryError, match="no answers for"):
        noisy.table("town")


def test_a_share_among_some(release):
    among = release.answer("share of job=full among sex=F, age>=22")
    part, whole = release.answer("job=full, sex=F, age>=22"), release.answer("sex=F, age>=22")
    assert among == part / whole
    assert among.count == pytest.approx(part.count)
    assert release.share("job=full", among={"sex": "F", "age": "22.."}) == among
    [first, second] = release.answer_many(["share of job=full among sex=F, age>=22", "sex=F"])
    assert (first, second) == (among, release.answer("sex=F"))
    nobody = ratio(Answer(0.0, 0.1, 10), Answer(0.0, 0.1, 10))
    assert math.isnan(nobody)


def test_the_margin_of_a_ratio_is_that_of_simulated_ones():
    """Part and rest with independent errors: 100,000 draws, standard error 0.3 %."""
    rng = np.random.default_rng(0)
    part, rest = (
        0.1 + 0.002 * rng.standard_normal(100_000),
        0.4 + 0.002 * rng.standard_normal(100_000),
    )
    spread = float((part / (part + rest)).std())
    found = ratio(Answer(0.1, 0.002), Answer(0.5, 0.002 * math.sqrt(2)))
    assert found.error_bar == pytest.approx(spread, rel=0.02)
    other = ratio(Answer(0.4, 0.002), Answer(0.5, 0.002 * math.sqrt(2)))
    assert other.error_bar == pytest.approx(found.error_bar)
