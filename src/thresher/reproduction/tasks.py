"""What one run of an experiment does: fit, and look at present error, future error and time.

Times are seconds of processor time on one core, which other programs on the machine hardly change.
The budget is the paper's (ρ by its own formula, δ = 1/n²), and the noise is seeded: experiments on
public data, never releases.
"""

import hashlib
import math
import time
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from thresher.data import Records
from thresher.evaluation.errors import errors_of
from thresher.evaluation.future import future_error
from thresher.mechanisms import RAP, All0, Auto, GaussianPerQuery, Mechanism
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import (
    FeatureDistribution,
    Threshold,
    Workload,
    augment,
    draw_thresholds,
    drifted,
    threshold_workload,
    total_variation,
)
from thresher.queries.subsets import Subsets
from thresher.release import Release
from thresher.reproduction.data import records_of, schema_of
from thresher.reproduction.norms import norms_of
from thresher.reproduction.practice import TEXT_P
from thresher.reproduction.running import Result, Sources, Task
from thresher.reproduction.variants import AUTHORS_ADAM, PRINTED, PaperRAP
from thresher.schema import Schema

Kind = Literal["rap", "gaussian_per_query", "all0", "auto"]
Choosing = Literal["oneshot", "iterative", "printed-osas"]
Shape = Literal["uniform", "zipf", "geometric"]

ALL = 0
"""In place of K: all m queries; with T = 1 this is the non-adaptive RAP."""
DIGITS = 6
SMALL = 15_000.0
"""Queries of a threshold that the filter leaves, roughly."""
ROUND, FITTING, CELL = 0.02, 1e-5, 8e-9
"""Seconds for a round, and in it for a query that was measured, and for one that is walked."""
LISTING, WALKING = (2.5e-3, 7.0), (4e-3, 4.0)
"""Seconds for a marginal and for an r-of-k table of 3 features, and the factor of each one more.

By least squares over 5,000 stored runs on ADULT (November 2026, a busy machine): half of them took
0.6 to 1.2 times the estimate, and all of one k and r together 0.7 to 1.2 times.
"""
ADAM_ROUND = 15.0
"""About as many seconds as up to 5,000 steps of Adam take; a guess."""
AUTO_ROUNDS = 16
"""About as many rounds as `auto` takes, for the estimate."""


@dataclass(frozen=True, kw_only=True)
class Fit(Task):
    """What all fits have in common: the data, the mechanism and its parameters.

    Attributes:
        clipped: Whether noisy answers are moved into [0, 1] before D' is fitted (RAP only).
    """

    later: ClassVar[frozenset[str]] = frozenset({"clipped"})

    data: str
    mechanism: Kind = "rap"
    epsilon: float
    k: int
    r: int
    size: int
    rounds: int = 1
    queries_per_round: int = ALL
    synthetic_rows: int = 1000
    optimizer: str = "accelerated"
    seed: int
    clipped: bool = False

    @property
    def queries_per_threshold(self) -> float:
        """How many queries a threshold has, on average."""
        return mean_queries(schema_of(self.data).sizes, self.k)

    @property
    def cost(self) -> float:
        """Roughly the seconds it takes, as measured on ADULT with 1000 rows.

        A round searches the tables of marginals and walks all others; then D' is fitted to all
        queries measured so far. Errors take about another such look.
        """
        seconds, factor = LISTING if self.r == self.k else WALKING
        thresholds = min(self.size, math.comb(len(schema_of(self.data)), self.k))
        look = thresholds * seconds * factor ** (self.k - 3)
        if self.r < self.k:
            look += thresholds * CELL * self.queries_per_threshold
        rounds = {"rap": self.rounds, "auto": AUTO_ROUNDS}.get(self.mechanism, 0)
        measured = self.queries_per_round * self.rounds / 2
        rows = self.synthetic_rows / 1000
        adam = ADAM_ROUND if self.optimizer == AUTHORS_ADAM else 0.0
        each = ROUND + rows * (look + FITTING * measured + adam)
        return 0.2 + 2 * look * rows + rounds * each

    def fitted(self, records: Records, workload: Workload, mechanism: Mechanism) -> Release:
        """Fit, with the task's own noise."""
        noise = InsecureSeededRandomness(self.noise_seed)
        return mechanism.fit(records, workload, randomness=noise, progress=False)

    def mechanism_for(self, workload: Workload, **changes: Any) -> Mechanism:
        """The mechanism with the parameters of the task."""
        if self.mechanism == "all0":
            return All0(epsilon=self.epsilon, accounting="paper")
        if self.mechanism == "gaussian_per_query":
            return GaussianPerQuery(epsilon=self.epsilon, accounting="paper")
        seed = self.noise_seed % 2**32
        if self.mechanism == "auto":
            return Auto(
                epsilon=self.epsilon,
                accounting="paper",
                synthetic_rows=self.synthetic_rows,
                seed=seed,
            )
        given: dict[str, Any] = {
            "epsilon": self.epsilon,
            "accounting": "paper",
            "rounds": self.rounds,
            "queries_per_round": self.queries_per_round or workload.query_count,
            "synthetic_rows": self.synthetic_rows,
            "optimizer": self.optimizer,
            "seed": seed,
            **changes,
        }
        if changes.get("selection") == PRINTED:
            given["selection"] = "oneshot"
            return PaperRAP(**given, clipped=self.clipped, printed_osas=True)
        if self.clipped or self.optimizer == AUTHORS_ADAM:
            return PaperRAP(**given, clipped=self.clipped)
        return RAP(**given)


@dataclass(frozen=True, kw_only=True)
class PresentFit(Fit):
    """Fit a uniformly random workload, and look at its present error."""

    kind: ClassVar[str] = "present"

    filtered: bool = False
    selection: Choosing = "oneshot"

    @property
    def queries_per_threshold(self) -> float:
        """About how many; the filter leaves the small ones."""
        return min(super().queries_per_threshold, SMALL if self.filtered else math.inf)

    def workload(self, records: Records) -> Workload:
        """The same thresholds whatever mechanism, budget and r: runs are compared in pairs.

        Where the filter leaves fewer thresholds than the size asks for, all of them.
        """
        limit = records.n if self.filtered else None
        return Workload.random(
            records.schema,
            self.k,
            self.r,
            size=min(self.size, Subsets(records.schema, self.k, limit).total),
            seed=derived(self.seed, "workload"),
            max_queries=limit,
        )

    def run(self, sources: Sources) -> Result:
        """Present error, and how long the fit took."""
        records = records_of(self.data, sources)
        workload = self.workload(records)
        changes = {"selection": self.selection} if self.mechanism == "rap" else {}
        mechanism = self.mechanism_for(workload, **changes)
        began = time.process_time()
        release = self.fitted(records, workload, mechanism)
        seconds = time.process_time() - began
        errors = norms_of(release.source, records, workload)
        mean_max = sum(errors.by_threshold) / len(errors.by_threshold)
        return {
            "error": round(errors.largest, DIGITS),
            "mean_max": round(mean_max, DIGITS),
            "l1": float(f"{errors.mean:.6g}"),
            "l2": float(f"{errors.root_mean_square:.6g}"),
            "queries": workload.query_count,
            "thresholds": len(workload),
            "mechanism_run": release.mechanism,
            "measured": len(release.measurements),
            "seconds": round(seconds, 3),
        }


@dataclass(frozen=True, kw_only=True)
class FutureFit(Fit):
    """Fit a history W_H, and look at its future error, at one amount of drift or several.

    Attributes:
        distribution: The shape of F_H.
        drifts: The amounts of drift.
        future: How many future thresholds are drawn for each.
        replacement: Whether a historical threshold can be drawn again.
        geometric_p: The p of the Geometric distribution.
        augmented: How many uniformly random thresholds are added to the history.
    """

    kind: ClassVar[str] = "future"
    later: ClassVar[frozenset[str]] = Fit.later | {"replacement", "geometric_p", "augmented"}

    distribution: Shape
    drifts: tuple[float, ...] = (0.0,)
    future: int
    replacement: bool = True
    geometric_p: float = TEXT_P
    augmented: int = 0

    @property
    def cost(self) -> float:
        """Future thresholds are looked at once for every drift."""
        return super().cost + 0.002 * len(self.drifts) * self.future

    def history(self, schema: Schema) -> tuple[FeatureDistribution, Workload]:
        """F_H, and W_H drawn from it, with uniformly random thresholds where they are added.

        Without replacement, a history larger than the space of thresholds is all of them.
        """
        features = feature_distribution(self.distribution, schema, self.seed, self.geometric_p)
        every = math.comb(len(schema), self.k)
        drawn = threshold_workload(
            features,
            self.k,
            self.r,
            size=self.size if self.replacement else min(self.size, every),
            seed=derived(self.seed, "history"),
            replacement=self.replacement,
        )
        added = min(self.augmented, every - len(drawn))
        if added:
            drawn = augment(drawn, seed=derived(self.seed, "augment"), add=added)
        return features, drawn

    def futures(
        self, historical: FeatureDistribution, drift: float
    ) -> tuple[FeatureDistribution, tuple[Threshold, ...]]:
        """F_F and W_F; each repetition has its own."""
        features = drifted(historical, drift, seed=derived(self.seed, "drift"))
        seed = derived(self.seed, "future")
        return features, draw_thresholds(features, self.k, self.r, size=self.future, seed=seed)

    def run(self, sources: Sources) -> Result:
        """Present error, and for every drift the errors of future thresholds."""
        records = records_of(self.data, sources)
        historical, workload = self.history(records.schema)
        release = self.fitted(records, workload, self.mechanism_for(workload))
        errors, variation = {}, {}
        for drift in self.drifts:
            features, thresholds = self.futures(historical, drift)
            found = future_error(release, records, thresholds).by_repetition[0]
            errors[f"{drift:g}"] = [round(error, 5) for error in found]
            variation[f"{drift:g}"] = round(total_variation(historical, features), DIGITS)
        return {
            "error": round(errors_of(release.source.table, records, workload).max, DIGITS),
            "thresholds": len(workload),
            "mechanism_run": release.mechanism,
            "future": errors,
            "variation": variation,
        }


def feature_distribution(
    shape: Shape, schema: Schema, seed: int, p: float = TEXT_P
) -> FeatureDistribution:
    """F_H; the order in which features get their probabilities is part of the repetition."""
    order = derived(seed, "features")
    if shape == "uniform":
        return FeatureDistribution.uniform(schema)
    if shape == "zipf":
        return FeatureDistribution.zipf(schema, seed=order)
    return FeatureDistribution.geometric(schema, seed=order, p=p)


@cache
def mean_queries(sizes: tuple[int, ...], k: int) -> float:
    """The mean number of queries over all thresholds of k features.

    Example:
        >>> mean_queries((2, 3, 4), 2)
        8.666666666666666
    """
    sums = [1] + [0] * k
    for size in sizes:
        for degree in range(k, 0, -1):
            sums[degree] += size * sums[degree - 1]
    return sums[k] / math.comb(len(sizes), k)


def derived(seed: int, word: str) -> int:
    """A seed for one purpose of a repetition; those of two purposes have nothing in common."""
    return int.from_bytes(hashlib.sha256(f"{seed} {word}".encode()).digest()[:6])


def sizes_within(data: str, k: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Workload sizes that a data set has; a larger one becomes all there are.

    Example:
        >>> sizes_within("adult", 3, (64, 256, 1024))
        (64, 256, 364)
    """
    most = math.comb(len(schema_of(data)), k)
    return tuple(dict.fromkeys(min(size, most) for size in sizes))
