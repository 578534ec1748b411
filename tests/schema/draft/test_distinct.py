"""Different values are counted exactly while they are few, and estimated beyond."""

import numpy as np
import pyarrow as pa
import pytest

from thresher.schema.draft import distinct
from thresher.schema.draft.distinct import DistinctValues


def counted(batches):
    values = DistinctValues()
    for batch in batches:
        found, times = np.unique(batch, return_counts=True)
        values.add(pa.array(found.tolist()), times)
    return values


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_few_values_are_counted_exactly(kind):
    numbers = np.arange(5000) % 700
    cells = numbers if kind == "numbers" else np.array([f"v{n}" for n in numbers])
    values = counted(np.array_split(cells, 7))
    assert (values.number, values.most_cells) == (700, 8)


def test_many_values_are_estimated_whatever_the_order(monkeypatch):
    """A fixed sample of fixed values: no chance is involved. The estimate is within 20 %."""
    monkeypatch.setattr(distinct, "MOST_KEPT", 1000)
    cells = np.repeat(np.arange(50_000), 3)
    shuffled = np.random.default_rng(0).permutation(cells)
    values = counted(np.array_split(cells, 11))
    assert abs(values.number - 50_000) < 10_000
    assert values.most_cells == 3
    for other in (counted([cells]), counted(np.array_split(shuffled, 5))):
        assert other.number == values.number
