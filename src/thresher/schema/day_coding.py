"""The cells of an Arrow column, as days.

The fast paths here give every cell the day that `thresher.schema.days` reads in its spelling.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.schema.cells import FRACTIONS
from thresher.schema.coding import bare, is_text, refused, spellings_of
from thresher.schema.days import SHIFTED, USUAL, day_of, minutes_east

Days = npt.NDArray[np.float64]

NOT_A_TIME = -(2**63)
"""What numpy stores for a missing time."""


def days_of(name: str, column: pa.Array, step: str) -> Days:
    """The days that a column's cells say, as days since 1970-01-01; NaN where there is none.

    Args:
        name: The column's name, for messages.
        column: The cells.
        step: The longest time that a text may say: see `thresher.schema.days`.

    Example:
        >>> days_of("x", pa.array(["1970-01-02", "1970-02", "soon", None]), "month").tolist()
        [1.0, 31.0, nan, nan]
    """
    column = bare(name, column)
    kind = column.type
    if per_day := _ticks_per_day(kind):
        ticks = column.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
        missing = np.asarray(pc.is_null(column))
        if pa.types.is_timestamp(kind):
            missing = missing | np.asarray(pc.fill_null(pc.equal(ticks, NOT_A_TIME), True))
        return np.where(missing, np.nan, np.asarray(pc.fill_null(ticks, 0)) // per_day)
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (is_text(column) or pa.types.is_null(kind) or numbers):
        raise refused(
            name, kind, "where the schema expects dates: convert it, or describe it as categorical"
        )
    return _days_in_text(spellings_of(name, column), step)


def _ticks_per_day(kind: pa.DataType) -> int:
    """How many of the whole numbers that Arrow stores make a day; 0 for what is no date."""
    if pa.types.is_date32(kind):
        return 1
    if pa.types.is_date64(kind):
        return 86_400_000
    return 86_400 * 10 ** FRACTIONS[kind.unit] if pa.types.is_timestamp(kind) else 0


def _days_in_text(texts: pa.Array, step: str) -> Days:
    usual = pc.match_substring_regex(texts, rf"\A{USUAL}\z")
    days = _by_distinct(
        pc.if_else(usual, pc.utf8_slice_codeunits(texts, 0, 10), texts),
        lambda text: day_of(text, step),
    )
    shifted = pc.match_substring_regex(texts, rf"\A{SHIFTED}\z")
    places = np.flatnonzero(np.asarray(pc.fill_null(shifted, False)))
    if len(places):
        days[places] += _days_shifted(texts.take(pa.array(places)))
    return days


def _days_shifted(texts: pa.Array) -> Days:
    """For time stamps of the usual form with a zone, the days from the written one to that of UTC.

    The last part of such a text, after the seconds if there are any, is its zone.
    """
    hour = _by_distinct(pc.utf8_slice_codeunits(texts, 11, 13), float)
    minute = _by_distinct(pc.utf8_slice_codeunits(texts, 14, 16), float)
    zones = pc.replace_substring_regex(texts, r"\A.{16}[0-9:.]* ?", "")
    return np.floor((hour * 60 + minute - _by_distinct(zones, minutes_east)) / 1440)


def _by_distinct(texts: pa.Array, read: Callable[[str], float]) -> Days:
    """A number for each text, NaN for a missing one. Each that occurs is read once."""
    encoded = texts.dictionary_encode()
    numbers = [read(text) for text in encoded.dictionary.to_pylist()]
    places = np.asarray(pc.fill_null(encoded.indices, len(numbers)))
    return np.asarray(np.array([*numbers, np.nan], dtype=float)[places])
