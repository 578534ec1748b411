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

from thresher.errors import ParameterError
from thresher.queries.subsets import Subsets
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
        subsets = self.subsets(threshold.k)
        wanted = [subsets.weights[self.schema.index(name)] for name in threshold.features]
        return float(Fraction(math.prod(wanted), subsets.total))

    def subsets(self, k: int, max_queries: int | None = None) -> Subsets:
        """The k-subsets of features, weighted by the product of their probabilities."""
        exact = [Fraction(probability) for probability in self.probabilities]
        common = math.lcm(*(probability.denominator for probability in exact))
        whole = [int(probability * common) for probability in exact]
        shared = math.gcd(*whole)
        return Subsets(self.schema, k, max_queries, [weight // shared for weight in whole])


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
    subsets = _some_subsets(distribution, k, size, max_queries)
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
    subsets = _some_subsets(distribution, k, size, max_queries, excluding)
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


def _some_subsets(
    distribution: FeatureDistribution,
    k: int,
    size: int,
    max_queries: int | None,
    excluding: Iterable[Threshold] = (),
) -> Subsets:
    """The subsets to draw from, of which there is at least one."""
    subsets = distribution.subsets(k, max_queries)
    for threshold in excluding:
        subsets.remove(threshold.features)
    if size < 1:
        raise ParameterError(f"the size of a workload must be at least 1, not {size}")
    if not subsets.total:
        filtered = "" if max_queries is None else f" with at most {max_queries} queries"
        raise ParameterError(
            f"no threshold of {k} features{filtered} has a probability above 0: give more "
            "features a probability, or choose a smaller k"
        )
    return subsets
