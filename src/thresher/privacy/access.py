"""What a mechanism sees of the private data: public facts, and verbs that each cost budget.

The verbs are written here once. Each makes a request (see `requests`); what happens to it is up
to the class: the Curator pays and carries it out, the journal does so and writes the result down.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import TypeVar

from thresher.errors import ParameterError
from thresher.privacy.amounts import Amount, exact
from thresher.privacy.categories import FindCategories, FoundValues
from thresher.privacy.edges import FindEdges
from thresher.privacy.measurements import (
    Measurement,
    ResidualMeasurement,
    TotalMeasurement,
)
from thresher.privacy.request import Request
from thresher.privacy.requests import Choose, Measure, MeasureTotal, Select, SelectTable, plain
from thresher.privacy.residuals import MeasureResiduals
from thresher.privacy.unit import Unit
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.schema import Schema
from thresher.tables import AnswersOf

Result = TypeVar("Result")


class Access(ABC):
    """Budgeted access to private records. Whoever holds it never holds the records."""

    __slots__ = ()

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """What the promise protects."""

    @property
    @abstractmethod
    def measured_total(self) -> TotalMeasurement | None:
        """The public number of records, persons or rows; None before it has been measured."""

    @property
    def n(self) -> int:
        """How many units the counts are worth: what n is in every plan.

        It is the public number of records or persons. Where rows are counted, it is their number
        over the most rows of a person, because noise is larger by that factor.
        """
        return self.unit.worth(self.known_total().n)

    def known_total(self) -> TotalMeasurement:
        """The public number of records, persons or rows; an error before it has been measured."""
        measured = self.measured_total
        if measured is None:
            raise ParameterError(
                f"the number of {self.unit.counted} is private: measure it first (measure_total)"
            )
        return measured

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The description of the columns, which is public."""

    @property
    @abstractmethod
    def spent(self) -> Fraction:
        """The ρ of all calls so far."""

    @property
    @abstractmethod
    def remaining(self) -> Fraction:
        """The ρ that calls from here on can cost."""

    @abstractmethod
    def drawn_for(self, rho: Fraction, choices: int = 1) -> Fraction:
        """The ρ that choices which would pay ρ together now are drawn for (see `gaussian`)."""

    @abstractmethod
    def _carry_out(self, request: Request[Result], rho: Fraction) -> Result:
        """Check a request, pay ρ for it, and only then look at the records."""

    @abstractmethod
    def _learn_total(self, measured: TotalMeasurement) -> None:
        """Let counts be out of this number from now on."""

    def measure_total(self, *, rho: Amount) -> TotalMeasurement:
        """Measure how many records, persons or rows there are, where that is private.

        This comes before all other requests, which need the number, and can be done once.

        Args:
            rho: What it spends.

        Returns:
            The number with its noise.
        """
        if self.measured_total is not None:
            raise ParameterError(
                f"the number of {self.unit.counted} is known already: use n, which is free"
            )
        measured = self._carry_out(MeasureTotal(), exact(rho, "rho"))
        self._learn_total(measured)
        return measured

    def select(
        self,
        workload: Workload,
        answers_of: AnswersOf,
        count: int,
        excluding: Collection[Query | int] = (),
        *,
        rho: Amount,
    ) -> list[Query]:
        """Choose the queries of a workload that the public answers get most wrong, privately.

        A query's score is |count - round(n · answer)|, an integer that one unit moves by at most 1
        (counts of several rows of a person are scaled; see `scores`). `count` of them are drawn as
        by AS and OSAS (Algorithms 2 and 4). If the workload has weights, a score is multiplied by
        its threshold's weight as a part of the largest, and rounded down.

        Args:
            workload: The thresholds whose consistent queries may be chosen.
            answers_of: The public answers they are compared with, as fractions.
            count: How many to choose: K in the paper. If fewer are left, all are chosen.
            excluding: Queries of the workload that must not be chosen again, or their ids in it
                (`Workload.id_of`), which take far less time where there are thousands.
            rho: What the selections spend, all together.

        Returns:
            The chosen queries, in the order in which they were chosen.
        """
        request = Select(workload, answers_of, plain(count), tuple(excluding))
        return self._carry_out(request, exact(rho, "rho"))

    def select_table(
        self,
        tables: Sequence[Threshold],
        answers_of: AnswersOf,
        handicaps: Sequence[int],
        *,
        weights_of: AnswersOf | None = None,
        rho: Amount,
    ) -> Threshold:
        """Choose, privately, the table whose worst answer is furthest off, less its handicap.

        A table's score is the maximum over its cells of weight · |count - round(n · answer)|,
        rounded down, less a public integer. One unit moves each term by at most 1, for no weight
        is above 1; so also their maximum.

        Args:
            tables: The candidates.
            answers_of: The public answers they are compared with, as fractions.
            handicaps: What is taken off each candidate's score, in counts, by public facts.
            weights_of: How much an error in each cell counts, by public facts; cut off at 0 and 1,
                and 1 if not given.
            rho: What the choice spends, however many candidates there are.

        Returns:
            The chosen table.
        """
        taken_off = tuple(plain(handicap) for handicap in handicaps)
        request = SelectTable(tuple(tables), answers_of, taken_off, weights_of)
        return self._carry_out(request, exact(rho, "rho"))

    def measure(
        self, targets: Sequence[Query | Threshold], *, rho: Amount, jointly: bool = True
    ) -> list[Measurement]:
        """Answer queries, or all cells of marginal tables, with discrete Gaussian noise.

        Args:
            targets: Queries; or thresholds, whose tables are measured whole.
            rho: What all of them spend together; all get the same noise.
            jointly: Whether a table is measured as one vector: a replaced record moves two cells
                of a marginal table (r = k), so its squared L2 sensitivity is 2, whatever its size
                (`Unit.table_squared` for other units).
                If False, every cell pays for itself, as in the paper's Gaussian mechanism.

        Returns:
            One measurement per target, in order.
        """
        return self._carry_out(Measure(tuple(targets), bool(jointly)), exact(rho, "rho"))

    def measure_residuals(
        self, marginals: Sequence[Threshold], precisions: Sequence[int], *, rho: Amount
    ) -> list[ResidualMeasurement]:
        """Measure what marginal tables say beyond their margins, each with a precision of its own.

        A table over S follows from the residuals over all subsets of S, and different tables share
        the residuals of their common subsets. See `residuals` for the noise and what it costs.

        Args:
            marginals: The marginals (r = k) whose residuals are measured.
            precisions: For each, a whole number from 1 to 2^40. The variances of the noise are in
                inverse proportion to these.
            rho: What all of them spend together.

        Returns:
            One measurement per marginal, in order.
        """
        weights = tuple(plain(precision) for precision in precisions)
        request = MeasureResiduals(tuple(marginals), weights)
        return self._carry_out(request, exact(rho, "rho"))

    def choose(self, workload: Workload, candidates: Sequence[AnswersOf], *, rho: Amount) -> int:
        """Choose, privately, the answers whose worst error on a workload is smallest.

        The worst error is the maximum over all queries of |count - round(n · answer)|: n times the
        present error, as an integer. One unit moves each term by at most 1, so also their maximum.
        A candidate is drawn by the exponential mechanism on minus its worst error.

        Args:
            workload: The thresholds whose consistent queries count.
            candidates: Public answers to them, as fractions, from each of several sources.
            rho: What the choice spends, however many candidates there are.

        Returns:
            The position of the chosen candidate.
        """
        return self._carry_out(Choose(workload, tuple(candidates)), exact(rho, "rho"))

    def find_categories(
        self, columns: Sequence[str], *, rho: Amount, delta: Amount
    ) -> list[FoundValues]:
        """Find the values that enough records have, in columns without a code book.

        Only for records without a schema (see `thresher.drafting`). A value is told if its noisy
        count passes a threshold, which values of a single record or person do with a probability
        of at most δ, over all columns together.

        Args:
            columns: The columns.
            rho: What all of them spend together.
            delta: What they spend of δ together.

        Returns:
            The values of each column, in order.
        """
        request = FindCategories(tuple(columns), exact(delta, "delta"))
        return self._carry_out(request, exact(rho, "rho"))

    def find_edges(
        self,
        columns: Sequence[str],
        candidates: Sequence[Sequence[float]],
        count: int,
        *,
        rho: Amount,
    ) -> list[tuple[float, ...]]:
        """Find edges of bins with about equally many records, among public candidates.

        Only for records without a schema (see `thresher.drafting`).

        Args:
            columns: The columns. Cells that are no numbers do not count.
            candidates: For each column, numbers that rise.
            count: How many edges to choose in each column; all candidates if there are fewer.
            rho: What all choices spend together.

        Returns:
            The chosen candidates of each column, ascending.
        """
        listed = tuple(tuple(some) for some in candidates)
        request = FindEdges(tuple(columns), listed, plain(count))
        return self._carry_out(request, exact(rho, "rho"))
