"""Listed answers: numbers that are absent from a list, by their rank."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.tables import slabs_of
from thresher.tables.listing import Listable, Zero, nth_absent


@given(st.sets(st.integers(0, 30)), st.integers(0, 40))
def test_the_absent_numbers_in_order(listed, rank):
    cells = np.array(sorted(listed), dtype=np.int64)
    absent = [number for number in range(80) if number not in listed]
    assert nth_absent(cells, rank) == absent[rank]


def test_absent_numbers_near_the_largest_of_64_bits():
    last = 2**63 - 2
    cells = np.array([0, 5, last - 1], dtype=np.int64)
    assert nth_absent(cells, last - 4) == last - 2
    assert nth_absent(cells, last - 3) == last


def test_zero_answers_are_listed_as_none():
    zero = Zero()
    assert isinstance(zero, Listable)
    [slab] = slabs_of((2, 3))
    assert zero(slab).tolist() == [[0.0] * 3] * 2
    listed = zero.listed(1e-9)
    assert len(listed.cells) == len(listed.answers) == 0
    assert zero.at(np.array([1, 5])).tolist() == [0.0, 0.0]
