"""The historical workload: read from a log of queries, and enlarged with random thresholds.

Everything here is public: which questions were asked, never what the records say.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from thresher.errors import ParameterError, QueryError
from thresher.queries.distributions import FeatureDistribution
from thresher.queries.draws import draw_distinct
from thresher.queries.query_lines import read_queries
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema


@dataclass(frozen=True)
class History:
    """Thresholds that were asked about, and how often.

    Attributes:
        workload: The different thresholds, the most frequent first.
        times: How often each of them was asked about.

    Example:
        >>> from thresher.data import datasets
        >>> log = ["any of: sex=Female, race=Black", "age=20..29", "any of: race=White, sex=Male"]
        >>> past = History.from_log(log, datasets.adult_schema())
        >>> past.workload.thresholds, past.times
        ((Threshold(1 of: sex, race), Threshold(1 of: age)), (2, 1))
    """

    workload: Workload
    times: tuple[int, ...]

    @classmethod
    def of(cls, schema: Schema, thresholds: Iterable[Threshold]) -> "History":
        """Count thresholds that may recur; equally frequent ones keep their order."""
        counted = Counter(thresholds).most_common()
        if not counted:
            raise QueryError("the history holds no query")
        return cls(Workload(schema, (t for t, _ in counted)), tuple(times for _, times in counted))

    @classmethod
    def from_log(cls, lines: Iterable[str], schema: Schema) -> "History":
        """Read a log in the query language, one query a line; a query stands for its threshold."""
        return cls.of(schema, (query.threshold for _, query in read_queries(lines, schema)))

    @property
    def weighted(self) -> Workload:
        """The thresholds, with how often each was asked about as its weight."""
        return Workload(self.workload.schema, self.workload, self.times)

    @property
    def features(self) -> FeatureDistribution:
        """The empirical feature distribution: how often each feature was named, as a share.

        Example:
            >>> from thresher.data import datasets
            >>> log = ["sex=Male, race=White", "sex=Female", "sex=Male"]
            >>> History.from_log(log, datasets.adult_schema()).features["sex"]
            0.75
        """
        named: Counter[str] = Counter()
        for threshold, times in zip(self.workload, self.times, strict=True):
            named.update(dict.fromkeys(map(self.workload.schema.base, threshold.features), times))
        total = named.total()
        shares = {name: times / total for name, times in named.items()}
        return FeatureDistribution.of(self.workload.schema, shares)

    @property
    def asked(self) -> int:
        """The number of queries in the history."""
        return sum(self.times)

    def asked_at_least(self, times: int) -> "History":
        """The thresholds that were asked about at least so many times."""
        kept = [i for i, often in enumerate(self.times) if often >= times]
        if not kept:
            raise ParameterError(f"no threshold was asked about {times} times or more")
        thresholds = (self.workload[i] for i in kept)
        return History(
            Workload(self.workload.schema, thresholds), tuple(self.times[i] for i in kept)
        )


def enough_thresholds(schema: Schema) -> int:
    """How many historical thresholds are enough for a schema: as many as it has features.

    The paper finds that more history helps up to a point of diminishing returns: about 16
    thresholds for the 14 features of ADULT, and 64 for the 48 of LOANS (of 1, 4, 16, 64, …). Below
    it, future error depends on how the thresholds were distributed, and can be much larger.
    """
    return len(schema)


def small_history(workload: Workload) -> str | None:
    """A warning if a historical workload is small for its domain, by public facts only.

    Example:
        >>> from thresher.data import datasets
        >>> small_history(Workload.random(datasets.adult_schema(), k=3, size=16, seed=0))
        >>> print(small_history(Workload.random(datasets.adult_schema(), k=3, size=4, seed=0)))
        4 thresholds are a small history for 14 features: future queries may be answered badly; \
add 10 random ones (`thresher workload augment`)
    """
    enough = enough_thresholds(workload.schema)
    if len(workload) >= enough:
        return None
    return (
        f"{len(workload)} thresholds are a small history for {len(workload.schema)} features: "
        f"future queries may be answered badly; add {enough - len(workload)} random ones "
        "(`thresher workload augment`)"
    )


def augment(workload: Workload, *, seed: int, add: int | None = None) -> Workload:
    """A workload with uniformly random thresholds added, in the same mix of k and r.

    The paper's advice for a small historical workload, whatever its distribution: in the worst
    case future error stays as it was, in the best it falls a lot. The thresholds that are added get
    the smallest weight of the workload.

    Args:
        workload: The historical workload; it comes first, unchanged.
        seed: The same seed adds the same thresholds.
        add: How many to add; as many as it takes to have enough, if not given.

    Example:
        >>> from thresher.data import datasets
        >>> past = Workload.random(datasets.adult_schema(), k=3, r=1, size=4, seed=0)
        >>> more = augment(past, seed=0)
        >>> len(more), more[:4] == past, {(t.k, t.r) for t in more}
        (14, True, {(3, 1)})
    """
    schema = workload.schema
    uniform = FeatureDistribution.uniform(schema)
    present: dict[tuple[int, int], list[Threshold]] = {}
    for threshold in workload:
        present.setdefault((threshold.k, threshold.r), []).append(threshold)
    room = {kind: math.comb(len(schema), kind[0]) - len(listed) for kind, listed in present.items()}
    if add is None:
        add = min(max(0, enough_thresholds(schema) - len(workload)), sum(room.values()))
    elif add < 1:
        raise ParameterError(f"add must be at least 1, not {add}")
    if add > sum(room.values()):
        raise ParameterError(
            f"only {sum(room.values())} more thresholds of these kinds (k, r) exist; {add} were "
            "asked for"
        )
    quotas = _quotas({kind: len(listed) for kind, listed in present.items()}, room, add)
    added: list[Threshold] = []
    for number, (kind, quota) in enumerate(quotas.items()):
        if quota:
            k, r = kind
            added += draw_distinct(
                uniform, k, r, size=quota, seed=seed + number, excluding=present[kind]
            )
    weights = (*workload.weights, *[min(workload.weights)] * len(added))
    return Workload(schema, (*workload, *added), weights)


def _quotas(
    mix: dict[tuple[int, int], int], room: dict[tuple[int, int], int], add: int
) -> dict[tuple[int, int], int]:
    """Share `add` out in proportion to the mix, one at a time, as far as there is room."""
    total = sum(mix.values())
    quotas = dict.fromkeys(mix, 0)
    for done in range(1, add + 1):
        open_kinds = [kind for kind in mix if quotas[kind] < room[kind]]
        neediest = max(open_kinds, key=lambda kind: done * mix[kind] - total * quotas[kind])
        quotas[neediest] += 1
    return quotas
