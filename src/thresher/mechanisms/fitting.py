"""The steps of `Mechanism.fit` after a procedure has been resolved."""

import hashlib
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from thresher.data.private import PrivateData
from thresher.errors import BudgetError
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.procedure import Outcome, Procedure, Progress
from thresher.privacy.access import Access
from thresher.privacy.budget import Budget
from thresher.privacy.curator import Curator
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import Randomness
from thresher.queries.workload import Workload
from thresher.release import Release


@dataclass(frozen=True)
class Fitting:
    """A procedure that was found to fit into this machine, about to be run.

    Attributes:
        procedure: What will be run.
        budget: The budget that the release states.
        workload: The thresholds to be answered well.
        estimate: The time and memory that the run will take.
        progress: Called after each round.
        expect: Called with the estimate before anything is paid for.
    """

    procedure: Procedure
    budget: Budget
    workload: Workload
    estimate: Estimate
    progress: Progress
    expect: Callable[[Estimate], None]

    @classmethod
    def checked(
        cls,
        procedure: Procedure,
        budget: Budget,
        workload: Workload,
        n: int,
        progress: Progress | None,
        expect: Callable[[Estimate], None] | None,
    ) -> "Fitting":
        """Refuse a procedure that would take too much memory or time."""
        estimate = procedure.estimate(n)
        estimate.check()
        return cls(procedure, budget, workload, estimate, progress or _silent, expect or _ignored)

    def with_curator(self, curator: Curator) -> Release:
        """Run through a Curator that may have spent some of its budget already."""
        _check_left(self.procedure.cost, curator.remaining)
        before = curator.spent
        curator.will_ask(self.workload)
        outcome = self._run(curator)
        return self._release(outcome, curator, curator.spent - before)

    def with_records(
        self,
        data: PrivateData,
        ledger: Ledger | None,
        journal: str | Path | None,
        release: str,
        randomness: Randomness | None,
    ) -> Release:
        """Put records behind a new Curator, and run; with a journal, go on from what is there."""
        opened = nullcontext() if journal is None else Journal(journal, self._about(data.n, ledger))
        with opened as entries:
            spent = entries.spent if entries else Fraction(0)
            if ledger is not None and self.procedure.cost:
                ledger.check(self.procedure.cost - spent, release)
            curator = Curator(
                data, self.budget, ledger, release=release, randomness=randomness, spent=spent
            )
            curator.will_ask(self.workload)
            outcome = self._run(JournaledCurator(curator, entries) if entries else curator)
        return self._release(outcome, curator, curator.spent)

    def _run(self, access: Access) -> Outcome:
        self.expect(self.estimate)
        return self.procedure.run(access, self.progress)

    def _about(self, n: int, ledger: Ledger | None) -> dict[str, Any]:
        """What distinguishes this fit from every other, so that a journal is resumed by its own."""
        listed = json.dumps(self.workload.as_json(), sort_keys=True)
        return {
            "mechanism": self.procedure.name,
            "settings": self.procedure.settings,
            "rho": str(self.budget.rho),
            "n": n,
            "schema": self.workload.schema.fingerprint,
            "workload": hashlib.sha256(listed.encode()).hexdigest(),
            # What an interrupted fit pays when it goes on belongs in the same ledger.
            "ledger": None if ledger is None else ledger.path.name,
        }

    def _release(self, outcome: Outcome, curator: Curator, spent: Fraction) -> Release:
        return Release.now(
            schema=curator.schema,
            n=curator.n,
            workload=self.workload,
            mechanism=self.procedure.name,
            settings={**self.procedure.settings, **outcome.diagnostics},
            budget=self.budget,
            spent=spent,
            measurements=outcome.measurements,
            source=outcome.source,
            is_secure=curator.is_secure,
        )


def _check_left(cost: Fraction, remaining: Fraction) -> None:
    """Refuse the whole fit at once, or the first rounds would be paid for in vain."""
    if cost > remaining:
        raise BudgetError(
            f"budget exceeded: requested rho={float(cost):.6g}, remaining {float(remaining):.6g}, "
            f"difference {float(cost - remaining):.6g}; ask for less"
        )


def _ignored(estimate: Estimate) -> None:
    """Nobody asked for an estimate."""


def _silent(number: int, rounds: int, remark: str) -> None:
    """No progress is shown."""
