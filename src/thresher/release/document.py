"""The file release.json: the name and version of the format, and its checksums."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FORMAT = "thresher-release"
VERSION = 1


def seal_of(about: Mapping[str, Any]) -> str:
    """The checksum of the contents of release.json, whatever their order and layout."""
    sealed = {key: value for key, value in about.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(sealed, sort_keys=True).encode()).hexdigest()


def checksum_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
