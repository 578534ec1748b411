"""What the authors' published code does and the paper's text does not say.

`AUTHORS` is the default of `thresher reproduce`, `TEXT` is the paper to the letter. The figure
`practice` shows what each choice changes.
"""

from dataclasses import dataclass
from typing import Any

from thresher.errors import ParameterError
from thresher.wording import meant

TEXT_P = 0.5
"""The p of the Geometric distribution where the paper gives none."""


@dataclass(frozen=True, kw_only=True)
class Practice:
    """Choices that change results.

    Attributes:
        clipped: Noisy answers are moved into [0, 1] before D' is fitted to them.
        replacement: Historical thresholds are drawn independently, so that one can come up again.
        geometric_p: The p of the Geometric distribution over features.
    """

    clipped: bool = False
    replacement: bool = True
    geometric_p: float = TEXT_P

    @property
    def of_fits(self) -> dict[str, Any]:
        """The parameters of a fit."""
        return {"clipped": self.clipped}

    @property
    def of_histories(self) -> dict[str, Any]:
        """The parameters of a fit of a history."""
        return {
            "clipped": self.clipped,
            "replacement": self.replacement,
            "geometric_p": self.geometric_p,
        }


TEXT = Practice()
AUTHORS = Practice(clipped=True, replacement=False, geometric_p=0.25)
PRACTICES = {"authors": AUTHORS, "text": TEXT}


def practice_named(name: str) -> Practice:
    """One of the two practices.

    Example:
        >>> practice_named("authors").clipped
        True
    """
    if name not in PRACTICES:
        raise ParameterError(
            f"--practice must be one of {', '.join(PRACTICES)}, not {name!r}"
            f"{meant(name, PRACTICES)}"
        )
    return PRACTICES[name]
