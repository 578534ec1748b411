"""What a budgeted request is.

A request is a value. It knows how to be checked by public facts alone, how to be carried out on the
counts of the records once it has been paid for, and how its result is kept in a journal and read
back. Whoever carries out requests (the Curator, the journal) need not know which one it is.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from thresher.data.private import FeatureSet
from thresher.errors import ResourceError
from thresher.privacy.counted import CountedTables
from thresher.privacy.randomness import Randomness
from thresher.privacy.unit import Unit
from thresher.schema import Schema, View
from thresher.tables import MEMORY_CEILING

Counts = npt.NDArray[np.int64]
Result = TypeVar("Result")

MOST_MEMORY = 2 * MEMORY_CEILING
"""The most bytes that one request may take for its result, and on the way to it."""


@dataclass(frozen=True, eq=False)
class Saved:
    """A result as a journal keeps it.

    Attributes:
        values: Plain JSON values.
        tables: Tables of counts, too large for JSON.
    """

    values: dict[str, Any]
    tables: Sequence[Counts] = ()


@dataclass(frozen=True)
class Terms:
    """What a request was carried out under: all that its result depends on but the records.

    Attributes:
        schema: The description of the columns.
        unit: What the promise protects.
        rho: What its noise is drawn for: what was paid, or less (see `gaussian`).
        total: What counts are out of.
    """

    schema: Schema
    unit: Unit
    rho: Fraction
    total: int


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

    def least_variance(self, schema: Schema, unit: Unit, rho: Fraction) -> Fraction | None:
        """The smallest variance of its noise; None if it is more than Gaussian noise on counts."""
        return None

    @abstractmethod
    def parts(self) -> tuple[Any, ...]:
        """All that it asks, in plain values, but for the public answers that functions give."""

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
    def restored(self, saved: Saved, terms: Terms) -> Result:
        """The result that `saved` was made of; a ValueError or the like if it is of another.

        Args:
            saved: What `saved` gave.
            terms: What the request was carried out under.
        """


class Choice(Request[Result]):
    """One or more choices by the exponential mechanism, of scores that a unit moves by at most 1.

    Its `size` is their number, by which what is paid is divided.
    """


class WithoutJournal(Request[Result]):
    """A request about records without a schema. A Curator of such records takes no journal."""

    def parts(self) -> tuple[Any, ...]:
        """What a journal would compare."""
        raise NotImplementedError

    def saved(self, result: Result, schema: Schema) -> Saved:
        """What a journal would keep."""
        raise NotImplementedError

    def restored(self, saved: Saved, terms: Terms) -> Result:
        """What a journal would read back."""
        raise NotImplementedError


def digest_of(request: Request[Any], schema: Schema) -> str:
    """What tells a request from others, so that no result is taken for that of another.

    Of views, the groups count with their order: a code of a view stands for a group.
    """
    names = {name for features in request.feature_sets() for name in features}
    views = [
        (view.name, view.of, view.codes, view.labels)
        for view in (schema[name] for name in sorted(names))
        if isinstance(view, View)
    ]
    said = json.dumps([request.verb, request.parts(), views])
    return hashlib.sha256(said.encode()).hexdigest()


def check_memory(needed: int) -> None:
    """Refuse, before anything is paid for, what might not fit into memory afterwards.

    The limit is a fixed one: how much memory is free can depend on the records.

    Args:
        needed: The bytes of all arrays of a request that are there at one time, by public facts.
    """
    if needed > MOST_MEMORY:
        raise ResourceError(
            f"to measure all of this at once would take {needed / 2**30:.1f} GiB of memory, and up "
            f"to {MOST_MEMORY >> 30} GiB are allowed: take fewer or smaller tables, or several "
            "calls"
        )
