"""The promise of a release in plain words."""

import math
from typing import TYPE_CHECKING

from thresher.privacy.unit import Unit

if TYPE_CHECKING:
    from thresher.release.release import Release

NOTHING_READ = (
    "Nothing was read from the records to make this release, apart from how many there are. It "
    "tells nothing about anybody in them."
)

NOT_PRIVATE = (
    "The noise of this release came from a seed, for an experiment. Whoever knows or guesses the "
    "seed can take the noise off. Do not publish it."
)


def promise_of(release: "Release") -> tuple[str, ...]:
    """What is promised, to whom, and what is not: a paragraph each.

    Args:
        release: The release.
    """
    if release.spent == 0:
        return (NOTHING_READ,)
    epsilon = release.epsilon
    sure = 1 / (1 + math.exp(-epsilon)) if epsilon < 700 else 1.0
    certainty = f"{100 * sure:.3g}\N{NO-BREAK SPACE}%" if sure < 0.9995 else "more than 99.9 %"
    yours, unsure = _whose(release.unit)
    return (
        f"Whoever studies this release learns almost the same about you as if {yours}. This holds "
        "against somebody who knows every other record, knows how the release was made, and can "
        "compute without limit.",
        f"“Almost” is a number: ε = {epsilon:.4g}. Somebody who cannot tell {unsure}, and guesses "
        f"at even odds, can become at most {certainty} sure by reading all of the release. "
        f"δ = {float(release.delta):.2g} is a small allowance for this rule to fail.",
        "It does not mean that nothing is learned about people like you: what is true of many "
        "shows with or without your record. And it counts this release only. Releases made from "
        "the same records add up; the holder’s ledger keeps that account.",
    )


def conversion_of(release: "Release") -> str:
    """How ε and δ follow from ρ, in plain words."""
    ways = {
        "gaussian": "ε and δ follow from the exact curve of Gaussian noise, of which ρ is the "
        "strength: counts were told with such noise, and choices, if there were any, so that all "
        "results together tell no more than it.",
        "paper": "ε and δ were converted to ρ of zero-concentrated differential privacy as in the "
        "paper.",
    }
    usual = "ρ of zero-concentrated differential privacy implies ε at δ, by the tight conversion."
    return ways.get(release.budget.accounting or "", usual)


def _whose(unit: Unit) -> tuple[str, str]:
    """What it would be like without you, and what somebody guesses about you."""
    one = "your record" if unit.person is None else "all your rows"
    if unit.neighbours == "replace":
        have = "had" if unit.person is None else "together had"
        which = "which of two records is yours" if unit.person is None else "which of two is you"
        return f"{one} {have} been replaced by anybody else’s", which
    gone = "your record was" if unit.person is None else "all your rows were"
    return f"{gone} not there", "whether you are in the data"
