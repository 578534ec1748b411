"""A first draft of a schema, read off the data, for a person to review.

What is read off private data is not private: a draft tells the range and the categories that
occur. It is a starting point for the curator, and says so for each feature.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.errors import DataError
from thresher.schema.cells import LARGEST_INTEGER, UNREADABLE
from thresher.schema.coding import bare, is_text, numbers_of, spellings_of
from thresher.schema.features import Bins, Categorical, Feature, IntegerRange
from thresher.schema.labels import is_label

WARNING = (
    "This schema was drafted from the data itself. A schema read off private data is not itself "
    "private: it tells which values occur. Replace every range and category by what is publicly "
    "known (a code book, the questionnaire), delete each 'review' note once that is done, and only "
    "then publish it or fit with it."
)
MOST_CATEGORIES = 1000
MOST_INTEGERS = 200
BINS = 100
LARGEST_GUESS = 1e300
OTHER = "(other)"


class Draft:
    """A schema in the making: what has been seen of each column so far.

    Args:
        names: The columns' names.

    Example:
        >>> import pyarrow as pa
        >>> draft = Draft(["sex"])
        >>> draft.add(pa.record_batch({"sex": ["F", "M", "F"]}))
        >>> draft.guesses()["sex"].labels
        ('F', 'M', '(other)')
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._columns = {name: _Seen(name) for name in names}

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at some more records."""
        for name, seen in self._columns.items():
            seen.add(batch.column(name))

    def guesses(self) -> dict[str, Feature | None]:
        """A feature for each column, flagged for review; None for a column that can be none."""
        return {name: seen.guess() for name, seen in self._columns.items()}


@dataclass
class _Seen:
    """What has been seen of one column so far."""

    name: str
    labels: set[str] = field(default_factory=set)
    too_many: bool = False
    all_numbers: bool = True
    all_whole: bool = True
    low: float = math.inf
    high: float = -math.inf

    def add(self, cells: pa.Array) -> None:
        try:
            cells = bare(self.name, cells)
            cells = cells.filter(pc.invert(pc.is_null(cells, nan_is_null=True)))
        except (DataError, pa.ArrowNotImplementedError):  # of a type that no feature has
            return
        if is_text(cells):
            spelled = spellings_of(self.name, cells)
            cells = spelled.filter(pc.not_equal(spelled, ""))
        if not len(cells):
            return
        try:
            numbers = numbers_of(self.name, cells)
        except DataError:
            self.all_numbers = False
        else:
            self.all_numbers &= bool(np.isfinite(numbers).all())
        if self.all_numbers:
            self.low = min(self.low, float(numbers.min()))
            self.high = max(self.high, float(numbers.max()))
            self.all_whole &= bool((numbers == np.floor(numbers)).all())
        if not self.too_many:
            self.labels.update(_labels(self.name, cells))
            self.too_many = len(self.labels) > MOST_CATEGORIES

    def guess(self) -> Feature | None:
        if not self.labels or not _fits_on_a_line(self.name):
            return None
        exact = max(-self.low, self.high) <= LARGEST_INTEGER
        if self.all_numbers and self.all_whole and exact and self.high - self.low < MOST_INTEGERS:
            return IntegerRange(
                name=self.name, low=int(self.low), high=int(self.high), nulls=int(self.low),
                review="guessed: the range is that of the data; nulls count as the lowest value",
            )  # fmt: skip
        if self.all_numbers and max(-self.low, self.high) < LARGEST_GUESS:
            low, high = _round_ends(self.low, self.high)
            # Numbers so large and near each other that bins fall together give fewer bins.
            edges = np.unique(np.linspace(low, high, BINS + 1)).tolist()
            return Bins(
                name=self.name, edges=edges, nulls=low,
                review=f"guessed: {len(edges) - 1} equal bins around the data; nulls in the first",
            )  # fmt: skip
        if self.too_many:
            return None
        categories = (*sorted(self.labels - {OTHER}), OTHER)
        return Categorical(
            name=self.name, categories=categories, outside=OTHER, nulls=OTHER,
            review=f"guessed: the categories are those of the data; nulls count as {OTHER}",
        )  # fmt: skip


def _labels(name: str, cells: pa.Array) -> Iterator[str]:
    try:
        spelled = pc.unique(spellings_of(name, cells)).to_pylist()
    except DataError:
        return
    yield from (text for text in spelled if text != UNREADABLE and _fits_on_a_line(text))


def _fits_on_a_line(text: str | None) -> bool:
    """Whether a text can be a label, and a person can read it in a list: it breaks no line."""
    return text is not None and is_label(text) and not set(text) & {"\t", "\n", "\r"}


def _round_ends(low: float, high: float) -> tuple[float, float]:
    """A slightly wider range with short numbers at its ends; every value lies below its end."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9 * max(abs(high), 1.0)))) / 2
    return math.floor(low / step) * step, (math.floor(high / step) + 1) * step
