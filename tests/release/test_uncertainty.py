"""Margins of error: by the formulas of the documentation, and marked where they are estimates."""

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
from thresher.release.sources.dependence import Pairs
from thresher.release.sources.fitted_variances import SINGLE
from thresher.release.sources.parts import (
    CLAIMED,
    CORRELATION,
    EXPECTED,
    INTERACTION,
)
from thresher.release.uncertainty import (
    NORMAL_95,
    Uncertainty,
    cells_meeting,
    count_probabilities,
)
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
    """A noisy table, with which D' agrees."""
    threshold = Threshold(tuple(features), r)
    blocks = [ROWS.block(SCHEMA.index(name)) for name in threshold.features]
    axes = ",".join(f"{chr(97 + i)}z" for i in range(len(blocks)))
    says = np.einsum(f"{axes}->{axes.replace('z', '').replace(',', '')}", *blocks) / ROWS.count
    return TableMeasurement(threshold, np.rint(N * says).astype(np.int64), sigma, N)


def single(text, sigma):
    return QueryMeasurement(Query.parse(text, SCHEMA), 300, sigma, N)


WORK = Workload(SCHEMA, [Threshold(tuple("ab")), Threshold(tuple("ac"), r=1)])


def margin(query, source, *measurements, answer=0.5, work=WORK):
    query = Query.parse(query, SCHEMA) if isinstance(query, str) else query
    return Uncertainty(source.variances(measurements, work)).margin_of_error(query, answer).value


def estimated(text, source, *measurements):
    return source.variances(measurements, WORK).of(Query.parse(text, SCHEMA)).is_estimated


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


def fitted_noise(sigma, cells, whole):
    """The margin of D', whose table sums to 1, as a sum of cells; one person is the least."""
    noisy = sigma**2 * cells * (1 - cells / whole)
    return pytest.approx(NORMAL_95 / N * math.sqrt(noisy + 1))


def measured_alone(sigma):
    """The margin of an answer of D' to a query that was measured by itself."""
    return noise(sigma, SINGLE)


def share(text):
    """The share of people that D' has in a condition."""
    [condition] = Query.parse(text, SCHEMA).conditions
    block = ROWS.block(SCHEMA.index(condition.feature)).astype(np.float64)
    return block[list(condition.codes)].sum(axis=0).mean()


@given(st.data())
def test_cells_that_a_query_adds_up(data):
    sizes = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    met = tuple(data.draw(st.integers(0, size)) for size in sizes)
    r = data.draw(st.integers(1, len(sizes)))
    cells = sum(
        sum(code < meeting for code, meeting in zip(cell, met, strict=True)) >= r
        for cell in itertools.product(*map(range, sizes))
    )
    assert cells_meeting(sizes, met, r) == cells


@given(st.lists(st.floats(0, 1), max_size=5))
def test_so_many_conditions_hold(shares):
    expected = [0.0] * (len(shares) + 1)
    for which in itertools.product([False, True], repeat=len(shares)):
        chances = [p if holds else 1 - p for p, holds in zip(shares, which, strict=True)]
        expected[sum(which)] += math.prod(chances)
    assert count_probabilities(shares) == pytest.approx(expected)


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


def test_all_tables_that_cover_a_query_count():
    measured = table("ab", 5.0), table("abc", 4.0), as_fitted("c", 1.0)
    # A value of b is 2 of 6 cells and 8 of 24; one of c is 6 of 24 cells.
    b = 1 / math.sqrt(1 / (2 * 5.0**2) + 1 / (8 * 4.0**2))
    c = 1 / math.sqrt(1 / 1.0**2 + 1 / (6 * 4.0**2))
    assert margin("b=b0", rows(), *measured) == fitted_noise(b, 1, 3)
    assert margin("c=c0", rows(), *measured) == fitted_noise(c, 1, 4)
    assert margin("b in {b0,b1}, c in {c0,c1,c2,c3}", rows(), *measured) == fitted_noise(b, 2, 3)


def test_measurements_of_the_same_are_pooled():
    pooled = 1 / math.sqrt(1 / 3.0**2 + 1 / 4.0**2)
    measured = as_fitted("c", 3.0), as_fitted("c", 4.0)
    assert margin("c=c0", rows(), *measured) == fitted_noise(pooled, 1, 4)
    asked = single("a=a0, b=b0", 3.0), single("b=b0, a=a0", 4.0)
    assert margin("a=a0, b=b0", rows(), *asked) == measured_alone(pooled)


def test_the_very_query_that_was_measured():
    measured = single("2 of: a=a0, b=b0, c=c0", 3.0)
    asked = "2 of: c=c0, b=b0, a=a0"
    assert margin(asked, rows(), measured) == measured_alone(3.0)
    assert not estimated(asked, rows(), measured)
    assert estimated("2 of: a=a0, b=b0, c=c1", rows(), measured)
    assert estimated("1 of: a=a0, b=b0, c=c0", rows(), measured)
    work = Workload(SCHEMA, [Threshold(tuple("cab"), r=2)])
    assert margin(asked, rows(0.001), measured, work=work) == pytest.approx(0.001)
    assert margin(asked, rows(0.4), measured, work=work) == measured_alone(3.0)


def test_tables_of_r_below_k_are_of_queries():
    measured = table("ab", 5.0, r=1)
    assert margin("any of: a=a0, b=b1", rows(), measured) == measured_alone(5.0)
    assert estimated("a=a0, b=b1", rows(), measured)


def contrast(part, p):
    """The variance of a contrast between a condition and the others, in units of the noise."""
    return part * (1 - p) ** 2 + (1 - part) * p**2


def by_noise_and_expectation(noisy, expected):
    return noisy * expected / (noisy + expected)


@pytest.mark.parametrize("allowed", ["c0", "c0,c1"])
@pytest.mark.parametrize(("sigma", "r"), [(0.5, 1), (0.5, 2), (50.0, 1), (50.0, 2)])
def test_two_conditions_in_parts(sigma, r, allowed):
    """The errors of both shares, and the error in how often both hold; or the sum of cells."""
    measured = [as_fitted("b", 2.0), as_fitted("c", 3.0), table("bc", sigma)]
    codes = 1 + allowed.count(",")
    p, q = share("b=b0"), share(f"c in {{{allowed}}}")
    weight = {1: (1 - q, 1 - p), 2: (q, p)}[r]
    strength = Pairs(ROWS, SCHEMA, ()).of("b", "c").strength
    # The table of both tells about each, too.
    b_noise, c_noise = (1 / (1 / alone + 1 / (sigma**2 * 12)) for alone in (2.0**2 * 3, 3.0**2 * 4))
    alone = (b_noise * contrast(1 / 3, p), c_noise * contrast(codes / 4, q))
    variance = sum(w**2 * v / N**2 for w, v in zip(weight, alone, strict=True))
    variance += by_noise_and_expectation(
        sigma**2 * 12 * contrast(1 / 3, p) * contrast(codes / 4, q) / N**2,
        (INTERACTION**2 + (EXPECTED[2] * strength) ** 2) * p * (1 - p) * q * (1 - q),
    )
    if r == 2:
        variance = min(variance, sigma**2 * codes * (1 - codes / 12) / N**2)
    variance += 1 / N**2
    found = margin(f"{r} of: b=b0, c in {{{allowed}}}", rows(), *measured)
    assert found == pytest.approx(NORMAL_95 * math.sqrt(variance))


@pytest.mark.parametrize("r", [1, 2, 3])
def test_three_conditions_whose_pairs_were_measured(r):
    """What D' claims beyond independence may be wrong, since the three were not measured."""
    measured = [table(pair, 5.0) for pair in ("ab", "ac", "bc")]
    shares = [share(text) for text in ("a=a0", "b=b0", "c=c0")]
    independent = sum(count_probabilities(shares)[r:])
    asked = f"{r} of: a=a0, b=b0, c=c0"
    least = margin(asked, rows(), *measured, answer=independent)
    found = margin(asked, rows(), *measured, answer=independent + 0.1)
    assert found**2 - least**2 == pytest.approx((NORMAL_95 * CLAIMED * 0.1) ** 2)
    spread = math.prod(p * (1 - p) for p in shares)
    assert least > NORMAL_95 * INTERACTION * math.sqrt(spread)
    assert estimated(asked, rows(), *measured)
    assert not estimated(asked, rows(), *measured, table("abc", 5.0))


def test_what_was_not_measured_is_estimated():
    ways = [as_fitted("b", 2.0), as_fitted("c", 3.0)]
    p, q = share("b=b0"), share("c=c0")
    alone = q**2 * 2.0**2 * 3 * contrast(1 / 3, p) + p**2 * 3.0**2 * 4 * contrast(1 / 4, q)
    variance = alone / N**2 + 1 / N**2
    variance += CORRELATION**2 * p * (1 - p) * q * (1 - q)
    found = margin("b=b0, c=c0", rows(), *ways, answer=p * q)
    assert found == pytest.approx(NORMAL_95 * math.sqrt(variance))
    variance += CLAIMED**2 * (0.5 - p * q) ** 2
    found = margin("b=b0, c=c0", rows(), *ways, answer=0.5)
    assert found == pytest.approx(NORMAL_95 * math.sqrt(variance))
    assert estimated("b=b0, c=c0", rows(), *ways)
    assert not estimated("b=b0", rows(), *ways)
    assert not estimated("any of: b=b0, c=c0", rows(), table("bc", 9.0))
    # Where nothing was measured of some condition, the answer may be anything.
    assert margin("b=b0", rows(), answer=0.0) == 1.0
    assert margin("b=b0, c=c0", rows(), ways[0], answer=0.1) == 0.9
    assert estimated("b=b0", rows())


def test_a_share_may_be_as_far_from_0_as_its_noise():
    """A condition that D' finds nobody in weighs as much as one with the share of its noise."""
    nobody = RelaxedRows.from_codes(SCHEMA.sizes, np.array([[0, 0, 0], [1, 0, 1]]))
    ways = [
        TableMeasurement(Threshold(("b",)), np.array([N, 0, 0]), 30.0, N),
        TableMeasurement(Threshold(("c",)), np.array([N // 2, N // 2, 0, 0]), 3.0, N),
    ]
    found = (
        SyntheticRows(nobody, SCHEMA).variances(ways, WORK).of(Query.parse("b=b1, c=c0", SCHEMA))
    )
    least = 0.03 * math.sqrt(2 / 3)
    b = 0.03**2 * 3 * contrast(1 / 3, least)
    c = 0.003**2 * 4 * contrast(1 / 4, 1 / 2)
    together = CORRELATION**2 * least * (1 - least) / 4
    assert found.value == pytest.approx(b / 4 + least**2 * c + together + 1 / N**2)


def test_many_conditions_count_by_their_mean_share():
    names = [f"x{i}" for i in range(9)]
    schema = Schema([feature(name, 2) for name in names])
    d_prime = RelaxedRows.uniform(schema.sizes, 7, np.random.default_rng(0))
    says = [np.rint(N * d_prime.block(i).mean(axis=1)).astype(np.int64) for i in range(9)]
    ways = [
        TableMeasurement(Threshold((name,)), counts, 100.0, N)
        for name, counts in zip(names, says, strict=True)
    ]
    work = Workload(schema, [Threshold(("x0", "x1"))])
    variances = SyntheticRows(d_prime, schema).variances(ways, work)
    query = Query.parse("4 of: " + ", ".join(f"{name}={name}0" for name in names), schema)
    p = np.mean([d_prime.block(i)[0].astype(np.float64).mean() for i in range(9)])
    once = stats.binom(8, p).pmf(3) ** 2 * 9 * (100.0 / N) ** 2 * 2 * contrast(1 / 2, p)
    twice = (stats.binom(7, p).pmf(2) - stats.binom(7, p).pmf(3)) ** 2
    twice *= 36 * (CORRELATION * p * (1 - p)) ** 2
    found = variances.of(query)
    assert found.is_estimated
    assert found.value == pytest.approx(once + twice + 1 / N**2)


def as_fitted(name, sigma, off=0):
    """A one-way table that D' agrees with, or in which it is off by so many people everywhere."""
    says = np.rint(N * ROWS.block(SCHEMA.index(name)).mean(axis=1)).astype(np.int64)
    signs = np.resize([1, -1], says.size)
    return TableMeasurement(Threshold((name,)), says + off * signs, sigma, N)


def test_where_d_prime_is_far_from_a_one_way_table_the_difference_counts():
    near, far = as_fitted("c", 2.0), as_fitted("c", 2.0, off=40)
    assert margin("c=c0", rows_and_tables(None, near), near) == fitted_noise(2.0, 1, whole=4)
    found = margin("c=c0", rows_and_tables(None, far), far)
    excess = 40.0**2 - 2 * 2.0**2
    expected = NORMAL_95 / N * math.sqrt(2.0**2 * 3 / 4 + excess)
    assert found == pytest.approx(expected, rel=0.02)


def test_prediction_error_is_about_the_queries_of_the_workload():
    assert margin("a=a0, b=b0", rows(0.01)) == pytest.approx(0.01)
    assert margin("any of: a=a0, c=c0", rows(0.01)) == pytest.approx(0.01)
    assert not estimated("any of: a=a0, c=c0", rows(0.01))
    for other in ("a=a0, c=c0", "b=b0, c=c0", "c=c0", "a=a0, b in {b0,b1}"):
        assert estimated(other, rows(0.01))


@pytest.mark.parametrize("error", [None, 0.1])
def test_what_holds_for_all_or_none_is_certain(error):
    assert margin("c in {c0,c1,c2,c3}", rows(error)) == 0.0
    assert margin("any of: c in {c0,c1,c2,c3}, a=a0", rows(error)) == 0.0
    assert margin(Query([th.Condition("a", ())]), rows(error), answer=0.0) == 0.0


def test_no_interval_extends_beyond_0_and_1():
    for answer in (0.0, 0.2, 0.5, 0.7, 1.0):
        assert margin("a=a0", rows(), table("a", 9e9), answer=answer) == max(answer, 1 - answer)


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
    assert release.answer("c=c0").is_estimated
    assert answers[2].error_bar == pytest.approx(0.01)
    assert not answers[2].is_estimated


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
    by_noise = NORMAL_95 * math.sqrt(SINGLE) * asked.sigma / asked.n
    found = fitted.answer(asked.query).error_bar
    assert found == pytest.approx(min(by_noise, fitted.source.prediction_error))
    assert found < fitted.answer("sex=Female").error_bar < 1
    assert fitted.answer("relationship=Wife").is_estimated


def test_non_adaptive_rap_has_no_prediction_error():
    data = th.datasets.adult()
    work = Workload(data.schema, [Threshold(("sex", "race"))])
    rap = RAP(rho=1, rounds=1, queries_per_round=work.query_count, synthetic_rows=20)
    release = rap.fit(data, work)
    assert release.source.prediction_error is None
    assert release.answer("sex=Female, race=Black").error_bar > 0
    assert release.answer("income=>50K").is_estimated


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
