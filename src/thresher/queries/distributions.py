"""Which features analysts care about: distributions F over features, and T over thresholds.

Section 5 of the paper ("Understanding RAP's Generalizability"). A threshold over the features S has
a probability proportional to the product of the probabilities of the features in S. That is what k
independent draws of a feature give when all k happen to differ. It is *not* the same as drawing one
feature after the other and leaving out those already drawn (successive sampling), which gives
likely features slightly more: with probabilities 1/2, 1/3, 1/6 and k = 2 the pair of the two
likelier ones has 6/11 by the product, and 1/2·2/3 + 1/3·3/4 = 7/12 successively. The paper uses
both words, "the (normalized) product" and "sampling without replacement"; here the product counts.

Draws are exact. Probabilities are doubles, so their products are whole multiples of a power of two,
and ranks are drawn below the sum of them all, in whole numbers of any length.
"""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from thresher.errors import ParameterError, QueryError
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema

GEOMETRIC = 0.5
ZIPF = 1.0


@dataclass(frozen=True)
class FeatureDistribution:
    """A probability for each feature of a schema: F in the paper.

    Attributes:
        schema: The features.
        probabilities: One for each feature, in the schema's order; they add up to 1.

    Example:
        >>> from thresher.data import datasets
        >>> schema = datasets.adult_schema()
        >>> likely = FeatureDistribution.geometric(schema, seed=0).descending()
        >>> [round(probability, 3) for _, probability in likely[:3]]
        [0.5, 0.25, 0.125]
        >>> FeatureDistribution.of(schema, {"age": 0.75, "sex": 0.25})["sex"]
        0.25
    """

    schema: Schema
    probabilities: tuple[float, ...]

    def __init__(self, schema: Schema, probabilities: Iterable[float]) -> None:
        given = tuple(probabilities)
        if len(given) != len(schema):
            raise ParameterError(f"{len(schema)} features need as many probabilities")
        for name, probability in zip(schema.names, given, strict=True):
            if not isinstance(probability, int | float) or not 0 <= probability <= 1:
                raise ParameterError(
                    f"the probability of feature {name!r} must lie between 0 and 1, "
                    f"not {probability!r}"
                )
        total = math.fsum(given)
        if abs(total - 1) > 1e-6:
            raise ParameterError(
                f"the probabilities of the features must add up to 1, not to {total:.6g}"
            )
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "probabilities", tuple(map(float, given)))

    @classmethod
    def uniform(cls, schema: Schema) -> "FeatureDistribution":
        """All features alike: the least concentrated, and so the hardest to learn from."""
        return cls._ranked(schema, [1.0] * len(schema), 0)

    @classmethod
    def zipf(cls, schema: Schema, *, seed: int, exponent: float = ZIPF) -> "FeatureDistribution":
        """Mildly concentrated: the i-th likeliest feature has a probability ∝ 1 / i^exponent.

        The paper names the distribution and not its exponent; 1 is Zipf's law.

        Args:
            schema: The features.
            seed: Seeds the random order in which features get their probabilities.
            exponent: Above 0.
        """
        if not 0 < exponent < math.inf:
            raise ParameterError(f"exponent must be a number above 0, not {exponent!r}")
        return cls._ranked(schema, [i**-exponent for i in range(1, len(schema) + 1)], seed)

    @classmethod
    def geometric(cls, schema: Schema, *, seed: int, p: float = GEOMETRIC) -> "FeatureDistribution":
        """Highly concentrated: the i-th likeliest feature has a probability ∝ (1 - p)^i.

        The paper names the distribution and not its p. What it says of drift (a total variation of
        about 0.5 at γ = 0.4 with ADULT's 14 features, and at γ = 0.1 with the 48 of LOANS) fits no
        single p: the first wants 0.28, the second 0.62. With p = 1/2 they are 0.68 and 0.44.

        Args:
            schema: The features.
            seed: Seeds the random order in which features get their probabilities.
            p: Strictly between 0 and 1.
        """
        if not 0 < p < 1:
            raise ParameterError(f"p must lie strictly between 0 and 1, not {p!r}")
        return cls._ranked(schema, [(1 - p) ** i for i in range(len(schema))], seed)

    @classmethod
    def of(cls, schema: Schema, probabilities: Mapping[str, float]) -> "FeatureDistribution":
        """As given: a probability for each named feature, and 0 for the others."""
        for name in probabilities:
            schema.index(name)
        return cls(schema, (probabilities.get(name, 0.0) for name in schema.names))

    @classmethod
    def _ranked(cls, schema: Schema, weights: list[float], seed: int) -> "FeatureDistribution":
        """Weights from the likeliest feature to the least likely one, in a random order."""
        total = math.fsum(weights)
        shuffled = [weight / total for weight in weights]
        random.Random(seed).shuffle(shuffled)
        return cls(schema, shuffled)

    def __getitem__(self, name: str) -> float:
        return self.probabilities[self.schema.index(name)]

    def descending(self) -> tuple[tuple[str, float], ...]:
        """Features with their probabilities, the likeliest first; equals in the schema's order."""
        named = zip(self.schema.names, self.probabilities, strict=True)
        return tuple(sorted(named, key=lambda pair: -pair[1]))

    def chance(self, threshold: Threshold) -> float:
        """The probability of a threshold among all thresholds with its k and r.

        Example:
            >>> from thresher.data import datasets
            >>> schema = datasets.adult_schema()
            >>> third = FeatureDistribution.of(schema, {"age": 1/2, "sex": 1/3, "race": 1/6})
            >>> round(third.chance(Threshold(("sex", "age"))) * 11, 9)
            6.0
        """
        subsets = _WeightedSubsets(self, threshold.k, None)
        wanted = [subsets.weights[self.schema.index(name)] for name in threshold.features]
        return float(Fraction(math.prod(wanted), subsets.total))


def draw_thresholds(
    distribution: FeatureDistribution,
    k: int,
    r: int | None = None,
    *,
    size: int,
    seed: int,
    max_queries: int | None = None,
) -> tuple[Threshold, ...]:
    """Thresholds drawn independently, so that one can come up again: W_F in the paper.

    Args:
        distribution: How likely each feature is.
        k: Features per threshold.
        r: How many must match; k if not given.
        size: How many to draw.
        seed: The same seed gives the same thresholds.
        max_queries: Draw only thresholds with at most so many queries.

    Example:
        >>> from thresher.data import datasets
        >>> uniform = FeatureDistribution.uniform(datasets.adult_schema())
        >>> future = draw_thresholds(uniform, 3, 1, size=1000, seed=0)
        >>> len(future), len(set(future)) <= 364
        (1000, True)
    """
    subsets = _WeightedSubsets(distribution, k, max_queries)
    subsets.check(size)
    source = random.Random(seed)
    return tuple(Threshold(subsets.draw(source), r) for _ in range(size))


def threshold_workload(
    distribution: FeatureDistribution,
    k: int,
    r: int | None = None,
    *,
    size: int,
    seed: int,
    replacement: bool = False,
    max_queries: int | None = None,
) -> Workload:
    """A workload of thresholds drawn from a distribution: W_H in the paper.

    Args:
        distribution: How likely each feature is.
        k: Features per threshold.
        r: How many must match; k if not given.
        size: How many to draw.
        seed: The same seed gives the same workload.
        replacement: Whether a threshold can be drawn again, as in the paper's definition. A
            workload lists it once all the same, so it may hold fewer than `size`. If False, each
            draw is from those not drawn before, and there are `size` different ones.
        max_queries: Draw only thresholds with at most so many queries.

    Example:
        >>> from thresher.data import datasets
        >>> focused = FeatureDistribution.geometric(datasets.adult_schema(), seed=0)
        >>> len(threshold_workload(focused, 3, size=64, seed=0))
        64
        >>> len(threshold_workload(focused, 3, size=64, seed=0, replacement=True)) < 64
        True
    """
    if replacement:
        drawn = draw_thresholds(distribution, k, r, size=size, seed=seed, max_queries=max_queries)
        return Workload(distribution.schema, dict.fromkeys(drawn))
    listed = draw_distinct(distribution, k, r, size=size, seed=seed, max_queries=max_queries)
    return Workload(distribution.schema, listed)


def draw_distinct(
    distribution: FeatureDistribution,
    k: int,
    r: int | None = None,
    *,
    size: int,
    seed: int,
    max_queries: int | None = None,
    excluding: Iterable[Threshold] = (),
) -> tuple[Threshold, ...]:
    """Different thresholds, each drawn from those that are neither excluded nor drawn before.

    Args:
        distribution: How likely each feature is.
        k: Features per threshold.
        r: How many must match; k if not given.
        size: How many to draw.
        seed: The same seed gives the same thresholds.
        max_queries: Draw only thresholds with at most so many queries.
        excluding: Thresholds over k features that are not to be drawn; their r does not count.

    Raises:
        ParameterError: There are not so many.
    """
    subsets = _WeightedSubsets(distribution, k, max_queries)
    for threshold in excluding:
        subsets.remove(threshold.features)
    subsets.check(size)
    source = random.Random(seed)
    listed = []
    for done in range(size):
        if not subsets.total:
            raise ParameterError(
                f"only {done} thresholds of {k} features can be drawn; {size} were asked for"
            )
        features = subsets.draw(source)
        subsets.remove(features)
        listed.append(Threshold(features, r))
    return tuple(listed)


class _WeightedSubsets:
    """The k-subsets of features with the product of their probabilities as weight.

    As with a workload's uniform ranks, none is listed. The weight of all subsets that begin alike
    is known, less what was removed of them, so a rank below the total leads to one subset.
    """

    def __init__(self, distribution: FeatureDistribution, k: int, max_queries: int | None) -> None:
        schema = distribution.schema
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= len(schema):
            raise ParameterError(
                f"k must be a whole number from 1 to d = {len(schema)} (the number of features), "
                f"not {k!r}"
            )
        exact = [Fraction(probability) for probability in distribution.probabilities]
        common = math.lcm(*(probability.denominator for probability in exact))
        whole = [int(probability * common) for probability in exact]
        shared = math.gcd(*whole)
        self.weights = [weight // shared for weight in whole]
        self.names, self.sizes, self.k, self.limit = schema.names, schema.sizes, k, max_queries
        self._schema = schema
        self._sums: dict[tuple[int, int, int | None], int] = {}
        self._removed: dict[tuple[int, ...], int] = {}

    @property
    def total(self) -> int:
        """The weight of all that is left."""
        return self._sum(0, self.k, self.limit) - self._removed.get((), 0)

    def check(self, size: int) -> None:
        if size < 1:
            raise ParameterError(f"the size of a workload must be at least 1, not {size}")
        if not self.total:
            filtered = "" if self.limit is None else f" with at most {self.limit} queries"
            raise ParameterError(
                f"no threshold of {self.k} features{filtered} has a probability above 0: give more "
                "features a probability, or choose a smaller k"
            )

    def remove(self, features: Iterable[str]) -> None:
        """Never draw this subset (again)."""
        places = tuple(sorted(self._schema.index(name) for name in features))
        if len(places) != self.k:
            raise QueryError(f"a threshold over {self.k} features was expected")
        if (places in self._removed) or not self._fits(places):
            return
        weight = math.prod(self.weights[i] for i in places)
        for length in range(self.k + 1):
            begun = places[:length]
            self._removed[begun] = self._removed.get(begun, 0) + weight

    def draw(self, source: random.Random) -> tuple[str, ...]:
        """One subset, with a probability proportional to its weight."""
        rank = source.randrange(self.total)
        chosen: tuple[int, ...] = ()
        weight, limit, first = 1, self.limit, 0
        while len(chosen) < self.k:
            missing = self.k - len(chosen) - 1
            for i in range(first, len(self.names)):
                below = None if limit is None else limit // self.sizes[i]
                begun = (*chosen, i)
                here = weight * self.weights[i] * self._sum(i + 1, missing, below)
                here -= self._removed.get(begun, 0)
                if rank < here:
                    break
                rank -= here
            chosen, weight, limit, first = begun, weight * self.weights[i], below, i + 1
        return tuple(self.names[i] for i in chosen)

    def _fits(self, places: tuple[int, ...]) -> bool:
        return self.limit is None or math.prod(self.sizes[i] for i in places) <= self.limit

    def _sum(self, first: int, k: int, limit: int | None) -> int:
        """The weight of all k-subsets of the features from `first` on within the limit."""
        if k == 0 or (limit is not None and limit < 1):
            return int(limit is None or limit >= 1)
        last = len(self.names) - k
        if first > last:
            return 0
        if (first, k, limit) not in self._sums:
            # From the back, so that the recursion is only k deep.
            total = 0
            for i in range(last, first - 1, -1):
                below = None if limit is None else limit // self.sizes[i]
                total += self.weights[i] * self._sum(i + 1, k - 1, below)
                self._sums[i, k, limit] = total
        return self._sums[first, k, limit]
