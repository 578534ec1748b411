"""Choosing T and K: the paper's improved search, the grid search, and the rule that costs nothing.

The paper finds that the error depends on T·K above all and grows on both sides of a best c*. It
proposes (Section 3.4) a binary search for c = T·K along the diagonal of the grid, then a linear
search among the settings with T·K = c. Its experiments take the best of a grid, as if looking were
free. Here every trial and every comparison is paid for, through the Curator and its ledger.

A part of the budget goes into the search. Trials get equal shares of it, as many as the search may
take at most; the choices between them get the rest. Which trial has the smallest present error is
chosen privately (`Curator.choose`). What the search leaves of the whole budget goes into one fit
with the T and K that won. A trial has less to spend than that fit, and with less to spend a
smaller T·K is best. But c* grows only like √ρ, and settings on a grid are further apart.

- `grid`: settings (T, K), and grids of them.
- `searches`: the order in which settings are tried.
- `procedure`: RAP with a search, as a procedure.
- `tuned`: `tune`, the call.
"""

from thresher.mechanisms.tuning.grid import Grid, Setting
from thresher.mechanisms.tuning.procedure import CHOOSING, SEARCHING
from thresher.mechanisms.tuning.searches import Search, courses, diagonal_search, grid_search
from thresher.mechanisms.tuning.tuned import Tuned, tune

__all__ = [
    "CHOOSING",
    "SEARCHING",
    "Grid",
    "Search",
    "Setting",
    "Tuned",
    "courses",
    "diagonal_search",
    "grid_search",
    "tune",
]
