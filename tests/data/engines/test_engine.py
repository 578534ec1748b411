"""What a connected table says when its records cannot be counted."""

import numpy as np
import pytest

from thresher.data.engines.engine import ConnectedTable
from thresher.errors import DataError
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable


def test_a_number_that_changed_is_not_told():
    """Where units are added or removed, the number of records is private, and this is not paid."""

    class Shrunk:
        described = "people"

        def counts(self, schema, feature_sets, progress=None):
            return [SparseTable.of_cells((5,), np.zeros(49, dtype=np.int64))]

    data = ConnectedTable(Schema([IntegerRange(name="age", low=0, high=4, nulls=0)]), 50, Shrunk())
    with pytest.raises(DataError, match="another number of records") as caught:
        data.counts([("age",)])
    assert not any(letter.isdigit() for letter in str(caught.value))
