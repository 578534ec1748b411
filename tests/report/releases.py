"""Releases of every kind over features of every kind, and random queries about them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import thresher as th

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script></style><h1>you</h1>",
    "x" * 300,
    "עברית עם ‏סימן",
    "👩‍👩‍👧 family, {or} so",
    "=1+1",
)

MECHANISMS = {
    "rap": th.RAP(epsilon=5.0, rounds=3, queries_per_round=4, synthetic_rows=40),
    "rap, not adaptive": th.RAP(epsilon=5.0, rounds=1, queries_per_round=20_000, synthetic_rows=20),
    "tables": th.AdaptiveTables(epsilon=5.0, delta=1e-6, rounds=3, synthetic_rows=40),
    "tables, few features": th.AdaptiveTables(
        epsilon=0.2, delta=1e-6, workload_tables=True, synthetic_rows=40
    ),
    "tables, rounds only": th.AdaptiveTables(
        epsilon=0.2, delta=1e-6, workload_tables=False, synthetic_rows=40
    ),
    "gaussian_joint": th.GaussianJoint(epsilon=5.0),
    "gaussian_per_query": th.GaussianPerQuery(epsilon=5.0),
    "residual": th.Residual(epsilon=5.0),
    "all0": th.All0(epsilon=5.0),
}


def people(labels: tuple[str, ...] = ("north", "south", "west"), n: int = 400) -> th.Records:
    """Records with a feature of every kind; the first is named after its first label."""
    schema = th.Schema(
        (
            th.Categorical(name=labels[0], categories=labels, outside=labels[0], nulls=labels[0]),
            th.IntegerRange(name="age", low=20, high=29, nulls="?", extra=("?",)),
            th.Bins.equal("pay in k", low=0, high=100_000, bins=25, nulls="?", extra=("?",)),
            th.Categorical(
                name="grade", categories=tuple("ABCD"), ordered=True, extra=("none",),
                nulls="none", outside="none",
            ),
            th.Dates(
                name="since", low="2019-01-01", high="2019-12-31", step="month", nulls="2019-01"
            ),
            th.Boolean(name="smoker", nulls="false"),
            *(th.Boolean(name=f"answer {i}", nulls="false") for i in range(4)),
        )
    )  # fmt: skip
    rng = np.random.default_rng(3)
    columns = [np.minimum(rng.geometric(0.3, n) - 1, size - 1) for size in schema.sizes]
    return th.Records(schema, columns)


def workload(schema: th.Schema) -> th.Workload:
    """Marginals of one to three features, and r-of-k thresholds."""
    names = schema.names
    return th.Workload(
        schema,
        [
            th.Threshold((names[0],)),
            th.Threshold((names[0], "age")),
            th.Threshold(("age", "smoker"), 1),
            th.Threshold(("grade", "smoker", "since"), 2),
            th.Threshold(("pay in k", "grade")),
            th.Threshold(("grade", "age", "smoker")),
        ],
    )


def random_queries(release: th.Release, count: int, seed: int) -> Iterator[th.Query]:
    """Single values, cells, ranges, sets, negations and r-of-k, in and out of the workload."""
    rng, schema = np.random.default_rng(seed), release.schema
    for _ in range(count):
        if rng.random() < 0.6:
            threshold = release.workload[int(rng.integers(len(release.workload)))]
            features, r = list(threshold.features), threshold.r
            rng.shuffle(features)
        else:
            k = int(rng.integers(1, len(schema) + 1))
            features = [schema.names[i] for i in rng.permutation(len(schema))[:k]]
            r = k if rng.random() < 0.5 else int(rng.integers(1, k + 1))
        single = rng.random() < 0.5
        yield th.Query(
            [th.Condition(f, [*_codes(schema[f].size, single, rng)]) for f in features], r
        )


def _codes(size: int, single: bool, rng: np.random.Generator) -> Any:
    if single or rng.random() < 0.2:
        return [int(rng.integers(size))]
    if rng.random() < 0.5:
        low, high = sorted(rng.integers(0, size, 2).tolist())
        return range(low, high + 1)
    return np.flatnonzero(rng.random(size) < rng.random()).tolist()


def as_page(query: th.Query, schema: th.Schema) -> dict[str, Any]:
    """A query as the page writes it: features by their places."""
    conditions = [
        {"feature": schema.index(c.feature), "codes": [*c.codes]} for c in query.conditions
    ]
    return {"conditions": conditions, "r": query.r}


def by_python(release: th.Release, query: th.Query) -> list[float | None]:
    """The share, its margin and whether that is estimated, as Python says; Nones if it refuses."""
    try:
        answer = release.answer(query)
    except th.QueryError:
        return [None, None, False]
    return [float(answer), answer.error_bar, answer.is_estimated]
