"""A tiny universe: a few people, a few features, and every way to replace one person."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pandas as pd

from thresher.data import read
from thresher.data.records import Records
from thresher.queries import Query, Threshold, Workload
from thresher.schema import Schema
from thresher.schema.features import Categorical
from thresher.tables import AnswersOf, Slab

Person = tuple[int, ...]
People = tuple[Person, ...]


def schema_of(*sizes: int) -> Schema:
    """Features a, b, c… with so many values each."""
    return Schema(
        Categorical(
            name=name, categories=tuple(f"{name}{i}" for i in range(size)), outside=f"{name}0",
            nulls=f"{name}0",
        )
        for name, size in zip("abcdef", sizes, strict=False)
    )  # fmt: skip


def records_of(schema: Schema, people: Sequence[Person]) -> Records:
    """The records of some people."""
    columns = np.array(people, dtype=np.uint8).T
    return Records(schema, [np.ascontiguousarray(column) for column in columns])


def everybody(schema: Schema) -> list[Person]:
    """Every person that there could be."""
    return list(product(*(range(size) for size in schema.sizes)))


def data_sets(schema: Schema, n: int) -> list[People]:
    """Every data set of n people; their order does not matter."""
    return list(combinations_with_replacement(everybody(schema), n))


def neighbours_of(schema: Schema, people: People) -> Iterator[People]:
    """Every data set in which one of the people is replaced by another."""
    for i, person in enumerate(people):
        for other in everybody(schema):
            if other != person:
                yield tuple(sorted((*people[:i], *people[i + 1 :], other)))


def all_thresholds(schema: Schema) -> list[Threshold]:
    """Every r-of-k threshold over the schema."""
    return [
        Threshold(features, r)
        for k in range(1, len(schema) + 1)
        for features in combinations(schema.names, k)
        for r in range(1, k + 1)
    ]


def count(people: People, query: Query, schema: Schema) -> int:
    """How many of the people meet a query: by its definition, not by our tables."""
    return sum(
        sum(person[schema.index(c.feature)] in c.codes for c in query.conditions) >= query.r
        for person in people
    )


def answers_from(workload: Workload, counts: Sequence[int], n: int) -> AnswersOf:
    """Public answers such that n times the answer to each query rounds to a given count."""

    def answers_of(threshold: Threshold):
        first = workload.starts[workload.thresholds.index(threshold)]

        def answers(slab: Slab) -> np.ndarray:
            here = counts[first + slab.first : first + slab.first + slab.size]
            return (np.array(here) / n).reshape(slab.shape)

        return answers

    return answers_of


def scores_of(people: People, workload: Workload, counts: Sequence[int]) -> tuple[int, ...]:
    """The score of every query of a workload, by definition."""
    return tuple(
        abs(count(people, workload.query(i), workload.schema) - counts[i])
        for i in range(workload.query_count)
    )


Rows = tuple[Person, ...]
"""The rows of one person with several."""


def rows_of_one(schema: Schema, most: int) -> list[Rows]:
    """Every way in which one person can have 1 to `most` rows; their order does not matter."""
    return [rows for size in range(1, most + 1) for rows in data_sets(schema, size)]


def person_records(schema: Schema, persons: Mapping[str, Rows], column: str = "who") -> Records:
    """The rows of some persons, read as a user would."""
    listed = [(who, *row) for who, rows in persons.items() for row in rows]
    labels = {
        name: [schema[name].labels[row[i + 1]] for row in listed]
        for i, name in enumerate(schema.names)
    }
    frame = pd.DataFrame({column: [row[0] for row in listed], **labels})
    return read(frame, schema, person=column)
