"""Figures "Filtered against unfiltered", by workload size and by number of queries.

The observations are RAP's least present error over all (T, K), for each repetition of each setting,
with and without the filter of Aydore et al. (no marginal with more queries than records).
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.data import schema_of, title_of
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.present_error import AUTO, adaptive, others
from thresher.reproduction.regression import (
    FAMILY_WISE,
    Comparison,
    Observation,
    compare_models,
    holm_bonferroni,
)
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale

SIZES = {"size": "|W|, thresholds", "queries": "m, queries of the workload"}
ABOUT = {"size": "workload size", "queries": "number of queries"}
BETWEEN = 60


def tasks(scale: Scale) -> Sequence[Task]:
    """RAP at every (T, K), with and without the filter."""
    return [*adaptive(scale), *adaptive(scale, filtered=True)]


def auto(scale: Scale) -> Sequence[Task]:
    """`auto` on the same workloads."""
    return [*others(scale, "auto"), *others(scale, "auto", filtered=True)]


def with_auto(scale: Scale) -> Sequence[Task]:
    """RAP and `auto`."""
    return [*tasks(scale), *auto(scale)]


def draw(context: Context) -> None:
    """The regressions' tables and tests, and their fits at one ε; `auto` is in none of these."""
    least = least_errors(context.frame(tasks(context.scale)))
    both, ours = least.assign(line="RAP"), context.whole(auto(context.scale))
    if len(ours):
        both = pd.concat([both, least_errors(ours).assign(line=AUTO)], ignore_index=True)
    context.table("filtering", both)
    compared = {
        (data, by): compare_models(observations(least[least["data"] == data], by))
        for data in context.scale.data
        for by in SIZES
    }
    _write_tests(context, compared)
    context.table("filtering-effects", _effects(least, compared))
    for data in context.scale.data:
        _draw_data(context, data, both[both["data"] == data], compared)


def least_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """The least error over (T, K), one row a repetition of a setting, with its workload.

    Repetitions of all marginals, or of all that the filter leaves, have the same workload.
    """
    sizes = frame["size"]
    if "thresholds" in frame:  # the filter may leave fewer than were asked for
        sizes = frame["thresholds"].fillna(sizes).astype(int)
    of_space = [
        math.comb(len(schema_of(data)), k)
        for data, k in frame[["data", "k"]].itertuples(index=False)
    ]
    is_whole = (sizes < frame["size"]) | (sizes == of_space)
    workloads = frame["seed"].astype(str).mask(is_whole, "all")
    setting = ["data", "epsilon", "size", "seed", "filtered", "queries", "workload"]
    told = frame.assign(size=sizes, workload=workloads)
    least: pd.DataFrame = told.groupby(setting)[["error"]].min().reset_index()
    return least


def observations(least: pd.DataFrame, by: str) -> list[Observation]:
    """What the regression sees: by `size` or by `queries`."""
    # One workload is fitted at every ε: its errors go up and down together.
    names = ["epsilon", by, "filtered", "error"]
    workloads = [f"{s} {w} {f}" for s, w, f in least[["size", "workload", "filtered"]].to_numpy()]
    return [
        Observation(float(e), float(s), bool(f), float(err), workload)
        for (e, s, f, err), workload in zip(least[names].to_numpy(), workloads, strict=True)
    ]


def _write_tests(context: Context, compared: dict[tuple[str, str], Comparison]) -> None:
    adjusted, rejected = holm_bonferroni([found.p_value for found in compared.values()])
    rows, words = [], []
    for (data, by), found, holm, reject in zip(
        compared, compared.values(), adjusted, rejected, strict=True
    ):
        rows.append(
            {
                "data": data,
                "regressor": ABOUT[by],
                "adjusted R2": found.adjusted_r2,
                "chi2": found.chi2,
                "p": found.p_value,
                "p Holm-Bonferroni": holm,
                f"filter matters at {FAMILY_WISE:g}": reject,
                "observations": found.observations,
                "workloads": found.clusters,
                "F, by workload": found.robust_f,
                "p, by workload": found.robust_p_value,
                **{f"b{i}": beta for i, beta in enumerate(found.coefficients)},
                **{f"p(b{i})": p for i, p in enumerate(found.coefficient_p_values)},
            }
        )
        words += [
            f"{title_of(data)}, scale “{context.scale.name}”: present error vs. {ABOUT[by]}",
            found.summary,
            f"Likelihood-ratio test against the restricted model: χ²(6) = {found.chi2:.3f}, "
            f"p = {found.p_value:.3g}; Holm–Bonferroni p = {holm:.3g}: the filter "
            f"{'matters' if reject else 'is not seen to matter'} at {FAMILY_WISE:g}.\n",
            f"The {found.observations} observations are {found.clusters} workloads, each fitted at "
            "every ε. A Wald test with standard errors that allow for that (cluster-robust): "
            f"F = {found.robust_f:.3f}, p = {found.robust_p_value:.3g}.\n\n",
        ]
    context.table("filtering-tests", pd.DataFrame(rows))
    context.text("filtering-regressions.txt", "\n".join(words))


def p_words(p_value: float) -> str:
    """A p-value as the paper prints it.

    Example:
        >>> p_words(0.0261), p_words(2.9e-5)
        ('p = 0.026', 'p < 0.0001')
    """
    return f"p = {p_value:.2g}" if p_value >= 1e-4 else "p < 0.0001"


def _effects(least: pd.DataFrame, compared: dict[tuple[str, str], Comparison]) -> pd.DataFrame:
    """What the filter adds to present error, amid the sizes that both kinds have and at their end.

    The test of the appendix tells that the filter matters, not in which direction.
    """
    rows = []
    for (data, by), found in compared.items():
        sizes = least[least["data"] == data].groupby("filtered")[by]
        low, high = float(sizes.min().max()), float(sizes.max().min())
        for at in (float(np.sqrt(low * high)), high):
            for epsilon in found.epsilons:
                added, least_added, most_added = found.effect(epsilon, float(np.log(at)))
                _, robust_low, robust_high = found.effect(epsilon, float(np.log(at)), robust=True)
                rows.append(
                    {
                        "data": data, "regressor": ABOUT[by], "epsilon": epsilon, "at": at,
                        "filter adds": added, "low": least_added, "high": most_added,
                        "low, by workload": robust_low, "high, by workload": robust_high,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def _draw_data(
    context: Context,
    data: str,
    least: pd.DataFrame,
    compared: dict[tuple[str, str], Comparison],
) -> None:
    grid = context.scale.marginals
    epsilon = grid.map_epsilon
    here = least[least["epsilon"] == epsilon]
    title = context.title(
        data,
        f"least present error over (T,K), {grid.k}-way marginals, ε = {epsilon:g}, "
        f"{grid.repetitions} repetitions; lines: the full model",
    )
    with plots.page(1, 2, title=title, width=3.2, height=2.6) as (figure, [panels]):
        for axes, by in zip(panels, SIZES, strict=True):
            for style, filtered in enumerate((False, True)):
                label = "filtered (≤ n queries each)" if filtered else "unfiltered"
                colour = plots.COLOURS[style]
                alike = here[here["filtered"] == filtered]
                seen, ours = (
                    alike[(alike["line"] == AUTO) == is_auto] for is_auto in (False, True)
                )
                if len(ours):
                    axes.scatter(
                        ours[by], ours["error"], marker=plots.MARKERS[style], s=16,
                        facecolors="none", edgecolors=colour, label=f"{AUTO}, {label.split()[0]}",
                    )  # fmt: skip
                axes.scatter(
                    seen[by],
                    seen["error"],
                    marker=plots.MARKERS[style],
                    s=16,
                    alpha=0.8,
                    color=colour,
                )
                span = np.geomspace(float(seen[by].min()), float(seen[by].max()), BETWEEN)
                fitted = compared[data, by].predicted(epsilon, np.log(span), filtered)
                axes.plot(span, fitted, linestyle=plots.DASHES[style], color=colour)
                # What the legend shows: a point and the line through many.
                axes.plot(
                    [], [], linestyle=plots.DASHES[style], marker=plots.MARKERS[style],
                    color=colour, label=label,
                )  # fmt: skip
            if by == "size":
                plots.sizes_axis(axes, sorted(here["size"].unique()), SIZES[by])
            else:
                plots.counts_axis(axes, SIZES[by])
            axes.set_title(f"by {ABOUT[by]} ({p_words(compared[data, by].p_value)})")
        panels[0].set_ylabel("present error (share of records)")
        plots.legend_below(figure, panels[0], 4)
        context.save(figure, context.name("filtering", data))


FIGURE = PaperFigure(
    "filtering",
    "filtered against unfiltered marginals, with the appendix's regressions and tests",
    with_auto,
    draw,
)
