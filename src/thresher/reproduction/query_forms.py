"""How long the two forms of the paper's polynomial threshold query take, and the one used here."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thresher.relaxed.surrogate import (
    Probabilities,
    threshold_by_counting,
    threshold_by_inclusion_exclusion,
    threshold_by_partitions,
)
from thresher.reproduction.running import Result, Sources, Task


@dataclass(frozen=True, kw_only=True)
class FormTiming(Task):
    """Evaluate many r-of-k queries on n' rows by each form, in NumPy, and take the best time."""

    kind: ClassVar[str] = "forms"
    later: ClassVar[frozenset[str]] = frozenset({"seed"})

    k: int
    r: int
    rows: int = 1000
    queries: int = 64
    repeats: int = 7
    seed: int = 0

    def run(self, sources: Sources) -> Result:
        """Milliseconds of processor time by each form."""
        shape = (self.k, self.rows * self.queries)
        matches = np.random.default_rng(self.noise_seed).random(shape, dtype=np.float32)
        forms: dict[str, Callable[[Probabilities, int], Probabilities]] = {
            "partitions": _partitions_or_complement,
            "inclusion_exclusion": threshold_by_inclusion_exclusion,
            "counting": threshold_by_counting,
        }
        return {
            name: round(min(self._milliseconds(form, matches) for _ in range(self.repeats)), 4)
            for name, form in forms.items()
        }

    def _milliseconds(
        self, form: Callable[[Probabilities, int], Probabilities], matches: Probabilities
    ) -> float:
        began = time.process_time()
        form(matches, self.r)
        return 1e3 * (time.process_time() - began)


def _partitions_or_complement(matches: Probabilities, r: int) -> Probabilities:
    """The definition with the paper's first optimisation, which both of its forms may use."""
    k = matches.shape[0]
    if 2 * r <= k:
        return 1.0 - threshold_by_partitions(1.0 - matches, k - r + 1)
    return threshold_by_partitions(matches, r)
