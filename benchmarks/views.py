"""Views against single values: the errors of a log of range queries, and a 3-of-4 with two ranges.

    python -m benchmarks.views --epsilon 1 --seeds 3

A made-up log of queries about ADULT, most of them with ranges, becomes a workload twice: over the
features themselves, and over the views that `workload from-log --views` proposes. Both get an
`auto` fit of the same budget. Not private: it compares with the truth.
"""

import argparse
import json
import random
import time

import numpy as np

import thresher as th
from thresher.queries.proposals import propose_views, through_views

SCIENTIST = "3 of: age=..24, hours-per-week=..20, sex=Female, income=<=50K"
AGES, HOURS, SCHOOLING = (18, 25, 30, 40, 50, 65), (20, 35, 41, 50), (9, 13)
RANGED = {"age": AGES, "hours-per-week": HOURS, "education-num": SCHOOLING}
PLAIN = ("sex", "race", "income", "marital-status", "workclass", "relationship")


def log_of(queries: int, seed: int, schema: th.Schema) -> list[str]:
    """A log: each query has one or two ranges or sets, and one or two single values."""
    source, lines = random.Random(seed), [SCIENTIST]
    while len(lines) < queries:
        parts = []
        for name in source.sample([*RANGED, "native-country"], source.choice((1, 1, 2))):
            parts.append(_range(name, source))
        for name in source.sample(PLAIN, source.choice((1, 1, 2))):
            parts.append(f"{name}={source.choice(schema[name].labels)}")
        r = source.choice((len(parts), len(parts), max(1, len(parts) - 1)))
        lines.append(f"{r} of: {', '.join(parts)}")
    return lines


def _range(name: str, source: random.Random) -> str:
    if name == "native-country":
        return f"{name}{source.choice(('=', '!='))}United-States"
    cuts = RANGED[name]
    first = source.randrange(-1, len(cuts))
    last = source.randrange(first + 1, len(cuts) + 1)
    low = "" if first < 0 else cuts[first]
    high = "" if last == len(cuts) else cuts[last] - 1
    return f"{name}={low}..{high}" if (low, high) != ("", "") else f"{name}={cuts[0]}.."


def compared(epsilon: float, seed: int, queries: int, with_views: bool) -> dict[str, object]:
    """Fit a log once, and compare the answers to its queries with the truth."""
    data = th.datasets.adult()
    schema = data.schema
    asked = [th.Query.parse(line, schema) for line in log_of(queries, seed, schema)]
    if with_views:
        schema = schema.with_views(propose_views(asked, schema))
    work = th.History.of(schema, (through_views(query, schema) for query in asked)).workload
    started = time.process_time()
    release = th.Auto(epsilon=epsilon, seed=seed).fit(data, work)
    seconds = time.process_time() - started
    answers = list(release.answer_many(asked))
    truths = [th.exact_answer(data, query) for query in asked]
    errors = np.abs(np.subtract([float(a) for a in answers], truths))
    margins = np.array([1.0 if a.error_bar is None else a.error_bar for a in answers])
    return {
        "epsilon": epsilon, "seed": seed, "views": with_views, "thresholds": len(work),
        "queries": work.query_count, "seconds": round(seconds, 1),
        "largest": float(errors.max()), "mean": float(errors.mean()),
        "rms": float(np.sqrt((errors**2).mean())), "median margin": float(np.median(margins)),
        "covered": float((errors <= margins).mean()),
        "3 of 4": {"truth": truths[0], "error": float(errors[0]), "margin": float(margins[0])},
    }  # fmt: skip


def main() -> None:
    """Print a line of JSON for each fit."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--epsilon", type=float, default=1.0)
    words.add_argument("--seeds", type=int, default=3)
    words.add_argument("--queries", type=int, default=60)
    given = words.parse_args()
    for seed in range(given.seeds):
        for with_views in (False, True):
            print(json.dumps(compared(given.epsilon, seed, given.queries, with_views)), flush=True)


if __name__ == "__main__":
    main()
