"""What would make a fit better: which thresholds cost most, and what other features would buy."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from thresher.planning.stand_in import stand_in
from thresher.planning.trial import ExpectedFit, Trials
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.schema.features import Feature, IntegerRange

WORST = 3
"""How many thresholds are named."""

COARSE = 10
"""The values that a feature is coarsened to, for advice."""

WORTH_SAYING = 0.9
"""Advice that leaves more than this part of the error is not worth following."""

LONGEST = 60.0
"""Seconds of a fit beyond which no other features are tried."""


def advice_on(fits: Sequence[ExpectedFit], trials: Trials, seed: int) -> Iterator[str]:
    """Lines of advice, by further trials at the middle one of the budgets.

    Args:
        fits: The fits that were forecast.
        trials: How they were.
        seed: That of made-up people for the further trials.
    """
    known = [fit for fit in fits if fit.errors is not None]
    if not known:
        return
    fit = sorted(known, key=lambda f: f.rho)[len(known) // 2]
    workload = trials.workload
    if len(workload) > 1 and fit.errors is not None:
        errors = fit.errors.by_threshold
        worst = sorted(range(len(errors)), key=lambda i: -errors[i])[:WORST]
        listed = "; ".join(f"{_named(workload[i])} ({errors[i]:.2g})" for i in worst)
        yield f"at epsilon {fit.epsilon:g}, the largest errors are in {listed}"
    if fit.estimate.seconds > LONGEST:
        return

    def largest(work: Workload) -> float | None:
        people = [stand_in(work.schema, trials.unit.worth(trials.n), seed, trials.shares)]
        other = dataclasses.replace(trials, workload=work, people=people)
        return other.tried(other.untried(fit.budget)).expected("largest")

    before = largest(workload)
    for words, work in _changes(workload):
        after = largest(work)
        if before and after and after < WORTH_SAYING * before:
            yield f"{words} would bring the largest error from {before:.2g} to {after:.2g}"


def _named(threshold: Threshold) -> str:
    features = " × ".join(threshold.features)
    return features if threshold.r == threshold.k else f"{threshold.r} of {features}"


def _changes(workload: Workload) -> Iterator[tuple[str, Workload]]:
    """The workload with its largest feature coarsened, and without its commonest one."""
    schema = workload.schema
    times = Counter(name for threshold in workload for name in threshold.features)
    widest = max(times, key=lambda name: (schema[name].size, times[name]))
    if schema[widest].size > COARSE and times.keys() <= {feature.name for feature in schema}:
        coarser = Schema(_coarsened(f) if f.name == widest else f for f in schema)
        yield (
            f"coarsening {widest} from {schema[widest].size} values to {COARSE}",
            Workload(coarser, workload.thresholds),
        )
    rest = [threshold for threshold in workload if widest not in threshold.features]
    if rest and len(rest) < len(workload):
        yield (
            f"leaving out {widest}, with {len(workload) - len(rest)} of the thresholds,",
            Workload(schema, rest),
        )


def _coarsened(feature: Feature) -> Feature:
    return IntegerRange(name=feature.name, low=0, high=COARSE - 1, nulls=0)
