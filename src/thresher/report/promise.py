"""The promise in plain words, what was spent for it, and how the release was made."""

import json
import math

from thresher.privacy.budget import epsilon_of
from thresher.privacy.unit import Unit
from thresher.release import Release
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
    epsilon = release.epsilon
    if release.spent == 0:
        return [
            "Nothing was read from the records to make this release, apart from how many there "
            "are. It tells nothing about anybody in them."
        ]
    sure = 1 / (1 + math.exp(-epsilon)) if epsilon < 700 else 1.0
    certainty = percent(sure) if sure < 0.9995 else "more than 99.9 %"
    yours, unsure = _whose(release.unit)
    return [
        f"Whoever studies this release learns almost the same about you as if {yours}. This holds "
        "against somebody who knows every other record, knows how the release was made, and can "
        "compute without limit.",
        f"“Almost” is a number: ε = {epsilon:.4g}. Somebody who cannot tell {unsure}, and guesses "
        f"at even odds, can become at most {certainty} sure by reading all of the release. "
        f"δ = {float(release.delta):.2g} is a small allowance for this rule to fail.",
        "It does not mean that nothing is learned about people like you: what is true of many "
        "shows with or without your record. And it counts this release only. Releases made from "
        "the same records add up; the holder’s ledger keeps that account.",
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


def _whose(unit: Unit) -> tuple[str, str]:
    """What it would be like without you, and what somebody guesses about you."""
    one = "your record" if unit.person is None else "all your rows"
    if unit.neighbours == "replace":
        have = "had" if unit.person is None else "together had"
        which = "which of two records is yours" if unit.person is None else "which of two is you"
        return f"{one} {have} been replaced by anybody else’s", which
    gone = "your record was" if unit.person is None else "all your rows were"
    return f"{gone} not there", "whether you are in the data"


def spent(release: Release) -> tuple[list[tuple[str, str, str, str]], str]:
    """The budget and what was used of it: lines of a table, and words below it."""
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
    return rows, (
        f"{words} Conversion between ρ and (ε, δ): "
        f"{stated.get(budget.accounting, budget.accounting)}. Spending is counted in ρ, which "
        "adds up exactly; the ε of what was spent is by the tight conversion."
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
