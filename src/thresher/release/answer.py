"""The answer to a query: a fraction of people, with its margin of error."""


class Answer(float):
    """A fraction of people. It is a float, and it also has a margin of error.

    Attributes:
        error_bar: The margin of error: half the length of a 95 % confidence interval, computed from
            public facts. None where public facts give no margin.

    Example:
        >>> answer = Answer(0.25, error_bar=0.01)
        >>> answer, answer.error_bar
        (0.25, 0.01)
    """

    __slots__ = ("error_bar",)

    error_bar: float | None

    def __new__(cls, share: float, error_bar: float | None = None) -> "Answer":
        """A float gets its value when it is made, so this is not `__init__`."""
        answer = float.__new__(cls, share)
        answer.error_bar = error_bar
        return answer
