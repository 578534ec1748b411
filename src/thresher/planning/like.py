"""What is publicly known about the people, which makes a forecast better.

How large errors and margins are depends on how people are spread over cells. A schema does not say
that, but much of it follows from how frequent each value is, and this is often public: from
published tables, or from an earlier release of these or similar people.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError, QueryError
from thresher.files import read_json
from thresher.queries.threshold import Threshold
from thresher.release import Release
from thresher.release.folder import load
from thresher.schema import Schema
from thresher.tables import slabs_of
from thresher.wording import shown

Shares = Mapping[str, npt.NDArray[np.float64]]
"""For features by name: how frequent each of their values is, in the order of the codes."""

Like = Release | Mapping[str, Mapping[str, float]]
"""What people are like: an earlier release, or the share of each label of some features."""


def shares_of(known: Like, schema: Schema) -> Shares:
    """The known shares of the features of a schema.

    A feature of which nothing is known, or that has other values in the release, is left out. A
    label that is not listed has the share 0.

    Args:
        known: An earlier release; or for each feature the shares of its labels.
        schema: The schema of the plan.

    Example:
        >>> from thresher.schema.features import Categorical
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M")
        >>> shares_of({"sex": {"F": 0.51, "M": 0.49}}, Schema([sex]))["sex"].tolist()
        [0.51, 0.49]
    """
    if isinstance(known, Release):
        return {name: found for name, found in _released(known) if _fits(known, schema, name)}
    if not isinstance(known, Mapping):
        raise ParameterError(f"like must be a release, or shares by feature, not {known!r}")
    return {name: _listed(name, labels, schema) for name, labels in known.items()}


def read_like(path: Path) -> Like:
    """The release in a folder, or the shares in a JSON file such as {"sex": {"F": 0.51}}."""
    if path.is_dir():
        return load(path)
    known: Like = read_json(path, ParameterError)
    return known


def _fits(release: Release, schema: Schema, name: str) -> bool:
    return name in schema.names and schema[name].labels == release.schema[name].labels


def _released(release: Release) -> list[tuple[str, npt.NDArray[np.float64]]]:
    found = []
    for name in release.schema.names:
        threshold = Threshold((name,))
        with suppress(QueryError):  # of noisy tables alone, not all features have an answer
            answers = release.source.table(threshold)
            parts = [
                np.asarray(answers(slab)) for slab in slabs_of(threshold.shape(release.schema))
            ]
            found.append((name, _usable(name, np.concatenate(parts))))
    return found


def _listed(name: str, labels: Mapping[str, float], schema: Schema) -> npt.NDArray[np.float64]:
    feature = schema[name]
    if not isinstance(labels, Mapping):
        raise ParameterError(f"the shares of {name!r} must give a number for each label")
    shares = np.zeros(feature.size)
    for label, share in labels.items():
        code = feature.code_of(label)
        if code is None:
            raise ParameterError(f"{name!r} has no value {shown(label)}: see the schema")
        if type(share) not in (int, float) or not 0 <= share < 2**60:
            raise ParameterError(f"the share of {shown(label)} in {name!r} must be 0 or more")
        shares[code] += share
    return _usable(name, shares)


def _usable(name: str, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    cut = np.maximum(shares, 0.0)
    if not cut.sum() > 0:
        raise ParameterError(f"the shares of {name!r} add up to 0")
    return cut
