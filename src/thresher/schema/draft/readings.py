"""Ways to read the cells of a column: as numbers, as amounts of money, as dates, and the like."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.errors import DataError
from thresher.schema.coding import spellings_of
from thresher.schema.draft.sentinels import NUMBERS, Range, without_codes

MOST_ODD = 20
"""Different texts that a column of numbers or dates may have beside them."""

PROBED = 200
"""Values that are read before all others."""

BLANK_WORDS = frozenset(
    {"-", "--", "---", ".", "..", "?", "??", "na", "n/a", "n.a.", "#n/a", "nan", "nil", "null",
     "none", "(null)", "<na>", "missing", "unknown", "unk", "undefined", "unspecified",
     "not available", "not known", "not stated", "no answer", "no data", "not applicable"}
)  # fmt: skip
"""Words that stand for no value, in small letters."""

Places = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]


@dataclass
class Reading:
    """How far the cells of a column can be read in one way.

    It is given up once more than `MOST_ODD` different texts cannot be read, which depends neither
    on the order of the records nor on how they come in batches.

    Attributes:
        read: The places on a line of an array of cells; NaN where there is none.
        suspects: Places that may be codes for a missing value.
        odd: The texts that cannot be read.
        cells: How many cells can be read.

    Example:
        >>> from thresher.schema.coding import numbers_of
        >>> reading = Reading(lambda cells: numbers_of("x", cells))
        >>> reading.add(Texts("x", pa.array(["5", "7", "none"])), np.ones(3, int))
        >>> reading.cells, reading.range().high, sorted(reading.odd)
        (2, 7.0, ['none'])
        >>> reading.complete
        True
    """

    read: Callable[[pa.Array], Places]
    suspects: Places = field(default_factory=lambda: NUMBERS)
    odd: set[str] = field(default_factory=set)
    cells: int = 0
    whole: bool = True
    given_up: bool = False
    _low: float = math.inf
    _high: float = -math.inf
    _suspected: Counter[float] = field(default_factory=Counter)

    def add(self, texts: "Texts", cells: Cells) -> None:
        """Look at some more values, which differ from each other, and the cells of each."""
        # A few values mostly show that a column cannot be read, which saves reading them all.
        if len(cells) > PROBED:
            self._places(texts.first(PROBED))
        places = self._places(texts)
        if not self.given_up:
            sound = np.isfinite(places)
            self._count(places[sound], cells[sound])

    def _places(self, texts: "Texts") -> Places:
        """Read values, and give up if too many cannot be read."""
        if self.given_up:
            return np.empty(0)
        try:
            places = self.read(texts.values)
        except DataError:  # of a type that is read by its spelling
            places = self.read(texts.all)
        sound = np.isfinite(places)
        if not sound.all():
            odd = texts.all.filter(pa.array(~sound))
            self.odd.update(odd.slice(0, 2 * MOST_ODD + 1).to_pylist())
        if len(self.odd) > MOST_ODD:
            self.given_up = True
            self.odd.clear()
        return places

    @property
    def blank(self) -> set[str]:
        """The texts that stand for no value."""
        return {text for text in self.odd if text.casefold() in BLANK_WORDS}

    @property
    def complete(self) -> bool:
        """Whether all cells can be read, except for those that stand for no value."""
        return not self.given_up and self.cells > 0 and self.odd == self.blank

    def range(self, gap: float = 0) -> Range:
        """The range of the places, without codes for missing values."""
        return without_codes(self._low, self._high, self._suspected, gap)

    def _count(self, places: Places, cells: Cells) -> None:
        self.cells += int(cells.sum())
        self.whole &= bool((places == np.floor(places)).all())
        suspected = np.isin(places, self.suspects)
        for place, times in zip(places[suspected], cells[suspected], strict=True):
            self._suspected[float(place)] += int(times)
        rest = places[~suspected]
        self._low = min(self._low, float(rest.min(initial=math.inf)))
        self._high = max(self._high, float(rest.max(initial=-math.inf)))


class Texts:
    """Some values, and their spellings, made when they are first needed.

    Args:
        name: The column's name.
        values: The values.

    Example:
        >>> Texts("x", pa.array([1.5, 2])).all.to_pylist()
        ['1.5', '2']
    """

    def __init__(self, name: str, values: pa.Array) -> None:
        self.name, self.values = name, values

    @cached_property
    def all(self) -> pa.Array:
        """The spellings."""
        return spellings_of(self.name, self.values)

    def first(self, number: int) -> "Texts":
        """The first of the values."""
        return Texts(self.name, self.values.slice(0, number))
