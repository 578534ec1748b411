"""An adversary by experiment: how much can be told about one record from what comes out?

A mechanism is run many times on each of two neighbouring data sets. If it is ρ-zCDP then, for any
event E, with p and q the chances of E on either side,

- the Rényi divergence of the coin p from the coin q is at most αρ for every order α > 1
  (post-processing), so  max over α of D_α(p‖q)/α  is a lower bound on the true ρ;
- p ≤ e^ε·q + δ with ε = `epsilon_of(ρ, δ)`, so ln((p − δ)/q) is a lower bound on the true ε.

p and q are not known, but Clopper–Pearson intervals hold them with a stated confidence, shared out
over all events, both directions and both ends. What is returned therefore exceeds the truth with
probability at most `FALSE_ALARM` per audit. A bound above the claim proves a violation; a bound
below it proves nothing, which is why every audit is also shown to catch a planted fault.

Nothing here knows how a mechanism works, so whole mechanisms can be audited like single verbs.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import stats

from thresher.data.records import Records
from thresher.privacy import InsecureSeededRandomness, Randomness, epsilon_of
from thresher.privacy.budget import Amount

Outcome = TypeVar("Outcome")
Mechanism = Callable[[Records, Randomness], Outcome]
Event = Callable[[Outcome], bool]

FALSE_ALARM = 1e-7
"""The chance that one audit of a correct mechanism would fail, had its seed not been fixed."""
DELTA = 1e-3
"""The δ at which ε is compared: less than the trials can resolve, so that it costs little."""

_ORDERS = 1 + np.geomspace(1e-3, 200, 200)


@dataclass(frozen=True)
class Verdict:
    """What an audit found, next to what was claimed.

    Attributes:
        rho: A lower confidence bound on the true ρ.
        rho_claimed: The ρ that was claimed.
        epsilon: A lower confidence bound on the true ε at `DELTA`.
        epsilon_claimed: The ε that follows from the claimed ρ.
    """

    rho: float
    rho_claimed: float
    epsilon: float
    epsilon_claimed: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.rho > self.rho_claimed or self.epsilon > self.epsilon_claimed


def audit(
    mechanism: Mechanism[Outcome],
    neighbours: tuple[Records, Records],
    events: Sequence[Event[Outcome]],
    trials: int,
    rho: Amount,
    seed: int = 0,
) -> Verdict:
    """Try to refute that a mechanism is ρ-zCDP.

    Args:
        mechanism: Given records and randomness, what it publishes.
        neighbours: Two data sets that differ in one record.
        events: Properties of an outcome, fixed before the trials (`learned_events` finds some).
        trials: How often the mechanism is run on each data set.
        rho: What is claimed.
        seed: Fixes the trials; each of them has fresh randomness all the same.
    """
    outcomes = [
        run(mechanism, records, trials, seed=2 * seed + side)
        for side, records in enumerate(neighbours)
    ]
    hits = np.array([[sum(map(event, side)) for event in events] for side in outcomes])
    lower, upper = clopper_pearson(hits, trials, FALSE_ALARM / (2 * hits.size))
    rhos, epsilons = [0.0], [0.0]
    for one, other in ((0, 1), (1, 0)):
        for low, high in zip(lower[one], upper[other], strict=True):
            rhos.append(rho_of_coins(low, high))
            if low > DELTA:
                epsilons.append(math.log((low - DELTA) / high))
    return Verdict(max(rhos), float(rho), max(epsilons), epsilon_of(rho, DELTA))


def run(mechanism: Mechanism[Outcome], records: Records, trials: int, seed: int) -> list[Outcome]:
    """The outcomes of independent trials, which share one long stream of random words."""
    randomness = InsecureSeededRandomness(seed)
    return [mechanism(records, randomness) for _ in range(trials)]


def clopper_pearson(hits: np.ndarray, trials: int, miss: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds on a chance, each wrong with probability at most `miss`."""
    lower = np.where(hits == 0, 0.0, stats.beta.ppf(miss, np.maximum(hits, 1), trials - hits + 1))
    upper = np.where(
        hits == trials, 1.0, stats.beta.isf(miss, hits + 1, np.maximum(trials - hits, 1))
    )
    return lower, upper


def rho_of_coins(p: float, q: float) -> float:
    """The least ρ that allows coins p > q to be the chances of one event on neighbours."""
    if not q < p:
        return 0.0
    if p == 1.0:
        terms = [_ORDERS * 0 + (1 - _ORDERS) * math.log(q)]
    else:
        terms = [
            _ORDERS * math.log(p) + (1 - _ORDERS) * math.log(q),
            _ORDERS * math.log1p(-p) + (1 - _ORDERS) * math.log1p(-q),
        ]
    divergence = np.logaddexp.reduce(terms, axis=0) / (_ORDERS - 1)
    return float(np.max(divergence / _ORDERS))


def at_least(
    statistic: Callable[[Outcome], float], values: Iterable[float]
) -> list[Event[Outcome]]:
    """The events that a statistic reaches each of some values."""
    return [lambda outcome, value=value: statistic(outcome) >= value for value in values]


def learned_events(
    mechanism: Mechanism[Outcome],
    neighbours: tuple[Records, Records],
    trials: int,
    seed: int,
    cuts: Sequence[float] = (0.25, 0.5, 0.75),
) -> list[Event[Outcome]]:
    """Events of hashable outcomes that tell neighbours apart, learned from trials of their own.

    By the lemma of Neyman and Pearson the best events are "the likelihood ratio is at least so
    much". Here the ratio is estimated from frequencies, and cut at quantiles of the outcomes. The
    audit that follows must have another seed, so that its confidence is not spent on the choice.
    """
    one, other = (
        Counter[Hashable](run(mechanism, records, trials, seed=2 * seed + side))
        for side, records in enumerate(neighbours)
    )
    ratio = {
        outcome: (one[outcome] + 0.5) / (other[outcome] + 0.5) for outcome in one.keys() | other
    }
    spread = np.quantile([ratio[outcome] for outcome in one.elements()], cuts)
    return at_least(lambda outcome: ratio.get(outcome, 1.0), spread)
