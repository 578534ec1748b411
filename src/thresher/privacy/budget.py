"""The privacy budget: zCDP in exact rationals, and the account from which it is spent.

Zero-concentrated differential privacy (zCDP) adds up: two releases at ρ₁ and ρ₂ cost ρ₁ + ρ₂
(Bun and Steinke 2016). Kept as fractions, the parts of a budget sum back to it exactly. So does
Gaussian differential privacy, where ρ = μ²/2 (see `gaussian`).
"""

import threading
import warnings
from dataclasses import dataclass
from fractions import Fraction

from thresher.errors import BudgetError, ParameterError
from thresher.privacy.amounts import Amount, exact
from thresher.privacy.conversion import Accounting, epsilon_of, rho_of

__all__ = [
    "Account",
    "Accounting",
    "Amount",
    "Budget",
    "PrivacyWarning",
    "epsilon_of",
    "exact",
    "rho_of",
]

PROMISES_LITTLE = 10
"""The ε above which a promise is worth a warning: e¹⁰ is odds of 22,000 to one."""

LARGEST_RHO = 10**9
"""A ρ beyond which noise is a small fraction of one record: no privacy, and no safe floats."""


class PrivacyWarning(UserWarning):
    """What was asked for is possible, and protects people less than its name suggests."""


@dataclass(frozen=True)
class Budget:
    """What may be spent on one data set: ρ of zCDP, and the (ε, δ) it was bought with.

    Attributes:
        rho: The whole budget.
        epsilon: The ε it came from, if it did.
        delta: The δ it came from, if it did.
        accounting: The conversion that turned them into ρ. If it is `"gaussian"`, noise and choices
            are those of `gaussian`, with or without ε and δ.

    Example:
        >>> budget = Budget.from_rho("1/10")
        >>> sum(budget.split(3)) == budget.rho
        True
    """

    rho: Fraction
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    accounting: Accounting | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", exact(self.rho, "rho"))
        if self.rho > LARGEST_RHO:
            raise BudgetError(
                f"rho={float(self.rho):.3g} promises nothing at all; try rho=Fraction(1, 10)"
            )

    @classmethod
    def from_epsilon(
        cls, epsilon: Amount, delta: Amount, accounting: Accounting = "tight"
    ) -> "Budget":
        """Buy the largest ρ that (ε, δ) allows.

        Args:
            epsilon: ε above zero; above 10 it draws a `PrivacyWarning`.
            delta: δ strictly between 0 and 1.
            accounting: `"tight"`, `"paper"` or `"gaussian"`.

        Returns:
            The budget.

        Example:
            >>> Budget.from_epsilon(1, "1e-9").accounting
            'tight'
        """
        rho = rho_of(epsilon, delta, accounting)
        promised = exact(epsilon, "epsilon")
        if promised > PROMISES_LITTLE:
            warnings.warn(
                f"epsilon={float(promised):g} promises little: what is released may shift the odds "
                f"of a guess about one person by a factor of e^{float(promised):g}. Choose epsilon "
                f"of {PROMISES_LITTLE} or less, better around 1, unless you can justify this to "
                "the people in the data.",
                PrivacyWarning,
                stacklevel=2,
            )
        return cls(rho, promised, exact(delta, "delta"), accounting)

    @classmethod
    def from_rho(cls, rho: Amount, *, is_gaussian: bool = False) -> "Budget":
        """Set ρ directly.

        Args:
            rho: ρ above zero.
            is_gaussian: Whether it has Gaussian accounting (see `gaussian`).

        Returns:
            The budget, with no ε and δ of its own.

        Example:
            >>> Budget.from_rho(0.5).rho
            Fraction(1, 2)
        """
        return cls(exact(rho, "rho"), accounting="gaussian" if is_gaussian else None)

    @property
    def curve(self) -> Accounting:
        """The best conversion that holds for the whole of it: `"gaussian"` or `"tight"`.

        A smaller amount of it is converted by `"tight"`: choices rely on noise that is paid for by
        the rest.
        """
        return "gaussian" if self.accounting == "gaussian" else "tight"

    def split(self, parts: int) -> tuple[Fraction, ...]:
        """Divide the budget into equal parts that sum back to it exactly.

        Args:
            parts: How many, at least one.

        Returns:
            The parts.

        Example:
            >>> Budget.from_rho(1).split(2)
            (Fraction(1, 2), Fraction(1, 2))
        """
        if isinstance(parts, bool) or not hasattr(parts, "__index__") or parts < 1:
            raise ParameterError(f"parts must be a whole number of at least 1, not {parts!r}")
        return (self.rho / int(parts),) * int(parts)


class Account:
    """A budget being spent: the one mutable value here, safe to share between threads.

    Example:
        >>> account = Account(Budget.from_rho("1/10"))
        >>> account.spend("1/20")
        >>> account.remaining
        Fraction(1, 20)
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._spent = Fraction(0)
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        """The whole budget, spent or not."""
        return self._budget

    @property
    def spent(self) -> Fraction:
        """What has been spent so far."""
        return self._spent

    @property
    def remaining(self) -> Fraction:
        """What can still be spent."""
        return self._budget.rho - self._spent

    def spend(self, rho: Amount) -> None:
        """Take ρ off the budget, or refuse and leave it as it was.

        Args:
            rho: What to spend, above zero.

        Raises:
            BudgetError: There is not as much left.
        """
        requested = exact(rho, "rho")
        with self._lock:
            self.check(requested)
            self._spent += requested

    def check(self, rho: Fraction, remaining: Fraction | None = None) -> None:
        """Refuse what `spend` would refuse now, or what is more than a part of what is left."""
        remaining = self.remaining if remaining is None else remaining
        if rho > remaining:
            raise BudgetError(
                f"budget exceeded: requested rho={float(rho):.6g}, "
                f"remaining {float(remaining):.6g}, "
                f"difference {float(rho - remaining):.6g}; "
                "ask for less, or start from a larger budget"
            )

    def take_back(self, rho: Fraction) -> None:
        """Undo a spend that told nobody anything: the data could not be counted."""
        with self._lock:
            self._spent -= rho

    def __repr__(self) -> str:
        return f"Account(rho={float(self._budget.rho):.6g}, remaining={float(self.remaining):.6g})"
