"""The few words of SQL in which codes are asked for, as each engine writes them.

No literal depends on a setting of the server, such as how it reads backslashes, and no comparison
of texts on a collation: texts are equal if their characters are.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from thresher.schema.cells import BLANKS


class Dialect(ABC):
    """How an engine writes names and texts, and looks up a text."""

    @abstractmethod
    def name(self, name: str) -> str:
        """A column's or table's name, whatever characters it has."""

    @abstractmethod
    def text(self, text: str) -> str:
        """A text."""

    @abstractmethod
    def by_text(self, cell: str, codes: Mapping[str, int], other: int) -> str:
        """The code of a text that is not missing, by its characters without blanks at the ends."""

    def table(self, names: Sequence[str]) -> str:
        """A table's name with that of its schema."""
        return ".".join(map(self.name, names))


class DuckDB(Dialect):
    """DuckDB. It looks up each entry of a column's dictionary once.

    Numbers are not coded by it: they come over without a copy, and our code is faster.

    Example:
        >>> print(DuckDB().name('a"b'), DuckDB().text("it's"))
        "a""b" 'it''s'
    """

    def name(self, name: str) -> str:
        return _doubled(name, '"')

    def text(self, text: str) -> str:
        return _doubled(text, "'")

    def by_text(self, cell: str, codes: Mapping[str, int], other: int) -> str:
        # As bytes, since a column of texts can have a collation that ignores capitals.
        texts = ", ".join(f"encode({self.text(text)})" for text in codes)
        place = f"list_position([{texts}], encode({self._trimmed(cell)}))"
        return f"coalesce(list_extract({[*codes.values()]}, nullif({place}, 0)), {other})"

    def _trimmed(self, cell: str) -> str:
        return f"trim({cell}, {self.text(BLANKS)})"


class Postgres(Dialect):
    r"""PostgreSQL, with a database in UTF-8.

    Example:
        >>> print(Postgres().name('a"b'), Postgres().text(r"it's \ here"))
        "a""b" E'it''s \\ here'
    """

    def name(self, name: str) -> str:
        return _doubled(name, '"')

    def text(self, text: str) -> str:
        return "E" + _doubled(text.replace("\\", "\\\\"), "'")

    def by_text(self, cell: str, codes: Mapping[str, int], other: int) -> str:
        # Most cells are listed as they are: blanks are only looked for in the others.
        cases = " ".join(f"WHEN {self.text(text)} THEN {code}" for text, code in codes.items())
        trimmed = f"CASE {self._trimmed(cell)} {cases} ELSE {other} END"
        return f"CASE {cell} {cases} ELSE {trimmed} END"

    def as_double(self, cell: str) -> str:
        """A number as the nearest double."""
        return f"CAST({cell} AS float8)"

    def double(self, number: float) -> str:
        """A double, exactly; maybe infinite."""
        return f"CAST('{number!r}' AS float8)"

    def is_nan(self, number: str) -> str:
        """Whether a double is NaN."""
        return f"{number} = CAST('NaN' AS float8)"

    def edges_passed(self, number: str, edges: Sequence[float]) -> str:
        """How many of some rising edges are at or below a double."""
        listed = ", ".join(map(self.double, edges))
        return f"width_bucket({number}, ARRAY[{listed}])" if edges else "0"

    def _trimmed(self, cell: str) -> str:
        return f"btrim({cell}, {self.text(BLANKS)})"


def _doubled(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote
