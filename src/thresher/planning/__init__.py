"""What a fit would achieve, forecast from public facts before anything is paid for.

- `stand_in`: made-up people of the same schema, on whom the mechanism is tried.
- `trial`: one such trial, and what it says about time, noise and errors.
- `forecast`: the trials at several ε, and the ε at which a wanted error is met.
- `doubts`: plans that are impossible or wasteful.
- `advice`: what costs most, and what coarsening or leaving out a feature would buy.
- `picture` and `page`: errors against ε, in a terminal and as HTML.
"""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.planning.forecast import Forecast, plan
    from thresher.planning.trial import ExpectedFit
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.planning.forecast": "Forecast plan",
            "thresher.planning.trial": "ExpectedFit",
        },
    )

__all__ = ["ExpectedFit", "Forecast", "plan"]
