"""Which features analysts care about: distributions F over features, and T over thresholds.

Section 5 of the paper ("Understanding RAP's Generalizability"). A threshold over the features S has
a probability proportional to the product of the probabilities of the features in S. That is what k
independent draws of a feature give when all k happen to differ. It is *not* the same as drawing one
feature after the other and leaving out those already drawn (successive sampling), which gives
likely features slightly more: with probabilities 1/2, 1/3, 1/6 and k = 2 the pair of the two
likelier ones has 6/11 by the product, and 1/2·2/3 + 1/3·3/4 = 7/12 successively. The paper uses
both words, "the (normalized) product" and "sampling without replacement"; here it is the product.
"""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from thresher.errors import ParameterError
from thresher.queries.subsets import Subsets
from thresher.queries.threshold import Threshold
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
        """The same probability for all features: the least concentrated, so history says least."""
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
        single p: the first needs p = 0.28, the second p = 0.62. With p = 1/2 the total variations
        are 0.68 and 0.44.

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
        return float(Fraction(subsets.weight(threshold.features), subsets.total))

    def subsets(self, k: int, max_queries: int | None = None) -> Subsets:
        """The k-subsets of features, with weights exactly proportional to their probabilities.

        Probabilities are doubles, so a common denominator makes whole numbers of them.
        """
        exact = [Fraction(probability) for probability in self.probabilities]
        common = math.lcm(*(probability.denominator for probability in exact))
        whole = [int(probability * common) for probability in exact]
        shared = math.gcd(*whole)
        return Subsets(self.schema, k, max_queries, [weight // shared for weight in whole])
