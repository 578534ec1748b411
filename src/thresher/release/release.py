"""The release: what is published, and all that an analyst needs.

A release has public contents only: the schema, the measurements and their noise, the budget that
they cost, and the source of its answers. Using it costs no privacy, however often.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, cached_property
from importlib.metadata import version
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresher.errors import ParameterError, QueryError, ReleaseError
from thresher.privacy.budget import Budget, epsilon_of
from thresher.privacy.measurements import Measurement
from thresher.queries.query import Query
from thresher.queries.threshold import Threshold
from thresher.queries.workload import Workload
from thresher.relaxed.rounding import round_rows
from thresher.release.answer import Answer
from thresher.release.sources import AnswerSource
from thresher.release.uncertainty import Uncertainty
from thresher.release.writing import save
from thresher.schema import Schema
from thresher.tables import MEMORY_CEILING, check_fits, slabs_of

if TYPE_CHECKING:
    import pandas as pd

LIBRARIES = ("thresher", "numpy", "numba", "pandas", "pyarrow")


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    return tuple((name, version(name)) for name in LIBRARIES)


@dataclass(frozen=True, eq=False)
class Release:
    """What is published of one fit.

    Attributes:
        schema: The public description of the columns.
        n: The number of records, which is public.
        workload: The thresholds it was fitted for.
        mechanism: The mechanism's name.
        settings: The mechanism's parameters.
        budget: The budget that was given.
        spent: How much of it was spent, as ρ.
        measurements: All noisy counts that were paid for.
        source: Where its answers come from.
        is_secure: Whether the noise came from secure randomness, as a published release needs.
        created: When it was made (UTC).
        versions: The versions of the libraries that made it.
    """

    schema: Schema
    n: int
    workload: Workload
    mechanism: str
    settings: Mapping[str, Any]
    budget: Budget
    spent: Fraction
    measurements: tuple[Measurement, ...]
    source: AnswerSource
    is_secure: bool
    created: str
    versions: Mapping[str, str]

    @classmethod
    def now(cls, **contents: Any) -> "Release":
        """A release made at this moment, with these libraries."""
        return cls(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=dict(_versions()),
            **contents,
        )

    @property
    def delta(self) -> Fraction:
        """The δ of its promise: as given, or 1/n² (and below 1 even for a single record)."""
        return self.budget.delta or Fraction(1, max(2, self.n) ** 2)

    @property
    def epsilon(self) -> float:
        """The ε of its promise: as given, or what the budget's ρ implies at δ."""
        if self.budget.epsilon is not None:
            return float(self.budget.epsilon)
        return epsilon_of(self.budget.rho, self.delta)

    def __repr__(self) -> str:
        return (
            f"Release({self.mechanism}, epsilon={self.epsilon:.4g}, delta={float(self.delta):.2g}, "
            f"{len(self.measurements)} measurements, answers from {self.source.kind})"
        )

    def answer(self, query: Query | str) -> Answer:
        """The fraction of people who meet a query, with its margin of error (`error_bar`).

        Args:
            query: A query, or its text: `"2 of: race=Black, sex=Female, income=>50K"`.
        """
        checked = self._checked(query)
        [share] = self.source.queries((checked,))
        return Answer(share, self._uncertainty.margin_of_error(checked, share))

    def answer_many(self, queries: Iterable[Query | str]) -> Iterator[Answer]:
        """The answers to many queries, in order, streaming."""
        return self.answer_trusted(self._checked(query) for query in queries)

    def answer_trusted(self, queries: Iterable[Query]) -> Iterator[Answer]:
        """The same as `answer_many`, for queries that were checked against the schema before."""
        asked, answered = tee(queries)
        margin_of_error = self._uncertainty.margin_of_error
        for share, query in zip(self.source.queries(asked), answered, strict=False):
            yield Answer(share, margin_of_error(query, share))

    @cached_property
    def _uncertainty(self) -> Uncertainty:
        return Uncertainty(self.source.variances(self.measurements, self.workload))

    def _checked(self, query: Query | str) -> Query:
        if isinstance(query, str):
            return Query.parse(query, self.schema)
        query.check(self.schema)
        return query

    def answer_all(self, workload: Workload | None = None) -> "AllAnswers":
        """The answers to all queries of a workload, a table per threshold, made when asked for.

        Args:
            workload: The workload; the one it was fitted for if not given.
        """
        asked = workload or self.workload
        if asked.schema.fingerprint != self.schema.fingerprint:
            raise QueryError("the workload is over another schema than the release")
        return AllAnswers(self.source, asked)

    def sample(self, rows: int, seed: int | None = None, *, labels: bool = False) -> "pd.DataFrame":
        """Synthetic records, by randomised rounding of the relaxed rows.

        This is post-processing: it costs no privacy, and its seed protects nothing.

        Args:
            rows: How many records.
            seed: The same seed gives the same records.
            labels: Whether labels such as `unknown`, which a feature lists under `extra`, stand in
                the records as words. Otherwise they are missing values, and columns of numbers
                and dates stay such.
        """
        if self.source.rows is None:
            raise ReleaseError(
                f"a release of {self.mechanism} has no synthetic rows to sample from: fit with a "
                "mechanism that makes them, such as rap"
            )
        if not isinstance(rows, int | np.integer) or rows < 1:
            raise ParameterError(f"rows must be a whole number of at least 1, not {rows!r}")
        if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
            raise ParameterError(f"seed must be a whole number of at least 0, not {seed!r}")
        rng = np.random.default_rng(seed)
        codes = round_rows(self.source.rows, rows, rng)
        import pandas as pd  # half a second, which answers do without

        return pd.DataFrame(
            {f.name: f.column(codes[:, i], rng, labels=labels) for i, f in enumerate(self.schema)}
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the release as a folder of plain files, whole or not at all."""
        save(self, Path(path), overwrite)


@dataclass(frozen=True, eq=False)
class AllAnswers:
    """The answers to a workload: a lazy sequence of tables, one per threshold.

    Example:
        `for threshold, table in release.answer_all(workload): …`; or one by its threshold,
        `release.answer_all(workload)[threshold]`.
    """

    source: AnswerSource
    workload: Workload

    def __len__(self) -> int:
        return len(self.workload)

    def __iter__(self) -> Iterator[tuple[Threshold, npt.NDArray[np.float64]]]:
        return ((threshold, self[threshold]) for threshold in self.workload)

    def __getitem__(self, threshold: Threshold | int) -> npt.NDArray[np.float64]:
        if not isinstance(threshold, Threshold):
            threshold = self.workload[threshold]
        schema = self.workload.schema
        check_fits(threshold, schema, MEMORY_CEILING)
        answers = self.source.table(threshold)
        table = np.empty(threshold.query_count(schema))
        for slab in slabs_of(threshold.shape(schema)):
            table[slab.first : slab.first + slab.size] = answers(slab).reshape(-1)
        return table.reshape(threshold.shape(schema))
