"""Made-up people: of the right number, the same for the same seed, and dependent."""

import numpy as np
import pytest

from thresher.data.datasets import adult_schema
from thresher.planning import stand_in as module
from thresher.planning.stand_in import stand_in
from thresher.schema import Schema
from thresher.schema.features import IntegerRange


def feature(name, size):
    return IntegerRange(name=name, low=0, high=size - 1, nulls=0)


def test_a_column_does_not_depend_on_the_other_features():
    first = stand_in(Schema([feature("a", 30), feature("b", 7)]), 500, seed=1)
    coarser = stand_in(Schema([feature("a", 3), feature("b", 7)]), 500, seed=1)
    other = stand_in(Schema([feature("a", 30), feature("b", 7)]), 500, seed=2)
    assert np.array_equal(first.codes("b"), coarser.codes("b"))
    assert not np.array_equal(first.codes("b"), other.codes("b"))


def test_a_large_number_of_people_is_a_multiple(monkeypatch):
    monkeypatch.setattr(module, "MOST_DRAWN", 100)
    people = stand_in(adult_schema(), 1050, seed=0)
    assert people.n == 1056  # 96 people, 11 times each
    [table] = people.counts([("sex", "race")])
    assert table.total == people.n
    assert set(table.counts % 11) == {0}


@pytest.mark.parametrize("seed", range(3))
def test_features_depend_on_each_other(seed):
    """The largest gap between a pair and the product of its shares is far above chance."""
    people = stand_in(Schema(feature(name, 4) for name in "abcdef"), 20_000, seed)
    gaps = []
    for i in range(6):
        for j in range(i):
            table = np.zeros((4, 4))
            np.add.at(table, (people.columns[i], people.columns[j]), 1 / people.n)
            gaps.append(np.abs(table - np.outer(table.sum(1), table.sum(0))).max())
    assert max(gaps) > 0.05
