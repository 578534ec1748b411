"""Public answers that a caller computes while the wall works: called with care.

A callback gets copies of what it is asked about. If it were given the wall's own threshold, it
could turn that into another one between the two looks of a selection.
"""

from typing import Any

from thresher.errors import ParameterError
from thresher.queries.threshold import Threshold
from thresher.tables import Answers, AnswersOf, Slab, Table


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

        def within(slab: Slab) -> Table:
            table: Table = _called(answers, name, Slab(slab.table, slab.ranges))
            return table

        return within

    return answers_to


def _called(function: Any, name: str, copied: object) -> Any:
    try:
        return function(copied)
    except StopIteration:
        # It would end a loop of the wall as if there were no more tables.
        raise ParameterError(f"{name} must not raise StopIteration") from None
