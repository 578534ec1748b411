"""Errors beside the baselines: from the private records, and not for publication."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thresher.queries.workload import Workload

if TYPE_CHECKING:  # so that a service of releases, which shows pages, imports nothing of records
    from thresher.evaluation.errors import Errors

MOST_ROWS = 40
"""As many as fit on a printed page."""


@dataclass(frozen=True)
class Comparison:
    """The errors of a release and of the baselines, by name, the release first.

    Attributes:
        workload: What they were compared on.
        errors: The errors, in the order of the workload, as `compare` gives them.
    """

    workload: Workload
    errors: "Mapping[str, Errors]"


def beside_baselines(comparison: Comparison) -> dict[str, Any]:
    """The largest errors of the release and of every baseline, also by threshold."""
    work, compared = comparison.workload, comparison.errors
    shown = picture(comparison)
    return {
        "thresholds": len(work),
        "queries": work.query_count,
        "shown": len(shown["labels"]),
        "methods": [*compared],
        "rows": [(name, f"{e.max:.4f}", f"{e.mean_max:.4f}") for name, e in compared.items()],
        "listed": [
            (label, [f"{shown['errors'][name][row]:.4f}" for name in compared])
            for row, label in enumerate(shown["labels"])
        ],
    }


def picture(comparison: Comparison) -> dict[str, Any]:
    """The largest error of each threshold by method, the release's worst thresholds first."""
    work, compared = comparison.workload, comparison.errors
    release = compared["release"].by_threshold
    shown = sorted(range(len(work)), key=lambda i: -release[i])[:MOST_ROWS]
    return {
        "labels": [f"{work[i].r} of: {', '.join(work[i].features)}" for i in shown],
        "errors": {name: [float(e.by_threshold[i]) for i in shown] for name, e in compared.items()},
    }
