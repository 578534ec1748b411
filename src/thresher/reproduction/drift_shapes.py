"""Figures on drift itself: drifted feature distributions, and their total variation by γ.

They need no records and no budget, only the numbers of features: ADULT's 14 and LOANS' 48 at every
scale. LOANS' schema is public, so nothing here is a stand-in.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from thresher.data import datasets
from thresher.queries import FeatureDistribution, drifted, total_variation
from thresher.reproduction import plots
from thresher.reproduction.paper_figure import Context, PaperFigure
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.schema import Schema

SCHEMAS = {"ADULT": datasets.adult_schema, "LOANS": datasets.loans_schema}
FINE = tuple(round(0.05 * i, 2) for i in range(21))
SHUFFLES = 200
EXAMPLE_SEED = 1


def no_tasks(scale: Scale) -> Sequence[Task]:
    """Nothing is fitted."""
    return []


def draw_histograms(context: Context) -> None:
    """Examples of F_F for several γ; features in the order of F_H."""
    drifts = context.scale.future.drifts
    title = (
        f"Drifted feature distributions · scale “{context.scale.name}”\n"
        f"probabilities under {plots.FUTURE}; γ = 0 is {_past_words(context)}"
    )
    rows = []
    with plots.page(2, len(drifts), title=title, width=1.35, height=1.7) as (figure, panels):
        for row, (name, schema) in zip(panels, SCHEMAS.items(), strict=True):
            past = _past(context, schema())
            order = [feature for feature, _ in past.descending()]
            for axes, drift in zip(row, drifts, strict=True):
                future = drifted(past, drift, seed=EXAMPLE_SEED)
                chances = [future[feature] for feature in order]
                axes.bar(range(1, len(order) + 1), chances, color=plots.BLUE, width=0.9)
                axes.set_ylim(0, 1.1 * past[order[0]])
                axes.set_title(f"γ = {drift:g}")
                if axes is not row[0]:
                    axes.tick_params(labelleft=False)
                rows += [
                    {"schema": name, "gamma": drift, "feature": i, "probability": chance}
                    for i, chance in enumerate(chances, start=1)
                ]
            row[0].set_ylabel(f"{name}\nprobability")
        figure.supxlabel(f"feature, by rank in {plots.PAST}", fontsize=8)
        context.save(figure, "drift-histograms")
    context.table("drift-histograms", pd.DataFrame(rows))


def draw_variation(context: Context) -> None:
    """The mean total variation between F_H and F_F, with the middle 95 % of shuffles."""
    title = (
        f"Total variation by drift · scale “{context.scale.name}”\n"
        f"{_past_words(context)}, {SHUFFLES} shuffles, band: the middle 95 %"
    )
    rows, curves = [], []
    for style, (name, schema) in enumerate(SCHEMAS.items()):
        past = _past(context, schema())
        means, lows, highs = [], [], []
        for gamma in FINE:
            seen = [
                total_variation(past, drifted(past, gamma, seed=seed)) for seed in range(SHUFFLES)
            ]
            low, high = np.quantile(seen, [0.025, 0.975])
            means.append(float(np.mean(seen)))
            lows.append(float(low))
            highs.append(float(high))
            rows.append(
                {"schema": name, "gamma": gamma, "mean": means[-1], "low": low, "high": high}
            )
        words = f"{name} ({len(schema())} features)"
        curves.append(plots.Curve(words, FINE, means, style, lows, highs))
    with plots.page(1, 1, title=title, width=4.2, height=2.7) as (figure, [[axes]]):
        plots.draw_curves(axes, curves)
        axes.set_xlabel("drift γ")
        axes.set_ylabel(f"total variation of {plots.PAST} and {plots.FUTURE}")
        axes.set_ylim(-0.02, 1.05)
        axes.legend(loc="lower right")
        context.save(figure, "drift-variation")
    context.table("drift-variation", pd.DataFrame(rows))


def _past(context: Context, schema: Schema) -> FeatureDistribution:
    """F_H with the p of the runs."""
    p = context.scale.practice.geometric_p
    return FeatureDistribution.geometric(schema, seed=EXAMPLE_SEED, p=p)


def _past_words(context: Context) -> str:
    return f"{plots.PAST}, geometric (p = {Fraction(context.scale.practice.geometric_p)})"


HISTOGRAMS = PaperFigure(
    "drift-histograms", "feature distributions drifted by γ", no_tasks, draw_histograms
)
VARIATION = PaperFigure(
    "drift-variation", "total variation of past and future features by γ", no_tasks, draw_variation
)
