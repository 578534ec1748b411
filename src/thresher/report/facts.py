"""What the page knows of a release, so that it answers as the release does."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.privacy.measurements import measured_queries
from thresher.queries.ranges import range_in
from thresher.queries.threshold import Threshold
from thresher.relaxed.rows import RelaxedRows
from thresher.release import Release
from thresher.release.sources import (
    NoisyTables,
    ResidualTables,
    RowsAndTables,
    SyntheticRows,
)
from thresher.release.uncertainty import NORMAL_95
from thresher.schema import Schema, View
from thresher.schema.feature import CLIP
from thresher.schema.features import Bins, Feature, IntegerRange
from thresher.tables import slabs_of

MOST_PAIRS = 200
"""The most pairs of features that the page compares, to show the most closely related ones."""


def facts_of(release: Release) -> dict[str, Any]:
    """Features, D', the measured tables and the uncertainty model, as values that can be packed.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> facts = facts_of(th.All0(epsilon=1.0).fit(data, work))
        >>> facts["n"], facts["source"], facts["features"][8]["labels"]
        (48842, 'zeros', ['Female', 'Male'])
    """
    return {
        "n": release.n,
        "about": "about " if release.n_sigma else "",
        "counted": release.unit.counted,
        "source": release.source.kind,
        "features": [_feature(f, release.schema) for f in (*release.schema, *release.schema.views)],
        "total_noise": release.n_sigma / release.n,
        "normal_95": NORMAL_95,
        "pairs": _pairs(release),
        **_source(release),
    }


def _pairs(release: Release) -> list[list[int]]:
    """The pairs of features that were asked about together, the most frequent first."""
    asked = Counter(
        tuple(sorted(map(release.schema.index, pair)))
        for features in _asked_together(release)
        for pair in combinations(features, 2)
    )
    return [[*pair] for pair, _ in asked.most_common(MOST_PAIRS)]


def _asked_together(release: Release) -> Iterator[Sequence[str]]:
    for m in measured_queries(release.measurements):
        yield m.query.threshold.features
    for threshold in release.workload:
        yield threshold.features


def _feature(feature: Feature, schema: Schema) -> dict[str, Any]:
    steps = feature.size - len(feature.extra)
    clips = isinstance(feature, Bins | IntegerRange) and feature.outside == CLIP
    return {
        "name": feature.name,
        "kind": feature.kind,
        "base": schema.index(feature.of) if isinstance(feature, View) else None,
        "groups": list(feature.codes) if isinstance(feature, View) else None,
        "labels": list(feature.labels),
        "ordered": feature.has_order,
        "steps": steps,
        "edges": list(feature.edges) if isinstance(feature, Bins) else None,
        "ends": _ends(feature) if isinstance(feature, Bins) else None,
        # Larger numbers are put into the last bin.
        "open": clips,
        "unranged": _unranged(feature, steps) if feature.has_order else [],
    }


def _ends(feature: Bins) -> list[str]:
    """What stands at the upper end of a range that ends with each bin."""
    return [repr(edge).removesuffix(".0") for edge in feature.edges[1:]]


def _unranged(feature: Feature, steps: int) -> list[int]:
    """The codes that cannot stand at the ends of a range of the query language."""
    ends = _ends(feature) if isinstance(feature, Bins) else feature.labels
    spans = (range_in(feature, f"{feature.labels[code]}..{ends[code]}") for code in range(steps))
    return [
        code
        for code, span in enumerate(spans)
        if span is None or span.codes != range(code, code + 1)
    ]


def _source(release: Release) -> dict[str, Any]:
    source, schema = release.source, release.schema
    if isinstance(source, NoisyTables):
        return {"tables": [*_noisy_tables(source, schema)]}
    if isinstance(source, ResidualTables):
        return {"residuals": _residuals(source)}
    if isinstance(source, SyntheticRows):
        corrections = [*_corrections(source)] if isinstance(source, RowsAndTables) else []
        return {
            "rows": _rows(source.rows),
            "corrections": corrections,
            "variances": source.variances(release.measurements, release.workload).facts(),
        }
    return {}


def _rows(rows: RelaxedRows) -> Mapping[str, Any]:
    """The nonzero numbers of D', column by column."""
    columns, places = np.nonzero(rows.columns)
    return {
        "count": rows.count,
        "filled": np.bincount(columns, minlength=len(rows.columns)),
        "places": places,
        "values": rows.columns[columns, places],
    }


def _corrections(source: RowsAndTables) -> Iterator[Mapping[str, Any]]:
    """The cells of corrected tables that are more than the answer of D' less the surplus."""
    surpluses = {
        Threshold(table.features): source.surpluses.get(key, 0.0)
        for key, table in source.tables.items()
    }
    for threshold, surplus in {**surpluses, **dict.fromkeys(source.weights, 0.0)}.items():
        of_rows, of_both = SyntheticRows.table(source, threshold), source.table(threshold)
        cells: list[npt.NDArray[np.int64]] = []
        answers: list[npt.NDArray[np.floating[Any]]] = []
        for slab in slabs_of(threshold.shape(source.schema)):
            before, after = of_rows(slab).reshape(-1), of_both(slab).reshape(-1)
            moved = np.flatnonzero(np.clip(before - surplus, 0.0, 1.0) != after)
            cells.append(moved + slab.first)
            answers.append(after[moved].astype(np.float32))
        yield {
            "features": [source.schema.index(name) for name in threshold.features],
            "r": threshold.r,
            "surplus": surplus,
            "cells": np.concatenate(cells),
            "answers": np.concatenate(answers),
        }


def _residuals(source: ResidualTables) -> Mapping[str, Any]:
    """The noise of each residual, and the tables that are put together from all of them.

    Smaller tables are margins of these, because such tables agree with each other.
    """
    known = [{*features} for features in source.residuals]
    largest = [
        Threshold(features)
        for features in source.residuals
        if not any({*features} < others for others in known)
    ]
    counted = [(threshold, source.counts(threshold)) for threshold in largest]
    return {
        "tables": [
            {
                "features": [source.schema.index(name) for name in threshold.features],
                "n": noisy.n,
                "counts": noisy.counts,
            }
            for threshold, noisy in counted
        ],
        "noise": [
            {"features": [source.schema.index(name) for name in features], "noise": m.noise}
            for features, m in source.residuals.items()
        ],
    }


def _noisy_tables(source: NoisyTables, schema: Schema) -> Iterator[Mapping[str, Any]]:
    """The noisy tables, in the order in which `answerable` prefers them."""
    ordered = sorted(
        source.tables.values(), key=lambda m: (m.noise**2 * m.counts.size, m.threshold.features)
    )
    for m in ordered:
        yield {
            "features": [schema.index(name) for name in m.threshold.features],
            "r": m.threshold.r,
            "sigma": m.sigma,
            "n": m.n,
            "counts": m.counts,
        }
