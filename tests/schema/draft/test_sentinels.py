"""Codes for missing values are told by being on a list and far from everything else."""

import math

import pytest

from thresher.schema.draft.sentinels import DAYS, NUMBERS, TEN_YEARS, Range, without_codes


@pytest.mark.parametrize(
    ("low", "high", "suspects", "codes"),
    [
        (17, 90, [999], (999,)),
        (0, 10, [99, 98, 97], (97, 98, 99)),
        (1, 98, [99], ()),
        (98, 98, [99], ()),
        (0, 5, [-1, -9], (-9, -1)),
        (-3, 5, [-1, -9], ()),
        (-3, 5, [-99], (-99,)),
        (0, 41_310, [99_999], (99_999,)),
        (0, 80_000, [99_999], ()),
        (1, 500, [999], ()),
        (17, 90, [99, 999], (999,)),
    ],
)
def test_far_from_the_rest(low, high, suspects, codes):
    found = without_codes(low, high, dict.fromkeys(suspects, 1))
    assert found.codes == codes
    inside = [low, high, *set(suspects) - set(codes)]
    assert (found.low, found.high) == (min(inside), max(inside))
    assert set(suspects) <= set(NUMBERS)


def test_nothing_but_suspects():
    assert without_codes(math.inf, -math.inf, {99: 3, -1: 1}) == Range(-1, 99)


def test_days():
    first, epoch, last = DAYS[0], 0, DAYS[-1]
    assert without_codes(17_000, 18_000, {last: 1, epoch: 1}, TEN_YEARS).codes == (epoch, last)
    assert without_codes(100, 9000, {epoch: 1}, TEN_YEARS).codes == ()
    assert without_codes(100, 9000, {first: 1}, TEN_YEARS).codes == (first,)
