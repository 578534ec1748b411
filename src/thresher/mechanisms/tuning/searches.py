"""The order in which a search tries the settings of a grid."""

from collections.abc import Callable, Sequence
from typing import Literal

from thresher.mechanisms.tuning.grid import Grid, Setting

Search = Literal["rule", "diagonal", "grid"]
"""`"rule"` does not search: it takes T and K from a formula."""

Best = Callable[[Sequence[Setting]], Setting]
"""Tries some settings, and says which did best."""


def diagonal_search(grid: Grid, best: Best) -> Setting:
    """A binary search for c = T·K along the diagonal, then the best setting with T·K = c.

    Example:
        >>> def nearest_to_64(settings):
        ...     return min(settings, key=lambda setting: abs(setting.total - 64))
        >>> str(diagonal_search(Grid(), nearest_to_64))
        'T=1, K=64'
    """
    diagonal = grid.diagonal()
    low, high = 0, len(diagonal) - 1
    while low < high:
        middle = (low + high) // 2
        if best(diagonal[middle : middle + 2]) == diagonal[middle]:
            high = middle
        else:
            low = middle + 1
    return best(grid.line(diagonal[low].total))


def grid_search(grid: Grid, best: Best) -> Setting:
    """The best of all settings."""
    return best(grid.settings())


SEARCHES: dict[str, Callable[[Grid, Best], Setting]] = {
    "diagonal": diagonal_search,
    "grid": grid_search,
}


def courses(search: Search, grid: Grid) -> list[tuple[set[Setting], int]]:
    """Every course that a search can take: the settings it tries, and how many choices it makes.

    Example:
        >>> courses("grid", Grid())[0] == (set(Grid().settings()), 1)
        True
        >>> [(len(tried), choices) for tried, choices in courses("diagonal", Grid())]
        [(3, 2), (5, 3), (5, 3), (3, 2)]
    """
    goals = grid.diagonal() if search == "diagonal" else grid.settings()[:1]
    taken = []
    for goal in goals:
        tried: list[Setting] = []
        choices = 0

        def best(
            settings: Sequence[Setting], tried: list[Setting] = tried, goal: Setting = goal
        ) -> Setting:
            nonlocal choices
            if len(settings) > 1:
                tried.extend(settings)
                choices += 1
            return min(settings, key=lambda setting: abs(setting.total - goal.total))

        SEARCHES[search](grid, best)
        taken.append((set(tried), choices))
    return taken
