"""Tables of Spark: one job in which every executor counts its part of the records.

Spark hands each executor's part of the columns to our code as Arrow batches (`mapInArrow`). They
are coded and counted there, and the executors send back the nonzero cells of all tables, which are
added up here. So the cells are coded by the very code that reads files, no record leaves the
cluster, and what travels is at most a few tables per part. For this the executors need this package
in their Python environment, of the same version.

Coding by SQL expressions was tried, too. It took minutes where this takes half a minute, probably
because the long CASE of a hundred bins exceeds what Spark compiles.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from thresher.data.counting import TableCounter
from thresher.data.engines.address import Address
from thresher.data.engines.engine import Column, checked
from thresher.data.engines.faults import driver, masked
from thresher.data.private import FeatureSet, Progress
from thresher.data.spelled import Spelled, SpelledCounts
from thresher.schema import Schema
from thresher.tables.sparse import SparseTable

KINDS = {
    "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(),
    "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "string": pa.string(),
    "char": pa.string(), "varchar": pa.string(), "date": pa.date32(), "void": pa.null(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
"""What a type of Spark is in Arrow."""

ANSWER = "place int, cell bigint, n bigint"
"""The columns that executors send back: which table, which cell, how many records."""

SPELLED = "place int, text string, n bigint"
"""The same for records without a schema: which column, which spelling, how many records."""

FAILED = (
    "the job failed. Is thresher installed in the executors' Python, and is the table still there? "
    "Spark's log says more (it may quote records)"
)


@dataclass(frozen=True)
class SparkTable:
    """A data frame of PySpark, classic or Spark Connect.

    Attributes:
        frame: The data frame.
        described: Its name in messages.
    """

    frame: Any = field(repr=False)
    described: str = "the Spark data frame"

    @classmethod
    def at(cls, address: Address) -> "SparkTable":
        """A table of the catalogue of a Spark Connect server."""
        sql = driver("pyspark.sql", "spark")
        with masked(
            f"{address}: there is no Spark Connect server, or no such table in its catalogue"
        ):
            session = sql.SparkSession.builder.remote(address.database).getOrCreate()
            quoted = ".".join(_quoted(name) for name in address.table)
            frame = session.table(quoted)
            frame.schema  # noqa: B018, asks the server whether there is such a table
        return cls(frame, str(address))

    def columns(self) -> dict[str, Column]:
        """The columns of the data frame."""
        with masked(f"{self.described}: its columns cannot be read"):
            fields = list(self.frame.schema.fields)
        folded = [entry.name.casefold() for entry in fields]
        return {
            entry.name: _column(entry.name, entry.dataType, folded.count(entry.name.casefold()))
            for entry in fields
        }

    def count(self) -> int:
        """The number of records."""
        with masked(f"{self.described}: its records cannot be counted"):
            return int(self.frame.count())

    def counts(
        self, schema: Schema, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables in one job."""
        named = {name for features in feature_sets for name in features}
        wanted = [feature for feature in schema if feature.name in named]
        columns = checked(self.described, self.columns(), wanted)
        task = counting_task(schema, feature_sets, list(columns))
        with masked(f"{self.described}: {FAILED}"):
            chosen = self.frame.selectExpr(
                *(f"{column.raw} AS c{place}" for place, column in enumerate(columns.values()))
            )
            counted = chosen.mapInArrow(task, ANSWER).groupBy("place", "cell").sum("n").toArrow()
        tables = _tables(schema, feature_sets, counted)
        if progress:
            progress(tables[0].total)
        return tables

    def spelled(
        self, names: Sequence[str], progress: Progress | None = None
    ) -> dict[str, dict[str, int]]:
        """How often each spelling occurs in some columns, in one job."""
        columns = self.columns()
        with masked(f"{self.described}: {FAILED}"):
            chosen = self.frame.selectExpr(
                *(f"{columns[name].raw} AS c{place}" for place, name in enumerate(names))
            )
            found = chosen.mapInArrow(spelling_task(names), SPELLED)
            counted = found.groupBy("place", "text").sum("n").toArrow()
        spelled: dict[str, dict[str, int]] = {name: {} for name in names}
        for place, text, number in zip(*(c.to_pylist() for c in counted.columns), strict=True):
            spelled[names[place]][text] = number
        if progress:
            progress(sum(spelled[names[0]].values()))
        return spelled


def counting_task(
    schema: Schema, feature_sets: Sequence[FeatureSet], names: Sequence[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with its part of the records.

    Args:
        schema: The features.
        feature_sets: The features of each table.
        names: The feature of each column that the executor is given.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> schema = Schema([IntegerRange(name="age", low=0, high=9, nulls=0)])
        >>> task = counting_task(schema, [("age",)], ["age"])
        >>> [answer] = task(iter([pa.record_batch({"c0": [3, 3, 250]})]))
        >>> answer.to_pylist()
        [{'place': 0, 'cell': 3, 'n': 2}, {'place': 0, 'cell': 9, 'n': 1}]
    """
    sets = list(feature_sets)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counter = TableCounter(schema, sets)
        for batch in batches:
            cells = zip(names, batch.columns, strict=True)
            counter.add({name: schema[name].encode(column) for name, column in cells})
        for place, table in enumerate(counter.tables()):
            places = np.full(len(table), place, dtype=np.int32)
            yield pa.record_batch({"place": places, "cell": table.cells, "n": table.counts})

    return count


def spelling_task(
    names: Sequence[str],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor does with its part of records that have no schema.

    Args:
        names: The names of the columns that the executor is given.

    Example:
        >>> task = spelling_task(["city"])
        >>> [answer] = task(iter([pa.record_batch({"c0": ["Rome", None, "Rome"]})]))
        >>> answer.to_pylist()
        [{'place': 0, 'text': 'Rome', 'n': 2}, {'place': 0, 'text': '', 'n': 1}]
    """
    wanted = list(names)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counters = [SpelledCounts(Spelled.of(name)) for name in wanted]
        for batch in batches:
            for counter, column in zip(counters, batch.columns, strict=True):
                counter.add(counter.column.encode(column))
        for place, counter in enumerate(counters):
            texts = counter.of_texts()
            places = np.full(len(texts), place, dtype=np.int32)
            numbers = np.array(list(texts.values()), dtype=np.int64)
            yield pa.record_batch(
                {"place": places, "text": pa.array(texts, pa.string()), "n": numbers}
            )

    return count


def _tables(
    schema: Schema, feature_sets: Sequence[FeatureSet], counted: pa.Table
) -> list[SparseTable]:
    places, cells, counts = (np.asarray(column) for column in counted.columns)
    tables = []
    for place, features in enumerate(feature_sets):
        here = places == place
        shape = tuple(schema[name].size for name in features)
        tables.append(SparseTable.of_cells(shape, cells[here], counts[here]))
    return tables


def _column(name: str, kind: Any, times: int) -> Column:
    raw, named = _quoted(name), kind.simpleString()
    if times > 1:  # Spark cannot tell them apart
        return Column(None, "a column whose name differs from another's in capitals only", raw)
    if kind.typeName() == "decimal":
        return Column(pa.decimal128(kind.precision, kind.scale), named, raw)
    return Column(KINDS.get(kind.typeName()), named, raw)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
