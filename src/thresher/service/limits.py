"""How much one request may ask for."""

from dataclasses import dataclass, fields

from thresher.errors import ParameterError


@dataclass(frozen=True)
class Limits:
    """The limits of a service. What is beyond them is refused, and the refusal names the limit.

    Attributes:
        body: Bytes of a request's body.
        queries: Queries of one request.
        characters: Characters of one query.
        rows: Synthetic records of one request.
        cells: Cells of one table.
        seconds: Seconds that a request may wait and compute.
        waiting: Requests that may wait for their turn.

    Example:
        >>> Limits(rows=500).rows
        500
    """

    body: int = 1 << 20
    queries: int = 1000
    characters: int = 5000
    rows: int = 10_000
    cells: int = 20_000
    seconds: float = 10.0
    waiting: int = 256

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ParameterError(f"{field.name} must be above 0")
