"""What a database runs out of can depend on the records, so it is told from other faults."""

import errno

import pytest

from thresher.data.engines.faults import masked
from thresher.errors import DataError, ResourceError


class OutOfMemoryException(Exception):  # noqa: N818, as DuckDB calls it
    """There is no memory left for 'secret'."""


class PostgresError(Exception):
    """An error of PostgreSQL."""

    def __init__(self, sqlstate):
        super().__init__("the cell 'secret'")
        self.sqlstate = sqlstate


def wrapped(fault):
    """As a library above the driver raises it."""
    try:
        try:
            raise fault
        except Exception as cause:
            raise RuntimeError("secret") from cause
    except RuntimeError as outer:
        return outer


LACKS = [
    OutOfMemoryException("secret"),
    PostgresError("53100"),
    PostgresError("53200"),
    OSError(errno.ENOSPC, "secret"),
    OSError(errno.EDQUOT, "secret"),
    RuntimeError("IO Error: could not write secret: No space left on device"),
]


@pytest.mark.parametrize("fault", [*LACKS, *map(wrapped, LACKS)], ids=repr)
def test_a_lack_of_room_is_one(fault):
    with pytest.raises(ResourceError) as told, masked("people cannot be counted: try again"):
        raise fault
    assert str(told.value) == "people cannot be counted: try again"


@pytest.mark.parametrize(
    "fault", [ValueError("secret"), PostgresError("53300"), PostgresError(None), OSError(5, "x")]
)
def test_other_faults_are_of_the_data(fault):
    with pytest.raises(DataError) as told, masked("people cannot be counted: try again"):
        raise fault
    assert not isinstance(told.value, ResourceError)
    assert "secret" not in str(told.value)


def test_duckdb_and_postgres_say_it_so():
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.OutOfMemoryException.__name__ == "OutOfMemoryException"
    errors = pytest.importorskip("psycopg.errors")
    assert (errors.DiskFull.sqlstate, errors.OutOfMemory.sqlstate) == ("53100", "53200")
