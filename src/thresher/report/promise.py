"""The promise in plain words, what was spent for it, and how the release was made."""

import json

from thresher.privacy.budget import epsilon_of
from thresher.release import Release
from thresher.release.promise import promise_of
from thresher.report.wording import percent


def in_short(release: Release) -> str:
    """The release in one line."""
    number = f"{'about ' if release.n_sigma else ''}{release.n:,} {release.unit.counted}"
    return (
        f"{number} · {len(release.schema)} features · ε = {release.epsilon:.4g}, "
        f"δ = {float(release.delta):.2g} · made {release.created[:10]}"
    )


def promise(release: Release) -> list[str]:
    """What is promised, to whom, and what is not: paragraphs."""
    if release.spent == 0:
        return [*promise_of(release)]
    return [
        *promise_of(release),
        "Reading this page, asking it any number of questions, and passing it on cost nothing "
        "more: it was computed from the release, not from the records.",
        *_public(release),
    ]


def _public(release: Release) -> list[str]:
    """What is said about public records that D' started from."""
    if "public" not in release.settings:
        return []
    return [
        "The synthetic data started from other records, for which the holder vouches that they "
        "were public already. The promise does not cover these."
    ]


def spent(release: Release) -> tuple[list[tuple[str, str, str, str]], str]:
    """The budget and what was used of it: lines of a table, and words below it."""
    budget, delta = release.budget, release.delta
    left = budget.rho - release.spent
    # Choices rely on what is left of the budget, so the Gaussian curve is that of all of it.
    curve = "tight" if left else budget.curve
    used = min(release.epsilon, epsilon_of(release.spent, delta, curve)) if release.spent else 0.0
    stated = {
        "tight": "tight",
        "paper": "as in the paper",
        "gaussian": "the exact curve of Gaussian noise",
        None: "stated as ρ",
    }
    rows = [
        ("Given", f"{release.epsilon:.4g}", f"{float(delta):.2g}", f"{float(budget.rho):.5g}"),
        ("Spent", f"{used:.4g}", f"{float(delta):.2g}", f"{float(release.spent):.5g}"),
    ]
    by = "the same curve" if curve == "gaussian" else "the tight conversion"
    words = (
        "All of it was spent."
        if left == 0
        else "None of it was spent."
        if release.spent == 0
        else f"{percent(float(left / budget.rho))} of ρ was not spent."
    )
    return rows, (
        f"{words} Conversion between ρ and (ε, δ): "
        f"{stated.get(budget.accounting, budget.accounting)}. Spending is counted in ρ, which "
        f"adds up exactly; the ε of what was spent is by {by}."
    )


def made(release: Release) -> dict[str, str]:
    """Everything that somebody needs who makes it again."""
    return {
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


def workload(release: Release) -> str:
    """The thresholds that it was made for, by their shapes."""
    shapes: dict[tuple[int, int], int] = {}
    for threshold in release.workload:
        shapes[threshold.r, threshold.k] = shapes.get((threshold.r, threshold.k), 0) + 1
    mix = ", ".join(f"{count:,} × {r} of {k}" for (r, k), count in sorted(shapes.items()))
    return f"{mix} ({release.workload.query_count:,} queries)"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
