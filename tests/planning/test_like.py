"""What is publicly known about people: shares of values, or an earlier release."""

import json

import numpy as np
import pytest

import thresher as th
from thresher.errors import ParameterError, QueryError, ThresherError
from thresher.planning.like import read_like, shares_of
from thresher.planning.stand_in import stand_in
from thresher.schema import IntegerRange, Schema
from thresher.schema.features import Categorical

SEX = Categorical(name="sex", categories=("F", "M", "X"), outside="X", nulls="X")
AGE = IntegerRange(name="age", low=0, high=3, nulls=0)
SCHEMA = Schema([SEX, AGE])


def test_made_up_people_have_the_known_shares():
    shares = shares_of({"sex": {"F": 0.7, "M": 0.3}, "age": {"0": 1, "3": 3}}, SCHEMA)
    for seed in range(3):
        people = stand_in(SCHEMA, 1000, seed, shares)
        assert np.bincount(people.codes("sex"), minlength=3).tolist() == [700, 300, 0]
        assert np.bincount(people.codes("age"), minlength=4).tolist() == [250, 0, 0, 750]


def test_without_shares_people_are_as_before():
    first, second = (stand_in(SCHEMA, 500, 1, shares) for shares in (None, {}))
    other = stand_in(SCHEMA, 500, 1, {"sex": np.array([1.0, 2.0])})  # of another feature
    for name in SCHEMA.names:
        assert np.array_equal(first.codes(name), second.codes(name))
        assert np.array_equal(first.codes(name), other.codes(name))


def test_an_earlier_release_tells_shares(tmp_path):
    data = stand_in(SCHEMA, 2000, seed=4)
    work = th.Workload(SCHEMA, [th.Threshold(("sex", "age"))])
    release = th.Auto(rho=100, synthetic_rows=50).fit(data, work)
    release.save(tmp_path / "earlier")
    shares = shares_of(read_like(tmp_path / "earlier"), SCHEMA)
    true = np.bincount(data.codes("sex"), minlength=3) / 2000
    assert np.abs(shares["sex"] - true).max() < 0.01
    other = Schema([Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"), AGE])
    assert set(shares_of(release, other)) == {"age"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "a release, or shares by feature"),
        ({"sex": 1}, "a number for each label"),
        ({"sex": {"Q": 1}}, "no value 'Q'"),
        ({"sex": {"F": -1}}, "must be 0 or more"),
        ({"sex": {"F": 0}}, "add up to 0"),
        ({"height": {"F": 1}}, "height"),
    ],
)
def test_wrong_shares_are_refused(given, message):
    with pytest.raises(ThresherError, match=message):
        shares_of(given, SCHEMA)


def test_a_plan_says_that_it_was_told(tmp_path):
    (tmp_path / "shares.json").write_text(json.dumps({"sex": {"F": 0.7, "M": 0.3}}))
    work = th.Workload(SCHEMA, [th.Threshold(("sex", "age"))])
    options = {"n": 500, "workload": work, "epsilon": 1, "mechanism": th.GaussianJoint()}
    told = th.plan(SCHEMA, like=read_like(tmp_path / "shares.json"), **options)
    plain = th.plan(SCHEMA, **options)
    assert "taken for public" in told.assumption
    assert told.as_json()["assumption"] == told.assumption
    assert "surer if it is told" in plain.assumption
    with pytest.raises((ParameterError, QueryError)):
        th.plan(SCHEMA, like={"sex": {}}, **options)
