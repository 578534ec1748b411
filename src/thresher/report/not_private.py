"""Errors beside the baselines: from the private records, and not for publication."""

from collections.abc import Mapping
from dataclasses import dataclass

from thresher.evaluation.errors import Errors
from thresher.queries.workload import Workload
from thresher.report.dots import errors
from thresher.report.markup import Markup, details, section, table, tag

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
    errors: Mapping[str, Errors]


def banner() -> Markup:
    """A warning that goes to the top of the page, on the screen and on paper."""
    return tag(
        "p",
        tag("strong", "NOT PRIVATE, NOT FOR PUBLICATION. "),
        "This page holds errors that were computed from the private records. It is for the holder "
        "of the data only.",
        class_="warning",
        role="alert",
    )


def beside_baselines(comparison: Comparison) -> Markup:
    """The largest error of each threshold, of the release and of every baseline."""
    work, compared = comparison.workload, comparison.errors
    release = compared["release"].by_threshold
    worst_first = sorted(range(len(work)), key=lambda i: -release[i])
    shown = worst_first[:MOST_ROWS]
    labels = [f"{work[i].r} of: {', '.join(work[i].features)}" for i in shown]
    marks = {name: [e.by_threshold[i] for i in shown] for name, e in compared.items()}
    rows = [(name, f"{e.max:.4f}", f"{e.mean_max:.4f}") for name, e in compared.items()]
    listed = (
        (label, *(f"{marks[name][row]:.4f}" for name in marks)) for row, label in enumerate(labels)
    )
    cut = f" The worst {MOST_ROWS} of {len(work):,} are shown." if len(work) > MOST_ROWS else ""
    return section(
        "Errors beside the baselines: not private",
        tag("p", tag("strong", "Not private, not for publication: "),
            "computed from the records. The error of an answer is its distance from the true "
            "share; of each threshold the largest over all its queries is shown. The baselines "
            f"had the same budget. {len(work):,} thresholds, {work.query_count:,} queries.{cut}",
            class_="warning"),
        table(("", "maximum error", "mean of maxima"), rows),
        tag("figure", errors(labels, marks),
            tag("figcaption", "The largest error of each threshold, on a logarithmic scale, the "
                "release’s worst first."), class_="wide"),
        details("Numbers", table(("threshold", *marks), listed)),
    )  # fmt: skip
