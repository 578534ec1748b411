"""Public answers that a caller computes while the wall works: called with care.

A callback gets copies of what it is asked about. If it were given the wall's own threshold, it
could turn that into another one between the two looks of a selection.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError
from thresher.queries.threshold import Threshold
from thresher.tables import Answers, AnswersOf, Slab, Table
from thresher.tables.listing import Cells, Listable, ListedAnswers, Same


def guarded(answers_of: AnswersOf, name: str) -> AnswersOf:
    """The same answers, whose source cannot reach what the wall goes by.

    Args:
        answers_of: Public answers, or weights, that the caller computes.
        name: What it is called, for messages.

    Example:
        >>> zeros = guarded(lambda threshold: lambda slab: [0.0] * slab.size, "answers_of")
        >>> zeros(Threshold(("sex",)))(Slab((2,), (range(2),)))
        [0.0, 0.0]
    """
    if not callable(answers_of):
        raise ParameterError(f"{name} must be a function of a threshold, not {answers_of!r}")

    def answers_to(threshold: Threshold) -> Answers:
        answers = _called(answers_of, name, Threshold(threshold.features, threshold.r))
        if type(answers) is Same:
            return Same(float(answers.number))
        # Whether it can be listed is asked of the caller's object, which may do anything.
        listable = _called(lambda given: isinstance(given, Listable), name, answers)
        return _Listed(answers, name) if listable else _Walked(answers, name)

    return answers_to


class _Walked:
    """The answers to one threshold, slab by slab."""

    def __init__(self, answers: Any, name: str) -> None:
        self._answers, self._name = answers, name

    def __call__(self, slab: Slab) -> Table:
        table: Table = _called(self._answers, self._name, Slab(slab.table, slab.ranges))
        return table


class _Listed(_Walked):
    """The answers to one threshold, slab by slab or as a list."""

    def listed(self, least: float) -> ListedAnswers:
        def plain(least: float) -> ListedAnswers:
            given = self._answers.listed(least)
            cells, answers = np.asarray(given.cells), np.asarray(given.answers)
            if cells.ndim != 1 or answers.ndim != 1 or cells.dtype.kind not in "iu":
                raise ValueError
            return ListedAnswers(np.array(cells, dtype=np.int64), np.array(answers, dtype=float))

        try:
            with np.errstate(all="ignore"):
                listed: ListedAnswers = _called(plain, self._name, least)
        except (ValueError, TypeError, OverflowError, AttributeError):
            raise ParameterError(
                f"{self._name} must list whole numbers of cells, with a number each"
            ) from None
        return listed

    def at(self, cells: Cells) -> npt.NDArray[np.floating[Any]]:
        raise TypeError("the wall does not ask about single cells: which ones may be private")


def _called(function: Any, name: str, copied: object) -> Any:
    try:
        return function(copied)
    except StopIteration:
        # It would end a loop of the wall as if there were no more tables.
        raise ParameterError(f"{name} must not raise StopIteration") from None
