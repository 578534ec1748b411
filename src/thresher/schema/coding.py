"""The cells of an Arrow column, as spellings or as numbers.

The fast paths here give every cell what `thresher.schema.cells` says of it. Only the declared type
of a column can be refused; no cell ever is.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.errors import DataError
from thresher.schema.amounts import NEGATIVE, NO_DIGIT, PATTERNS, PLAIN, amount_of
from thresher.schema.cells import (
    BLANKS,
    LARGEST_INTEGER,
    clock_spelling,
    duration_spelling,
    instant_spelling,
    number_of,
    number_spelling,
)

Whole = npt.NDArray[np.int64]

USUAL_SECONDS = np.array(["0001-01-01", "9999-12-31"], dtype="datetime64[s]")
"""Time stamps between these are spelled many at once, if they have no fraction of a second."""


def bare(name: str, column: pa.Array) -> pa.Array:
    """A column's cells as an array of a plain type.

    An extension type, a dictionary, runs of equal cells and text views are ways to store cells;
    the cells are the same without them. In text, bytes that are not UTF-8 are replaced.

    Example:
        >>> bare("sex", pa.array(["F", "M", "F"]).dictionary_encode()).to_pylist()
        ['F', 'M', 'F']
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    try:
        if isinstance(column, pa.ExtensionArray):
            return bare(name, column.storage)
        if pa.types.is_float16(column.type):  # a type that older Arrows can do little with
            return column.cast(pa.float32())
        if pa.types.is_dictionary(column.type):
            return bare(name, column.dictionary).take(column.indices)
        if pa.types.is_run_end_encoded(column.type):
            return bare(name, column.values).take(_runs(column))
        if str(column.type) == "string_view":
            return bare(name, column.cast(pa.large_string()))
    except pa.ArrowException:
        raise refused(name, column.type, "which cannot be unpacked: convert it to text") from None
    return _readable(column) if is_text(column) else column


def is_text(column: pa.Array) -> bool:
    """Whether the cells of a bare column are text.

    Example:
        >>> is_text(pa.array(["1"])), is_text(pa.array([1]))
        (True, False)
    """
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def spellings_of(name: str, column: pa.Array) -> pa.Array:
    """The spelling of every cell of a column; null where a cell is missing.

    Example:
        >>> spellings_of("x", pa.array([1.0, 2.5, None])).to_pylist()
        ['1', '2.5', None]
        >>> spellings_of("x", pa.array([True, False])).to_pylist()
        ['true', 'false']
    """
    column = bare(name, column)
    kind = column.type
    if is_text(column):
        return pc.utf8_trim(column, characters=BLANKS)
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "true", "false")
    if pa.types.is_integer(kind) and _all_exact(column):
        return column.cast(pa.string())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _number_spellings(pa.array(numbers_of(name, column), from_pandas=True))
    spell = _spelling_of_ticks(kind)
    if spell is None:
        raise refused(name, kind, "which has no categories: convert it to text")
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return _by_distinct_value(column.view(width), spell)


def numbers_of(name: str, column: pa.Array, written: str = PLAIN) -> npt.NDArray[np.float64]:
    """A column's cells as doubles, NaN where there is no number to read.

    Args:
        name: The column's name, for messages.
        column: The cells.
        written: How texts write numbers: see `thresher.schema.amounts`.

    Example:
        >>> numbers_of("x", pa.array(["5", "five", None])).tolist()
        [5.0, nan, nan]
        >>> numbers_of("x", pa.array(["$5", "1,200.50 EUR"]), "money").tolist()
        [5.0, 1200.5]
    """
    column = bare(name, column)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string())  # read as text, decimals round correctly
    if is_text(column):
        return _numbers_in_text(column, written)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise refused(
            name, kind, "where the schema expects numbers: convert it, or describe it as "
            "categorical",
        )  # fmt: skip
    return np.array(
        column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float
    )


def codes_of_texts(
    name: str, column: pa.Array, code_of: Callable[[str], int], missing: int
) -> Whole:
    """The codes of cells, each by a function of its spelling.

    Args:
        name: The column's name, for messages.
        column: The cells.
        code_of: The code of a spelling. It is asked once for each that occurs.
        missing: The code of missing and blank cells.

    Example:
        >>> codes_of_texts("x", pa.array(["a", None, "bcd"]), len, missing=7).tolist()
        [1, 7, 3]
    """
    encoded = spellings_of(name, column).dictionary_encode()
    codes = [code_of(text) if text else missing for text in encoded.dictionary.to_pylist()]
    places: Whole = np.asarray(pc.fill_null(encoded.indices, len(codes)))
    return np.array([*codes, missing], dtype=np.int64)[places]


def label_codes(
    name: str, column: pa.Array, codes: Mapping[str, int], *, missing: int, other: int
) -> Whole:
    """The codes of cells by their spelling.

    Args:
        name: The column's name, for messages.
        column: The cells.
        codes: The code of each spelling, from `codes_by_spelling`.
        missing: The code of missing and blank cells.
        other: The code of a spelling that is not listed.

    Example:
        >>> label_codes("x", pa.array(["a", None, "z"]), {"a": 0}, missing=7, other=8).tolist()
        [0, 7, 8]
    """
    spelled = spellings_of(name, column)
    found = pc.index_in(spelled, value_set=pa.array(list(codes), spelled.type))
    places = np.asarray(pc.fill_null(found, len(codes)))
    coded: Whole = np.array([*codes.values(), other], dtype=np.int64)[places]
    blank = np.asarray(pc.fill_null(pc.equal(spelled, ""), True))
    coded[blank] = missing
    return coded


def refused(name: str, kind: pa.DataType, why: str) -> DataError:
    """The error for a column of a type that a feature cannot have.

    Example:
        >>> print(refused("x", pa.bool_(), "where numbers are expected"))
        column 'x' is of type bool, where numbers are expected
    """
    return DataError(f"column {name!r} is of type {kind}, {why}")


def _readable(column: pa.Array) -> pa.Array:
    """A column of text with what is not UTF-8 replaced: Parquet files and Arrow can hold it."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        cells = column.cast(pa.large_binary()).to_pylist()
        decoded = (None if cell is None else cell.decode("utf-8", "replace") for cell in cells)
        return pa.array(decoded, pa.large_string())
    return column


def _runs(column: pa.Array) -> pa.Array:
    """For each cell of a run-end encoded column, the place of its value."""
    ends = np.asarray(column.run_ends).astype(np.int64)
    cells = np.arange(column.offset, column.offset + len(column))
    return pa.array(np.searchsorted(ends, cells, side="right"))


def _all_exact(column: pa.Array) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is None or -LARGEST_INTEGER <= ends["min"] <= ends["max"] <= LARGEST_INTEGER


def _number_spellings(column: pa.Array) -> pa.Array:
    whole = pc.equal(column, pc.floor(column))
    short = pc.less(pc.abs(column), float(LARGEST_INTEGER))
    plain = pc.fill_null(pc.and_(whole, short), False)
    digits = pc.if_else(plain, column, None).cast(pa.int64()).cast(pa.string())
    rest = _by_distinct_value(
        pc.if_else(plain, None, column), lambda values: [number_spelling(x) for x in values]
    )
    return pc.coalesce(digits, rest)


def _by_distinct_value(
    column: pa.Array, spell: Callable[[npt.NDArray[Any]], list[str | None]]
) -> pa.Array:
    """Spell each distinct value once: dates and fractions recur, and spelling them is slow."""
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_numpy(zero_copy_only=False)
    return pa.array(spell(values), pa.string()).take(encoded.indices)


def _spelling_of_ticks(kind: pa.DataType) -> Callable[[Whole], list[str | None]] | None:
    """How to spell a date, a time or a duration, given the whole numbers that Arrow stores."""
    if pa.types.is_date32(kind):
        return lambda ticks: _instants(ticks, "D", zoned=False)
    if pa.types.is_date64(kind):
        return lambda ticks: _instants(ticks // 86_400_000, "D", zoned=False)
    if pa.types.is_timestamp(kind):
        return lambda ticks: _instants(ticks, kind.unit, zoned=kind.tz is not None)
    if pa.types.is_time(kind):
        return lambda ticks: [clock_spelling(tick, kind.unit) for tick in ticks.tolist()]
    if pa.types.is_duration(kind):
        return lambda ticks: [duration_spelling(tick, kind.unit) for tick in ticks.tolist()]
    return None


def _instants(ticks: Whole, unit: str, *, zoned: bool) -> list[str | None]:
    instants = ticks.astype(np.int64).view(f"datetime64[{unit}]")
    seconds = instants.astype("datetime64[s]")
    usual = (seconds >= USUAL_SECONDS[0]) & (seconds < USUAL_SECONDS[1])
    usual &= seconds.astype(instants.dtype) == instants
    spelled = np.empty(len(ticks), dtype=object)
    spelled[usual] = _spelled_seconds(seconds[usual], zoned=zoned)
    spelled[~usual] = [instant_spelling(instant, zoned=zoned) for instant in instants[~usual]]
    return list(spelled)


def _spelled_seconds(seconds: npt.NDArray[Any], *, zoned: bool) -> npt.NDArray[Any]:
    """What `instant_spelling` gives for whole seconds of years with four digits."""
    texts = np.datetime_as_string(seconds)
    if zoned:
        return np.char.add(texts, "Z").astype(object)
    days = seconds.astype("datetime64[D]")
    return np.where(days == seconds, np.datetime_as_string(days), texts).astype(object)


def _numbers_in_text(column: pa.Array, written: str) -> npt.NDArray[np.float64]:
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid:
        # Arrow reads all cells or none. Both parsers round correctly, so that a cell means the
        # same number whichever of them reads it.
        if written != PLAIN:
            return _amounts_in_text(column, written)
        return np.array([number_of(cell) for cell in column.to_pylist()], dtype=float)
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=float)


def _amounts_in_text(column: pa.Array, written: str) -> npt.NDArray[np.float64]:
    texts = pc.utf8_trim(column, characters=BLANKS)
    usual = pc.match_substring_regex(texts, rf"\A{PATTERNS[written]}\z")
    digits = pc.replace_substring_regex(pc.if_else(usual, texts, None), NO_DIGIT, "")
    amounts = np.array(digits.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=float)
    negative = np.asarray(pc.fill_null(pc.match_substring_regex(texts, NEGATIVE), False))
    amounts = np.where(negative, -amounts, amounts)
    rest = np.flatnonzero(np.asarray(pc.fill_null(pc.invert(usual), False)))
    unusual = texts.take(pa.array(rest)).to_pylist()
    amounts[rest] = [amount_of(text, written) for text in unusual]
    return amounts
