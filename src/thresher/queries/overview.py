"""What a workload asks for, at a glance."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload


@dataclass(frozen=True)
class Overview:
    """The sizes of a workload, its largest thresholds, and the features it never asks about.

    Attributes:
        workload: The workload.

    Example:
        >>> from thresher.data import datasets
        >>> asked = [Threshold(("sex", "race")), Threshold(("age", "sex", "income"), 2)]
        >>> view = Overview(Workload(datasets.adult_schema(), asked))
        >>> view.kinds, view.most_expensive[0]
        ({(2, 2): 1, (3, 2): 1}, (Threshold(2 of: age, sex, income), 340))
        >>> len(view.never_asked)
        10
    """

    workload: Workload

    @property
    def kinds(self) -> dict[tuple[int, int], int]:
        """How many thresholds there are of each k and r."""
        return dict(sorted(Counter((t.k, t.r) for t in self.workload).items()))

    @property
    def most_expensive(self) -> list[tuple[Threshold, int]]:
        """The thresholds with their numbers of queries, the largest first."""
        schema = self.workload.schema
        counted = [(threshold, threshold.query_count(schema)) for threshold in self.workload]
        return sorted(counted, key=lambda pair: -pair[1])

    @property
    def times_named(self) -> dict[str, int]:
        """How many thresholds name each feature or a view of it, the most frequent first."""
        base = self.workload.schema.base
        named = Counter(base(name) for threshold in self.workload for name in threshold.features)
        return dict(named.most_common())

    @property
    def never_asked(self) -> tuple[str, ...]:
        """The features that no threshold names, in the schema's order."""
        named = self.times_named
        return tuple(name for name in self.workload.schema.names if name not in named)

    def as_json(self, most: int) -> dict[str, Any]:
        """The overview as plain JSON values, with so many of the largest thresholds."""
        return {
            "thresholds": len(self.workload),
            "queries": self.workload.query_count,
            "kinds": [{"k": k, "r": r, "thresholds": n} for (k, r), n in self.kinds.items()],
            "most_expensive": [
                {"features": list(threshold.features), "r": threshold.r, "queries": queries}
                for threshold, queries in self.most_expensive[:most]
            ],
            "features": self.times_named,
            "never_asked": list(self.never_asked),
        }
