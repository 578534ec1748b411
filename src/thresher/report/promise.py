"""The promise in plain words, what was spent for it, and how the release was made."""

import json

from thresher.privacy.budget import epsilon_of
from thresher.release import Release
from thresher.release.promise import NOT_PRIVATE, promise_of
from thresher.report.drawing import percent
from thresher.report.markup import Markup, details, section, table, tag


def in_short(release: Release) -> str:
    """The release in one sentence."""
    work = release.workload
    thresholds = "1 threshold" if len(work) == 1 else f"{len(work):,} thresholds"
    number = f"{'about ' if release.n_sigma else ''}{release.n:,} {release.unit.counted}"
    return (
        f"Made from {number} with {len(release.schema)} features, for {thresholds} "
        f"({work.query_count:,} queries), with ε = {release.epsilon:.4g} and "
        f"δ = {float(release.delta):.2g}."
    )


def promise(release: Release) -> Markup:
    """What is promised, to whom, and what is not."""
    return section("The promise", *(tag("p", text) for text in promise_of(release)))


def spent(release: Release) -> Markup:
    """The budget, and what was used of it."""
    budget, delta = release.budget, release.delta
    used = epsilon_of(release.spent, delta) if release.spent else 0.0
    stated = {"tight": "tight", "paper": "as in the paper", None: "stated as ρ"}
    rows = [
        ("Given", f"{release.epsilon:.4g}", f"{float(delta):.2g}", f"{float(budget.rho):.5g}"),
        ("Spent", f"{used:.4g}", f"{float(delta):.2g}", f"{float(release.spent):.5g}"),
    ]
    left = budget.rho - release.spent
    words = (
        "All of it was spent."
        if left == 0
        else "None of it was spent."
        if release.spent == 0
        else f"{percent(float(left / budget.rho))} of ρ was not spent."
    )
    return section(
        "The budget",
        table(("", "ε", "δ", "ρ (zCDP)"), rows),
        tag(
            "p",
            f"{words} Conversion between ρ and (ε, δ): "
            f"{stated.get(budget.accounting, budget.accounting)}. Spending is counted in ρ, which "
            "adds up exactly; the ε of what was spent is by the tight conversion. Reading this "
            "page, asking the release, and drawing records from it cost nothing more.",
        ),
    )


def made(release: Release) -> Markup:
    """Everything that somebody needs who makes it again."""
    facts = {
        "protects": f"whether {release.unit.described}",
        f"number of {release.unit.counted}": (
            f"measured, with noise of σ = {release.n_sigma:.4g}" if release.n_sigma else "public"
        ),
        "mechanism": release.mechanism,
        **{key: _plain(value) for key, value in release.settings.items()},
        "answers come from": release.source.kind,
        "made": release.created,
        "schema": release.schema.fingerprint[:16],
        **{f"{name} version": version for name, version in release.versions.items()},
    }
    shapes: dict[tuple[int, int], int] = {}
    for threshold in release.workload:
        shapes[threshold.r, threshold.k] = shapes.get((threshold.r, threshold.k), 0) + 1
    mix = ", ".join(f"{count:,} × {r} of {k}" for (r, k), count in sorted(shapes.items()))
    features = ((feature.name, feature.kind, f"{feature.size:,}") for feature in release.schema)
    return section(
        "How it was made",
        table(("setting", "value"), ((key, tag("span", value)) for key, value in facts.items())),
        tag("p", f"Workload: {mix} ({release.workload.query_count:,} queries)."),
        details(
            f"The {len(release.schema)} features", table(("feature", "kind", "values"), features)
        ),
    )


def insecure() -> Markup:
    """A warning about noise that can be made again."""
    return tag(
        "p",
        tag("strong", "Not private. "),
        NOT_PRIVATE,
        class_="warning",
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
