"""What an engine gives, and private data in one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thresher.data.counting import TableCounter
from thresher.data.private import FeatureSet, Progress
from thresher.data.spelled import Spelled, SpelledCounts
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.schema.features import Feature
from thresher.tables.sparse import SparseTable

NO_IDS = "ids of persons are read from files; export the rows to Parquet"


@dataclass(frozen=True)
class CodedBatch:
    """Some records, coded.

    Attributes:
        codes: The codes of each feature.
        weights: How many records each row stands for; None if each is one.

    Example:
        >>> CodedBatch({"age": np.array([3, 5])}, weights=np.array([10, 1])).weights.sum()
        np.int64(11)
    """

    codes: Mapping[str, npt.NDArray[Any]]
    weights: npt.NDArray[np.int64] | None = None


class Engine(Protocol):
    """A table of a database or a cluster, for reading."""

    @property
    def described(self) -> str:
        """The table's name in messages, without any password."""
        ...

    def columns(self) -> dict[str, "Column"]:
        """The columns of the table."""
        ...

    def count(self) -> int:
        """The number of records."""
        ...

    def counts(
        self, schema: Schema, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables on all records as they are in one moment."""
        ...

    def spelled(
        self, names: Sequence[str], progress: Progress | None = None
    ) -> dict[str, dict[str, int]]:
        """How often each spelling occurs in some columns, whose types all have spellings."""
        ...


class StreamingEngine(ABC):
    """An engine that sends its records in coded batches, to be counted here."""

    @abstractmethod
    def coded(self, features: Sequence[Feature]) -> Iterator[CodedBatch]:
        """All records in batches, as they are in one moment: what is written later is not seen."""

    def counts(
        self, schema: Schema, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables, batch by batch."""
        counter = TableCounter(schema, feature_sets)
        for batch in self.coded([schema[name] for name in counter.features]):
            counter.add(batch.codes, batch.weights)
            if progress:
                progress(counter.total)
        return counter.tables()

    def spelled(
        self, names: Sequence[str], progress: Progress | None = None
    ) -> dict[str, dict[str, int]]:
        """How often each spelling occurs in some columns, batch by batch."""
        counters, rows = [SpelledCounts(Spelled.of(name)) for name in names], 0
        for batch in self.coded([counter.column for counter in counters]):
            for counter in counters:
                counter.add(batch.codes[counter.column.name], batch.weights)
            weights, codes = batch.weights, batch.codes[names[0]]
            rows += len(codes) if weights is None else int(weights.sum())
            if progress:
                progress(rows)
        return {counter.column.name: counter.of_texts() for counter in counters}


@dataclass(frozen=True)
class Column:
    """A column of a database.

    Attributes:
        kind: Its cells' type in Arrow; None if they are nothing that can be read.
        named: What the database calls that type.
        raw: The expression under which its cells arrive, if they are not coded in the database.
        digits: Whether they arrive as the text of a number.
        moment: Whether they arrive as a whole number, that Arrow stores for a date or time.

    Example:
        >>> Column(pa.int32(), "integer", raw='"age"').kind
        DataType(int32)
    """

    kind: pa.DataType | None
    named: str
    raw: str
    digits: bool = False
    moment: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class ConnectedTable:
    """Private records in a table of a database or cluster: what `connect` gives.

    Only the number of records and the schema may be told; the repr tells no more. The records stay
    where they are. When tables are counted, codes are read in one pass, and none is kept.

    Attributes:
        schema: The public description of the columns.
        n: The number of records when the table was connected to, which is public.
    """

    schema: Schema
    n: int
    _engine: Engine = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"ConnectedTable({self.n} records, {len(self.schema)} features, "
            f"{self.schema.width} one-hot columns)"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a connection can hold a password and cannot be copied or pickled")

    def counts(
        self, feature_sets: Sequence[FeatureSet], progress: Progress | None = None
    ) -> list[SparseTable]:
        """Count marginal tables. Not private: for the privacy wall and for evaluation."""
        if not feature_sets:
            return []
        tables = self._engine.counts(self.schema, feature_sets, progress)
        if any(table.total != self.n for table in tables):
            raise DataError(
                f"{self._engine.described} has another number of records than when it was "
                "connected to: connect again when nobody writes to it"
            )
        return tables


def connected(engine: Engine, schema: Schema) -> ConnectedTable:
    """Check that a table has what a schema describes, and count its records."""
    checked(engine.described, engine.columns(), schema)
    n = engine.count()
    if not n:
        raise DataError(f"{engine.described} holds no records: at least one is needed")
    return ConnectedTable(schema, n, engine)


def checked(
    described: str, columns: Mapping[str, Column], features: Iterable[Feature]
) -> dict[str, Column]:
    """The columns of some features, each of a type that can be coded.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> age = IntegerRange(name="age", low=0, high=99, nulls=0)
        >>> checked("people", {"age": Column(pa.date32(), "date", raw="age")}, [age])
        Traceback (most recent call last):
        thresher.errors.DataError: people: column 'age' is of type date32[day], where the schema ...
    """
    wanted = list(features)
    _refuse_missing(described, list(columns), [feature.name for feature in wanted])
    for feature in wanted:
        column = columns[feature.name]
        if column.kind is None:
            raise DataError(
                f"{described}: column {feature.name!r} is of type {column.named}, which "
                "cannot be coded: make a view in which it is a number or text"
            )
        try:
            feature.encode(pa.array([], column.kind))
        except DataError as fault:
            raise DataError(f"{described}: {fault}") from None
    return {feature.name: columns[feature.name] for feature in wanted}


def code_of_arrow(feature: Feature, column: Column, cells: pa.Array) -> npt.NDArray[Any]:
    """The codes of cells that arrived as they are."""
    from thresher.schema.coding import numbers_of

    if column.digits:
        cells = pa.array(numbers_of(feature.name, cells), from_pandas=True)
    elif column.moment:
        width = pa.int32() if column.kind == pa.date32() else pa.int64()
        cells = cells.cast(width).view(column.kind)
    return feature.encode(cells)


def _refuse_missing(described: str, columns: list[str], wanted: list[str]) -> None:
    missing = [name for name in wanted if name not in columns]
    if not missing:
        return
    spelled = {name.strip().casefold() for name in columns}
    near = [name for name in missing if name.casefold() in spelled]
    raise DataError(
        f"{described} lacks the column{'s' * (len(missing) > 1)} "
        f"{', '.join(map(repr, missing))} of the schema among its {len(columns)}: "
        + (f"mind capitals and blanks in {near[0]!r}" if near else "rename them in a view")
    )
