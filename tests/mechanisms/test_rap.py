"""RAP: Algorithms 1 to 4, and the faults of the authors' program that must not come back."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from thresher.data.exact import exact_answers, exact_count
from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.evaluation import present_error
from thresher.mechanisms import RAP, All0
from thresher.mechanisms.rap import rounds_and_queries
from thresher.privacy.budget import Budget
from thresher.privacy.curator import Curator
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Query, Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.prediction_error import detectable_error
from thresher.schema import IntegerRange, Schema

ALMOST_NO_NOISE = 10**8
"""A ρ at which a count is off by one with probability below 1e-9: see the tests of noise."""


def fit(rap, records, workload, seed=1):
    return rap.fit(records, workload, randomness=InsecureSeededRandomness(seed))


@pytest.mark.parametrize("selection", ["oneshot", "iterative"])
def test_every_round_measures_the_queries_that_it_selected(selection, records, workload):
    rap = RAP(
        rho=ALMOST_NO_NOISE, rounds=6, queries_per_round=5, synthetic_rows=30, selection=selection
    )
    release = fit(rap, records, workload)
    measured = [m.query for m in release.measurements]
    assert len(measured) == len(set(measured)) == 30
    for measurement in release.measurements:
        assert isinstance(measurement.query, Query)
        assert measurement.count == exact_count(records, measurement.query)
        workload.id_of(measurement.query)  # it is a query of the workload


@pytest.mark.parametrize("selection", ["oneshot", "iterative"])
def test_the_first_round_selects_the_worst_queries(selection, records, workload):
    rap = RAP(
        rho=ALMOST_NO_NOISE, rounds=2, queries_per_round=3, synthetic_rows=30, selection=selection
    )
    chosen = [m.query for m in fit(rap, records, workload).measurements[:3]]
    start = RelaxedRows.uniform(workload.schema.sizes, 30, np.random.default_rng(0))
    errors = []
    for threshold in workload:
        features = [workload.schema.index(name) for name in threshold.features]
        truth = exact_answers(records, threshold)
        for codes in np.ndindex(*truth.shape):
            odds = [start.block(f)[code] for f, code in zip(features, codes, strict=True)]
            errors.append(abs(truth[codes] - np.rint(400 * _at_least(odds, threshold.r))))
    worst = sorted(errors)[-3:]
    assert sorted(errors[workload.id_of(query)] for query in chosen) == worst


def test_queries_that_are_spread_are_of_different_thresholds(records, workload):
    """And all of the budget is spent, though K is larger than the number of thresholds."""
    many = len(workload) + 2
    rap = RAP(rho=1, rounds=3, queries_per_round=many, synthetic_rows=30, selection="spread")
    release = fit(rap, records, workload)
    assert release.spent == 1
    each = len(workload)
    named = [m.query.threshold for m in release.measurements]
    assert len(named) == 3 * each
    for first in range(0, 3 * each, each):
        assert set(named[first : first + each]) == set(workload)
    assert len({m.query for m in release.measurements}) == 3 * each


def _at_least(odds, r):
    """The mean over rows of the chance that at least r of independent events happen."""
    counts = [np.ones_like(odds[0], dtype=float)] + [np.zeros(len(odds[0]))] * len(odds)
    for p in odds:
        counts = [counts[j] * (1 - p) + (counts[j - 1] * p if j else 0) for j in range(len(counts))]
    return float(np.mean(sum(counts[r:])))


def test_without_adaptivity_everything_is_measured_and_nothing_selected(
    records, workload, monkeypatch
):
    def no_selection(*_, **__):
        raise AssertionError("nothing should be selected")

    monkeypatch.setattr(Curator, "select", no_selection)
    rap = RAP(rho=ALMOST_NO_NOISE, rounds=1, queries_per_round=workload.query_count)
    release = fit(dataclasses.replace(rap, synthetic_rows=50), records, workload)
    assert [m.threshold for m in release.measurements] == list(workload)
    for m in release.measurements:
        assert np.array_equal(m.counts, exact_answers(records, m.threshold))
    assert present_error(release, records) < 0.05
    # More queries per round than there are is the same.
    many = RAP(rho=ALMOST_NO_NOISE, rounds=9, queries_per_round=10**6, synthetic_rows=50)
    assert fit(many, records, workload).settings["rounds"] == 1


@pytest.mark.parametrize("optimizer", ["accelerated", "adam", "softmax"])
def test_it_learns(optimizer, records, workload):
    rounds = 10 if optimizer == "accelerated" else 5  # Adam takes many more iterations
    rap = RAP(rho=100, rounds=rounds, queries_per_round=4, synthetic_rows=50, optimizer=optimizer)
    error = present_error(fit(rap, records, workload), records)
    nothing = present_error(All0(rho=100).fit(records, workload), records)
    assert nothing > 0.5
    assert error < (0.1 if optimizer == "accelerated" else 0.4)


def test_the_same_seeds_give_the_same_release(records, workload):
    rap = RAP(rho=1, rounds=3, queries_per_round=2, synthetic_rows=20, seed=5)
    one, same, other = (
        fit(rap, records, workload),
        fit(rap, records, workload),
        fit(dataclasses.replace(rap, seed=6), records, workload),
    )
    assert [m.query for m in one.measurements] == [m.query for m in same.measurements]
    assert [m.count for m in one.measurements] == [m.count for m in same.measurements]
    for (_, a), (_, b) in zip(one.answer_all(), same.answer_all(), strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(one.source.rows.columns, other.source.rows.columns)


def test_the_noise_is_never_the_same_twice(records, workload):
    # At σ = √300, 20 equal counts in a row have a probability below (1/40)^20.
    rap = RAP(rho="1/30", rounds=1, queries_per_round=20, synthetic_rows=5, seed=5)
    one, other = (rap.fit(records, workload) for _ in range(2))
    assert [(m.query, m.count) for m in one.measurements] != [
        (m.query, m.count) for m in other.measurements
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rounds": 0}, "rounds must be a whole number of at least 1, not 0"),
        ({"rounds": 2.5}, "rounds must be a whole number"),
        ({"rounds": True}, "rounds must be a whole number"),
        ({"queries_per_round": -1}, "queries_per_round must be"),
        ({"synthetic_rows": 0}, "synthetic_rows must be"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"seed": "x"}, "seed must be"),
        ({"optimizer": "newton"}, "optimizer must be one of accelerated, sparse, adam, softmax"),
        ({"selection": "both"}, "selection must be 'oneshot', 'iterative' or 'spread', not 'both'"),
    ],
)
def test_wrong_settings(settings, words, records, workload):
    curator = Curator(records, Budget.from_rho(1))
    with pytest.raises(ParameterError, match=words):
        RAP(rho=1, **settings).fit(curator, workload)
    assert curator.spent == 0


@pytest.mark.parametrize(("rounds", "per_round"), [(None, None), (3, None), (None, 5), (2, 7)])
def test_rounds_and_queries_are_settled_by_public_facts(rounds, per_round, schema, workload):
    rap = RAP(rho=1, rounds=rounds, queries_per_round=per_round)
    for n in (1, 400, 10**6):
        for rho in (Fraction(1, 10**9), Fraction(1), Fraction(10**6)):
            settled = rap.resolve(n, rho, workload)
            t, k = settled.rounds, settled.queries_per_round
            assert min(t, k) >= 1
            assert workload.query_count > (t - 1) * k
            assert rounds in (None, t) or t * k >= workload.query_count
            assert per_round in (None, k)
    one = Workload(schema, [Threshold(("sex",))])
    assert RAP(rho=1).resolve(400, Fraction(1), one).queries_per_round <= 2


def test_among_very_many_queries_fewer_are_measured():
    """So that selection still finds errors of the same size."""
    n, rho = 48842, Fraction(1, 50)
    settled = [rounds_and_queries(n, rho, m, None, None) for m in (10**6, 10**7, 10**11, 10**17)]
    assert settled[0] == settled[1] == (52, 4)
    detectable = [
        detectable_error(m, rho / 2 / (t * k), n)
        for m, (t, k) in zip((10**7, 10**11, 10**17), settled[1:], strict=True)
    ]
    assert detectable == pytest.approx([detectable[0]] * 3, rel=0.05)


def test_a_workload_of_any_number_of_queries():
    """3·10^16 queries: selection, the release and its present error never walk a table."""
    wide = Schema(IntegerRange(name=f"f{i}", low=0, high=99, nulls=0) for i in range(10))
    source = np.random.default_rng(0)
    codes = np.minimum(99, source.geometric(0.9, (500, 10)) - 1)
    data = Records(wide, [column.astype(np.uint8) for column in codes.T])
    work = Workload(wide, [Threshold(wide.names[i : i + 8]) for i in range(3)])
    assert work.query_count == 3 * 10**16
    rap = RAP(rho=100, rounds=3, queries_per_round=4, synthetic_rows=50)
    release = rap.fit(data, work, randomness=InsecureSeededRandomness(0))
    assert len(release.measurements) == 12
    first = release.measurements[0].query
    largest = max(int(table.counts.max()) for table in data.counts([t.features for t in work]))
    assert exact_count(data, first) == largest
    assert present_error(release, data) <= present_error(All0(rho=1).fit(data, work), data)
