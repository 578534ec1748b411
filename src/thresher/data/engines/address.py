"""The address of a table: a URL with the table's name behind `#`.

`postgresql://host/database#people`, `postgresql://host/database#census.people`,
`duckdb:///folder/file.db#people`. A URL may hold a password. So it is never shown: messages have
the description of an address, which holds the host, the database and the table alone.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from thresher.errors import DataError
from thresher.wording import plain, shown

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
PLACE = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://)(?:[^@/?#]*@)?([^@?#]*)(?:\?[^@#]*)?")
"""A URL that leaves no doubt where its user, password and options are."""

NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+))\s*(\.|$)')


@dataclass(frozen=True)
class Address:
    """Where a table is.

    Attributes:
        database: The URL without the table. It may hold a password.
        table: The table's name, after the name of its schema if that was given.

    Example:
        >>> address = Address.parse('postgresql://ann:secret@db.example/census#y2030."my people"')
        >>> address.table, str(address)
        (('y2030', 'my people'), 'postgresql://db.example/census#y2030."my people"')
    """

    database: str = field(repr=False)
    table: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, table: str | None = None) -> "Address":
        """Read an address.

        Args:
            text: The URL, with the table behind `#` unless it is given.
            table: The table's name.
        """
        if table is not None:
            return cls(text, names_in(table))
        database, mark, name = text.rpartition("#")
        if not mark or not name or "@" in name or "/" in name:
            database = database if mark else text
            raise DataError(
                f"{_place(database)} names no table: write it at the end, as in {_place(database)}"
                "#people (in a password, write # as %23)"
            )
        return cls(database, names_in(unquote(name)))

    @property
    def scheme(self) -> str:
        """What stands before `://`, in small letters."""
        return self.database.partition("://")[0].lower()

    @property
    def rest(self) -> str:
        """What stands behind `://`."""
        return self.database.partition("://")[2]

    def __str__(self) -> str:
        written = (n if re.fullmatch(r"[\w\-]+", n) else _quoted(n) for n in self.table)
        return f"{_place(self.database)}#{'.'.join(written)}"


def is_address(text: object) -> bool:
    """Whether a text is a URL, and not the path of a file.

    Example:
        >>> is_address("duckdb:///people.db#people"), is_address("people.csv")
        (True, False)
    """
    return isinstance(text, str) and URL.match(text) is not None


def without_secrets(text: str) -> str:
    """The name of some data for a message: a path as it is, a URL without user and password.

    Example:
        >>> without_secrets("postgresql://ann:secret@db.example/census#people")
        'postgresql://db.example/census#people'
        >>> without_secrets("people.csv")
        'people.csv'
    """
    if not is_address(text):
        return text
    try:
        return str(Address.parse(text))
    except DataError:
        return _place(text.rpartition("#")[0] or text)


def names_in(text: str) -> tuple[str, ...]:
    """The parts of a table's name, which have dots between them and may be quoted.

    Example:
        >>> names_in("census.people"), names_in('"a.b"')
        (('census', 'people'), ('a.b',))
    """
    names, place, dot = [], 0, "."
    while dot:
        found = NAME.match(text, place)
        if found is None or "\0" in text:
            raise DataError(
                f"{shown(text)} is not the name of a table: write people, or schema.people, with "
                'double quotes around a name that has a dot or quotes in it: "my.people"'
            )
        quoted, bare, dot = found.groups()
        names.append(quoted.replace('""', '"') if quoted else bare.strip())
        place = found.end()
    return tuple(names)


def _place(database: str) -> str:
    """The host and the database of a URL. In doubt, neither: they could be part of a password."""
    found = PLACE.fullmatch(database)
    if found is None:
        return f"{plain(database.partition('://')[0])}://…"
    return plain(found[1] + found[2])


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{plain(doubled)}"'
