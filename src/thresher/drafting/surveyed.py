"""What a noisy survey of a column says: its kind, and the range that most of its values have.

All of this is made of what was measured with noise, so it tells nothing more about the records.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thresher.drafting.declared import Declared, Kind
from thresher.schema.draft.survey import (
    FIRST_DATE,
    FIRST_OTHER,
    FIRST_WHOLE,
    NUMBERS,
    TEXT,
    TRUTH,
)

CLEAR = 4.0
"""So many standard deviations of the noise show that cells of some kind are there."""

CERTAIN = 5.0
"""And so many that a range goes as far: one of some thousand counts must not stretch it."""

MOST_TOGETHER = 16
"""Of cells that each have too few for the noise, so many neighbours are looked at together."""

FIRST_YEAR = 1800
"""That of the scale of dates. Days before it count as its first decade."""


@dataclass(frozen=True)
class Surveyed:
    """A column as a survey with noise shows it.

    Attributes:
        counts: The noisy counts of `thresher.schema.draft.survey`.
        sigma: The standard deviation of the noise.

    Example:
        >>> from thresher.schema.draft.survey import SIZE, survey_code
        >>> counts = np.zeros(SIZE, dtype=np.int64)
        >>> counts[survey_code("17")], counts[survey_code("55")] = 300, 500
        >>> Surveyed(counts, 10.0).declared()
        Declared(kind='numbers', low=17.0, high=60.0)
    """

    counts: npt.NDArray[np.int64]
    sigma: float

    def kind(self) -> Kind | None:
        """What most cells are; None if too few are anything for the noise."""
        totals: dict[Kind, float] = {
            "boolean": float(self.counts[TRUTH]),
            "dates": self._total(self._dates),
            "numbers": self._total(self._whole) + self._total(self._others),
            "categories": float(self.counts[TEXT]),
        }
        kind = max(totals, key=lambda name: totals[name])
        return kind if totals[kind] > CLEAR * self.sigma else None

    def declared(self) -> Declared | None:
        """The kind and the range, as if somebody had declared them; None if they cannot be seen."""
        kind = self.kind()
        if kind is None:
            return None
        if kind == "numbers":
            return Declared(kind, *_number_range(self._far(self._whole, self._others)))
        if kind == "dates":
            first, last = (max(1, place) for place in self._far(self._dates))
            return Declared(kind, FIRST_YEAR + 10 * (first - 1), FIRST_YEAR + 10 * last - 1)
        return Declared(kind)

    @property
    def are_whole(self) -> bool:
        """Whether no number with a fraction can be seen."""
        return self._total(self._others) == 0

    @property
    def _dates(self) -> npt.NDArray[np.int64]:
        return self.counts[FIRST_DATE:FIRST_WHOLE]

    @property
    def _whole(self) -> npt.NDArray[np.int64]:
        return self.counts[FIRST_WHOLE:FIRST_OTHER]

    @property
    def _others(self) -> npt.NDArray[np.int64]:
        return self.counts[FIRST_OTHER:]

    def _total(self, counts: npt.NDArray[np.int64]) -> float:
        """The sum of the counts that noise alone would not give."""
        return float(counts[counts > CLEAR * self.sigma].sum())

    def _far(self, *scales: npt.NDArray[np.int64]) -> tuple[int, int]:
        """The first and the last place that is there for certain, or else the fullest one."""
        places = np.concatenate([self._certain(counts) for counts in scales])
        if not len(places):
            places = np.array([np.max(scales, axis=0).argmax()])
        return int(places.min()), int(places.max())

    def _certain(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """The places of which people are seen, alone or with 1, 3, 7 or 15 neighbours.

        Neighbours are taken together only where nobody is seen in a part of them.
        """
        seen, size = np.zeros(len(counts), dtype=np.bool_), 1
        while size <= MOST_TOGETHER:
            starts = np.arange(0, len(counts), size)
            sums = np.add.reduceat(counts, starts)
            new = (sums > CERTAIN * self.sigma * size**0.5) & ~np.logical_or.reduceat(seen, starts)
            seen |= np.repeat(new, size)[: len(counts)]
            size *= 2
        return np.flatnonzero(seen)


def _number_range(places: tuple[int, int]) -> tuple[float, float]:
    """From the start of one cell of the scale to the end of another; the outermost have one end."""
    first, last = places
    low = min(max(first - 1, 0), len(NUMBERS) - 2)
    return NUMBERS[low], NUMBERS[max(low + 1, min(last, len(NUMBERS) - 1))]
