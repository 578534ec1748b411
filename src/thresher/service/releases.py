"""The releases that a service offers, by their names."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thresher.errors import ParameterError
from thresher.release import Release, load


def open_releases(folders: Sequence[str | Path]) -> dict[str, Release]:
    """Read release folders. The name of a release is that of its folder.

    Args:
        folders: The folders.
    """
    found: dict[str, Release] = {}
    for folder in folders:
        name = Path(folder).resolve().name
        if name in found:
            raise ParameterError(f"two releases are called {name}: rename one of the folders")
        found[name] = load(folder)
    return found


def summary_of(name: str, release: Release) -> Mapping[str, Any]:
    """What a list of releases says about one of them."""
    return {
        "name": name,
        "created": release.created,
        "mechanism": release.mechanism,
        "n": release.n,
        "counted": release.unit.counted,
        "features": list(release.schema.names),
        "epsilon": release.epsilon,
        "delta": float(release.delta),
        "private": release.is_secure,
        "can_sample": release.source.rows is not None,
    }
