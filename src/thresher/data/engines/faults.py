"""What goes wrong in a database, in our words.

What a driver says may quote a cell, a password or a query. So none of it is passed on: a message
names the table, what was being done, and what to do about it.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from thresher.errors import DataError, ThresherError


@contextmanager
def masked(words: str) -> Iterator[None]:
    """Turn whatever a driver raises into a DataError with these words.

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
    except Exception:
        raise DataError(words) from None


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
