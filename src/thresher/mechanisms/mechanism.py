"""What all mechanisms share: a budget, and `fit(curator_or_records, workload) -> Release`."""

import dataclasses
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from thresher.data.records import Records
from thresher.errors import BudgetError, ParameterError, QueryError
from thresher.mechanisms.estimate import Estimate
from thresher.privacy.access import Access
from thresher.privacy.budget import Accounting, Amount, Budget
from thresher.privacy.curator import Curator
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.ledger import Ledger
from thresher.privacy.measurements import Measurement
from thresher.privacy.randomness import Randomness
from thresher.queries.workload import Workload
from thresher.release import Release
from thresher.release.sources import AnswerSource

Progress = Callable[[int, int, str], None]
"""Called with the round that has ended, the number of rounds, and how well D' fits by now."""

Outcome = tuple[AnswerSource, list[Measurement]]


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A way to answer a workload under differential privacy.

    Attributes:
        epsilon: ε of the promise. Give either this or `rho`; with a Curator, neither means all
            that it has left.
        delta: δ of the promise; 1/n² if not given.
        rho: The zCDP budget itself, in place of (ε, δ).
        accounting: How (ε, δ) buys ρ: `"tight"`, or `"paper"` for the paper's formula.
    """

    name: ClassVar[str]
    is_free: ClassVar[bool] = False
    """Whether it spends nothing, so that it needs nothing to be left."""

    epsilon: Amount | None = None
    delta: Amount | None = None
    rho: Amount | None = None
    accounting: Accounting = "tight"

    def fit(
        self,
        data: Records | Curator,
        workload: Workload,
        *,
        ledger: Ledger | None = None,
        journal: str | Path | None = None,
        release: str = "unnamed release",
        randomness: Randomness | None = None,
        progress: Progress | None = None,
        expect: Callable[[Estimate], None] | None = None,
    ) -> Release:
        """Answer a workload and make a release of it.

        Args:
            data: The private records, or a Curator that holds them.
            workload: The thresholds to be answered well.
            ledger: Where spending is recorded (with records; a Curator has its own).
            journal: A folder in which everything paid for is kept at once, so that an interrupted
                fit can be called again with the same arguments and goes on from there. It stays
                until you remove it.
            release: The name under which a ledger records this.
            randomness: For experiments only: a source of noise other than the operating system.
            progress: Called after each round.
            expect: Called with the time and memory that the fit will take, once all is checked and
                before anything is paid for.

        Returns:
            The release.
        """
        if workload.schema.fingerprint != data.schema.fingerprint:
            raise QueryError("the workload is over another schema than the records")
        budget = self._budget(data)
        mechanism = self.resolved(data.n, budget.rho, workload)
        estimate = mechanism.estimate(data.n, budget.rho, workload)
        estimate.check()
        told, expect = progress or _silent, expect or _ignored
        if isinstance(data, Curator):
            if not (ledger is None and journal is None and randomness is None):
                raise ParameterError(
                    "a Curator has its own ledger and randomness, and no journal: give records"
                )
            if not self.is_free:
                _check_left(budget.rho, data.remaining)
            before = data.spent
            expect(estimate)
            outcome = mechanism.run(data, budget.rho, workload, told)
            return mechanism._release(outcome, data, workload, budget, data.spent - before)
        about = mechanism._about(data.n, budget, workload, ledger)
        with nullcontext() if journal is None else Journal(journal, about) as diary:
            spent = diary.spent if diary else Fraction(0)
            if ledger is not None and not self.is_free:
                ledger.check(budget.rho - spent, release)
            curator = Curator(
                data, budget, ledger, release=release, randomness=randomness, spent=spent
            )
            wall: Access = JournaledCurator(curator, diary) if diary else curator
            expect(estimate)
            outcome = mechanism.run(wall, budget.rho, workload, told)
        return mechanism._release(outcome, curator, workload, budget, curator.spent)

    def _release(
        self,
        outcome: Outcome,
        curator: Curator,
        workload: Workload,
        budget: Budget,
        spent: Fraction,
    ) -> Release:
        source, measurements = outcome
        return Release.now(
            schema=curator.schema,
            n=curator.n,
            workload=workload,
            mechanism=self.name,
            settings=self.settings(),
            budget=budget,
            spent=spent,
            measurements=tuple(measurements),
            source=source,
            is_secure=curator.is_secure,
        )

    @abstractmethod
    def run(
        self, curator: Access, rho: Fraction, workload: Workload, progress: Progress
    ) -> Outcome:
        """The mechanism itself: spend at most ρ through the Curator, and make answers."""

    @abstractmethod
    def estimate(self, n: int, rho: Fraction, workload: Workload) -> Estimate:
        """The time and memory that a fit takes, from public facts, once resolved."""

    def resolved(self, n: int, rho: Fraction, workload: Workload) -> "Mechanism":
        """The same with every parameter checked and settled, by public facts only."""
        return self

    def settings(self) -> dict[str, Any]:
        """The mechanism's parameters as plain JSON values."""
        budgeting = {field.name for field in dataclasses.fields(Mechanism)}
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in budgeting
        }

    def _budget(self, data: Records | Curator) -> Budget:
        if self.epsilon is not None and self.rho is not None:
            raise BudgetError("give either epsilon or rho, not both")
        if self.epsilon is None and self.delta is not None:
            raise BudgetError("delta belongs to epsilon: give epsilon too, or rho alone")
        if self.epsilon is not None:
            delta = self.delta if self.delta is not None else Fraction(1, data.n**2)
            return Budget.from_epsilon(self.epsilon, delta, self.accounting)
        if self.rho is not None:
            return Budget.from_rho(self.rho)
        if isinstance(data, Curator) and data.remaining > 0:
            return Budget.from_rho(data.remaining)
        raise BudgetError(f"{self.name} needs a budget: give epsilon=1.0, say, or rho")

    def _about(
        self, n: int, budget: Budget, workload: Workload, ledger: Ledger | None
    ) -> dict[str, Any]:
        """What makes this fit this one, and no other."""
        listed = json.dumps(workload.as_json(), sort_keys=True)
        return {
            "mechanism": self.name,
            "settings": self.settings(),
            "rho": str(budget.rho),
            "n": n,
            "schema": workload.schema.fingerprint,
            "workload": hashlib.sha256(listed.encode()).hexdigest(),
            # What an interrupted fit pays when it goes on belongs in the same ledger.
            "ledger": None if ledger is None else ledger.path.name,
        }


def _check_left(rho: Fraction, remaining: Fraction) -> None:
    """Refuse the whole fit at once: half of its rounds would be half paid for nothing."""
    if rho > remaining:
        raise BudgetError(
            f"budget exceeded: requested rho={float(rho):.6g}, remaining {float(remaining):.6g}, "
            f"difference {float(rho - remaining):.6g}; ask for less"
        )


def _ignored(estimate: Estimate) -> None:
    """Nobody asked for an estimate."""


def _silent(round_: int, rounds: int, fit: str) -> None:
    """No progress is shown."""
