"""Error bars: exact where a rule gives them, and never a claim where nothing is known."""

import copy
import dataclasses
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.mechanisms import RAP
from thresher.privacy.budget import Budget
from thresher.privacy.measurements import QueryMeasurement, TableMeasurement
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Query, Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release import Release
from thresher.release.error_bars import (
    WITHIN,
    Answer,
    ErrorBars,
    detectable_error,
    prediction_error_of,
    spread,
)
from thresher.release.sources import NoisyTables, SyntheticRows, Zeros
from thresher.schema import Schema
from thresher.schema.features import Categorical

N = 1000


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


def bar(text, source, *measurements, answer=0.5, work=WORK):
    return ErrorBars(source, measurements, work).of(Query.parse(text, SCHEMA), answer)


def rows(miss=None):
    return SyntheticRows(ROWS, SCHEMA, miss)


def tables(*measurements):
    return NoisyTables.of(measurements, SCHEMA)


def noise(sigma, cells):
    """The bar of a sum of noisy cells."""
    return pytest.approx(WITHIN * sigma / N * math.sqrt(cells))


def fitted_noise(sigma, cells, whole=math.inf):
    """The bar of what D' says of it: as far from the measurement as that is from the truth."""
    return pytest.approx(WITHIN * sigma / N * math.sqrt(2 * cells * (1 - cells / whole)))


def test_an_answer_is_a_number():
    answer = Answer(0.25, 0.125)
    assert isinstance(answer, float)
    assert answer == 0.25
    assert (answer + 1, f"{answer:.3f}", str(answer), repr(answer)) == (
        1.25,
        "0.250",
        "0.25",
        "0.25",
    )
    assert json.dumps([answer]) == "[0.25]"
    assert Answer(0.25).error_bar is None
    for same in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
        assert (same, same.error_bar) == (0.25, 0.125)


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
    assert spread(sizes, met, r) == cells
    assert spread(sizes, met, r, adds_to_one=True) == pytest.approx(cells * (1 - cells / whole))


def test_noise_that_moves_all_cells_alike_does_not_count_where_the_sum_is_known():
    """Taking the mean off the noise of a 3 x 4 table leaves this variance in the sum of a row."""
    row = np.repeat([1.0, 0.0, 0.0], 4)
    centred = np.eye(12) - 1 / 12
    assert spread((3, 4), (1, 4), 2, adds_to_one=True) == pytest.approx(row @ centred @ row)


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
    assert bar(text, tables(measured), measured) == noise(5.0, cells)


def test_noisy_tables_know_which_table_answers():
    own, marginal = table("ab", 5.0, r=1), table("ab", 7.0)
    source = tables(own, marginal)
    assert bar("any of: a=a0, b=b1", source, own, marginal) == noise(5.0, 1)
    assert bar("a=a0, b=b1", source, own, marginal) == noise(7.0, 1)
    # Of a table that was measured twice, the last one answers, and only its noise counts.
    twice = table("ab", 3.0), table("ab", 9.0)
    assert bar("a=a0, b=b1", tables(*twice), *twice) == noise(9.0, 1)


def test_rows_take_the_best_table_that_covers_a_query():
    measured = table("ab", 5.0), table("abc", 4.0), table("c", 1.0)
    assert bar("a=a0, b=b0", rows(), *measured) == fitted_noise(5.0, 1, 6)
    assert bar("b=b0", rows(), *measured) == fitted_noise(5.0, 2, 6)
    assert bar("c=c0", rows(), *measured) == fitted_noise(1.0, 1, 4)
    assert bar("a=a0, c=c0", rows(), *measured) == fitted_noise(4.0, 3, 24)
    assert bar("2 of: a=a0, b=b0, c=c0", rows(), *measured) == fitted_noise(4.0, 1 + 1 + 2 + 3, 24)
    assert bar("a!=a0, b=b0", rows(), *measured) == fitted_noise(5.0, 1, 6)


def test_measurements_of_the_same_are_pooled():
    pooled = 1 / math.sqrt(1 / 3.0**2 + 1 / 4.0**2)
    measured = table("ab", 3.0), table("ba", 4.0)
    assert bar("a=a0, b=b0", rows(), *measured) == fitted_noise(pooled, 1, 6)
    asked = single("a=a0, b=b0", 3.0), single("b=b0, a=a0", 4.0)
    assert bar("a=a0, b=b0", rows(), *asked) == fitted_noise(pooled, 1)


def test_the_very_query_that_was_measured():
    measured = single("2 of: a=a0, b=b0, c=c0", 3.0)
    assert bar("2 of: c=c0, b=b0, a=a0", rows(), measured) == fitted_noise(3.0, 1)
    assert bar("2 of: a=a0, b=b0, c=c1", rows(), measured) is None
    assert bar("1 of: a=a0, b=b0, c=c0", rows(), measured) is None
    assert bar("a=a0, b=b0", rows(), measured) is None
    work = Workload(SCHEMA, [Threshold(tuple("cab"), r=2)])
    asked = "2 of: c=c0, b=b0, a=a0"
    assert bar(asked, rows(0.001), measured, work=work) == pytest.approx(0.001)
    assert bar(asked, rows(0.4), measured, work=work) == fitted_noise(3.0, 1)


def test_tables_of_r_below_k_are_of_queries():
    measured = table("ab", 5.0, r=1)
    assert bar("any of: a=a0, b=b1", rows(), measured) == fitted_noise(5.0, 1)
    assert bar("a=a0, b=b1", rows(), measured) is None


def test_r_of_k_adds_up_marginals_where_that_says_more():
    measured = table("b", 1.0), table("c", 2.0), table("bc", 10.0)
    # By inclusion and exclusion: a cell of b, one of c, and less the one of both.
    of_cells = [1.0 * (1 - 1 / 3), 4.0 * (1 - 1 / 4), 100.0 * (1 - 1 / 12)]
    expected = pytest.approx(WITHIN / N * math.sqrt(2 * sum(of_cells)))
    assert bar("any of: b=b0, c=c0", rows(), *measured) == expected
    # Without the table of both there is nothing to go by; with a precise one, its cells say more.
    assert bar("any of: b=b0, c=c0", rows(), *measured[:2]) is None
    precise = bar("any of: b=b0, c=c0", rows(), table("b", 50.0), table("bc", 1.0))
    assert precise == fitted_noise(1.0, 3 + 4 - 1, whole=12)


def test_marginals_that_r_of_k_adds_up_were_looked_for_too():
    work = Workload(SCHEMA, [Threshold(tuple("abc"), r=1)])
    ways = table("a", 1.0), table("b", 1.0), table("c", 1.0)
    found = bar("any of: a=a0, b=b0, c=c0", rows(miss=0.01), *ways, work=work)
    variance = sum(2 * (1 - 1 / size) for size in (2, 3, 4)) / N**2 + 4 * (0.01 / WITHIN) ** 2
    assert found == pytest.approx(WITHIN * math.sqrt(variance))


def test_queries_of_the_workload_are_bounded_by_what_rows_missed():
    assert bar("a=a0, b=b0", rows(0.01)) == pytest.approx(0.01)
    assert bar("any of: a=a0, c=c0", rows(0.01)) == pytest.approx(0.01)
    assert bar("a=a0, b=b0", rows()) is None
    # Nothing says how well D' answers what it was never compared on.
    assert bar("a=a0, c=c0", rows(0.01)) is None
    assert bar("b=b0, c=c0", rows(0.01)) is None
    assert bar("c=c0", rows(0.01)) is None


def test_sums_of_the_workloads_queries_add_up_what_rows_missed():
    one = 1 * (1 - 1 / 6)
    assert bar("a=a0, b in {b0,b1}", rows(0.01)) == pytest.approx(
        0.01 * math.sqrt(2 * (1 - 2 / 6) / one)
    )
    assert bar("any of: a!=a0, b!=b0", rows(0.01)) == pytest.approx(0.01)
    assert bar("b=b0", rows(0.01)) == pytest.approx(0.01 * math.sqrt(2 * (1 - 2 / 6) / one))
    assert bar("b!=b0", rows(0.01)) == bar("b=b0", rows(0.01))


def test_where_tables_were_measured_rows_missed_their_cells():
    work = Workload(SCHEMA, [Threshold(tuple("ac"), r=1)])
    measured = table("b", 5.0)
    assert bar("a=a0, c=c0", rows(0.01), measured, work=work) == pytest.approx(0.01)
    assert bar("a=a0, c=c0", rows(0.01), work=work) is None
    # a=a0 or c=c0 is 5 of the 8 cells.
    assert bar("any of: a=a0, c=c0", rows(0.01), measured, work=work) == pytest.approx(
        0.01 * math.sqrt(5 * (1 - 5 / 8) / (1 - 1 / 8))
    )


@pytest.mark.parametrize("miss", [None, 0.1])
def test_what_holds_for_all_or_none_is_certain(miss):
    assert bar("c in {c0,c1,c2,c3}", rows(miss)) == 0.0
    assert ErrorBars(rows(miss), [], WORK).of(Query([th.Condition("a", ())]), 0.0) == 0.0


def test_a_bar_reaches_no_further_than_0_and_1():
    for answer in (0.0, 0.2, 0.5, 0.7, 1.0):
        assert bar("a=a0", rows(5.0), answer=answer) == max(answer, 1 - answer)


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
    found = bar(", ".join(f"{name}={name}0" for name in asked), rows(), *measured)
    if variances:
        expected = WITHIN * math.sqrt(2 * min(variances) * (1 - 1 / cells))
        assert found == pytest.approx(min(expected, 0.5))
    else:
        assert found is None


def test_all_0_knows_nothing():
    assert bar("a=a0", Zeros()) is None


def release_of(source, *measurements):
    return Release.now(
        schema=SCHEMA, n=N, workload=WORK, mechanism="rap",
        settings={}, budget=Budget.from_rho("1/10"), spent=Fraction(1, 10),
        measurements=measurements, source=source, is_secure=False,
    )  # fmt: skip


def test_a_release_answers_with_bars():
    release = release_of(rows(0.01), table("ab", 5.0), single("a=a0, b=b1", 5.0))
    texts = ["a=a0, b=b0", "c=c0", "any of: a=a1, c=c2"]
    answers = list(release.answer_many(texts))
    assert [a.error_bar for a in answers] == [
        bar(text, release.source, *release.measurements, answer=float(answer))
        for text, answer in zip(texts, answers, strict=True)
    ]
    assert answers == list(release.source.queries(Query.parse(text, SCHEMA) for text in texts))
    assert release.answer("c=c0").error_bar is None
    assert answers[2].error_bar == pytest.approx(0.01)


def test_a_long_stream_keeps_answers_and_bars_together():
    release = release_of(rows(0.01), table("ab", 5.0))
    asked = [Query.parse(text, SCHEMA) for text in ("a=a0, b=b0", "c=c0", "c!=c0")]
    stream = release.answer_many(itertools.islice(itertools.cycle(asked), 40_000))
    first = [(a, a.error_bar) for a in itertools.islice(stream, 3)]
    assert [(a, a.error_bar) for a in stream] == [first[i % 3] for i in range(3, 40_000)]


@pytest.mark.parametrize("miss", [None, 0.0, 0.0123])
def test_a_saved_release_knows_its_bars(miss, tmp_path):
    release = release_of(rows(miss), table("ab", 5.0))
    release.save(tmp_path / "release")
    again = th.load(tmp_path / "release")
    assert again.source.prediction_error == miss
    for text in ("a=a0, b=b0", "any of: a=a0, c=c0"):
        assert again.answer(text).error_bar == release.answer(text).error_bar


def test_what_was_missed_less_its_noise():
    asked = [single("a=a0", 5.0)] * 40  # 0.3 each
    assert prediction_error_of([(m, 0.2) for m in asked], 0.1) == pytest.approx(
        WITHIN * math.sqrt(0.1**2 - 0.005**2)
    )
    assert prediction_error_of([], 0.9) is None


def test_cells_of_a_table_count_by_people():
    noisy = np.array([[110, 90, 0], [0, 0, 0]])
    measured = TableMeasurement(Threshold(("a", "b")), noisy, 1.0, N)
    says = np.array([[0.3, 0.1, 0.0], [0.0, 0.0, 0.0]])
    expected = 0.75 * (0.11 - 0.3) ** 2 + 0.25 * (0.09 - 0.1) ** 2 - 0.001**2
    assert prediction_error_of([(measured, says)], 0.0) == pytest.approx(
        WITHIN * math.sqrt(expected)
    )
    # A table counts as much as a query.
    both = prediction_error_of([(measured, says), (single("a=a0", 1.0), 0.3)], 0.0)
    assert both == pytest.approx(WITHIN * math.sqrt((expected - 0.001**2) / 2))


def test_a_miss_is_no_smaller_than_what_noise_hides_or_the_choice_overlooks():
    asked = [(single("a=a0", 5.0), 0.3)] * 8
    hidden = WITHIN * 0.005 * math.sqrt(1.645 * math.sqrt(2 / 8))
    assert prediction_error_of(asked, 0.0) == pytest.approx(hidden)
    assert prediction_error_of(asked, 0.9) == 0.9
    assert prediction_error_of([(single("a=a0", 5.0), 0.2)] * 8, 0.9) == 0.9


def test_what_a_choice_overlooks():
    """At that miss, one candidate weighs exp(η·score) = as much as all of them without any."""
    rho = Fraction(1, 50)
    score = detectable_error(1000, rho, n=N) * N
    assert math.exp(math.sqrt(2 * rho) * score) == pytest.approx(1000)


@pytest.fixture(scope="module")
def fitted():
    data = th.datasets.adult()
    work = Workload(data.schema, [Threshold(("sex", "race")), Threshold(("income", "sex"))])
    rap = RAP(rho=1, rounds=3, queries_per_round=2, synthetic_rows=20)
    return rap.fit(data, work, randomness=InsecureSeededRandomness(0))


def test_rap_knows_what_it_missed(fitted):
    assert 0.0 < fitted.source.prediction_error < 1.0
    asked = fitted.measurements[-1]
    own = WITHIN * math.sqrt(2) * asked.sigma / asked.n
    bar = fitted.answer(asked.query).error_bar
    assert bar == pytest.approx(min(own, fitted.source.prediction_error))
    assert bar < fitted.answer("sex=Female").error_bar < 1
    assert fitted.answer("relationship=Wife").error_bar is None


def test_non_adaptive_rap_never_foresaw_anything():
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
