"""The answer to a query: a fraction of people, with its margin of error."""

import math


class Answer(float):
    """A fraction of people. It is a float, and it also has a margin of error.

    Attributes:
        error_bar: The margin of error: half the length of a 95 % confidence interval, computed from
            public facts. None where public facts give no margin.
        n: The number of all people.
        is_estimated: Whether the margin is an estimate from the errors that D' made elsewhere,
            because nothing that was measured bounds the error of this answer.
        read_as: The query as it was read, where ranges do not end with a bin; otherwise None.
        fault: What was wrong with the query, where it has no answer. The fraction is NaN then.

    Example:
        >>> answer = Answer(0.25, error_bar=0.01, n=1000)
        >>> answer, answer.error_bar, answer.count, answer.count_error_bar
        (0.25, 0.01, 250.0, 10.0)
    """

    __slots__ = ("error_bar", "fault", "is_estimated", "n", "read_as")

    error_bar: float | None
    n: float
    is_estimated: bool
    read_as: str | None
    fault: str | None

    def __new__(
        cls,
        share: float,
        error_bar: float | None = None,
        n: float = math.nan,
        is_estimated: bool = False,
        read_as: str | None = None,
        fault: str | None = None,
    ) -> "Answer":
        """A float gets its value when it is made, so this is not `__init__`."""
        answer = float.__new__(cls, share)
        answer.error_bar = error_bar
        answer.n = n
        answer.is_estimated = is_estimated
        answer.read_as = read_as
        answer.fault = fault
        return answer

    @property
    def count(self) -> float:
        """The number of people: the fraction, times n."""
        return self * self.n

    @property
    def count_error_bar(self) -> float | None:
        """The margin of error of the count."""
        return None if self.error_bar is None else self.error_bar * self.n
