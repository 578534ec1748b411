"""Dates: one day for each way to write it, whole steps, and the same code on every path."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from thresher import DataError, Dates, Query, Schema
from thresher.schema.cells import spelling
from thresher.schema.day_coding import days_of
from thresher.schema.days import STEPS, day_of, first_days, period_of, step_labels

FALSE_ALARM = 1e-7
EPOCH = dt.date(1970, 1, 1)


def dates(step, low="2019-01-01", high="2020-12-31", **changes):
    changes = {"nulls": "unknown", "extra": ("unknown",), **changes}
    return Dates(name="admitted", low=low, high=high, step=step, **changes)


def day(text):
    return (dt.date.fromisoformat(text) - EPOCH).days


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2019-03-01", "2019-03-01"), (" 2019-03-01\n", "2019-03-01"), ("20190301", "2019-03-01"),
        ("2019-03-01T23:59", "2019-03-01"), ("2019-03-01 00:00:00.000000000", "2019-03-01"),
        ("2019-03-01T12:30:00Z", "2019-03-01"), ("2019-03-01 12:30:00 UTC", "2019-03-01"),
        ("2019-03-01T00:30+02:00", "2019-02-28"), ("2019-03-01 00:30:59.5 +0200", "2019-02-28"),
        ("2019-12-31T23:30-01", "2020-01-01"), ("2019-12-31T22:59-01:00", "2019-12-31"),
        ("2020-02-29", "2020-02-29"), ("0001-01-01", "0001-01-01"), ("9999-12-31", "9999-12-31"),
    ],
)  # fmt: skip
def test_a_text_says_a_day(text, said):
    assert period_of(text) == ("day", day(said), day(said))
    assert days_of("x", pa.array([text]), "day").tolist() == [day(said)]


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2019-02-29", "2019-13-01", "2019-00-10", "2019-3-1", "01/03/2019", "2019-03-01T",
     "2019-03-01T24:00", "2019-03-01T12", "2019-03-01T12:60", "2019-03-01T12:00:60", "2019-Q5",
     "2019-03-01Z", "2019-03-01T12:00+24:00", "20190229", "201903", "2019-13", "٢٠١٩-٠٣-٠١", "19",
     "2019-03-01\x00", "2019-03-01 2019-03-01", "12:30:00", "-5", "1e3", "true", "+2019-03-01"],
)  # fmt: skip
def test_a_text_that_says_no_date(text):
    assert period_of(text) is None
    for step in STEPS:
        assert np.isnan(days_of("x", pa.array([text, None]), step)).all()


@pytest.mark.parametrize(
    ("text", "step", "first", "last"),
    [
        ("2020-02", "month", "2020-02-01", "2020-02-29"),
        ("2019-Q4", "quarter", "2019-10-01", "2019-12-31"),
        ("2019Q1", "quarter", "2019-01-01", "2019-03-31"),
        ("2019", "year", "2019-01-01", "2019-12-31"),
        ("9999", "year", "9999-01-01", "9999-12-31"),
    ],
)
def test_a_text_says_a_longer_time(text, step, first, last):
    assert period_of(text) == (step, day(first), day(last))
    for shorter in STEPS:
        known = STEPS.index(shorter) >= STEPS.index(step)
        assert math.isnan(day_of(text, shorter)) != known


ODD_TEXT = st.one_of(
    st.text("0123456789-+:.TZQ ", max_size=24),
    st.from_regex(
        r"-?[0-9]{3,6}-[0-3][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?"
        r" ?(Z|UTC|[+-][0-2][0-9](:?[0-6][0-9])?)?)?",
        fullmatch=True,
    ),
    st.datetimes(timezones=st.none() | st.timezones()).map(str),
)


@given(st.lists(st.none() | ODD_TEXT, min_size=1, max_size=5), st.sampled_from(STEPS))
@example(["2019-03-01T00:30+02:00", "0000-01-01T00:00+01:00", "0000-02-30", None], "day")
@example(["12024-02-29", "-001-02-29", "-3166904-02-24T14:13:20"], "year")
def test_columns_of_text_are_read_as_each_text_is(texts, step):
    column = days_of("x", pa.array(texts, pa.string()), step)
    alone = [math.nan if text is None else day_of(text, step) for text in texts]
    np.testing.assert_array_equal(column, alone)


TICKS = st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**12), 10**12)
KINDS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")]


@pytest.mark.parametrize("kind", [*KINDS, pa.date64(), pa.date32()], ids=str)
@given(ticks=TICKS)
def test_arrow_dates_have_the_codes_of_their_spellings(kind, ticks):
    if pa.types.is_date32(kind):
        ticks %= 2**31
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    column = pa.array([ticks, None], width).view(kind)
    from thresher.schema.coding import spellings_of

    spelled = spellings_of("x", column)
    for step in STEPS:
        feature = dates(step)
        assert feature.encode(column).tolist() == feature.encode(spelled).tolist()


@given(st.dates(), st.dates(), st.sampled_from(STEPS), st.data())
def test_steps_are_whole_and_hold_their_days(first, last, step, data):
    first, last = sorted([(first - EPOCH).days, (last - EPOCH).days])
    last = min(last, first + 2000)
    edges = first_days(first, last, step)
    assert edges[0] <= first
    assert edges[-2] <= last < edges[-1]
    labels = step_labels(edges[:-1], step)
    assert [period_of(label)[1:] for label in labels] == [
        (low, high - 1)
        for low, high in zip(edges.tolist()[:-1], edges.tolist()[1:], strict=True)
    ]  # fmt: skip
    assert all(period_of(label).step == step for label in labels)
    drawn = data.draw(st.integers(first, last))
    label = labels[int(np.searchsorted(edges, drawn, side="right")) - 1]
    assert str(EPOCH + dt.timedelta(days=drawn)).startswith(label[:4])


def test_the_domain_is_made_of_the_steps_that_hold_its_ends():
    quarters = dates("quarter", low="2019-02-14", high="2019-11-01")
    assert quarters.labels == ("2019-Q1", "2019-Q2", "2019-Q3", "2019-Q4", "unknown")
    assert (quarters.low, quarters.high) == ("2019-01-01", "2019-12-31")
    assert quarters == dates("quarter", low="2019-01-01", high="2019-12-31")
    assert quarters == dates("quarter", low=dt.date(2019, 3, 31), high=dt.datetime(2019, 10, 1))
    assert quarters == dates("quarter", low=np.datetime64("2019-01-05"), high="2019-Q4")
    assert dates("year", low="2019", high="2020").labels[:2] == ("2019", "2020")
    assert dates("day", low="2019-12-31", high="2020-01-01").labels[:2] == (
        "2019-12-31", "2020-01-01",
    )  # fmt: skip


def test_far_dates_are_clipped_or_go_where_outside_says():
    far = ["9999-12-31", "1900-01-01", "12345-01-01", "2019-05-05", None, "2020-12-31T23:59:59"]
    assert [dates("month").labels[code] for code in dates("month").encode(pa.array(far))] == [
        "2020-12", "2019-01", "2020-12", "2019-05", "unknown", "2020-12",
    ]  # fmt: skip
    strict = dates("year", nulls=2019, outside="far", extra=("far",))
    assert [strict.labels[code] for code in strict.encode(pa.array(far))] == [
        "far", "far", "far", "2019", "2019", "2020",
    ]  # fmt: skip


def test_every_type_of_date_is_read_alike():
    cells = [dt.date(2019, 3, 1), dt.datetime(2019, 3, 1, 23, 59), pd.Timestamp("2019-03-01 05:00"),
             np.datetime64("2019-03-01T01"), pd.Period("2019-03-01"), "2019-03-01", 20190301.0,
             dt.datetime(2019, 3, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))]  # fmt: skip
    day_by_day = dates("day")
    assert {day_by_day.code_of(cell) for cell in cells} == {day_by_day.labels.index("2019-03-01")}
    assert set(day_by_day.encode(pa.array([spelling(cell) for cell in cells])).tolist()) == {
        day_by_day.code_of("2019-03-01")
    }


@pytest.mark.parametrize("kind", [pa.bool_(), pa.time32("s"), pa.duration("s"), pa.binary()])
def test_a_column_of_another_type_is_refused(kind):
    with pytest.raises(DataError, match=r"'admitted' is of type .* expects dates"):
        dates("day").encode(pa.nulls(2, kind))


def test_samples_are_days_inside_their_step():
    quarters = dates("quarter", high="2019-12-31")
    codes = np.repeat(np.arange(5, dtype=np.uint8), 2000)
    drawn = quarters.decode(codes, np.random.default_rng(0))
    assert drawn.dtype == "datetime64[D]"
    assert np.isnat(drawn[8000:]).all()
    assert np.array_equal(quarters.encode(pa.array(drawn[:8000])), codes[:8000])
    # Fails by chance once in 10^7. Days drawn from 0 to 89 only would leave days without people.
    days, counts = np.unique(drawn[:2000], return_counts=True)
    assert len(days) == 90
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    column = quarters.column(codes, np.random.default_rng(0))
    assert column.dtype.kind == "M"
    assert column.isna().sum() == 2000
    assert column.min() == pd.Timestamp("2019-01-01")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("admitted=2019-11..2020-02", ["2019-11", "2019-12", "2020-01", "2020-02"]),
        ("admitted=2020-Q4..", ["2020-10", "2020-11", "2020-12"]),
        ("admitted=..2019-01-31", ["2019-01"]),
        ("admitted=1990..2019-Q1", ["2019-01", "2019-02", "2019-03"]),
        ("admitted=2020-11-30 .. 2077", ["2020-12"]),
        ("admitted=2019-05-17", ["2019-05"]),
        ("admitted in {2019-05,2020-01..2020-02,unknown}",
         ["2019-05", "2020-01", "2020-02", "unknown"]),
    ],
)  # fmt: skip
def test_ranges_in_the_query_language(text, labels):
    schema = Schema([dates("month")])
    query = Query.parse(text, schema)
    assert [schema["admitted"].labels[code] for code in query.conditions[0].codes] == labels
    assert Query.parse(query.text(schema), schema) == query


def test_a_range_of_dates_is_written_as_one():
    schema = Schema([dates("month")])
    assert Query.parse("admitted=2019..2019", schema).text(schema) == (
        "all of: admitted=2019-01..2019-12"
    )


def test_the_29th_of_february_of_far_years_is_a_day():
    far = ["-2000-02-29", "-004-02-29", "0000-02-29", "10000-02-29", "12024-02-29"]
    strict = dates("month", nulls="2019-01", outside="far", extra=("far",))
    column = pa.array([np.datetime64(text, "s") for text in far], pa.timestamp("s"))
    assert strict.encode(column).tolist() == [strict.code_of("far")] * 5
    assert strict.encode(pa.array(far)).tolist() == [strict.code_of("far")] * 5
