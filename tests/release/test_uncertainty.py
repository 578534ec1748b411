"""Margins of error: exact where a rule gives them, None where nothing is known."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import thresher as th
from thresher.mechanisms import RAP
from thresher.privacy.budget import Budget
from thresher.privacy.measurements import QueryMeasurement, TableMeasurement
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Query, Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release import Release
from thresher.release.sources import NoisyTables, RowsAndTables, SyntheticRows, Zeros
from thresher.release.uncertainty import NORMAL_95, Uncertainty, variance_in_cells
from thresher.schema import Schema
from thresher.schema.features import Categorical

N = 1000

FALSE_ALARM = 1e-7
"""The chance that the test of coverage would fail on correct code, had its seed not been fixed."""


def feature(name, size):
    labels = tuple(f"{name}{i}" for i in range(size))
    return Categorical(name=name, categories=labels, outside=labels[0], nulls=labels[0])


SCHEMA = Schema((feature("a", 2), feature("b", 3), feature("c", 4)))
ROWS = RelaxedRows.uniform(SCHEMA.sizes, 7, np.random.default_rng(0))


def table(features, sigma, r=None):
    threshold = Threshold(tuple(features), r)
    counts = np.full(threshold.shape(SCHEMA), 100, dtype=np.int64)
    return TableMeasurement(threshold, counts, sigma, N)


def single(text, sigma):
    return QueryMeasurement(Query.parse(text, SCHEMA), 300, sigma, N)


WORK = Workload(SCHEMA, [Threshold(tuple("ab")), Threshold(tuple("ac"), r=1)])


def margin(query, source, *measurements, answer=0.5, work=WORK):
    query = Query.parse(query, SCHEMA) if isinstance(query, str) else query
    return Uncertainty(source.variances(measurements, work)).margin_of_error(query, answer)[0]


def rows(prediction_error=None):
    """D' of a mechanism that selects queries."""
    return SyntheticRows(ROWS, SCHEMA, prediction_error)


def rows_and_tables(prediction_error, *measurements):
    """D' of a mechanism that selects tables."""
    return RowsAndTables.of(ROWS, SCHEMA, prediction_error, measurements)


def tables(*measurements):
    return NoisyTables.of(measurements, SCHEMA)


def noise(sigma, cells):
    """The margin of a sum of noisy cells."""
    return pytest.approx(NORMAL_95 * sigma / N * math.sqrt(cells))


def fitted_noise(sigma, cells, whole=math.inf):
    """The margin of D', which is as far from the measurement as that is from the truth."""
    return pytest.approx(NORMAL_95 * sigma / N * math.sqrt(2 * cells * (1 - cells / whole)))


@given(st.data())
def test_cells_that_a_query_adds_up(data):
    sizes = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    met = tuple(data.draw(st.integers(0, size)) for size in sizes)
    r = data.draw(st.integers(1, len(sizes)))
    cells = sum(
        sum(code < meeting for code, meeting in zip(cell, met, strict=True)) >= r
        for cell in itertools.product(*map(range, sizes))
    )
    whole = math.prod(sizes)
    assert variance_in_cells(sizes, met, r) == cells
    assert variance_in_cells(sizes, met, r, sums_to_one=True) == pytest.approx(
        cells * (1 - cells / whole)
    )


def test_noise_that_moves_all_cells_alike_does_not_count_where_the_sum_is_known():
    """Taking the mean off the noise of a 3 x 4 table leaves this variance in the sum of a row."""
    row = np.repeat([1.0, 0.0, 0.0], 4)
    centred = np.eye(12) - 1 / 12
    assert variance_in_cells((3, 4), (1, 4), 2, sums_to_one=True) == pytest.approx(
        row @ centred @ row
    )


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a=a0, b=b0", 1),
        ("b=b0, a=a0", 1),
        ("a=a0, b in {b0,b2}", 2),
        ("any of: a=a0, b=b1", 4),
        ("any of: b!=b1, a=a0", 5),
        ("a in {a0,a1}, b in {b0,b1,b2}", 6),
    ],
)
def test_noisy_tables_add_up_cells(text, cells):
    measured = table("ab", 5.0)
    assert margin(text, tables(measured), measured) == noise(5.0, cells)


def test_noisy_tables_know_which_table_answers():
    itself, marginal = table("ab", 5.0, r=1), table("ab", 7.0)
    source = tables(itself, marginal)
    assert margin("any of: a=a0, b=b1", source, itself, marginal) == noise(5.0, 1)
    assert margin("a=a0, b=b1", source, itself, marginal) == noise(7.0, 1)
    # Of a table that was measured twice, the last one answers, and only its noise counts.
    twice = table("ab", 3.0), table("ab", 9.0)
    assert margin("a=a0, b=b1", tables(*twice), *twice) == noise(9.0, 1)


def test_rows_take_the_best_table_that_covers_a_query():
    measured = table("ab", 5.0), table("abc", 4.0), table("c", 1.0)
    assert margin("a=a0, b=b0", rows(), *measured) == fitted_noise(5.0, 1, 6)
    assert margin("b=b0", rows(), *measured) == fitted_noise(5.0, 2, 6)
    assert margin("c=c0", rows(), *measured) == fitted_noise(1.0, 1, 4)
    assert margin("a=a0, c=c0", rows(), *measured) == fitted_noise(4.0, 3, 24)
    assert margin("2 of: a=a0, b=b0, c=c0", rows(), *measured) == fitted_noise(
        4.0, 1 + 1 + 2 + 3, 24
    )
    assert margin("a!=a0, b=b0", rows(), *measured) == fitted_noise(5.0, 1, 6)


def test_measurements_of_the_same_are_pooled():
    pooled = 1 / math.sqrt(1 / 3.0**2 + 1 / 4.0**2)
    measured = table("ab", 3.0), table("ba", 4.0)
    assert margin("a=a0, b=b0", rows(), *measured) == fitted_noise(pooled, 1, 6)
    asked = single("a=a0, b=b0", 3.0), single("b=b0, a=a0", 4.0)
    assert margin("a=a0, b=b0", rows(), *asked) == fitted_noise(pooled, 1)


def test_the_very_query_that_was_measured():
    measured = single("2 of: a=a0, b=b0, c=c0", 3.0)
    assert margin("2 of: c=c0, b=b0, a=a0", rows(), measured) == fitted_noise(3.0, 1)
    assert margin("2 of: a=a0, b=b0, c=c1", rows(), measured) is None
    assert margin("1 of: a=a0, b=b0, c=c0", rows(), measured) is None
    assert margin("a=a0, b=b0", rows(), measured) is None
    work = Workload(SCHEMA, [Threshold(tuple("cab"), r=2)])
    asked = "2 of: c=c0, b=b0, a=a0"
    assert margin(asked, rows(0.001), measured, work=work) == pytest.approx(0.001)
    assert margin(asked, rows(0.4), measured, work=work) == fitted_noise(3.0, 1)


def test_tables_of_r_below_k_are_of_queries():
    measured = table("ab", 5.0, r=1)
    assert margin("any of: a=a0, b=b1", rows(), measured) == fitted_noise(5.0, 1)
    assert margin("a=a0, b=b1", rows(), measured) is None


def test_r_of_k_adds_up_marginals_where_that_says_more():
    measured = table("b", 1.0), table("c", 2.0), table("bc", 10.0)
    # By inclusion and exclusion: a cell of b, one of c, and less the one of both.
    of_cells = [1.0 * (1 - 1 / 3), 4.0 * (1 - 1 / 4), 100.0 * (1 - 1 / 12)]
    expected = pytest.approx(NORMAL_95 / N * math.sqrt(2 * sum(of_cells)))
    assert margin("any of: b=b0, c=c0", rows(), *measured) == expected
    # Without the table of both there is nothing to go by; with a precise one, its cells say more.
    assert margin("any of: b=b0, c=c0", rows(), *measured[:2]) is None
    precise = margin("any of: b=b0, c=c0", rows(), table("b", 50.0), table("bc", 1.0))
    assert precise == fitted_noise(1.0, 3 + 4 - 1, whole=12)


def test_prediction_error_of_tables_is_about_marginals_of_r_of_k_too():
    work = Workload(SCHEMA, [Threshold(tuple("abc"), r=1)])
    ways = [as_fitted(name, 1.0) for name in "abc"]
    found = margin("any of: a=a0, b=b0, c=c0", rows_and_tables(0.01, *ways), *ways, work=work)
    variance = sum(2 * (1 - 1 / size) for size in (2, 3, 4)) / N**2 + 4 * (0.01 / NORMAL_95) ** 2
    assert found == pytest.approx(NORMAL_95 * math.sqrt(variance))


def as_fitted(name, sigma, off=0):
    """A one-way table that D' agrees with, or in which it is off by so many people everywhere."""
    says = np.rint(N * ROWS.block(SCHEMA.index(name)).mean(axis=1)).astype(np.int64)
    signs = np.resize([1, -1], says.size)
    return TableMeasurement(Threshold((name,)), says + off * signs, sigma, N)


def test_where_d_prime_is_far_from_a_measured_table_the_difference_counts():
    near, far = as_fitted("c", 2.0), as_fitted("c", 2.0, off=40)
    assert margin("c=c0", rows_and_tables(None, near), near) == fitted_noise(2.0, 1, whole=4)
    found = margin("c=c0", rows_and_tables(None, far), far)
    expected = NORMAL_95 / N * math.sqrt((2.0**2 + 40.0**2) * (1 - 1 / 4))
    assert found == pytest.approx(expected, rel=0.02)


def test_prediction_error_is_about_the_queries_of_the_workload():
    assert margin("a=a0, b=b0", rows(0.01)) == pytest.approx(0.01)
    assert margin("any of: a=a0, c=c0", rows(0.01)) == pytest.approx(0.01)
    assert margin("a=a0, b=b0", rows()) is None
    # Nothing says how well D' answers what it was never compared on.
    assert margin("a=a0, c=c0", rows(0.01)) is None
    assert margin("b=b0, c=c0", rows(0.01)) is None
    assert margin("c=c0", rows(0.01)) is None


def test_prediction_error_adds_up_in_sums_of_the_workloads_queries():
    one = 1 * (1 - 1 / 6)
    assert margin("a=a0, b in {b0,b1}", rows(0.01)) == pytest.approx(
        0.01 * math.sqrt(2 * (1 - 2 / 6) / one)
    )
    assert margin("any of: a!=a0, b!=b0", rows(0.01)) == pytest.approx(0.01)
    assert margin("b=b0", rows(0.01)) == pytest.approx(0.01 * math.sqrt(2 * (1 - 2 / 6) / one))
    assert margin("b!=b0", rows(0.01)) == margin("b=b0", rows(0.01))


def test_prediction_error_of_a_mechanism_that_selects_tables_is_about_their_cells():
    work = Workload(SCHEMA, [Threshold(tuple("ac"), r=1)])
    tabular = rows_and_tables(0.01)
    assert margin("a=a0, c=c0", tabular, work=work) == pytest.approx(0.01)
    assert margin("a=a0, c=c0", rows(0.01), work=work) is None
    # a=a0 or c=c0 is 5 of the 8 cells.
    assert margin("any of: a=a0, c=c0", tabular, work=work) == pytest.approx(
        0.01 * math.sqrt(5 * (1 - 5 / 8) / (1 - 1 / 8))
    )


@pytest.mark.parametrize("error", [None, 0.1])
def test_what_holds_for_all_or_none_is_certain(error):
    assert margin("c in {c0,c1,c2,c3}", rows(error)) == 0.0
    assert margin(Query([th.Condition("a", ())]), rows(error), answer=0.0) == 0.0


def test_no_interval_extends_beyond_0_and_1():
    for answer in (0.0, 0.2, 0.5, 0.7, 1.0):
        assert margin("a=a0", rows(5.0), answer=answer) == max(answer, 1 - answer)


@given(st.data())
def test_the_best_of_many_tables_is_found(data):
    names = ("a", "b", "c")
    drawn = st.tuples(st.sets(st.sampled_from(names), min_size=1), st.floats(0.1, 9.0))
    measured = [table(sorted(features), sigma) for features, sigma in data.draw(st.lists(drawn))]
    pooled = {}
    for m in measured:
        pooled[m.threshold] = pooled.get(m.threshold, 0.0) + 1 / (m.sigma / N) ** 2
    asked = sorted(data.draw(st.sets(st.sampled_from(names), min_size=1)))
    cells = Threshold(asked).query_count(SCHEMA)
    variances = [
        target.query_count(SCHEMA) / cells / precision
        for target, precision in pooled.items()
        if {*asked} <= {*target.features}
    ]
    found = margin(", ".join(f"{name}={name}0" for name in asked), rows(), *measured)
    if variances:
        expected = NORMAL_95 * math.sqrt(2 * min(variances) * (1 - 1 / cells))
        assert found == pytest.approx(min(expected, 0.5))
    else:
        assert found is None


def test_all_0_knows_nothing():
    assert margin("a=a0", Zeros()) is None


def release_of(source, *measurements):
    return Release.now(
        schema=SCHEMA, n=N, workload=WORK, mechanism="rap",
        settings={}, budget=Budget.from_rho("1/10"), spent=Fraction(1, 10),
        measurements=measurements, source=source, is_secure=False,
    )  # fmt: skip


def test_a_release_answers_with_margins():
    release = release_of(rows(0.01), table("ab", 5.0), single("a=a0, b=b1", 5.0))
    texts = ["a=a0, b=b0", "c=c0", "any of: a=a1, c=c2"]
    answers = list(release.answer_many(texts))
    assert [a.error_bar for a in answers] == [
        margin(text, release.source, *release.measurements, answer=float(answer))
        for text, answer in zip(texts, answers, strict=True)
    ]
    assert answers == list(release.source.queries(Query.parse(text, SCHEMA) for text in texts))
    assert release.answer("c=c0").error_bar is None
    assert answers[2].error_bar == pytest.approx(0.01)


def test_a_long_stream_keeps_answers_and_margins_together():
    release = release_of(rows(0.01), table("ab", 5.0))
    asked = [Query.parse(text, SCHEMA) for text in ("a=a0, b=b0", "c=c0", "c!=c0")]
    stream = release.answer_many(itertools.islice(itertools.cycle(asked), 40_000))
    first = [(a, a.error_bar) for a in itertools.islice(stream, 3)]
    assert [(a, a.error_bar) for a in stream] == [first[i % 3] for i in range(3, 40_000)]


@pytest.mark.parametrize("error", [None, 0.0, 0.0123])
def test_a_saved_release_has_the_same_margins(error, tmp_path):
    release = release_of(rows(error), table("ab", 5.0))
    release.save(tmp_path / "release")
    again = th.load(tmp_path / "release")
    assert again.source.prediction_error == error
    for text in ("a=a0, b=b0", "any of: a=a0, c=c0"):
        assert again.answer(text).error_bar == release.answer(text).error_bar


@pytest.fixture(scope="module")
def fitted():
    data = th.datasets.adult()
    work = Workload(data.schema, [Threshold(("sex", "race")), Threshold(("income", "sex"))])
    rap = RAP(rho=1, rounds=3, queries_per_round=2, synthetic_rows=20)
    return rap.fit(data, work, randomness=InsecureSeededRandomness(0))


def test_rap_states_its_prediction_error(fitted):
    assert 0.0 < fitted.source.prediction_error < 1.0
    asked = fitted.measurements[-1]
    by_noise = NORMAL_95 * math.sqrt(2) * asked.sigma / asked.n
    found = fitted.answer(asked.query).error_bar
    assert found == pytest.approx(min(by_noise, fitted.source.prediction_error))
    assert found < fitted.answer("sex=Female").error_bar < 1
    assert fitted.answer("relationship=Wife").error_bar is None


def test_non_adaptive_rap_has_no_prediction_error():
    data = th.datasets.adult()
    work = Workload(data.schema, [Threshold(("sex", "race"))])
    rap = RAP(rho=1, rounds=1, queries_per_round=work.query_count, synthetic_rows=20)
    release = rap.fit(data, work)
    assert release.source.prediction_error is None
    assert release.answer("sex=Female, race=Black").error_bar > 0
    assert release.answer("income=>50K").error_bar is None


def test_a_release_without_rows_or_tables_is_silent(fitted):
    silent = dataclasses.replace(fitted, source=Zeros(), measurements=())
    assert silent.answer("sex=Female").error_bar is None


def outside_95(margins_times=1.0, sums_cells=True):
    """Of 2,400 independent answers of noisy tables, how many are further off than their margin.

    Two cells of b are added up in each answer; the noise varies from table to table, by 1 to 4.
    """
    rng, truth = np.random.default_rng(6), np.full((2, 3, 4), 40_000)
    asked = [
        Query.parse(f"a=a{a}, b in {{b0,b1}}, c=c{c}", SCHEMA) for a in range(2) for c in range(4)
    ]
    outside = 0
    for sigma in np.tile([50.0, 100.0, 200.0], 100):
        counts = np.rint(truth + rng.normal(0.0, sigma, truth.shape)).astype(np.int64)
        measured = TableMeasurement(Threshold(tuple("abc")), counts, sigma, truth.sum())
        release = dataclasses.replace(
            release_of(tables(measured), measured), n=int(truth.sum()), workload=WORK
        )
        for answer in release.answer_many(asked):
            margin = answer.error_bar * margins_times / (1.0 if sums_cells else math.sqrt(2))
            outside += abs(answer - 2 / 24) > margin
    return outside


def is_95_percent(outside, of=2400):
    return min(stats.binom(of, 0.05).cdf(outside), stats.binom(of, 0.05).sf(outside - 1)) > (
        FALSE_ALARM / 2
    )


def test_margins_of_noisy_tables_cover_95_percent():
    """Answers of disjoint cells are independent, so the count is binomial: 120 of 2,400.

    Caught with a chance above 1 - 1e-9: margins that are 1.4 times too small or too large (such as
    those that leave out that the noise of two cells adds up: 17 % are outside, not 5 %).
    """
    assert is_95_percent(outside_95())
    assert not is_95_percent(outside_95(sums_cells=False))
    assert not is_95_percent(outside_95(margins_times=1.4))
