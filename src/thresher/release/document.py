"""The file release.json: its checksums, and what it may say."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from thresher.errors import ReleaseError
from thresher.release.json_schema import fault_of

FORMAT = "thresher-release"
VERSION = 7
"""The version that is written. What is new in it:

- 2: another unit than one record that is replaced. Readers of version 1 would show the wrong
  promise, and take parts of persons for records.
- 3: residuals. Earlier readers know none.
- 4: README.md and statement.json, and the cells of tables in measurements.csv.
- 5: D' and noisy tables are averaged, and corrected tables add up to 1. Earlier readers would give
  other answers.
- 6: answers to r-of-k thresholds are corrected by residuals. Earlier readers would not do that.
- 7: these have a separate tolerance. Earlier readers would use that of tables.
"""
VERSIONS = tuple(range(1, VERSION + 1))


@cache
def json_schema() -> Mapping[str, Any]:
    """The published JSON Schema that every release.json obeys.

    Example:
        >>> json_schema()["properties"]["version"]["enum"]
        [1, 2, 3, 4, 5, 6, 7]
    """
    schema: dict[str, Any] = json.loads(
        files("thresher.release").joinpath("release.schema.json").read_text("utf-8")
    )
    return schema


def check_document(about: object) -> None:
    """Raise a ReleaseError unless this is what a release.json may say."""
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ReleaseError("release.json is not that of a release")
    if about.get("version") not in VERSIONS:
        raise ReleaseError(
            f"it is of version {repr(about.get('version'))[:80]}; this thresher reads "
            f"{VERSIONS[0]} to {VERSION}"
        )
    fault = fault_of(about, json_schema())
    if fault is not None:
        raise ReleaseError(f"release.json: {fault}")
    if about.get("checksum") != seal_of(about):
        raise ReleaseError("the file release.json is damaged or was changed")
    if not _is_storable(about):
        raise ReleaseError("release.json: a text has half a character (a lone surrogate)")


def seal_of(about: Mapping[str, Any]) -> str:
    """The checksum of the contents of release.json, whatever their order and layout."""
    sealed = {key: value for key, value in about.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()


def checksum_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_storable(about: Mapping[str, Any]) -> bool:
    """Whether all texts, at any depth, can be written as UTF-8."""
    try:
        json.dumps(about, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
