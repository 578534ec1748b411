"""A release on disk: a folder of plain files that a person can read, with checksums.

    release.json       what it is, what it cost, how it was made; checksums of every file and itself
    schema.json        the public description of the columns
    workload.json      the thresholds it was fitted for
    measurements.csv   every noisy answer to a single query: query, count, sigma
    tables.npz         every noisy table, in the order of release.json
    rows.npz           the relaxed rows D', if answers come from them

Nothing is ever unpickled, and nothing is run: JSON, CSV and plain arrays only.
"""

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import ReleaseError, ThresherError
from thresher.files import read_json
from thresher.privacy.budget import Budget
from thresher.privacy.measurements import Measurement, QueryMeasurement, TableMeasurement
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.document import FORMAT, VERSION, checksum_of, seal_of
from thresher.release.release import Release
from thresher.release.sources import (
    TOLERANCE,
    AnswerSource,
    NoisyTables,
    RowsAndTables,
    SyntheticRows,
    Zeros,
)
from thresher.release.writing import check_free
from thresher.schema import Schema

__all__ = ["check_free", "load"]

WITH_ROWS = (SyntheticRows.kind, RowsAndTables.kind)

_DAMAGE = (
    *(KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError, EOFError),
    *(MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error),
)
"""What Python's own readers raise when a file is not what it should be."""


def load(path: str | Path) -> Release:
    """Read a release folder.

    Args:
        path: The folder.

    Raises:
        ReleaseError: It is no release, a file of it is missing or changed, or it is of a version
            that this thresher does not read.
    """
    folder = Path(path)
    if not (folder / "release.json").is_file():
        raise ReleaseError(f"{folder} is not a release: it has no file release.json")
    try:
        about = read_json(folder / "release.json", ReleaseError)
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise ReleaseError("release.json is not that of a release")
        if about.get("version") != VERSION:
            raise ReleaseError(
                f"it is of version {about.get('version')!r}; this thresher reads {VERSION}"
            )
        if about.get("checksum") != seal_of(about):
            raise ReleaseError("the file release.json is damaged or was changed")
        for name, checksum in about["files"].items():
            if Path(name).name != name:
                raise ReleaseError(f"release.json names a file outside the folder: {name!r}")
            if not (folder / name).is_file():
                raise ReleaseError(f"the file {name} is missing")
            if checksum_of(folder / name) != checksum:
                raise ReleaseError(f"the file {name} is damaged or was changed")
        return _read(folder, about)
    except OSError as fault:
        raise ReleaseError(f"{folder} cannot be read: {fault.strerror}") from None
    except ReleaseError as fault:
        raise ReleaseError(f"{folder}: {fault}") from None
    except ThresherError as fault:
        raise ReleaseError(f"{folder} is damaged: {fault}") from None
    except _DAMAGE:
        raise ReleaseError(f"{folder} is damaged: its files do not hold a whole release") from None


def _read(folder: Path, about: dict[str, Any]) -> Release:
    needed = {"schema.json", "workload.json", "measurements.csv"}
    needed |= {"tables.npz"} if about["measured_tables"] else set()
    needed |= {"rows.npz"} if about["answers_from"] in WITH_ROWS else set()
    if needed - set(about["files"]):
        raise ReleaseError(
            f"release.json lists no {', '.join(sorted(needed - set(about['files'])))}"
        )
    schema = Schema.load(folder / "schema.json")
    if schema.fingerprint != about["schema"]:
        raise ReleaseError("schema.json is not the schema of this release")
    n = about["n"]
    if not isinstance(n, int) or n < 1:
        raise ReleaseError(f"release.json says that n is {n!r}, which is no number of records")
    measurements: list[Measurement] = [
        *_read_queries(folder / "measurements.csv", schema, n),
        *_read_tables(folder, about["measured_tables"], schema, n),
    ]
    given = about["budget"]
    return Release(
        schema=schema,
        n=n,
        workload=Workload.load(folder / "workload.json", schema),
        mechanism=str(about["mechanism"]),
        settings=about["settings"],
        budget=Budget(
            Fraction(given["rho"]),
            None if given["epsilon"] is None else Fraction(given["epsilon"]),
            None if given["delta"] is None else Fraction(given["delta"]),
            given["accounting"],
        ),
        spent=Fraction(about["spent"]),
        measurements=tuple(measurements),
        source=_read_source(folder, about, measurements, schema),
        is_secure=bool(about["secure_randomness"]),
        created=str(about["created"]),
        versions=about["versions"],
    )


def _read_source(
    folder: Path, about: dict[str, Any], measurements: Sequence[Measurement], schema: Schema
) -> AnswerSource:
    error, tolerance, largest = (about.get(n) for n in ("miss", "reach", "largest_fitted"))
    for name, value in (("miss", error), ("reach", tolerance), ("largest_fitted", largest)):
        if value is not None and not 0.0 <= value < math.inf:
            raise ReleaseError(f"release.json says that {name} is {value!r}")
    kind = about["answers_from"]
    if kind == Zeros.kind:
        return Zeros()
    if kind == NoisyTables.kind:
        return NoisyTables.of(measurements, schema)
    if kind not in WITH_ROWS:
        raise ReleaseError(f"its answers come from {kind!r}, which this thresher does not know")
    rows = _read_rows(folder, schema)
    if kind == SyntheticRows.kind:
        return SyntheticRows(rows, schema, error)
    tolerance = TOLERANCE if tolerance is None else tolerance
    return RowsAndTables.of(rows, schema, error, measurements, tolerance, largest)


def _read_rows(folder: Path, schema: Schema) -> RelaxedRows:
    with np.load(folder / "rows.npz", allow_pickle=False) as file:
        columns = np.ascontiguousarray(file["columns"], dtype=np.float32)
    if not (columns.min() >= 0.0 and columns.max() <= 1.0):  # nor NaN
        raise ReleaseError("rows.npz holds numbers that are not probabilities")
    return RelaxedRows(columns, schema.sizes)


def _read_queries(path: Path, schema: Schema, n: int) -> list[QueryMeasurement]:
    rows = csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""))
    return [
        QueryMeasurement(
            Query.parse(row["query"], schema), _whole(row["noisy_count"]), float(row["sigma"]), n
        )
        for row in rows
    ]


def _whole(text: str) -> int:
    """A count as it can have been measured: a 64-bit integer."""
    count = int(text)
    if abs(count) >= 2**63:
        raise ReleaseError("measurements.csv holds a count that cannot have been measured")
    return count


def _read_tables(
    folder: Path, listed: list[dict[str, Any]], schema: Schema, n: int
) -> list[TableMeasurement]:
    if not listed:
        return []
    measured = []
    with np.load(folder / "tables.npz", allow_pickle=False) as file:
        for i, entry in enumerate(listed):
            threshold = Threshold(entry["features"], entry["r"])
            counts = file[f"table{i}"]
            if counts.shape != threshold.shape(schema) or counts.dtype != np.int64:
                raise ReleaseError(f"tables.npz does not hold the table of {threshold}")
            measured.append(TableMeasurement(threshold, counts, float(entry["sigma"]), n))
    return measured
