"""RAP as the paper's experiments ran it, where that differs from the RAP of this package.

Nothing here is for releases, and nothing outside `reproduction` can come by it: `th.RAP`, `fit` and
the Curator do not know these variants.

- `printed-osas`: Algorithm 4 prints Gumbel noise of scale √(K/(2ρ))/n where its promise needs
  √(K/ρ)/n. That is selection with twice the ρ that it is given, so a round costs 3/2 of what it
  says. The variant asks the ordinary Curator for exactly that, with a budget that is larger by
  half. Relative to the ε that a figure states it is **not private**, and its name says so.
- Clipping: the authors' code moves noisy answers into [0, 1] before D' is fitted to them.
- `authors-adam`: their Adam ends a round once the loss changes by less than 1e-9, after at most
  5,000 steps. The loss is taken to be the sum of squared differences of answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from thresher.data.private import PrivateData
from thresher.errors import ParameterError
from thresher.mechanisms import RAP
from thresher.mechanisms.projector import Projector
from thresher.mechanisms.rap import RAPProcedure
from thresher.privacy.access import Access
from thresher.privacy.budget import Budget
from thresher.privacy.curator import Curator
from thresher.privacy.ledger import Ledger
from thresher.privacy.measurements import Measurement, QueryMeasurement, TableMeasurement
from thresher.privacy.unit import Unit
from thresher.queries import Query, Workload
from thresher.relaxed.projection import OPTIMISERS, Projection, Stopping
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.standardised import Residuals
from thresher.release.sources import SyntheticRows
from thresher.schema import Schema

PRINTED = "printed-osas"
AUTHORS_ADAM = "authors-adam"
REPRODUCTION_OPTIMISERS = (*OPTIMISERS, AUTHORS_ADAM)
OVERSPENT = Fraction(3, 2)
"""What a round with the printed scale costs, for each unit that it states."""

LOSS_CHANGE = 1e-9
MOST_EPOCHS = 5000


@dataclass(frozen=True)
class LossChange(Stopping):
    """The rule of the authors' code: stop where the loss hardly changes from step to step.

    Attributes:
        noise: The standard deviation of an answer, which turns a misfit into a loss.
        change: The change of the loss that is too small to go on.

    Example:
        >>> rule = LossChange(noise=0.001)
        >>> rule.reason([9.0, 8.0], Residuals(16, 8.0, largest=4.0)) is None
        True
        >>> rule.reason([8.00001, 8.0], Residuals(16, 8.0, largest=4.0))
        'progress'
    """

    noise: float = 0.0
    change: float = LOSS_CHANGE
    iterations: int = MOST_EPOCHS

    def reason(self, misfits: Sequence[float], latest: Residuals) -> str | None:
        """Why to stop, or None to go on."""
        if len(misfits) > self.iterations:
            return "iterations"
        if len(misfits) > 1:
            changed = abs(misfits[-2] - misfits[-1]) * latest.count * self.noise**2
            if changed < self.change:
                return "progress"
        return None


@dataclass(frozen=True)
class AuthorsProjector(Projector):
    """Algorithm 3 with the choices of the authors' code.

    Attributes:
        clipped: Whether noisy answers are moved into [0, 1] first.
        by_loss_change: Whether a round ends by the authors' rule.
    """

    clipped: bool = False
    by_loss_change: bool = False

    def __call__(
        self, rows: RelaxedRows, measured: Iterable[Measurement], schema: Schema, number: int = 1
    ) -> Projection:
        """Fit D' to measurements, starting from where it is."""
        listed = [clip(m) for m in measured] if self.clipped else list(measured)
        stopping = self.stopping
        if self.by_loss_change and listed:
            stopping = LossChange(noise=listed[0].noise)
        plain = Projector(self.optimizer, stopping, self.on_iteration)
        return plain(rows, listed, schema, number)


def clip(measured: Measurement) -> Measurement:
    """A measurement whose answers are moved into [0, 1]; its noise is stated as it was.

    Example:
        >>> from thresher.queries import Condition
        >>> noisy = QueryMeasurement(Query([Condition("sex", [0])]), count=-7, sigma=9.0, n=100)
        >>> clip(noisy).answer
        0.0
    """
    if isinstance(measured, QueryMeasurement):
        if 0 <= measured.count <= measured.n:
            return measured
        # There can be a million of them, and `replace` takes ten times as long.
        count = min(max(measured.count, 0), measured.n)
        return QueryMeasurement(measured.query, count, measured.sigma, measured.n)
    if isinstance(measured, TableMeasurement):
        return replace(measured, counts=np.clip(measured.counts, 0, measured.n))
    return measured


@dataclass(frozen=True, kw_only=True)
class PaperRAP(RAP):
    """RAP with choices of the paper's experiments. For `reproduce` only.

    Attributes:
        clipped: Whether noisy answers are moved into [0, 1] before D' is fitted to them.
        printed_osas: Whether selection has the printed noise, which is not private at the stated ε.
    """

    clipped: bool = False
    printed_osas: bool = False

    def budget_for(
        self,
        data: PrivateData | Curator,
        unit: Unit | None = None,
        ledger: Ledger | None = None,
    ) -> Budget:
        """The budget; for the printed noise, one of ρ alone that covers what is really spent."""
        stated = super().budget_for(data, unit, ledger)
        return Budget.from_rho(stated.rho * OVERSPENT) if self.printed_osas else stated

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> RAPProcedure:
        """Settle T and K for the ρ that is stated."""
        by_loss_change = self.optimizer == AUTHORS_ADAM
        known = RAP(
            rounds=self.rounds,
            queries_per_round=self.queries_per_round,
            synthetic_rows=self.synthetic_rows,
            selection=self.selection,
            optimizer="adam" if by_loss_change else self.optimizer,
            seed=self.seed,
        )
        if self.printed_osas and self.selection != "oneshot":
            raise ParameterError(f"{PRINTED} is a variant of one-shot selection")
        procedure = known.resolve(n, rho / OVERSPENT if self.printed_osas else rho, workload)
        projector = AuthorsProjector(
            procedure.projector.optimizer,
            procedure.projector.stopping,
            clipped=self.clipped,
            by_loss_change=by_loss_change,
        )
        kind = PrintedProcedure if self.printed_osas else RAPProcedure
        return kind(
            cost=procedure.cost,
            n=procedure.n,
            workload=procedure.workload,
            rounds=procedure.rounds,
            queries_per_round=procedure.queries_per_round,
            synthetic_rows=procedure.synthetic_rows,
            selection=procedure.selection,
            projector=projector,
            seed=procedure.seed,
        )


@dataclass(frozen=True, kw_only=True)
class PrintedProcedure(RAPProcedure):
    """RAP that selects with the printed noise: its `cost` is what it states, not what it spends."""

    name: ClassVar[str] = f"{PRINTED}, not private at the stated budget"

    def _select(
        self, access: Access, before: SyntheticRows, excluded: Sequence[int], rho: Fraction
    ) -> list[Query]:
        """Gumbel noise of scale √(K/(2ρ))/n is that of twice the budget."""
        return super()._select(access, before, excluded, 2 * rho)
