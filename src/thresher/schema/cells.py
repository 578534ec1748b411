"""What the cells of a column say: as text, or as numbers.

A cell is read alike whatever its neighbours are: if one person's record could change what
another's means, a query would have a larger sensitivity than 1/n.
"""

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thresher.errors import DataError

LARGEST_INTEGER = 2**53
"""Whole numbers up to here are exact as floats."""


def bare(column: pa.Array) -> pa.Array:
    """A column without the dress it may come in: an extension type, a dictionary, a view."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        return bare(column.dictionary_decode())
    return column.cast(pa.large_string()) if str(column.type) == "string_view" else column


def is_text(column: pa.Array) -> bool:
    """Whether a column's cells are text."""
    kind = bare(column).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def label_text(name: str, column: pa.Array) -> pa.Array:
    """A column's cells as the text that category labels are compared with."""
    column = bare(column)
    kind = column.type
    if pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    if pa.types.is_floating(kind):
        # A whole number that nulls have forced into a float column is still "1", not "1.0".
        whole = pc.equal(column, pc.floor(column))
        small = pc.less(pc.abs(column), float(LARGEST_INTEGER))
        integers = (
            pc.if_else(pc.and_(whole, small), column, None).cast(pa.int64()).cast(pa.string())
        )
        return pc.coalesce(integers, column.cast(pa.string()))
    if not (pa.types.is_nested(kind) or "binary" in str(kind)):
        try:
            return pc.utf8_trim_whitespace(column.cast(pa.string()))
        except pa.ArrowException:  # a type without a text of its own, told below
            pass
    raise DataError(
        f"column {name!r} is of type {kind}, which has no categories: convert it to text"
    )


def is_blank(text: pa.Array) -> pa.Array:
    """Which cells hold no text at all."""
    return pc.fill_null(pc.equal(text, ""), True)


def numbers_of(name: str, column: pa.Array) -> npt.NDArray[np.float64]:
    """A column's cells as floats, NaN where there is no number to read."""
    column = bare(column)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if is_text(column):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid:
            # Both parsers round correctly: what a cell means must not depend on its neighbours,
            # or one person's record would change the codes of others.
            return np.array([number_of(cell) for cell in column.to_pylist()], dtype=float)
        kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(
            f"column {name!r} is of type {kind} where the schema expects numbers: "
            "convert the column, or describe it as categorical"
        )
    return np.array(
        column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float
    )


def number_of(text: str | None) -> float:
    """The number that a text says, or NaN."""
    try:
        return float(text) if text and "_" not in text else math.nan
    except ValueError:
        return math.nan
