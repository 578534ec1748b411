"""The unit of privacy: whom a promise protects, and what one of them can change.

A *unit* is one record, or one person with all their rows. Neighbouring data sets differ in one
unit, which is replaced by another, or added or removed. All noise follows from how far this moves
counts, so every sensitivity of this package comes from here.

If a person may have several rows, at most G of them are used (see `persons`). Then there are two
ways to count:

- *rows*: each row counts 1, and a person moves a count by up to S = G;
- *persons*: each of a person's m rows counts 1/m of the person. Counts stay whole numbers, because
  a person is cut into L = lcm(1, …, G) parts and each row gets L/m of them. So every person adds up
  to L parts exactly, and moves a count by up to S = L parts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from thresher.errors import ParameterError

Neighbours = Literal["replace", "add-remove"]
Counting = Literal["rows", "persons"]

MOST_ROWS = 1 << 20
"""The most rows of a person, if rows are counted."""

MOST_SHARED = 16
"""The most rows of a person, if persons are counted: lcm(1, …, 16) is below 2^20."""

MOST_UNITS = 2**40
"""The most records or persons. With up to 2^20 parts each, all sums stay within 64 bits."""


@dataclass(frozen=True)
class Unit:
    """Whom the promise is for, and how they are counted.

    Attributes:
        neighbours: `"replace"`: one unit is replaced by another, and their number is public; or
            `"add-remove"`: one unit is added or removed, and their number is private.
        person: The column that says whose row it is. None: each record is a unit.
        rows_per_person: G, the most rows of a person that are used.
        counting: `"persons"`: shares of persons; or `"rows"`: shares of rows.

    Example:
        >>> print(Unit())
        one record is replaced by another
        >>> visits = Unit("add-remove", person="patient", rows_per_person=4)
        >>> print(visits)
        one person ('patient') is added or removed, with all their rows
        >>> visits.scale, visits.table_squared, Unit().table_squared
        (12, 144, 2)
    """

    neighbours: Neighbours = "replace"
    person: str | None = None
    rows_per_person: int = 1
    counting: Counting = "persons"

    def __post_init__(self) -> None:
        _check_one_of("neighbours", self.neighbours, Neighbours)
        _check_one_of("counting", self.counting, Counting)
        if self.person is not None and not (isinstance(self.person, str) and self.person):
            raise ParameterError(f"person must be the name of a column, not {self.person!r}")
        most = MOST_SHARED if self.counting == "persons" else MOST_ROWS
        if type(self.rows_per_person) is not int or not 1 <= self.rows_per_person <= most:
            raise ParameterError(
                f"rows_per_person must be a whole number from 1 to {most} where {self.counting} "
                f"are counted, not {self.rows_per_person!r}"
            )
        if self.person is None and self.rows_per_person > 1:
            raise ParameterError(
                "rows_per_person needs person, the column that says whose row it is"
            )
        if self.rows_per_person == 1:
            # A person with one row is that row, so both ways of counting are the same.
            object.__setattr__(self, "counting", "persons")

    @property
    def counted(self) -> str:
        """What n is the number of, for people: records, persons or rows."""
        if self.person is None:
            return "records"
        return self.counting

    @property
    def parts(self) -> int:
        """How many counted parts each of the n makes up: L if persons are shared out, or 1."""
        return math.lcm(*range(1, self.rows_per_person + 1)) if self.counting == "persons" else 1

    @property
    def scale(self) -> int:
        """S: the most that one unit moves the count of any query, in counted parts."""
        return self.parts if self.counting == "persons" else self.rows_per_person

    @property
    def query_squared(self) -> int:
        """The squared sensitivity of one query, any r of k: S²."""
        return self.scale**2

    @property
    def table_squared(self) -> int:
        """The squared L2 sensitivity of one marginal table with all its cells.

        A unit's rows are a table with cells of 0 or more that add up to at most S, so their squares
        add up to at most S². Replacing takes one such table away and adds another. The two are
        furthest apart, 2·S², if they have no cell in common.
        """
        return self.scale**2 * (2 if self.neighbours == "replace" else 1)

    @property
    def total_squared(self) -> int:
        """The squared sensitivity of n itself: 0 if it is public.

        Every person has a row. So replacing one moves the number of rows by at most G - 1.
        """
        added = 1 if self.counting == "persons" else self.rows_per_person
        return (added if self.neighbours == "add-remove" else added - 1) ** 2

    @property
    def total_is_public(self) -> bool:
        """Whether no neighbour has another n."""
        return self.total_squared == 0

    def worth(self, n: int) -> int:
        """How many units n records, persons or rows are worth: n, or rows over G.

        Noise is S times that of single records, and counts are out of n·`parts`. So this is what n
        is to every plan.
        """
        return max(1, n * self.parts // self.scale)

    def protects_as(self, other: "Unit") -> bool:
        """Whether both promise the same to the same people, so that their ρ add up.

        How many rows of a person are used and how they are counted makes no difference to that.
        """
        return (self.neighbours, self.person) == (other.neighbours, other.person)

    def protected_json(self) -> dict[str, str]:
        """Whom it protects, without how their rows are counted, as plain JSON values."""
        person = {} if self.person is None else {"person": self.person}
        return {"neighbours": self.neighbours, **person}

    def __str__(self) -> str:
        whole = "one record" if self.person is None else f"one person ({self.person!r})"
        change = "replaced by another" if self.neighbours == "replace" else "added or removed"
        return f"{whole} is {change}" + (", with all their rows" if self.person else "")

    @property
    def described(self) -> str:
        """The unit, with what is used of a person's rows, in words."""
        if self.person is None or self.rows_per_person == 1:
            used = "" if self.person is None else "; one row of each person is used"
        else:
            how = "shares of persons" if self.counting == "persons" else "rows"
            used = f"; up to {self.rows_per_person} rows of each person are used, counted as {how}"
        return f"{self}{used}"

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values.

        Example:
            >>> Unit("add-remove").as_json()
            {'neighbours': 'add-remove'}
            >>> Unit.from_json(Unit(person="id").as_json()) == Unit(person="id")
            True
        """
        if self.person is None:
            return {"neighbours": self.neighbours}
        return {
            "neighbours": self.neighbours,
            "person": self.person,
            "rows_per_person": self.rows_per_person,
            "counting": self.counting,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any] | None) -> "Unit":
        """Read back what `as_json` gave; None is what files said before there were units."""
        return cls(**given) if given else cls()


def _check_one_of(name: str, given: object, kind: object) -> None:
    if given not in (known := get_args(kind)):
        raise ParameterError(f"{name} must be {' or '.join(map(repr, known))}, not {given!r}")
