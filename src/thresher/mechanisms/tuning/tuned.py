"""`tune`: choose T and K of RAP within one budget, and make the release."""

import dataclasses
from dataclasses import dataclass
from typing import Unpack, get_args

from thresher.data.private import PrivateData
from thresher.errors import ParameterError
from thresher.mechanisms.mechanism import FitOptions, Mechanism
from thresher.mechanisms.rap import RAP
from thresher.mechanisms.tuning.grid import Grid, Setting
from thresher.mechanisms.tuning.procedure import CHOOSING, SEARCHING, SearchedRAP
from thresher.mechanisms.tuning.searches import Search
from thresher.privacy.budget import Amount, exact
from thresher.privacy.curator import Curator
from thresher.queries.workload import Workload
from thresher.release import Release


@dataclass(frozen=True, eq=False)
class Tuned:
    """A release with the T and K that a search has found.

    Attributes:
        release: The release. Its `spent` is all that the search and the fit have cost; its
            measurements are those of the fit.
        chosen: The T and K that won.
        trials: All settings that were tried, in order. How well each did stays private.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> tuned = th.tune(data, work, th.RAP(epsilon=1.0, synthetic_rows=50), search="rule")
        >>> tuned.trials == (tuned.chosen,)
        True
    """

    release: Release
    chosen: Setting
    trials: tuple[Setting, ...]


def tune(
    data: PrivateData | Curator,
    workload: Workload,
    rap: RAP,
    *,
    search: Search = "diagonal",
    grid: Grid | None = None,
    searching: Amount = SEARCHING,
    choosing: Amount = CHOOSING,
    **options: Unpack[FitOptions],
) -> Tuned:
    """Choose T and K within one budget, and make the release.

    The budget of `rap` covers everything: the trials, the choices between them, and the fit.

    Args:
        data: The private records, or a Curator that holds them.
        workload: The thresholds to be answered well.
        rap: The mechanism and its budget, without T and K.
        search: `"diagonal"` (the paper's improved search), `"grid"`, or `"rule"`: by public facts,
            so that the whole budget goes into one fit.
        grid: The settings to choose from; the paper's if not given.
        searching: The part of the budget that goes into the search, at most.
        choosing: How much of the budget the choices between trials cost of that.
        **options: The other keywords of `Mechanism.fit`: `ledger`, `journal`, `release`,
            `randomness`, `progress` and `expect`.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> grid = Grid(rounds=(1, 2), queries_per_round=(2, 4))
        >>> tuned = tune(data, work, RAP(epsilon=1.0, synthetic_rows=50), grid=grid)
        >>> tuned.chosen in grid.settings(), len(tuned.trials) <= 3
        (True, True)
    """
    if search not in get_args(Search):
        raise ParameterError(f"search must be one of {', '.join(get_args(Search))}, not {search!r}")
    if rap.rounds is not None or rap.queries_per_round is not None:
        raise ParameterError(
            "rounds and queries_per_round are what is searched for: leave them out"
        )
    mechanism: Mechanism = rap
    if search != "rule":
        mechanism = SearchedRAP(
            **{f.name: getattr(rap, f.name) for f in dataclasses.fields(Mechanism)},
            rap=rap,
            search=search,
            grid=grid if grid is not None else Grid(),
            searching=exact(searching, "searching", ParameterError),
            choosing=exact(choosing, "choosing", ParameterError),
        )
    release = mechanism.fit(data, workload, **options)
    chosen = Setting(release.settings["rounds"], release.settings["queries_per_round"])
    if search == "rule":
        return Tuned(release, chosen, (chosen,))
    trials = tuple(Setting(*trial) for trial in release.settings["trials"])
    return Tuned(dataclasses.replace(release, mechanism=RAP.name), chosen, trials)
