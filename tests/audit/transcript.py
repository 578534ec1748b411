"""What a mechanism was told, call by call, and how much likelier that is for one data set.

A mechanism sees the records only through the budgeted verbs. So whatever it publishes is computed
from the transcript of its calls, and an adversary who reads the transcript knows at least as much.
The probability of every result is known: a measurement is a discrete Gaussian around the true
counts, and a choice is the exponential mechanism on the scores of its definition. Hence the
log-likelihood ratio of a transcript under two neighbouring data sets can be written down, and it
is the best statistic there is to tell them apart (Neyman and Pearson).

ρ-zCDP bounds the Rényi divergence of order 1/2 of the two sides' transcripts by ρ/2. It is
−2·ln ∫√(pq), and by Cauchy and Schwarz ∫√(pq) ≤ √(E_P[exp(−T/2)]·E_Q[exp(T/2)]) for every statistic
T, with equality for the log-likelihood ratio. So −2·(ln E_P[exp(−T/2)] + ln E_Q[exp(T/2)]) is at
most ρ. `audit_transcripts` takes T to be the ratio, cut off at ±CUT, and bounds both means from
above with confidence. The result exceeds ρ for a correct mechanism with probability at most
`FALSE_ALARM`; if T is not the true ratio, the audit only loses power. For Gaussian noise the
statistic attains ρ, so an overspend shows in full.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import numpy as np
from universe import count

from thresher.data.records import Records
from thresher.privacy import InsecureSeededRandomness, Randomness, Unit
from thresher.privacy.measurements import QueryMeasurement
from thresher.queries import Query, Threshold, Workload
from thresher.tables import slabs_of
from thresher.tables.contrasts import contrasts_of, squared_norms

FALSE_ALARM = 1e-7
CUT = 3.5
"""The ratio is cut off here, for means are bounded with confidence only if numbers are bounded."""

_BETS = np.geomspace(0.02, 0.95, 10)


def people_of(records: Records) -> tuple[tuple[int, ...], ...]:
    """The records of a tiny universe, one tuple of codes for each person."""
    columns = [records.codes(name) for name in records.schema.names]
    return tuple(tuple(int(code) for code in person) for person in zip(*columns, strict=True))


def weights_of(records: Records, unit: Unit) -> list[int]:
    """How many parts each row counts; nobody may have more rows than are used."""
    if unit.person is None:
        return [1] * records.n
    owners = [tuple(words) for words in records.ids.hashes.tolist()]
    rows = Counter(owners)
    assert max(rows.values()) <= unit.rows_per_person
    return [unit.parts // rows[who] if unit.counting == "persons" else 1 for who in owners]


class Truth:
    """The exact counts of one data set, by definition: one query at a time, over all people."""

    def __init__(self, records: Records, unit: Unit | None = None) -> None:
        self.schema, unit = records.schema, unit or Unit()
        self._people, self._weights = people_of(records), weights_of(records, unit)
        self.total = sum(self._weights) // unit.parts
        self.query = cache(self._query)
        self.table = cache(self._table)

    def _query(self, query: Query) -> int:
        return sum(
            weight * count((person,), query, self.schema)
            for person, weight in zip(self._people, self._weights, strict=True)
        )

    def _table(self, threshold: Threshold) -> np.ndarray:
        whole = Workload(self.schema, [threshold])
        counts = [self.query(whole.query(i)) for i in range(whole.query_count)]
        return np.array(counts).reshape(threshold.shape(self.schema))


@dataclass
class Transcript:
    """Passes every call on to a Curator, and adds up how much likelier its result is for one side.

    Attributes:
        curator: What the mechanism would have been given.
        sides: The exact counts of the two neighbouring data sets.
        ratio: ln of the probability of all results so far under the first, over the second.
    """

    curator: object
    sides: tuple[Truth, Truth]
    ratio: float = field(default=0.0)

    def __getattr__(self, name: str):
        return getattr(self.curator, name)

    def measure_total(self, *, rho):
        measured = self.curator.measure_total(rho=rho)
        one, other = ((measured.n - side.total) ** 2 for side in self.sides)
        self.ratio += (other - one) / (2 * measured.sigma**2)
        return measured

    def measure(self, targets, *, rho, jointly=True):
        measured = self.curator.measure(targets, rho=rho, jointly=jointly)
        for m in measured:
            if isinstance(m, QueryMeasurement):
                noisy, truths = m.count, [side.query(m.query) for side in self.sides]
            else:
                noisy, truths = m.counts, [side.table(m.threshold) for side in self.sides]
            one, other = (float(np.sum((noisy - truth) ** 2)) for truth in truths)
            self.ratio += (other - one) / (2 * m.sigma**2)
        return measured

    def measure_residuals(self, marginals, precisions, *, rho):
        measured = self.curator.measure_residuals(marginals, precisions, rho=rho)
        for m in measured:
            norms = squared_norms(m.threshold.shape(self.schema))
            truths = [contrasts_of(side.table(m.threshold)) for side in self.sides]
            one, other = (float(np.sum((m.contrasts - t) ** 2 / norms)) for t in truths)
            self.ratio += (other - one) / (2 * m.sigma**2)
        return measured

    def select(self, workload, answers_of, count, excluding=(), *, rho):
        chosen = self.curator.select(workload, answers_of, count, excluding, rho=rho)
        public = np.concatenate([self._rounded(answers_of, t).reshape(-1) for t in workload])
        rate = math.sqrt(2 * Fraction(rho) / len(chosen))
        barred = {q if isinstance(q, int) else workload.id_of(q) for q in excluding}
        places = [workload.id_of(query) for query in chosen]
        for sign, side in zip((1, -1), self.sides, strict=True):
            truth = np.concatenate([side.table(t).reshape(-1) for t in workload])
            scores = np.floor(np.abs(truth - public) / self.curator.unit.scale)
            scores[list(barred)] = -np.inf
            for place in places:
                self.ratio += sign * log_chance(rate * scores, place)
                scores[place] = -np.inf
        return chosen

    def select_table(self, tables, answers_of, handicaps, *, weights_of=None, rho):
        chosen = self.curator.select_table(
            tables, answers_of, handicaps, weights_of=weights_of, rho=rho
        )
        rate, place = math.sqrt(2 * Fraction(rho)), list(tables).index(chosen)
        for sign, side in zip((1, -1), self.sides, strict=True):
            scores = np.array([self._worst(side, t, answers_of, weights_of) for t in tables])
            self.ratio += sign * log_chance(rate * (scores - np.array(handicaps)), place)
        return chosen

    def choose(self, workload, candidates, *, rho):
        chosen = self.curator.choose(workload, candidates, rho=rho)
        rate = math.sqrt(2 * Fraction(rho))
        for sign, side in zip((1, -1), self.sides, strict=True):
            worst = [max(self._worst(side, t, answers) for t in workload) for answers in candidates]
            self.ratio += sign * log_chance(-rate * np.array(worst), chosen)
        return chosen

    def _rounded(self, answers_of, threshold: Threshold) -> np.ndarray:
        values = whole_table(answers_of, threshold, self.schema)
        total = self.curator.known_total().n * self.curator.unit.parts
        return np.rint(total * np.clip(values.astype(np.float64), 0.0, 1.0))

    def _worst(self, side: Truth, threshold: Threshold, answers_of, weights_of=None) -> float:
        errors = np.abs(side.table(threshold) - self._rounded(answers_of, threshold))
        errors = np.floor(errors / self.curator.unit.scale)
        if weights_of is not None:
            weights = np.clip(whole_table(weights_of, threshold, self.schema), 0.0, 1.0)
            errors = np.floor(errors * np.floor(weights * 2.0**16) / 2.0**16)
        return float(errors.max())


def whole_table(answers_of, threshold: Threshold, schema) -> np.ndarray:
    """All public answers to a threshold, in one slab."""
    [slab] = slabs_of(threshold.shape(schema))
    return np.asarray(answers_of(threshold)(slab)).reshape(slab.shape)


def log_chance(weights: np.ndarray, place: int) -> float:
    """ln of the chance of one place, if chances are proportional to exp(weight)."""
    top = weights.max()
    return float(weights[place] - top - math.log(np.exp(weights - top).sum()))


@dataclass(frozen=True)
class Evidence:
    """What the transcripts of a whole mechanism show of its privacy.

    Attributes:
        rho: A lower confidence bound on the true ρ.
        estimate: The same without the allowance for chance.
        claimed: The ρ that was claimed.
    """

    rho: float
    estimate: float
    claimed: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.rho > self.claimed


def audit_transcripts(
    run: Callable[[Transcript], object],
    access_to: Callable[[Records, Randomness], object],
    neighbours: tuple[Records, Records],
    trials: int,
    rho: Fraction,
    seed: int = 0,
    unit: Unit | None = None,
) -> Evidence:
    """Try to refute that a whole mechanism is ρ-zCDP, by its transcripts on two neighbours.

    Args:
        run: Runs the mechanism with budgeted access.
        access_to: Fresh access to some records.
        neighbours: Two data sets that differ in one unit.
        trials: How often the mechanism is run on each.
        rho: What is claimed.
        seed: Fixes the trials; each of them has fresh randomness all the same.
        unit: What the neighbours differ in; if not given, one record that is replaced.
    """
    sides = (Truth(neighbours[0], unit), Truth(neighbours[1], unit))
    means, bounds = [], []
    for sign, (place, records) in zip((-1, 1), enumerate(neighbours), strict=True):
        randomness = InsecureSeededRandomness(2 * seed + place)
        seen = np.empty(trials)
        for trial in range(trials):
            transcript = Transcript(access_to(records, randomness), sides)
            run(transcript)
            seen[trial] = transcript.ratio
        roots = np.exp(sign * np.clip(seen, -CUT, CUT) / 2)
        means.append(roots.mean())
        bounds.append(mean_at_most(roots, math.exp(CUT / 2), FALSE_ALARM / 2))
    estimate, bound = (-2 * sum(map(math.log, some)) for some in (means, bounds))
    return Evidence(bound, estimate, float(rho))


def mean_at_most(values: np.ndarray, largest: float, error: float) -> float:
    """An upper bound on the mean of independent numbers in [0, largest].

    Had they a mean of m or more, whoever bets a fixed part of their fortune on "below m" at each
    number would not gain on average: for every bet 0 ≤ b < 1/(largest − m), the fortune
    Π(1 + b·(m − x_i)) has a mean of at most 1, and so has the mean fortune of several bets. By
    Markov it exceeds 1/error with probability at most `error` (Waudby-Smith and Ramdas 2024).
    """

    def refuted(mean: float) -> bool:
        bets = _BETS / max(largest - mean, mean, 1e-12)
        fortunes = np.log1p(bets[:, None] * (mean - values)).sum(axis=1)
        top = fortunes.max()
        return top + math.log(np.exp(fortunes - top).mean()) >= math.log(1 / error)

    low, high = float(values.mean()), largest
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high
