"""What all mechanisms share: a budget, and `fit(records_or_curator, workload) -> Release`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Self, TypedDict

from thresher.data.persons import PersonData
from thresher.data.private import PrivateData
from thresher.errors import BudgetError, ParameterError, QueryError
from thresher.mechanisms.estimate import Estimate
from thresher.mechanisms.fitting import Fitting, ignored
from thresher.mechanisms.procedure import Procedure
from thresher.mechanisms.public import refuse_private_as_public
from thresher.privacy.budget import Accounting, Amount, Budget
from thresher.privacy.curator import Curator
from thresher.privacy.journal_file import begun
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import Randomness
from thresher.privacy.unit import Unit
from thresher.progress.display import Followed, following
from thresher.queries.workload import Workload
from thresher.release import Release


class FitOptions(TypedDict, total=False):
    """The keywords of `Mechanism.fit`, for functions that pass them on."""

    unit: Unit | None
    ledger: Ledger | None
    period: str | None
    journal: str | Path | None
    release: str
    randomness: Randomness | None
    progress: Followed
    expect: Callable[[Estimate], None] | None


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A way to answer a workload under differential privacy.

    A mechanism is its parameters. Given n, ρ and a workload, it resolves to a `Procedure`, which
    has a plan and can be run.

    Attributes:
        epsilon: ε of the promise. Give either this or `rho`. With a Curator you may leave out
            both; then all that the Curator has left is spent.
        delta: δ of the promise. If not given, 1/n² for n records or persons, where n is public.
        rho: The zCDP budget itself, in place of (ε, δ).
        accounting: How (ε, δ) is converted to ρ: `"gaussian"`, `"tight"`, or `"paper"` for the
            paper's formula. If not given, that of the Curator or the ledger; without these,
            `"gaussian"`.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> procedure = th.GaussianJoint().resolve(data.n, Fraction(1, 2), work)
        >>> procedure.name, procedure.cost
        ('gaussian_joint', Fraction(1, 2))
    """

    name: ClassVar[str]
    never_selects: ClassVar[bool] = False
    """Whether it asks for nothing but noisy counts, whatever n, ρ and the workload are."""

    epsilon: Amount | None = None
    delta: Amount | None = None
    rho: Amount | None = None
    accounting: Accounting | None = None

    @abstractmethod
    def resolve(self, n: int, rho: Fraction, workload: Workload) -> Procedure:
        """Check every parameter and settle those that were left open, from public facts only.

        Args:
            n: The number of records or persons. Where rows of persons are counted, their number
                over the most rows of a person (`Access.n`).
            rho: The zCDP budget.
            workload: The thresholds to be answered well.

        Returns:
            The procedure, ready to be run.
        """

    def fit(
        self,
        data: PrivateData | Curator,
        workload: Workload,
        *,
        unit: Unit | None = None,
        ledger: Ledger | None = None,
        period: str | None = None,
        journal: str | Path | None = None,
        release: str = "unnamed release",
        randomness: Randomness | None = None,
        progress: Followed = None,
        expect: Callable[[Estimate], None] | None = None,
    ) -> Release:
        """Answer a workload and make a release of it.

        Everything is checked before anything is paid for.

        Args:
            data: The private records, or a Curator that holds them.
            workload: The thresholds to be answered well.
            unit: What the promise protects; if not given, one record that is replaced by another.
                If their number is private by this unit, it is measured first, with a part of the
                budget (`fitting.TOTAL_SHARE`).
            ledger: Where spending is recorded (with records; a Curator has its own).
            period: The period that the records are of, for a ledger of several, such as "2024".
            journal: A folder that keeps every result as soon as it is paid for. An interrupted fit
                that is called again with the same arguments goes on from there. The folder stays
                until you remove it.
            release: The name under which a ledger records this.
            randomness: For experiments only: a source of noise other than the operating system.
            progress: Whether to show how far it has come: True, False, or None to do so in a
                terminal and in a notebook only. Or a function, called after each round with its
                number, the number of rounds and a remark; the number is 0 for a remark on what is
                done before the first.
            expect: Called with the time and memory that the fit will take, before anything is paid
                for.

        Returns:
            The release.
        """
        if workload.schema.fingerprint != data.schema.fingerprint:
            raise QueryError("the workload is over another schema than the records")
        refuse_private_as_public(self, data)
        with_curator = isinstance(data, Curator)
        if (
            isinstance(data, Curator)
            and data.schema.with_views(workload.schema.views) != data.schema
        ):
            raise ParameterError(
                "the Curator does not know the views of the workload: make it with views=…"
            )
        if with_curator and not (ledger is None and journal is None and randomness is None):
            raise ParameterError(
                "a Curator has its own ledger and randomness, and no journal: give records"
            )
        if with_curator and not (unit is None and period is None):
            raise ParameterError("a Curator has a unit and a period already: make one with these")
        protected = data.unit if isinstance(data, Curator) else unit if unit is not None else Unit()
        budget = self._as_begun(journal).budget_for(data, protected, ledger)
        with following(progress, "fitting") as follower:
            fitting = Fitting(
                self.resolve, self.never_selects, budget, workload, protected, follower,
                expect or ignored,
            )  # fmt: skip
            if isinstance(data, Curator):
                return fitting.with_curator(data)
            return fitting.with_records(data, ledger, period, journal, release, randomness)

    def budget_for(
        self,
        data: PrivateData | Curator,
        unit: Unit | None = None,
        ledger: Ledger | None = None,
    ) -> Budget:
        """The budget of a fit.

        Args:
            data: The records, or a Curator, whose remaining budget is the default.
            unit: What the promise protects; if not given, one record that is replaced by another.
            ledger: The ledger that it is paid from.

        Example:
            >>> import thresher as th
            >>> th.RAP(rho="1/4").budget_for(th.datasets.adult()).rho
            Fraction(1, 4)
        """
        if self.epsilon is not None and self.rho is not None:
            raise BudgetError("give either epsilon or rho, not both")
        if self.epsilon is None and self.delta is not None:
            raise BudgetError("delta belongs to epsilon: give epsilon too, or rho alone")
        unit, paid_from = unit or Unit(), ledger.accounting if ledger else None
        if isinstance(data, Curator):
            paid_from = "gaussian" if data.is_gaussian else "tight"
            if self.accounting == "gaussian" and not data.is_gaussian:
                raise ParameterError(
                    "the Curator has another accounting: make it with a Budget of accounting "
                    "'gaussian'"
                )
        if self.epsilon is not None:
            delta = self.delta if self.delta is not None else _usual_delta(data, unit)
            return Budget.from_epsilon(self.epsilon, delta, self.accounting_for(paid_from))
        is_gaussian = "gaussian" in (self.accounting, paid_from)
        if self.rho is not None:
            return Budget.from_rho(self.rho, is_gaussian=is_gaussian)
        if isinstance(data, Curator) and data.remaining > 0:
            return Budget.from_rho(data.remaining, is_gaussian=is_gaussian)
        raise BudgetError(f"{self.name} needs a budget: give epsilon=1.0, say, or rho")

    def accounting_for(self, paid_from: str | None = None) -> Accounting:
        """How (ε, δ) is converted to ρ, if it was left open.

        Args:
            paid_from: The accounting of the Curator or ledger, if there is one.

        Example:
            >>> import thresher as th
            >>> th.Auto().accounting_for(), th.Auto().accounting_for("zcdp")
            ('gaussian', 'tight')
        """
        if self.accounting is not None:
            return self.accounting
        return "gaussian" if paid_from in (None, "gaussian") else "tight"

    def _as_begun(self, journal: str | Path | None) -> Self:
        """With the accounting that an interrupted fit began with, if it was left open."""
        if self.accounting is not None or journal is None or (about := begun(journal)) is None:
            return self
        return replace(self, accounting=about.get("accounting", "tight"))


def _usual_delta(data: PrivateData | Curator, unit: Unit) -> Fraction:
    """1/n² for n records or persons, if this number is public."""
    if unit.neighbours != "replace":
        raise BudgetError(
            "the number of records is private where one is added or removed, so delta has no "
            "default: give delta, such as 1e-9, well below one over the number of people"
        )
    if isinstance(data, Curator) and not unit.total_is_public:
        raise BudgetError("a Curator does not tell how many persons there are: give delta")
    if unit.person is not None and isinstance(data, PersonData):
        return Fraction(1, data.persons**2)
    return Fraction(1, data.n**2)
