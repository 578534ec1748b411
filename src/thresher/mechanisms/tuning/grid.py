"""Settings (T, K) of RAP, and grids of them."""

from dataclasses import dataclass

from thresher.errors import ParameterError


@dataclass(frozen=True)
class Setting:
    """T rounds of K queries.

    Attributes:
        rounds: T.
        queries_per_round: K.

    Example:
        >>> Setting(rounds=16, queries_per_round=4).total
        64
    """

    rounds: int
    queries_per_round: int

    @property
    def total(self) -> int:
        """T·K: c in the paper."""
        return self.rounds * self.queries_per_round

    def __str__(self) -> str:
        return f"T={self.rounds}, K={self.queries_per_round}"


@dataclass(frozen=True)
class Grid:
    """The settings to choose from: every T with every K. By default, the paper's.

    Attributes:
        rounds: The values of T, ascending.
        queries_per_round: The values of K, ascending.

    Example:
        >>> grid = Grid()
        >>> len(grid.settings()), [setting.total for setting in grid.diagonal()]
        (16, [4, 64, 1024, 16384])
        >>> [str(setting) for setting in grid.line(64)]
        ['T=1, K=64', 'T=4, K=16', 'T=16, K=4']
    """

    rounds: tuple[int, ...] = (1, 4, 16, 64)
    queries_per_round: tuple[int, ...] = (4, 16, 64, 256)

    def __post_init__(self) -> None:
        for name in ("rounds", "queries_per_round"):
            values = tuple(getattr(self, name))
            if not values or not all(type(value) is int and value >= 1 for value in values):
                raise ParameterError(f"{name} must be whole numbers of at least 1, not {values!r}")
            if sorted(set(values)) != list(values):
                raise ParameterError(f"{name} must ascend, not be {values!r}")
            object.__setattr__(self, name, values)

    def settings(self) -> tuple[Setting, ...]:
        """All of them."""
        return tuple(Setting(t, k) for t in self.rounds for k in self.queries_per_round)

    def diagonal(self) -> tuple[Setting, ...]:
        """From few rounds of few queries to many rounds of many."""
        if len(self.rounds) != len(self.queries_per_round):
            raise ParameterError(
                f"the diagonal needs as many values of T as of K, not {len(self.rounds)} and "
                f"{len(self.queries_per_round)}"
            )
        pairs = zip(self.rounds, self.queries_per_round, strict=True)
        return tuple(Setting(t, k) for t, k in pairs)

    def line(self, total: int) -> tuple[Setting, ...]:
        """The settings with T·K = `total`."""
        return tuple(setting for setting in self.settings() if setting.total == total)
