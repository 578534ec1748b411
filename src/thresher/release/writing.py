"""Writing a release as a folder of plain files, whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.errors import ReleaseError, ThresherError
from thresher.files import flush, write_json, write_text
from thresher.privacy.measurements import (
    ResidualMeasurement,
    TableMeasurement,
    measured_queries,
    measured_residuals,
    measured_tables,
)
from thresher.release.document import FORMAT, VERSION, checksum_of, seal_of
from thresher.release.measured_lines import write_measurements
from thresher.release.readme import readme_of
from thresher.release.statement import statement_of

if TYPE_CHECKING:
    from thresher.release.release import Release


def check_free(path: Path, overwrite: bool) -> None:
    """Raise a ReleaseError if the path exists; a release may be overwritten, nothing else may."""
    if not os.path.lexists(path):
        return
    is_release = (path / "release.json").is_file()
    if not (overwrite and is_release):
        raise ReleaseError(
            f"{path} exists: choose another name" + (", or overwrite it" if is_release else "")
        )


def save(release: "Release", path: Path, overwrite: bool) -> None:
    """Write a release into a new folder beside its place, then move it there."""
    check_free(path, overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as fault:
        raise ReleaseError(f"{path} cannot be written: {fault.strerror}") from None
    written = folder / "new"
    try:
        written.mkdir()
        _write(release, written)
        flush(*written.iterdir(), written)
        if os.path.lexists(path):
            os.replace(path, folder / "old")
        os.replace(written, path)
        flush(path.parent)
    except OSError as fault:
        raise ReleaseError(f"{path} cannot be written: {fault.strerror}") from None
    except ThresherError as fault:
        raise ReleaseError(f"{path} cannot be written: {fault}") from None
    finally:
        if (folder / "old").exists() and not path.exists():
            os.replace(folder / "old", path)
        shutil.rmtree(folder, ignore_errors=True)


def _write(release: "Release", folder: Path) -> None:
    release.schema.save(folder / "schema.json")
    release.workload.save(folder / "workload.json")
    queries = measured_queries(release.measurements)
    tables = measured_tables(release.measurements)
    write_measurements(folder / "measurements.csv", release)
    if tables:
        named: dict[str, Any] = {f"table{i}": m.counts for i, m in enumerate(tables)}
        np.savez_compressed(folder / "tables.npz", **named)
    residuals = measured_residuals(release.measurements)
    if residuals:
        contrasts = np.concatenate([m.contrasts.reshape(-1) for m in residuals])
        np.savez_compressed(folder / "residuals.npz", contrasts=contrasts)
    if release.source.rows is not None:
        np.savez_compressed(folder / "rows.npz", columns=release.source.rows.feature_columns)
    write_json(folder / "statement.json", statement_of(release))
    names = {"README.md", "release.json", *(file.name for file in folder.iterdir())}
    write_text(folder / "README.md", readme_of(release, names))
    about = {**_about(release, len(queries), tables), **_about_residuals(residuals)}
    about["files"] = {file.name: checksum_of(file) for file in sorted(folder.iterdir())}
    write_json(folder / "release.json", {**about, "checksum": seal_of(about)})


def _about(
    release: "Release", query_count: int, tables: Sequence[TableMeasurement]
) -> dict[str, Any]:
    budget = release.budget
    return {
        "format": FORMAT,
        "version": VERSION,
        "created": release.created,
        "mechanism": release.mechanism,
        "settings": dict(release.settings),
        "n": release.n,
        "n_sigma": release.n_sigma,
        "unit": release.unit.as_json(),
        "schema": release.schema.fingerprint,
        "promise": {"epsilon": release.epsilon, "delta": float(release.delta)},
        "budget": {
            "rho": str(budget.rho),
            "epsilon": None if budget.epsilon is None else str(budget.epsilon),
            "delta": None if budget.delta is None else str(budget.delta),
            "accounting": budget.accounting,
        },
        "spent": str(release.spent),
        "secure_randomness": release.is_secure,
        "answers_from": release.source.kind,
        # Every release states all parameters of sources, those that it lacks as null.
        **dict.fromkeys(("miss", "reach", "tolerance_of_r_of_k", "largest_fitted")),
        **dict.fromkeys(("averages", "surpluses", "weights")),
        **release.source.parameters(),
        "measured_queries": query_count,
        "measured_tables": [
            {"features": list(m.threshold.features), "r": m.threshold.r, "sigma": m.sigma}
            for m in tables
        ],
        "versions": dict(release.versions),
    }


def _about_residuals(residuals: Sequence[ResidualMeasurement]) -> dict[str, Any]:
    if not residuals:
        return {}
    listed = [{"features": list(m.threshold.features), "sigma": m.sigma} for m in residuals]
    return {"measured_residuals": listed}
