"""A release on disk: a folder of plain files that a person can read, with checksums.

    release.json       what it is, what it cost, how it was made; checksums of every file and itself
    schema.json        the public description of the columns
    workload.json      the thresholds it was fitted for
    measurements.csv   every noisy count: query, count, sigma; single queries first, then cells
    tables.npz         every noisy table, in the order of release.json
    residuals.npz      the contrasts of every noisy residual, in the order of release.json
    rows.npz           the relaxed rows D', if answers come from them
    statement.json     the privacy statement for machines; README.md says all of this to people

Nothing is ever unpickled, and nothing is run: JSON, CSV and plain arrays only.
"""

import csv
import math
import os
import re
import zipfile
import zlib
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.errors import ReleaseError, ThresherError
from thresher.files import read_json
from thresher.privacy.budget import Budget
from thresher.privacy.measurements import (
    Measurement,
    QueryMeasurement,
    ResidualMeasurement,
    TableMeasurement,
    contrast_count,
    unpacked,
)
from thresher.privacy.unit import Unit
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.arrays import Expected, read_arrays
from thresher.release.document import check_document, checksum_of
from thresher.release.measured_lines import HEADS
from thresher.release.release import Release
from thresher.release.sources import (
    LEAST_TOLERANCE,
    TOLERANCE,
    AnswerSource,
    NoisyTables,
    ResidualTables,
    RowsAndTables,
    SyntheticRows,
    Zeros,
)
from thresher.release.writing import check_free
from thresher.schema import Schema
from thresher.wording import plain

__all__ = ["check_free", "load"]

WITH_ROWS = (SyntheticRows.kind, RowsAndTables.kind)

MOST_ROWS = 10_000
"""The most synthetic rows of a release, unless its settings say that it has more."""

LARGEST_SIGMA = 10**15

SUM_TOLERANCE = 1e-3
"""How far the shares of a feature's values in a synthetic row may be from adding up to 1."""

DAMAGE = (
    *(KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError, EOFError),
    *(MemoryError, RuntimeError, csv.Error, zipfile.BadZipFile, zlib.error),
)
"""What the readers of Python and numpy raise when a file is not what it should be."""


def load(path: str | Path) -> Release:
    """Read a release folder. All of it is checked before anything is returned.

    Args:
        path: The folder.

    Raises:
        ReleaseError: It is no release, a file of it is missing or changed, its contents make no
            sense, or it is of a version that this thresher does not read.
    """
    folder = Path(path)
    if not os.path.isfile(folder / "release.json"):  # unlike Path.is_file, it never raises
        raise _error(f"{folder} is not a release: it has no file release.json")
    try:
        about = read_json(folder / "release.json", ReleaseError)
        check_document(about)
        _check_files(folder, about)
        return _read(folder, about)
    except OSError as fault:
        raise _error(f"{folder} cannot be read: {fault.strerror}") from None
    except ThresherError as fault:
        raise _error(f"{folder}: {fault}") from None
    except DAMAGE:
        raise _error(f"{folder} is damaged: its files do not make up a whole release") from None


def _error(words: str) -> ReleaseError:
    """An error in one line that can do nothing to a terminal, whatever the files hold."""
    line = words.partition("\n")[0]
    return ReleaseError(plain(line))


def _check_files(folder: Path, about: dict[str, Any]) -> None:
    needed = {"tables.npz"} if about["measured_tables"] else set()
    needed |= {"residuals.npz"} if about.get("measured_residuals") else set()
    needed |= {"rows.npz"} if about["answers_from"] in WITH_ROWS else set()
    if unlisted := needed - set(about["files"]):
        raise ReleaseError(f"release.json lists no {', '.join(sorted(unlisted))}")
    for name, checksum in about["files"].items():
        if not (folder / name).is_file():
            raise ReleaseError(f"the file {name} is missing")
        if checksum_of(folder / name) != checksum:
            raise ReleaseError(f"the file {name} is damaged or was changed")


def _read(folder: Path, about: dict[str, Any]) -> Release:
    schema = Schema.load(folder / "schema.json")
    if schema.fingerprint != about["schema"]:
        raise ReleaseError("schema.json is not the schema of this release")
    n, unit = int(about["n"]), _read_unit(about)
    total = n * unit.parts
    queries = _read_queries(folder, about, schema, total)
    measurements: list[Measurement] = [*queries]
    measurements += _read_tables(folder, about["measured_tables"], schema, total)
    measurements += _read_residuals(folder, about.get("measured_residuals", []), schema, total)
    release = Release(
        schema=schema,
        n=n,
        workload=Workload.load(folder / "workload.json", schema),
        mechanism=about["mechanism"],
        settings=about["settings"],
        budget=_read_budget(about["budget"]),
        spent=Fraction(about["spent"]),
        measurements=tuple(measurements),
        source=_read_source(folder, about, measurements, schema),
        is_secure=about["secure_randomness"],
        created=about["created"],
        versions=about["versions"],
        unit=unit,
        n_sigma=float(about.get("n_sigma", 0.0)),
    )
    _check_promise(release, about["promise"])
    return release


def _read_unit(about: dict[str, Any]) -> Unit:
    given = dict(about.get("unit") or {})
    if "rows_per_person" in given:
        given["rows_per_person"] = int(given["rows_per_person"])
    unit = Unit.from_json(given)
    if about["version"] == 1 and unit != Unit():
        raise ReleaseError("release.json is of version 1, which knows no such unit")
    return unit


def _read_budget(given: dict[str, Any]) -> Budget:
    epsilon, delta = (
        None if given[name] is None else Fraction(given[name]) for name in ("epsilon", "delta")
    )
    return Budget(Fraction(given["rho"]), epsilon, delta, given["accounting"])


def _check_promise(release: Release, promise: dict[str, float]) -> None:
    if release.spent > release.budget.rho:
        raise ReleaseError("release.json says that more was spent than the budget")
    for name, value in (("epsilon", release.epsilon), ("delta", float(release.delta))):
        if not math.isclose(value, promise[name], rel_tol=1e-6):
            raise ReleaseError(f"release.json promises another {name} than its budget")


def _read_source(
    folder: Path, about: dict[str, Any], measurements: Sequence[Measurement], schema: Schema
) -> AnswerSource:
    error, largest = about.get("miss"), about.get("largest_fitted")
    tolerance, of_r_of_k = about.get("reach"), about.get("tolerance_of_r_of_k")
    if tolerance is None:
        tolerance = TOLERANCE
    kind = about["answers_from"]
    if kind == Zeros.kind:
        return Zeros()
    if kind == NoisyTables.kind:
        return NoisyTables.of(measurements, schema)
    if kind == ResidualTables.kind:
        return ResidualTables.of(measurements, schema)
    rows = _read_rows(folder, about["settings"].get("synthetic_rows"), schema)
    if kind == SyntheticRows.kind:
        return SyntheticRows(rows, schema, error)
    source = RowsAndTables.of(
        rows,
        schema,
        error,
        measurements,
        tolerance=tolerance,
        largest_fitted=None if largest is None else int(largest),
        averages=bool(about.get("averages")),
        surpluses={
            frozenset(table["features"]): float(table["surplus"])
            for table in about.get("surpluses") or ()
        },
        leasts={
            frozenset(table["features"]): float(table.get("least", LEAST_TOLERANCE))
            for table in about.get("surpluses") or ()
        },
        weights={
            Threshold(given["features"], given["r"]): float(given["weight"])
            for given in about.get("weights") or ()
        },
        tolerance_of_r_of_k=tolerance if of_r_of_k is None else of_r_of_k,
    )
    for threshold in source.weights:
        if source.residuals.answerable(threshold.features) is None:
            raise ReleaseError(f"release.json corrects {threshold} by residuals that it has not")
    return source


def _read_rows(folder: Path, stated: object, schema: Schema) -> RelaxedRows:
    most = max(MOST_ROWS, stated) if isinstance(stated, int) else MOST_ROWS
    expected = Expected((schema.width, None), "<f4", longest=most)
    columns = read_arrays(folder / "rows.npz", {"columns": expected})["columns"]
    return checked_rows(columns, schema, "rows.npz")


def checked_rows(columns: npt.NDArray[Any], schema: Schema, file: str) -> RelaxedRows:
    """D' from an array that was read, if it consists of probabilities.

    Args:
        columns: The array, whose shape and type have been checked.
        schema: The features.
        file: The name of the file that it is from.
    """
    columns = np.ascontiguousarray(columns)
    if not (columns.min() >= 0.0 and columns.max() <= 1.0):  # nor NaN
        raise ReleaseError(f"{file} holds numbers that are not probabilities")
    columns = np.ascontiguousarray(columns[: schema.width])  # those of views follow
    sums = np.add.reduceat(columns, schema.offsets[: len(schema)], axis=0)
    if np.abs(sums - 1.0).max() > SUM_TOLERANCE:
        raise ReleaseError(f"{file} holds rows whose probabilities do not add up to 1")
    return RelaxedRows(columns, schema.sizes).with_views(schema)


def _read_queries(
    folder: Path, about: dict[str, Any], schema: Schema, n: int
) -> list[QueryMeasurement]:
    """The single queries of measurements.csv. Cells of tables, which follow, are for people."""
    name, count = "measurements.csv", about["measured_queries"]
    with (folder / name).open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file, strict=True)
        if (next(lines, None) or [])[: len(HEADS)] != HEADS:
            raise ReleaseError(f"{name} must begin with {','.join(HEADS)}")
        queries = [_read_query(line, name, schema, n) for line in islice(lines, count)]
        if len(queries) < count or (about["version"] < 4 and next(lines, None) is not None):
            raise ReleaseError(f"{name} has not as many lines as release.json says")
    return queries


def _read_query(line: list[str], file: str, schema: Schema, n: int) -> QueryMeasurement:
    text, count, sigma = line[: len(HEADS)]
    if not re.fullmatch(r"-?[0-9]{1,19}", count) or abs(int(count)) >= 2**63:
        raise ReleaseError(f"{file} holds a count that cannot have been measured")
    if not re.fullmatch(r"[0-9.e+-]{1,40}", sigma) or not 0 < float(sigma) <= LARGEST_SIGMA:
        raise ReleaseError(f"{file} holds a sigma that is no number above 0")
    return QueryMeasurement(Query.parse(text, schema), int(count), float(sigma), n)


def _read_tables(
    folder: Path, listed: list[dict[str, Any]], schema: Schema, n: int
) -> list[TableMeasurement]:
    if not listed:
        return []
    thresholds = [Threshold(entry["features"], int(entry["r"])) for entry in listed]
    names = [f"table{i}" for i in range(len(listed))]
    expected = (Expected(threshold.shape(schema), "<i8") for threshold in thresholds)
    arrays = read_arrays(folder / "tables.npz", dict(zip(names, expected, strict=True)))
    return [
        TableMeasurement(threshold, arrays[name], float(entry["sigma"]), n)
        for threshold, name, entry in zip(thresholds, names, listed, strict=True)
    ]


def _read_residuals(
    folder: Path, listed: list[dict[str, Any]], schema: Schema, n: int
) -> list[ResidualMeasurement]:
    if not listed:
        return []
    marginals = [Threshold(entry["features"]) for entry in listed]
    size = sum(contrast_count(marginal, schema) for marginal in marginals)
    expected = {"contrasts": Expected((size,), "<i8")}
    contrasts = read_arrays(folder / "residuals.npz", expected)["contrasts"]
    return unpacked(contrasts, marginals, [entry["sigma"] for entry in listed], schema, n)
