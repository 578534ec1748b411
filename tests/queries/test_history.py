"""Past queries as a workload: from a log, and augmented."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from thresher.data.datasets import adult_schema
from thresher.errors import ParameterError, QueryError
from thresher.queries import Threshold, Workload
from thresher.queries.history import History, augment, small_history
from thresher.schema import Schema

ADULT = adult_schema()
LOG = """
# spring
any of: sex=Female, race=Black
all of: age=20..29, sex=Male
1 of: race!=White, sex=Male

sex=Male, age=65..
any of: race=White, sex=Male
income=>50K
"""


def test_a_log_becomes_thresholds_by_frequency():
    past = History.from_log(LOG.splitlines(), ADULT)
    assert past.workload.thresholds == (
        Threshold(("sex", "race"), 1),
        Threshold(("age", "sex"), 2),
        Threshold(("income",), 1),
    )
    assert past.times == (3, 2, 1)
    assert past.asked == 6
    often = past.asked_at_least(2)
    assert often.workload == past.workload[:2]
    assert often.times == (3, 2)
    with pytest.raises(ParameterError, match="4 times or more"):
        past.asked_at_least(4)


def test_a_log_that_cannot_be_read_says_where():
    with pytest.raises(QueryError, match=r"line 2: .*'shoe'"):
        History.from_log(["sex=Male", "shoe=44"], ADULT)
    with pytest.raises(QueryError, match="holds no query"):
        History.from_log(["# nothing", ""], ADULT)


def test_the_warning_stops_where_there_is_a_threshold_per_feature():
    for size in (1, 13, 14, 64):
        said = small_history(Workload.random(ADULT, 3, 1, size=size, seed=0))
        assert (said is not None) == (size < 14)
    assert "1 thresholds are a small history for 14 features" in small_history(
        Workload(ADULT, [Threshold(("age",))])
    )


@settings(deadline=None)
@given(
    kinds=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=3
    ),
    add=st.integers(1, 60),
    seed=st.integers(0, 100),
)
def test_augmenting_keeps_the_workload_and_its_mix(kinds, add, seed):
    past = Workload.random(ADULT, 2, 1, size=3, seed=seed)
    for k, r, size in kinds:
        past = past | Workload.random(ADULT, k, min(k, r), size=size, seed=seed)
    more = augment(past, seed=seed, add=add)
    assert more[: len(past)] == past
    assert len(more) == len(past) + add
    assert augment(past, seed=seed, add=add) == more
    mix = Counter((t.k, t.r) for t in past)
    added = Counter((t.k, t.r) for t in more[len(past) :]) if add else Counter()
    assert set(added) <= set(mix)
    full = {kind for kind in mix if mix[kind] + added[kind] == math.comb(14, kind[0])}
    if not full:
        for kind, size in mix.items():
            assert abs(added[kind] - add * size / len(past)) < len(mix)


def test_by_default_it_adds_what_is_missing():
    for size, result in ((4, 14), (20, 20)):
        past = Workload.random(ADULT, 3, 1, size=size, seed=0)
        assert len(augment(past, seed=0)) == result
        assert small_history(augment(past, seed=0)) is None
    # There are no more than three thresholds of two out of three features.
    narrow = Schema(ADULT.features[:3])
    past = Workload(narrow, [Threshold(narrow.names[:2])])
    assert augment(past, seed=0) == Workload(narrow, augment(past, seed=0, add=2))
    with pytest.raises(ParameterError, match="only 2 more thresholds"):
        augment(past, seed=0, add=3)
    with pytest.raises(ParameterError, match="add must be at least 1"):
        augment(past, seed=0, add=0)


def test_what_is_added_is_uniform():
    past = Workload(ADULT, [Threshold(("age", "sex"))])
    seen = Counter(augment(past, seed=seed, add=1)[1] for seed in range(4500))
    others = [t for t in Workload.all(ADULT, 2) if t != past[0]]
    assert set(seen) <= set(others)
    # 90 pairs, 50 each.
    assert stats.chisquare([seen[t] for t in others]).pvalue > 1e-7
