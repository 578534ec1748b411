"""The spelling of a cell: one for each value, whatever type carries it."""

import datetime as dt
import math
import sys
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.schema.cells import (
    BLANKS,
    UNREADABLE,
    codes_by_spelling,
    instant_spelling,
    number_of,
    spelling,
)
from thresher.schema.coding import numbers_of, spellings_of

NOON = dt.datetime(2020, 3, 1, 12, 30)


def in_zone(hours):
    return NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))


@pytest.mark.parametrize(
    ("said", "cells"),
    [
        (None, [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"),
                np.datetime64("NaT"), np.timedelta64("NaT"), complex(math.nan, 0)]),
        ("true", [True, np.True_, "true"]),
        ("1", [1, 1.0, np.int8(1), np.float16(1), Decimal("1.00"), Fraction(2, 2), 1 + 0j, " 1 "]),
        ("0", [0, -0.0, Decimal("-0")]),
        ("0.1", [0.1, Decimal("0.10"), Fraction(1, 10)]),
        ("9007199254740992", [2**53, 2**53 + 1, float(2**53), Decimal(2**53 + 1)]),
        ("inf", [math.inf, 10**400, Decimal("1e9999"), Fraction(10**400)]),
        ("-inf", [-math.inf, -(10**5000)]),
        ("2020-03-01", [dt.date(2020, 3, 1), dt.datetime(2020, 3, 1), pd.Timestamp("2020-03-01"),
                        np.datetime64("2020-03"), np.datetime64("2020-03-01T00", "ns")]),
        ("2020-03-01T12:30:00", [NOON, pd.Timestamp(NOON), np.datetime64(NOON, "ns"),
                                 np.datetime64("2020-03-01T12:30")]),
        ("2020-03-01T12:30:00Z", [in_zone(0), pd.Timestamp(NOON, tz="UTC"),
                                  in_zone(2).replace(hour=14), in_zone(-3).replace(hour=9)]),
        ("2020-03-01T00:00:00Z", [pd.Timestamp("2020-03-01", tz="UTC")]),
        ("12:30:00", [dt.time(12, 30)]),
        ("12:30:00.5", [dt.time(12, 30, 0, 500_000)]),
        ("PT5400S", [dt.timedelta(minutes=90), pd.Timedelta("90min"), np.timedelta64(90, "m")]),
        ("-PT0.5S", [dt.timedelta(milliseconds=-500), np.timedelta64(-500, "ms")]),
        ("(0, 1]", [pd.Interval(0, 1), pd.Interval(0.0, 1.0)]),
        ("00000000-0000-0000-0000-000000000007", [uuid.UUID(int=7)]),
        (UNREADABLE, [b"x", bytearray(b"x"), [1], (), {}, {1}, object(), 1j, np.array([1]),
                      np.timedelta64(1, "M"), memoryview(b"x")]),
    ],
)  # fmt: skip
def test_spellings(said, cells):
    assert [spelling(cell) for cell in cells] == [said] * len(cells)


def test_a_cell_that_raises_says_nothing():
    class Odd:
        def __str__(self):
            raise RuntimeError("SECRET")

    assert spelling(Odd()) == UNREADABLE


@given(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats()))
def test_a_number_is_read_back_from_its_spelling(number):
    said = spelling(number)
    assert said is None if number != number else number_of(said) == float(number)
    whole = isinstance(number, int)
    kind, long = (pa.int64(), 2**60) if whole else (pa.float64(), 1e300)
    for column in (pa.array([number], kind), pa.array([number, long], kind)):
        assert spellings_of("x", column).to_pylist()[0] == said


@given(st.decimals(allow_nan=False, allow_infinity=False, places=10, max_value=10**20))
def test_decimals_round_correctly(number):
    column = pa.array([number], pa.decimal256(70, 10))
    assert numbers_of("x", column).tolist() == [float(number)]
    assert spellings_of("x", column).to_pylist() == [spelling(number)]


@given(st.text(max_size=6))
def test_text_is_trimmed_alike_by_arrow_and_by_python(text):
    text = text.encode("utf-8", "replace").decode()
    assert spellings_of("x", pa.array([text])).to_pylist() == [spelling(text)]


def test_blanks_are_those_of_python():
    assert set(BLANKS) == {chr(i) for i in range(sys.maxunicode + 1) if chr(i).isspace()}


def test_a_label_stands_for_the_value_that_it_writes():
    labels = ("True", "1.50", "2020-03-01 00:00:00.000000000", "2020-03-01T13:30+01:00", "1.5", "x")
    codes = codes_by_spelling(labels)
    assert codes["true"] == 0
    assert codes["1.5"] == 4  # the text of a label comes before its value
    assert codes["2020-03-01"] == 2
    assert codes["2020-03-01T12:30:00Z"] == 3
    assert set(codes.values()) == set(range(6))


@pytest.mark.parametrize(
    "label", ["2020-13-01 00:00:00", "2020-03-01 25:00:00", "2020-02-30 01:00"]
)
def test_a_label_that_is_no_date_stands_for_itself(label):
    assert codes_by_spelling([label]) == {label: 0}


TICKS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**11), 10**12),
    st.integers(-(10**6), 10**6).map(lambda days: days * 86_400_000_000_000 % 2**62),
)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@given(ticks=st.lists(TICKS, min_size=1, max_size=4))
def test_time_stamps_are_spelled_alike_alone_and_together(unit, zone, ticks):
    column = pa.array(ticks, pa.int64()).view(pa.timestamp(unit, zone))
    alone = [
        instant_spelling(np.datetime64(tick, unit), zoned=zone is not None) for tick in ticks
    ]  # fmt: skip
    assert spellings_of("x", column).to_pylist() == alone
