"""Features of numbers and of dates, from what has been seen of a column."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from thresher.schema.cells import LARGEST_INTEGER, number_spelling
from thresher.schema.days import STEPS, first_days, step_labels
from thresher.schema.draft.readings import Reading
from thresher.schema.draft.seen import Seen
from thresher.schema.draft.sentinels import TEN_YEARS, Range
from thresher.schema.features import Bins, Dates, Feature, IntegerRange
from thresher.schema.numeric import equal_edges

MOST_INTEGERS = 200
MOST_STEPS = 200
BINS = 100
LARGEST_GUESS = 1e300
UNKNOWN = "unknown"


def numbers_feature(seen: Seen, written: str, reading: Reading) -> Feature | None:
    """Whole numbers or bins, or None where the numbers are too large.

    Args:
        seen: What has been seen of the column.
        written: How texts write the numbers.
        reading: The numbers that were read.

    Example:
        >>> import pyarrow as pa
        >>> seen = Seen("age")
        >>> seen.add(pa.array(["17", "90"]))
        >>> numbers_feature(seen, "plain", seen.plain).labels[-1]
        '90'
    """
    span = reading.range()
    largest = max(-span.low, span.high)
    if largest >= LARGEST_GUESS:
        return None
    style = "" if written == "plain" else f" ({written})"
    if reading.whole and largest <= LARGEST_INTEGER and span.high - span.low < MOST_INTEGERS:
        low, high = int(span.low), int(span.high)
        note = f"guessed: the range is that of the data{style}"
        policies = _policies(note, seen, reading, span, low, number_spelling)
        return IntegerRange(name=seen.name, low=low, high=high, written=written, **policies)
    bins, number = _equal_bins(*_round_ends(span.low, span.high))
    low = bins["edges"][0] if "edges" in bins else bins["low"]
    note = f"guessed: {number} equal bins around the data{style}"
    policies = _policies(note, seen, reading, span, low, number_spelling)
    return Bins(name=seen.name, written=written, **bins, **policies)


def _equal_bins(low: float, high: float) -> tuple[dict[str, Any], int]:
    """Bins of equal width as a feature takes them, and their number."""
    if all(first < second for first, second in pairwise(equal_edges(low, high, BINS))):
        return {"low": low, "high": high, "bins": BINS}, BINS
    # Numbers so large and near each other that bins fall together give fewer bins.
    edges = tuple(np.unique(np.linspace(low, high, BINS + 1)).tolist())
    return {"edges": edges}, len(edges) - 1


def dates_feature(seen: Seen) -> Feature:
    """Days, months, quarters or years: the finest that makes no more than some 200 values.

    Example:
        >>> import pyarrow as pa
        >>> seen = Seen("born")
        >>> seen.add(pa.array(["1931-05-02", "2001-12-24"]))
        >>> dates_feature(seen).step
        'year'
    """
    span = seen.days.range(gap=TEN_YEARS)
    first, last = int(span.low), int(span.high)
    step = next(
        (
            step
            for step in STEPS[seen.longest_step :]
            if len(first_days(first, last, step)) <= MOST_STEPS + 1
        ),
        "year",
    )
    lowest = step_labels(first_days(first, first, step)[:1], step)[0]
    note = f"guessed: {step}s, and the range is that of the data"
    policies = _policies(note, seen, seen.days, span, lowest, _day)
    return Dates(name=seen.name, low=_day(first), high=_day(last), step=step, **policies)


def _day(place: float) -> str:
    return step_labels(np.array([int(place)]), "day")[0]


def _policies(
    note: str,
    seen: Seen,
    reading: Reading,
    span: Range,
    low: str | float,
    spelled: Callable[[float], str | None],
) -> dict[str, Any]:
    """Where blank cells, words and codes go, and the whole note for review."""
    beside = sorted(reading.odd - reading.blank)
    if not seen.missing and not reading.odd and not span.codes:
        return {"nulls": low, "review": f"{note}; blank cells count as the lowest value"}
    extra = (*beside, UNKNOWN)
    notes = [note, f"blank cells count as {UNKNOWN}"]
    policies: dict[str, Any] = {"nulls": UNKNOWN, "extra": extra}
    if beside:
        notes.append(f"words beside them are labels: {', '.join(beside)}")
    if span.codes:
        policies["outside"] = UNKNOWN
        codes = ", ".join(str(spelled(code)) for code in span.codes)
        notes.append(
            f"{codes} seemed to be a code for no value, so what lies outside the range counts as "
            f"{UNKNOWN}, too"
        )
    return {**policies, "review": "; ".join(notes)}


def _round_ends(low: float, high: float) -> tuple[float, float]:
    """A slightly wider range with short numbers at its ends; every value lies below its end."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9 * max(abs(high), 1.0)))) / 2
    return math.floor(low / step) * step, (math.floor(high / step) + 1) * step
