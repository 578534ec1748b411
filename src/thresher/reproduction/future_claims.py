"""The paper's claims on future error and drift, each as a number in stored results."""

import itertools
from collections.abc import Sequence
from typing import Any

from thresher.reproduction import advice, drift_effect, future_error, overfitting
from thresher.reproduction.data import title_of
from thresher.reproduction.future_error import Estimate, estimates
from thresher.reproduction.paper_figure import Context
from thresher.reproduction.tasks import FutureFit, Shape
from thresher.reproduction.verdicts import Claim, Finding, finding, worst

SMALL_HISTORY = 4
HARMLESS_VARIATION = 0.5
AS_GOOD = 0.01
"""A difference of future error that nobody would mind."""


def _estimates(context: Context, shape: Shape, size: int) -> list[Estimate]:
    wanted = [
        task
        for task in future_error.fits(context.scale)
        if (task.data, task.distribution, task.size) == (context.scale.data[0], shape, size)
    ]
    return estimates(context, wanted)


def _means(estimate: Estimate) -> list[float]:
    """The mean future error of every repetition."""
    return [sum(errors) / len(errors) for errors in estimate.future.by_repetition]


def _chosen(context: Context, shape: Shape, size: int) -> Estimate | None:
    return min(_estimates(context, shape, size), key=lambda e: e.present, default=None)


def _where(context: Context, *words: str) -> str:
    return ", ".join([title_of(context.scale.data[0]), *words])


def _differences(one: Estimate, other: Estimate) -> list[float]:
    pairs = zip(_means(one), _means(other), strict=False)
    return [first - second for first, second in pairs]


def more_history_helps(context: Context) -> Finding | None:
    """The largest rise of future error from one size of the history to the next."""
    found = []
    sizes = context.scale.future.sizes
    for shape in context.scale.future.shapes:
        for fewer, more in itertools.pairwise(sizes):
            before, after = _chosen(context, shape, fewer), _chosen(context, shape, more)
            if before is not None and after is not None:
                where = _where(context, shape, f"|W_H| = {fewer} to {more}")
                found.append(finding(_differences(after, before), AS_GOOD, "below", where))
    return worst(found)


def history_helps_at_all(context: Context) -> Finding | None:
    """The smallest gain of future error from the smallest history to the largest."""
    found = []
    sizes = context.scale.future.sizes
    for shape in context.scale.future.shapes:
        before, after = _chosen(context, shape, sizes[0]), _chosen(context, shape, sizes[-1])
        if before is not None and after is not None:
            where = _where(context, shape, f"|W_H| = {sizes[0]} to {sizes[-1]}")
            found.append(finding(_differences(before, after), 0.0, "above", where))
    return worst(found)


def present_choice_is_good(context: Context) -> Finding | None:
    """The largest cost in future error of choosing (T, K) by present error."""
    found = []
    for shape in context.scale.future.shapes:
        for size in context.scale.future.sizes:
            tried = _estimates(context, shape, size)
            if tried:
                chosen = min(tried, key=lambda e: e.present)
                best = min(tried, key=lambda e: e.future.mean)
                where = _where(context, shape, f"|W_H| = {size}")
                found.append(finding(_differences(chosen, best), AS_GOOD, "below", where))
    return worst(found)


def concentration(worse: Shape, better: Shape) -> Any:
    """Future error of one distribution minus that of another; the least over small histories."""

    def measure(context: Context) -> Finding | None:
        found = []
        for size in (s for s in context.scale.future.sizes if s <= SMALL_HISTORY):
            one, other = _chosen(context, worse, size), _chosen(context, better, size)
            if one is not None and other is not None:
                where = _where(context, f"|W_H| = {size}")
                found.append(finding(_differences(one, other), 0.0, "above", where))
        return worst(found)

    return measure


def no_overfitting(context: Context) -> Finding | None:
    """The change of future error from half of the rounds on: the way and the features of most."""
    wanted: Sequence[Any] = overfitting.tasks(context.scale)
    if not any(task in context.store for task in wanted):
        return None
    found = overfitting.collected(context)
    late = found[found["since"] == max(overfitting.SINCE)]
    data = title_of(context.scale.data[-1])
    return worst(
        finding(
            fits["future change"], AS_GOOD, "below", f"{data}, {shape}, {way}, {len(fits)} fits"
        )
        for (way, shape), fits in late.groupby(["way", "distribution"])
    )


def drift_is_harmless(context: Context) -> Finding | None:
    """The rise of future error at the drift whose total variation is nearest 0.5."""
    data = context.scale.data[0]
    wanted: Sequence[FutureFit] = drift_effect.fits(context.scale, data)
    if not any(task in context.store for task in wanted):
        return None
    best = {}
    for drift in context.scale.future.drifts:
        found = estimates(context, wanted, drift)
        best[drift] = min(found, key=lambda e: e.present)
    nearest = min(
        (drift for drift in best if drift > 0),
        key=lambda drift: abs(best[drift].variation - HARMLESS_VARIATION),
    )
    where = _where(context, f"γ = {nearest:g}", f"total variation {best[nearest].variation:.2f}")
    still = best[context.scale.future.drifts[0]]
    return finding(_differences(best[nearest], still), AS_GOOD, "below", where)


def augmenting_helps(context: Context) -> Finding | None:
    """The smallest gain by augmenting, over distributions, at the smallest history."""
    found = advice.augmenting_changes(context)
    if not len(found):
        return None
    smallest = found[found["size"] == found["size"].min()]
    row = smallest.sort_values("change").iloc[-1]
    where = _where(context, str(row["distribution"]), f"|W_H| = {row['size']}")
    return Finding(-row["change"], -row["high"], -row["low"], 0.0, "above", where)


def augmenting_never_hurts(context: Context) -> Finding | None:
    """The largest rise of future error by augmenting, over all histories."""
    found = advice.augmenting_changes(context)
    if not len(found):
        return None
    row = found.sort_values("change").iloc[-1]
    where = _where(context, str(row["distribution"]), f"|W_H| = {row['size']}")
    return Finding(row["change"], row["low"], row["high"], AS_GOOD, "below", where)


def holding_out_hurts(context: Context) -> Finding | None:
    """The smallest rise of future error by holding out, over all histories."""
    found = advice.holding_out_changes(context)
    if not len(found):
        return None
    row = found.sort_values("change").iloc[0]
    where = _where(context, str(row["distribution"]), f"|W_H| = {row['size']}")
    return Finding(row["change"], row["low"], row["high"], 0.0, "above", where)


def learns_at_all(context: Context) -> Finding | None:
    """How much lower RAP's future error is than All-0's, at least."""
    found = []
    data = context.scale.data[0]
    for shape in context.scale.future.shapes:
        for size in context.scale.future.sizes:
            zeros = estimates(
                context,
                [
                    task
                    for task in future_error.fits(context.scale, "all0")
                    if (task.data, task.distribution, task.size) == (data, shape, size)
                ],
            )
            rap = _chosen(context, shape, size)
            if rap is not None and zeros:
                where = _where(context, shape, f"|W_H| = {size}")
                found.append(finding(_differences(zeros[0], rap), 0.0, "above", where))
    return worst(found)


FUTURE_CLAIMS = (
    Claim("RAP's future error is always below All-0's", "All-0 minus RAP, at least",
          future_error.FIGURE, learns_at_all),
    Claim("More history helps", "gain from the smallest history to the largest, at least",
          future_error.FIGURE, history_helps_at_all),
    Claim("No history is too large", "rise from one size to the next, at most", future_error.FIGURE,
          more_history_helps),
    Claim("Present-optimal (T, K) are nearly future-optimal", "cost of choosing by present error",
          future_error.FIGURE, present_choice_is_good),
    Claim("Uniform is the worst for small histories", "uniform minus Zipf", future_error.FIGURE,
          concentration("uniform", "zipf")),
    Claim("Geometric is the best for small histories", "Zipf minus geometric", future_error.FIGURE,
          concentration("zipf", "geometric")),
    Claim("A small history gains by augmenting", "gain, at least", advice.AUGMENTING,
          augmenting_helps),
    Claim("Augmenting does no harm", "rise, at most", advice.AUGMENTING, augmenting_never_hurts),
    Claim("Holding out part of the history is worse", "rise, at least", advice.HOLDING_OUT,
          holding_out_hurts),
    Claim("No overfitting", "change of future error in the second half of the rounds",
          overfitting.FIGURE, no_overfitting),
    Claim("Drift is harmless up to a total variation of 0.5", "rise of future error",
          drift_effect.FIGURE, drift_is_harmless),
)  # fmt: skip
