"""The parameters of adaptive tables, and how they resolve to a procedure."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, get_args

from thresher.data.records import Records
from thresher.errors import ParameterError
from thresher.mechanisms.adaptive_tables.plan import make_plan
from thresher.mechanisms.adaptive_tables.procedure import AdaptiveTablesProcedure
from thresher.mechanisms.adaptive_tables.workload_tables import Optimise
from thresher.mechanisms.mechanism import Mechanism
from thresher.mechanisms.parameters import check_whole
from thresher.mechanisms.public import PublicStart
from thresher.queries.workload import Workload
from thresher.wording import meant


@dataclass(frozen=True, kw_only=True)
class AdaptiveTables(Mechanism):
    """Choose the table that D' answers worst, measure it whole, fit D', repeat.

    Attributes:
        rounds: How many tables are chosen and measured one by one; by a public rule if not given.
        workload_tables: Whether the tables that the workload's answers need most are all measured
            before the rounds: marginals that it asks for, and the marginals that r-of-k answers
            add up; by a public rule if not given.
        synthetic_rows: n', the number of relaxed rows.
        largest_table: The most cells of a table that D' is fitted to. If not given, n, or 4n where
            `workload_tables`, at least 50,000 and at most 262,144. Most cells of larger tables are
            empty, and the others show in the smaller tables that they add up to.
        optimise: `"max"` for the smallest largest error over the workload: answers stay near the
            noisy cells. `"mean"` for the smallest mean error: only pairs of features are measured
            where noise would hide more, D' is fitted to less of the noise, and answers to marginals
            come from D' alone, so that all tables agree with each other and add up to 1. (Where
            there is so little noise that D' is far from the tables, they are corrected all the
            same, and so are r-of-k answers that follow from residuals.)
        seed: Seeds the random start of D', which is public and protects nothing.
        public: Records that are public, which D' starts from, at no cost. You vouch for them: the
            promise does not cover them.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> release = AdaptiveTables(epsilon=1.0, rounds=2, synthetic_rows=50).fit(data, work)
        >>> len(release.measurements) == len(data.schema) + 3 + 2  # one-way, workload, rounds
        True
    """

    name: ClassVar[str] = "tables"

    rounds: int | None = None
    workload_tables: bool | None = None
    synthetic_rows: int = 1000
    largest_table: int | None = None
    optimise: Optimise = "max"
    seed: int = 0
    public: Records | None = None

    def resolve(self, n: int, rho: Fraction, workload: Workload) -> AdaptiveTablesProcedure:
        """Decide what to measure by the rules of `plan`."""
        self._check()
        plan = make_plan(
            n,
            rho,
            workload,
            rounds=self.rounds,
            workload_tables=self.workload_tables,
            largest_table=self.largest_table,
            optimise=self.optimise,
        )
        public = PublicStart.of(self.public, workload.schema)
        return AdaptiveTablesProcedure(
            self.name, rho, workload, plan, self.synthetic_rows, self.optimise, self.seed, public
        )

    def _check(self) -> None:
        for name, least in {"rounds": 0, "largest_table": 1}.items():
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least)
        check_whole("synthetic_rows", self.synthetic_rows, least=1)
        check_whole("seed", self.seed, least=0)
        if self.workload_tables not in (None, True, False):
            raise ParameterError(
                f"workload_tables must be True, False or None, not {self.workload_tables!r}"
            )
        if self.optimise not in get_args(Optimise):
            near = meant(self.optimise, get_args(Optimise))
            raise ParameterError(f"optimise must be 'max' or 'mean', not {self.optimise!r}{near}")
