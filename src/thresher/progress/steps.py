"""What long work tells about itself. All of it is public: no count of private records is in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

COUNTING = "counting the records"
"""The phase in which private records are read and counted. Its pace says nothing about others."""

COMPILING = "compiling kernels (once)"
"""What the first fit after an installation does before anything else."""

ROUNDS = "rounds"
"""The phase of selection, measurement and fit, again and again."""

Told = Callable[[int, int, str], None]
"""A function of the number of a round, the number of rounds, and a short remark on it.

The number is 0 for a remark on what is done before the first round.
"""


@dataclass(frozen=True)
class Phase:
    """A part of long work.

    Attributes:
        name: What is done in it.
        seconds: About how long it takes, by public facts.
    """

    name: str
    seconds: float


@dataclass(frozen=True)
class Step:
    """How far a phase has come.

    Attributes:
        phase: The name of the phase.
        done: How many of its parts are done.
        of: How many parts it has.
        remark: A few words on the last part.

    Example:
        >>> Step(ROUNDS, 7, 16, "age × race").words
        '7 of 16, age × race'
    """

    phase: str
    done: int = 0
    of: int = 1
    remark: str = ""

    @property
    def words(self) -> str:
        """What is done of the phase, in words."""
        parts = f"{self.done:,} of {self.of:,}" if self.of > 1 else ""
        return ", ".join(words for words in (parts, self.remark) if words)


class Follower:
    """Follows long work. This one shows nothing."""

    def expect(self, phases: Sequence[Phase]) -> None:
        """Learn which phases come, and about how long they take. The last word counts."""

    def __call__(self, step: Step) -> None:
        """Learn how far the work has come."""

    def note(self, words: str) -> None:
        """Tell the user something that stays to be read."""


class Called(Follower):
    """Passes on what is told to a function of three arguments.

    Args:
        function: Called with the number of a round, the number of rounds, and a remark.

    Example:
        >>> told = Called(lambda number, rounds, remark: print(number, rounds, remark))
        >>> told(Step(COUNTING, 2000, 5000))
        0 1 counting the records, 2,000 of 5,000
        >>> told(Step(ROUNDS, 7, 16, "age × race"))
        7 16 age × race
    """

    def __init__(self, function: Told) -> None:
        self._function = function

    def __call__(self, step: Step) -> None:
        """Call the function."""
        if step.phase == COUNTING:
            self._function(0, 1, ", ".join(filter(None, (COUNTING, step.words))))
            return
        words = (step.remark,) if step.phase == ROUNDS else (step.phase, step.remark)
        self._function(step.done, step.of, ", ".join(filter(None, words)))

    def note(self, words: str) -> None:
        """Call the function with the words."""
        self._function(0, 1, words)
