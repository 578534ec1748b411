"""What goes wrong in a database, in our words.

What a driver says may quote a cell, a password or a query. So none of it is passed on: a message
names the table, what was being done, and what to do about it.
"""

import errno
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from thresher.errors import DataError, ResourceError, ThresherError

NO_ROOM = {
    "OutOfMemoryException",  # a class of DuckDB
    *("53100", "53200", "53400"),  # of PostgreSQL: a full disk, no memory, a limit of either
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM),
}
"""What drivers call a lack of room, by their class, SQLSTATE or error number."""


@contextmanager
def masked(words: str) -> Iterator[None]:
    """Turn whatever a driver raises into a DataError with these words.

    A lack of room becomes a ResourceError. It can depend on the records, so the wall gives no
    payment back for it.

    Example:
        >>> with masked("people cannot be read: try again"):
        ...     raise OSError("the cell 'secret' is broken")
        Traceback (most recent call last):
        thresher.errors.DataError: people cannot be read: try again
    """
    try:
        yield
    except (ThresherError, MemoryError):
        raise
    except Exception as fault:
        kind = ResourceError if _lacks_room(fault) else DataError
        raise kind(words) from None


def _lacks_room(fault: BaseException | None) -> bool:
    """Whether an exception, or one that it was made of, says that there is no room left."""
    for _ in range(9):
        if fault is None:
            break
        said = (type(fault).__name__, getattr(fault, "sqlstate", None), _number(fault))
        if not NO_ROOM.isdisjoint(said) or "No space left on device" in str(fault):
            return True
        fault = fault.__cause__ or fault.__context__
    return False


def _number(fault: BaseException) -> int | None:
    return fault.errno if isinstance(fault, OSError) else None


def driver(module: str, extra: str) -> ModuleType:
    """A module that only an extra of this package installs.

    Example:
        >>> driver("no_such_driver", "sql")
        Traceback (most recent call last):
        thresher.errors.DataError: this needs no_such_driver: pip install 'thresher[sql]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise DataError(f"this needs {name}: pip install 'thresher[{extra}]'") from None
