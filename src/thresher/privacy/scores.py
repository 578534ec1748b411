"""How wrong public answers are: an integer score for every query of a workload.

Tables are walked slab by slab, or searched (see `searching`) where that takes less work. A table
with r < k is always walked: few of its scores are 0. So what is asked of the public answers is the
same whatever the records are: slab by slab in a fixed order, and again where a chosen query stands.
A sampler that skips cells would have to bound scores by private counts.

A score is |count - round(N · answer)| / S, rounded down, times a public weight of at most 1 and
rounded down again. N is what counts are out of, which is public, so the rounded answer is public,
too. One unit moves a count by at most S (see `unit`), and numbers at most S apart are at most 1
apart once they are divided by S and rounded down. So one unit moves a score by at most 1. Scores
are as private as the records: they go to a sampler of this package and nowhere else.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError
from thresher.parallel import in_order
from thresher.privacy.counted import CountedTables
from thresher.privacy.forgetting import forget_locals
from thresher.privacy.searching import (
    can_be_searched,
    public_list,
    score_listed,
    without_excluded,
)
from thresher.privacy.tally import EXCLUDED, ListedScores, Scores, largest_of
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.tables import AnswersOf, Slab, slabs_of
from thresher.tables.listing import Cells, Same

WORTH_SHARING = 100_000
"""Below this many queries, starting a second thread takes longer than the work."""

WHOLE_WEIGHT = 1 << 16
"""The weight 1 of an error; smaller ones are whole parts of it."""

NO_CELLS: Cells = np.empty(0, dtype=np.int64)

Result = TypeVar("Result")


class WorkloadScores:
    """The scores of all queries of a workload, part by part, computed when asked for.

    A part is a slab of a table, or a whole table that is searched.

    Args:
        counted: The counts of the private records.
        workload: The thresholds whose consistent queries are scored.
        answers_of: The public answers, as fractions.
        excluded: For positions of thresholds, the cells that must not be chosen, ascending.
        weights_of: How much an error counts in each cell; 1 if not given.
        looks: How often a part may be looked at. At a second look the public answers must be those
            of the first, which is checked.
    """

    def __init__(
        self,
        counted: CountedTables,
        workload: Workload,
        answers_of: AnswersOf,
        excluded: Mapping[int, Cells],
        weights_of: AnswersOf | None = None,
        looks: int = 1,
    ) -> None:
        self._counted, self._workload, self._answers_of = counted, workload, answers_of
        self._excluded, self._weights_of = excluded, weights_of
        records = counted.total // counted.unit.parts
        self._parts = [
            (position, slab)
            for position, threshold in enumerate(workload)
            for slab in (
                [None]
                if can_be_searched(threshold, workload.schema, answers_of, records)
                else slabs_of(threshold.shape(workload.schema))
            )
        ]
        self._open = threading.local()
        self._marks: dict[int, bytes] | None = {} if looks > 1 else None

    def __len__(self) -> int:
        return len(self._parts)

    def each(self, function: Callable[[int], Result], indices: range) -> Iterator[Result]:
        """Apply a function to the indices of parts, in order, on all cores if it is worth it."""
        if self._workload.query_count < WORTH_SHARING:
            return map(function, indices)

        def forgetting(index: int) -> Result:
            # Of several workers that fail, one is heard; the others keep nothing either.
            try:
                return function(index)
            except BaseException as fault:
                forget_locals(fault, [])
                raise

        return in_order(forgetting, indices)

    def largest(self) -> npt.NDArray[np.int64]:
        """The largest score of each threshold."""
        largest = np.zeros(len(self._workload), dtype=np.int64)
        of_parts = self.each(lambda index: largest_of(self[index]), range(len(self)))
        for (position, _), score in zip(self._parts, of_parts, strict=True):
            largest[position] = max(largest[position], score)
        return largest

    def __getitem__(self, index: int) -> Scores | ListedScores:
        position, slab = self._parts[index]
        try:
            return self._searched(index) if slab is None else self._walked(index, position, slab)
        except StopIteration:
            # It would end a loop of the wall as if there were no more tables.
            raise ParameterError("answers must not raise StopIteration") from None

    def _searched(self, index: int) -> ListedScores:
        """The scores of a whole table, almost all of which are 0."""
        position, _ = self._parts[index]
        threshold = self._workload[position]
        total, scale = self._counted.total, self._counted.unit.scale
        size = threshold.query_count(self._workload.schema)
        public = public_list(threshold, self._answers_of(threshold), size, total)
        self._check_unchanged(index, public.mark)
        cells, scores = score_listed(self._counted.over(threshold.features), public, scale)
        if self._weights_of is not None:
            weigh(scores, self._weights_at(threshold, cells))
        return without_excluded(size, cells, scores, self._excluded.get(position, NO_CELLS))

    def _weights_at(self, threshold: Threshold, cells: Cells) -> npt.NDArray[np.float32]:
        """The weights of some cells. All are asked for: which cells have records is private."""
        assert self._weights_of is not None
        weights, given = self._weights_of(threshold), f"weights_of({threshold})"
        if type(weights) is Same:
            return np.full(len(cells), _numbers(given, weights.number, 1)[0])
        parts = []
        for slab in slabs_of(threshold.shape(self._workload.schema)):
            here = slice(*np.searchsorted(cells, (slab.first, slab.first + slab.size)))
            numbers = _numbers(given, weights(slab), slab.size)
            parts.append(numbers[cells[here] - slab.first])
        return np.concatenate(parts)

    def _walked(self, index: int, position: int, slab: Slab) -> Scores:
        """The scores of a slab."""
        threshold = self._workload[position]
        # Every thread walks with tables of its own, which keep what its next slab needs.
        mine = self._open
        if getattr(mine, "position", None) != position:
            mine.position = None  # if a callback fails, nothing of this table is used for another
            mine.exact = self._counted.answers(threshold)
            mine.answers = self._answers_of(threshold)
            mine.weights = self._weights_of(threshold) if self._weights_of else None
            mine.position = position
        # Not-a-number, or memory beyond too short an array, would make scores that a record can
        # move by more than 1. What is refused here depends on the public answers alone.
        answers = _numbers(f"answers_of({threshold})", mine.answers(slab), slab.size)
        rounded, scores = score_walked(
            mine.exact(slab).reshape(-1), answers, self._counted.total, self._counted.unit.scale
        )
        self._check_unchanged(index, hashlib.sha256(rounded.data).digest())
        if mine.weights is not None:
            wide = scores.astype(np.int64, copy=False)
            weigh(wide, _numbers(f"weights_of({threshold})", mine.weights(slab), slab.size))
            scores = wide
        excluded = self._excluded.get(position, NO_CELLS)
        here = slice(*np.searchsorted(excluded, (slab.first, slab.first + slab.size)))
        if here.start < here.stop:
            scores = scores.astype(np.int64, copy=False)
            scores[excluded[here] - slab.first] = EXCLUDED
        return scores

    def _check_unchanged(self, index: int, mark: bytes) -> None:
        """Refuse public answers to a part that differ from those of the first look at it.

        A level was drawn by the answers of the first look. Found again by other answers, it would
        point to a query that depends on the records in a way that nobody paid for. So the mark is
        a cryptographic hash: no caller can make other answers that have the same one.
        """
        if self._marks is None:
            return
        if self._marks.setdefault(index, mark) != mark:
            raise ParameterError(
                "answers_of must give the same answers every time it is asked; what was paid for "
                "this selection is lost"
            )

    def query_id(self, index: int | None, place: int) -> int:
        """The id, in the workload, of the query at a place of a part."""
        assert index is not None  # no query of a workload is outside all parts
        position, slab = self._parts[index]
        return self._workload.starts[position] + (0 if slab is None else slab.first) + place


def weigh(scores: npt.NDArray[np.int64], weights: npt.NDArray[np.float32]) -> None:
    """Scores times weights of [0, 1], rounded down: in whole numbers, so that 1 stays at most 1."""
    scores *= (np.clip(weights, 0.0, 1.0) * WHOLE_WEIGHT).astype(np.int64)
    scores //= WHOLE_WEIGHT


def _numbers(given: str, values: npt.ArrayLike, size: int) -> npt.NDArray[np.float32]:
    """A copy, which whoever made the values cannot change any more."""
    with np.errstate(all="ignore"):
        # An object can give its memory away as its array; only an array is surely copied.
        numbers = np.array(np.asarray(values), dtype=np.float32).reshape(-1)
        # The minimum of numbers one of which is not a number is none either.
        if numbers.size != size or np.isnan(numbers.min()):
            raise ParameterError(f"{given} must give a number for each query")
    return numbers


def score_walked(
    counts: npt.NDArray[Any], answers: npt.NDArray[np.float32], total: int, scale: int
) -> tuple[Scores, Scores]:
    """N times each public answer, as a whole number; and |count - that| / S, rounded down.

    Both are of the smallest type that surely holds them, which takes a fraction of the time.

    Args:
        counts: The counts, in int32 if all of them, and their differences, surely fit.
        answers: The public answers. They are cut off at 0 and 1, so that scores stay small.
        total: N, what counts are out of.
        scale: S.
    """
    is_small = counts.dtype == np.int32 and total < 2**30
    scores: Scores = np.empty(counts.size, dtype=np.int32 if is_small else np.int64)
    rounded: Scores = np.empty(counts.size, dtype=np.uint16 if total < 2**16 else scores.dtype)
    _score(counts, answers, float(total), rounded, scores, scores.dtype.type(0))
    if scale != 1:
        scores //= scale
    return rounded, scores


@numba.njit(cache=True, nogil=True)
def _score(counts, answers, total, rounded, scores, zero):  # type: ignore[no-untyped-def]
    """Whole numbers are of the type of `zero`."""
    kind = type(zero)
    for i in range(counts.size):
        public = kind(np.rint(total * min(max(np.float64(answers[i]), 0.0), 1.0)))
        rounded[i] = public
        scores[i] = abs(kind(counts[i]) - public)
