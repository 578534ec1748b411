"""The steps of `Mechanism.fit`: measure n if it is private, settle the procedure, run it."""

import hashlib
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from thresher.data.private import PrivateData
from thresher.data.told import telling
from thresher.errors import BudgetError, ResourceError
from thresher.mechanisms.checkpoint import CheckpointedFits, Fits
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.procedure import AsksForParts, MayOnlyMeasure, Outcome, Procedure
from thresher.privacy.access import Access
from thresher.privacy.budget import Budget
from thresher.privacy.curator import Curator, is_gaussian, pays_for_counts_only
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.ledger import Ledger
from thresher.privacy.measurements import TotalMeasurement
from thresher.privacy.persons import check_person, public_total
from thresher.privacy.randomness import Randomness
from thresher.privacy.unit import Unit
from thresher.progress import COUNTING, Follower
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.release import Release

Resolve = Callable[[int, Fraction, Workload], Procedure]
"""Settles a mechanism for n, ρ and a workload."""

TOTAL_SHARE = Fraction(1, 20)
"""The part of the budget that measures n, where n is private.

Answers are fractions of n, so an error in n of one part in a thousand changes an answer of 0.3 by
0.0003. If the rest of the budget measures 20 tables, the noise of n is that of one cell, times the
answer. The largest noise among all cells of 20 tables is about four times as large. And a twentieth
less makes all other noise 2.6 % larger. Margins of error cover both.
"""

UNKNOWN_N, LARGER_N = 10_000, (10**8, 10**7, 10**6, 10**5)
"""While n is private and not yet measured, parameters are checked as if n were the first of these.
If a fit would be refused for one of the others, that is said before anything is paid for."""


@dataclass(frozen=True)
class Fitting:
    """A mechanism that is about to be run.

    Attributes:
        resolve: Settles the mechanism once n is known.
        never_selects: Whether it asks for nothing but noisy counts, whatever n is.
        budget: The budget that the release states.
        workload: The thresholds to be answered well.
        unit: What the promise protects.
        progress: Follows the run.
        expect: Called with the time and memory of the run, before the mechanism pays for anything.
    """

    resolve: Resolve
    never_selects: bool
    budget: Budget
    workload: Workload
    unit: Unit
    progress: Follower
    expect: Callable[[Estimate], None]

    def with_curator(self, curator: Curator) -> Release:
        """Run through a Curator that may have spent some of its budget already."""
        first = self._first(curator.measured_total, curator.counts_only)
        _check_left(first.cost, curator.remaining)
        curator.will_ask(first.asks)
        with curator.part(first.cost):
            before = curator.spent
            procedure, outcome = self._run(curator, first)
            return self._release(procedure, outcome, curator, curator.spent - before)

    def with_records(
        self,
        data: PrivateData,
        ledger: Ledger | None,
        period: str | None,
        journal: str | Path | None,
        release: str,
        randomness: Randomness | None,
    ) -> Release:
        """Put records behind a new Curator, and run; with a journal, go on from what is there."""
        check_person(data, self.unit)
        total = public_total(data, self.unit)
        first = self._first(total, pays_for_counts_only(ledger))
        about = self._about(first.procedure, total, ledger, period)
        opened = nullcontext() if journal is None else Journal(journal, about)
        with opened as entries:
            spent = entries.spent if entries else Fraction(0)
            if ledger is not None and first.cost:
                ledger.check(first.cost - spent, release)
            told = telling(data, self.progress, n_is_public=self.unit.total_is_public)
            curator = Curator(
                told, self.budget, ledger, release=release, randomness=randomness, spent=spent,
                unit=self.unit, period=period, journal=entries, views=self.workload.schema.views,
            )  # fmt: skip
            curator.will_ask(first.asks)
            if entries is None:
                procedure, outcome = self._run(curator, first, counts=told is not data)
            else:
                access = JournaledCurator(curator, entries)
                fits = CheckpointedFits(access, self.progress.note)
                procedure, outcome = self._run(access, first, fits, counts=told is not data)
                self._tell_unread(access)
        return self._release(procedure, outcome, curator, curator.spent)

    def _tell_unread(self, access: JournaledCurator) -> None:
        """If all was in the journal, no record was counted: they may be others than it began with.

        To compare them would be a look at the records that nobody pays for.
        """
        if access.is_only_replayed:
            self.progress.note(
                "everything was paid for already, so no record was counted: the release is of the "
                "records that the journal began with, whether or not these are the same"
            )

    def _first(self, total: TotalMeasurement | None, counts_only: bool) -> "_Settled":
        """What is known before anything is paid for; a mechanism that cannot run is refused."""
        if total is not None:
            procedure = self._resolved(self.unit.worth(total.n), self.budget.rho)
            if counts_only:
                check_only_measures(procedure, self.never_selects)
            asks = procedure.asks(total.n) if isinstance(procedure, AsksForParts) else self.workload
            estimate = _checked(procedure, total.n)
            return _Settled(procedure, estimate, procedure.cost, asks, total.n)
        procedure = self._resolved(UNKNOWN_N, self.budget.rho)
        if counts_only:
            check_only_measures(procedure, self.never_selects, n_is_known=False)
        estimate = _checked(procedure, UNKNOWN_N)
        self._tell_of_refusal()
        asks = self.workload
        if isinstance(procedure, AsksForParts):
            # Whatever n will be: the one-way table of any feature may be measured.
            alone = (Threshold((name,)) for name in asks.schema.names)
            asks = Workload(asks.schema, dict.fromkeys([*asks, *alone]))
        return _Settled(procedure, estimate, self.budget.rho, asks, UNKNOWN_N)

    def _resolved(self, n: int, rho: Fraction) -> Procedure:
        """The procedure for n records; one that costs more than the release states is refused."""
        procedure = self.resolve(n, rho, self.workload)
        if procedure.cost > rho:
            raise BudgetError(
                f"{procedure.name} plans to pay rho={float(procedure.cost):.6g}, more than the "
                f"{float(rho):.6g} that it was given: this is a fault of the mechanism"
            )
        return procedure

    def _tell_of_refusal(self) -> None:
        """Say for how many records the fit would be refused, but only after n was paid for."""
        told = ""
        for n in LARGER_N:
            try:
                _checked(self._resolved(n, self.budget.rho), n)
                break
            except ResourceError as refusal:
                told = (
                    f"n is private. If there are {n:,} records or more, this fit will be refused "
                    f"once n is measured, and a twentieth of the budget is lost: {refusal}"
                )
        if told:
            self.progress.note(told)

    def _run(
        self, access: Access, first: "_Settled", fits: Fits | None = None, *, counts: bool = False
    ) -> tuple[Procedure, Outcome]:
        """Run the procedure; `counts` says whether it takes time to count the records."""
        self.expect(first.estimate)
        procedure = first.procedure
        self._expect_phases(procedure, first.n, counts)
        if access.measured_total is None:
            share = TOTAL_SHARE * self.budget.rho
            access.measure_total(rho=share)
            procedure = self._resolved(access.n, self.budget.rho - share)
            _checked(procedure, access.n)
            self._expect_phases(procedure, access.n, counts)
        return procedure, procedure.run(access, self.progress, fits)

    def _expect_phases(self, procedure: Procedure, n: int, counts: bool) -> None:
        phases = procedure.phases(n)
        self.progress.expect([phase for phase in phases if counts or phase.name != COUNTING])

    def _about(
        self,
        procedure: Procedure,
        total: TotalMeasurement | None,
        ledger: Ledger | None,
        period: str | None,
    ) -> dict[str, Any]:
        """What distinguishes this fit from every other, so that a journal is resumed by its own."""
        listed = json.dumps(self.workload.as_json(), sort_keys=True)
        about = {
            "mechanism": procedure.name,
            "settings": procedure.settings,
            "rho": str(self.budget.rho),
            "n": None if total is None else total.n,
            "schema": self.workload.schema.fingerprint,
            "workload": hashlib.sha256(listed.encode()).hexdigest(),
            # What an interrupted fit pays when it goes on belongs in the same ledger.
            "ledger": None if ledger is None else ledger.path.name,
        }
        if views := self.workload.schema.views:
            # As they are counted: the keys of JSON objects, and so of groups, have no order.
            groups = json.dumps([(v.name, v.of, v.labels, v.codes) for v in views])
            about["views"] = hashlib.sha256(groups.encode()).hexdigest()
        if is_gaussian(self.budget, ledger):
            about["accounting"] = "gaussian"
        if self.unit != Unit():
            about["unit"] = self.unit.as_json()
        if period is not None:
            about["period"] = period
        return about

    def _release(
        self, procedure: Procedure, outcome: Outcome, curator: Curator, spent: Fraction
    ) -> Release:
        total = curator.known_total()
        return Release.now(
            schema=curator.schema,
            n=total.n,
            n_sigma=total.sigma,
            unit=self.unit,
            workload=self.workload,
            mechanism=procedure.name,
            settings={**procedure.settings, **outcome.diagnostics},
            budget=self.budget,
            spent=spent,
            measurements=outcome.measurements,
            source=outcome.source,
            is_secure=curator.is_secure,
        )


@dataclass(frozen=True)
class _Settled:
    """A procedure that fits into this machine, the ρ of the whole fit, and what is counted.

    The plan was made for n records.
    """

    procedure: Procedure
    estimate: Estimate
    cost: Fraction
    asks: Workload
    n: int


def _checked(procedure: Procedure, n: int) -> Estimate:
    """Refuse a procedure that would take too much memory or time."""
    estimate = procedure.estimate(n)
    estimate.check()
    return estimate


def _check_left(cost: Fraction, remaining: Fraction) -> None:
    """Refuse the whole fit at once, or the first rounds would be paid for in vain."""
    if cost > remaining:
        raise BudgetError(
            f"budget exceeded: requested rho={float(cost):.6g}, remaining {float(remaining):.6g}, "
            f"difference {float(cost - remaining):.6g}; ask for less"
        )


def only_measures(procedure: Procedure) -> bool:
    """Whether a procedure asks for nothing but noisy counts."""
    return isinstance(procedure, MayOnlyMeasure) and procedure.only_measures


def check_only_measures(
    procedure: Procedure, never_selects: bool, *, n_is_known: bool = True
) -> None:
    """Refuse, before anything is paid for, a fit with choices where only counts are paid for.

    Args:
        procedure: What would be run.
        never_selects: Whether its mechanism asks for nothing but noisy counts, whatever n is.
        n_is_known: Whether it was settled for n, or can still change when n is measured.
    """
    if never_selects or (n_is_known and only_measures(procedure)):
        return
    would = "would" if n_is_known else "may, as n is private,"
    raise BudgetError(
        "a ledger with Gaussian accounting covers noisy counts alone, and "
        f"{procedure.name} {would} choose what to measure by looking at the records. Take the "
        "mechanism residual or gaussian_joint, or a ledger with accounting 'tight'"
    )


def ignored(estimate: Estimate) -> None:
    """Nobody asked for an estimate."""
