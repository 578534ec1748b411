"""Whole fits for workloads over views, from records without any, to a folder and back."""

import numpy as np
import pytest

import thresher as th
from thresher.mechanisms.residual.mechanism import Residual
from thresher.schema import Categorical, IntegerRange

AGE = IntegerRange(name="age", low=0, high=39, nulls=0)
SEX = Categorical(name="sex", categories=("F", "M"), outside="F", nulls="F")
PAY = IntegerRange(name="pay", low=0, high=19, nulls=0)
COLUMNS = th.Schema([AGE, SEX, PAY])
SCHEMA = COLUMNS.with_views([th.View.at_cuts(AGE, "old", [30]), th.View.at_cuts(PAY, "poor", [5])])
WORK = th.Workload(SCHEMA, [th.Threshold(("old", "poor", "sex"))])
MIXED = th.Workload(SCHEMA, [th.Threshold(("old", "poor", "sex"), 2), th.Threshold(("age", "sex"))])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 40, 3000)
    sex = rng.random(3000) < 0.3 + age / 100
    pay = np.minimum(19, age // 3 + rng.integers(0, 8, 3000))
    return th.Records(COLUMNS, [column.astype(np.uint8) for column in (age, sex, pay)])


@pytest.mark.parametrize(
    ("mechanism", "work"),
    [
        (th.RAP(epsilon=10, rounds=2, queries_per_round=4, synthetic_rows=100), WORK),
        (th.AdaptiveTables(epsilon=10, synthetic_rows=100), MIXED),
        (th.GaussianJoint(epsilon=10), WORK),
        (Residual(epsilon=10), WORK),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_fit_answers_views_and_the_ranges_they_stand_for(data, mechanism, work, tmp_path):
    release = mechanism.fit(data, work)
    assert th.present_error(release, data, WORK) < 0.02
    release.save(tmp_path / "r")
    loaded = th.load(tmp_path / "r")
    assert loaded.schema == SCHEMA
    for query in ("2 of: old=30.., poor=..4, sex=F", "2 of: age=30.., pay=..4, sex=F"):
        answer = loaded.answer(query)
        assert answer == pytest.approx(th.exact_answer(th.Records(SCHEMA, data.columns), query),
                                       abs=0.02)  # fmt: skip
        assert answer == release.answer("2 of: old=30.., poor=..4, sex=F")
        assert answer.error_bar == release.answer("2 of: old=30.., poor=..4, sex=F").error_bar
        assert mechanism.name == "rap" or answer.error_bar < 0.1
    if release.source.rows is not None:
        assert list(loaded.sample(5, seed=0).columns) == ["age", "sex", "pay"]


@pytest.mark.parametrize("mechanism", [th.RAP, th.AdaptiveTables, th.Auto])
def test_views_of_public_records_start_a_fit(data, mechanism):
    public = th.Records(COLUMNS, [column[:300] for column in data.columns])
    release = mechanism(epsilon=10, synthetic_rows=100, rounds=2, public=public).fit(data, MIXED)
    assert th.present_error(release, data, WORK) < 0.1


def test_a_range_that_is_no_group_is_answered_by_the_feature_itself(data):
    release = th.AdaptiveTables(epsilon=10, synthetic_rows=100).fit(data, MIXED)
    asked = release.answer("age=29..")
    truth = th.exact_answer(data, "age=29..")
    assert abs(asked - truth) <= 3 * asked.error_bar
    with pytest.raises(th.QueryError, match="all about the feature 'age'"):
        release.answer("age=3, old=30..")


def test_a_curator_must_know_the_views_of_a_workload(data):
    budget = th.Budget.from_rho(1)
    with pytest.raises(th.ParameterError, match="make it with views"):
        th.GaussianJoint().fit(th.Curator(data, budget), WORK)
    release = th.GaussianJoint().fit(th.Curator(data, budget, views=SCHEMA.views), WORK)
    assert release.answer("old=30.., poor=..4, sex=F").error_bar is not None
