"""What a budgeted request is.

A request is a value. It knows how to be checked by public facts alone, how to be carried out on the
counts of the records once it has been paid for, and how its result is kept in a journal and read
back. Whoever carries out requests (the Curator, the journal) need not know which one it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from thresher.data.private import FeatureSet
from thresher.privacy.counted import CountedTables
from thresher.privacy.randomness import Randomness
from thresher.privacy.unit import Unit
from thresher.schema import Schema

Counts = npt.NDArray[np.int64]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Saved:
    """A result as a journal keeps it.

    Attributes:
        values: Plain JSON values.
        tables: Tables of counts, too large for JSON.
    """

    values: dict[str, Any]
    tables: Sequence[Counts] = ()


class Request(ABC, Generic[Result]):
    """Something that can be asked about the records, for a price."""

    verb: ClassVar[str]
    """The name of the method of `Access` that asks for this."""
    needs_total: ClassVar[bool] = True
    """Whether what counts are out of must be known."""
    needs_cells: ClassVar[bool] = False
    """Whether it is about cells as they are written, of records without a schema."""

    @abstractmethod
    def copied(self, schema: Schema) -> Self:
        """The same request in fresh, plain values, which nobody else can change."""

    @abstractmethod
    def check(self, schema: Schema, unit: Unit, rho: Fraction) -> None:
        """Refuse, by public facts alone, what cannot be served for ρ."""

    def failure(self) -> Fraction:
        """What it spends of δ: the probability of an event that ρ says nothing about."""
        return Fraction(0)

    @abstractmethod
    def feature_sets(self) -> list[FeatureSet]:
        """The features of all tables that it needs."""

    @abstractmethod
    def run(self, counted: CountedTables, rho: Fraction, randomness: Randomness) -> Result:
        """Carry it out. It has been paid for: failing from here on does not depend on records."""

    @abstractmethod
    def nothing(self) -> Result:
        """What can be said without looking, where an interrupted fit lost all it had paid for."""

    def size(self) -> int:
        """How many queries, at most, the JSON values of a result name."""
        return 1

    def table_sizes(self, schema: Schema) -> list[int]:
        """How many cells the tables of a result have."""
        return []

    @abstractmethod
    def saved(self, result: Result, schema: Schema) -> Saved:
        """A result in the form that a journal keeps."""

    @abstractmethod
    def restored(self, saved: Saved, schema: Schema, total: int) -> Result:
        """The result that `saved` was made of; a ValueError or the like if it is of another.

        Args:
            saved: What `saved` gave.
            schema: The description of the columns.
            total: What counts are out of.
        """


class WithoutJournal(Request[Result]):
    """A request about records without a schema: a draft is short, and has no journal."""

    def saved(self, result: Result, schema: Schema) -> Saved:
        """A Curator of such records takes no journal."""
        raise NotImplementedError

    def restored(self, saved: Saved, schema: Schema, total: int) -> Result:
        """A Curator of such records takes no journal."""
        raise NotImplementedError
