"""The answers of `residual`: unbiased, with the variances that are claimed."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.errors import QueryError, ResourceError
from thresher.mechanisms import Residual
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Unit
from thresher.queries import Condition, Query, Threshold, Workload
from thresher.release.folder import load
from thresher.release.sources import ResidualTables
from thresher.release.uncertainty import NORMAL_95
from thresher.schema import IntegerRange, Schema
from thresher.tables.contrasts import contrasts_of, squared_norms

SCHEMA = Schema(
    IntegerRange(name=name, low=1, high=size, nulls=1)
    for name, size in (("a", 2), ("b", 3), ("c", 4), ("d", 5))
)
WORK = Workload(
    SCHEMA,
    [Threshold(("c", "a", "b")), Threshold(("b", "d")), Threshold(("a", "d"), r=1)],
)
N = 5000
RHO = Fraction(1, 2)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(7)
    return Records(SCHEMA, [rng.integers(0, size, N).astype(np.uint8) for size in SCHEMA.sizes])


def fit(records, seed=0, **more):
    return Residual(rho=RHO).fit(
        records, WORK, randomness=InsecureSeededRandomness(seed), progress=False, **more
    )


def query(r, **allowed):
    return Query([Condition(name, codes) for name, codes in allowed.items()], r)


QUERIES = [
    query(3, a=[0], b=[1], c=[3]),
    query(3, a=[0, 1], b=[1, 2], c=[0, 3]),
    query(1, a=[1], d=[0]),
    query(2, c=[1, 2], a=[0], b=[2]),
    query(2, b=[0], d=[1, 2, 3]),
    query(1, b=[2]),  # of a margin of measured tables
    query(2, b=[2], c=[2]),
]


def exact(records, asked):
    meets = sum(np.isin(records.codes(c.feature), c.codes).astype(int) for c in asked.conditions)
    return (meets >= asked.r).mean()


def test_answers_are_unbiased_and_vary_as_their_margins_say(records):
    """By 1500 draws of noise. A correct mean or variance is refused with probability 1e-8 each.

    That the wall's noise is what it says is tested in tests/audit/test_residuals.py.
    """
    fits, least, rng = 1500, stats.norm.isf(1e-8 / 2), np.random.default_rng(3)
    release = fit(records)
    margins = [release.answer(asked).error_bar for asked in QUERIES]
    known = [
        (m, contrasts_of(exact_answers(records, m.threshold)), squared_norms(shape) ** 0.5)
        for m in release.measurements
        for shape in [m.threshold.shape(SCHEMA)]
    ]

    def noisy():
        return [
            replace(m, contrasts=np.rint(true + m.sigma * norms * rng.standard_normal(true.shape)))
            for m, true, norms in known
        ]

    draws = (ResidualTables.of(noisy(), SCHEMA) for _ in range(fits))
    found = np.array([list(source.queries(QUERIES)) for source in draws])
    truth = np.array([exact(records, asked) for asked in QUERIES])
    sigmas = np.array(margins) / NORMAL_95
    assert (np.abs(found.mean(axis=0) - truth) < least * sigmas / math.sqrt(fits)).all()
    ratios = found.var(axis=0) / sigmas**2
    assert (np.abs(ratios - 1) < least * math.sqrt(2 / fits)).all()
    # A margin that is a tenth too small would be found.
    assert least * math.sqrt(2 / fits) < 1 / 0.9**2 - 1


def test_tables_agree_with_each_other(records):
    release = fit(records)
    asked = [Threshold(("c", "a", "b")), Threshold(("b", "d")), Threshold(("b",))]
    over_cab, over_bd, over_b = (table for _, table in release.answer_all(Workload(SCHEMA, asked)))
    assert over_cab.sum(axis=(0, 1)) == pytest.approx(over_b)
    assert over_bd.sum(axis=1) == pytest.approx(over_b)
    assert over_b.sum() == pytest.approx(1)


def test_another_thread_may_keep_a_table_meanwhile(records):
    source = fit(records).source
    alone = source.counts(Threshold(("a",))).counts

    class Meanwhile:
        @property
        def size(self):
            source._kept[("b",)] = alone
            return 1

    source._kept.clear()
    source._kept[("c",)] = Meanwhile()
    np.testing.assert_array_equal(source.counts(Threshold(("a",))).counts, alone)


def test_a_table_that_was_not_measured_has_no_answer(records):
    release = fit(records)
    with pytest.raises(QueryError, match="residuals of its workload's tables only"):
        release.answer(query(2, c=[0], d=[0]))
    assert release.source.answerable(("c", "d")) is None
    assert release.source.answerable(("b", "c")) == ("b", "c")


def test_thresholds_of_very_many_features_are_refused_before_anything_is_paid():
    schema = Schema(IntegerRange(name=f"f{i}", low=0, high=1, nulls=0) for i in range(23))
    with pytest.raises(ResourceError, match="too many residuals"):
        Residual().resolve(N, RHO, Workload(schema, [Threshold(schema.names)]))
    zeros = Records(schema, [np.zeros(3, np.uint8)] * 23)
    curator = Curator(zeros, Budget.from_rho(1))
    with pytest.raises(ResourceError, match="too many residuals, or of too many features"):
        curator.measure_residuals([Threshold(schema.names)], [1], rho=1)
    assert curator.spent == 0


@pytest.mark.parametrize("unit", [None, Unit("add-remove")], ids=str)
def test_a_folder_keeps_everything(records, unit, tmp_path):
    release = fit(records, unit=unit)
    release.save(tmp_path / "r")
    again = load(tmp_path / "r")
    assert [again.answer(asked) for asked in QUERIES] == [release.answer(q) for q in QUERIES]
    assert [m.sigma for m in again.measurements] == [m.sigma for m in release.measurements]
    for asked in QUERIES:
        margin = release.answer(asked).error_bar
        assert margin == again.answer(asked).error_bar
        assert abs(release.answer(asked) - exact(records, asked)) < 4 * margin
