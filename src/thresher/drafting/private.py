"""The private draft: which columns are asked what, and for which part of the budget.

Everything here is made of public facts and of what the Curator tells. It spends in up to four
requests: the number of records where that is private, a survey of what columns hold, the categories
of many records, and the edges of bins. What a person declares about a column is not paid for.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from thresher.data.cell_reading import read_cells
from thresher.data.cells import Cells, PersonCells
from thresher.data.private import Progress
from thresher.drafting.declared import Declared
from thresher.drafting.features import (
    candidates_of,
    categories_feature,
    category_shares,
    dates_feature,
    is_short,
    numbers_feature,
    truth_feature,
    whole_feature,
)
from thresher.drafting.surveyed import Surveyed
from thresher.errors import BudgetError, DataError, ParameterError
from thresher.privacy.amounts import Amount, exact
from thresher.privacy.budget import Budget
from thresher.privacy.categories import SMALLEST_DELTA
from thresher.privacy.curator import Curator
from thresher.privacy.ledger import Ledger
from thresher.privacy.measurements import measured_tables
from thresher.privacy.randomness import Randomness
from thresher.privacy.unit import Unit
from thresher.queries.threshold import Threshold
from thresher.schema import Schema
from thresher.schema.draft.names import says_identifier, says_person, says_weight
from thresher.schema.features import Feature

FOR_TOTAL = Fraction(1, 20)
"""The part of the budget that measures the number of records, where that is private."""

FOR_SURVEY = Fraction(1, 4)
"""The part of the rest that finds out what columns hold."""

MOST_BINS = 16
WORTH = 2
"""A bin should have so many times more records than a choice of an edge errs by."""

TOO_FEW = "too few of its cells are of one kind to see it through the noise: declare its kind"
RARE = "no value has enough {counted} to be told (about {threshold:,}, with noise)"


@dataclass(frozen=True)
class PrivateDraft:
    """A schema found with noise. It may be published: what it tells was paid for.

    Attributes:
        schema: The features.
        left_out: The columns that are no feature, each with the reason.
        notes: What was found or declared about each feature.
        shares: For categories, about how frequent each is: what `thresher.plan` takes as `like`.
        rho: What was spent.
        delta: What was spent of δ.
    """

    schema: Schema
    left_out: dict[str, str]
    notes: dict[str, str]
    shares: dict[str, dict[str, float]]
    rho: Fraction
    delta: Fraction


def draft_schema_privately(
    source: Any,
    *,
    rho: Amount,
    delta: Amount | None = None,
    declared: Mapping[str, Declared] | None = None,
    columns: Collection[str] | None = None,
    bins: int | None = None,
    ledger: Ledger | None = None,
    release: str = "schema draft",
    unit: Unit | None = None,
    period: str | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    line_breaks_in_cells: bool = False,
    case_sensitive_ids: bool = False,
) -> PrivateDraft:
    """Find a schema in private records, under differential privacy.

    The names of the columns are taken for public. So is what you declare about them. For columns
    that you do not declare, the budget also pays for finding out what they hold.

    Args:
        source: What `thresher.read` takes, or a table of a database, as for `thresher.connect`.
        rho: The most that is spent.
        delta: The probability, at most, that values of only one unit become categories.
            Needed unless every column is declared to hold numbers, dates or truth values.
        declared: What is known of columns.
        columns: The columns to describe; None for all but those that identify or weight by name.
        bins: The most bins of numbers; None for as many as the budget can place, up to 16.
        ledger: Where the spending is recorded. The same ledger can pay for fits.
        release: The name under which the ledger records it.
        unit: What is protected; if not given, one record that is replaced by another. Persons with
            several rows need files or a data frame with their ids.
        period: The period of the records, for a ledger of several.
        randomness: Where noise comes from; the operating system unless an experiment says so.
        progress: Called with the number of records read so far.
        line_breaks_in_cells: As for `thresher.read`.
        case_sensitive_ids: As for `thresher.read`.

    Returns:
        The draft, with what it spent.

    Example:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"city": ["Rome"] * 600 + ["Oslo"] * 400 + ["Alert"]})
        >>> draft = draft_schema_privately(people, rho="1/20", delta="1e-9")
        >>> draft.schema["city"].labels
        ('Oslo', 'Rome', '(other)')
    """
    protected = Unit() if unit is None else unit
    if bins is not None and (type(bins) is not int or not 2 <= bins <= 1000):
        raise ParameterError(f"bins must be a whole number from 2 to 1000, not {bins!r}")
    whole, known = exact(rho, "rho"), dict(declared or {})
    failure = None if delta is None else exact(delta, "delta")
    if failure is not None and not SMALLEST_DELTA <= failure < 1:
        raise ParameterError("delta must lie between 1e-100 and 1; try delta=1e-9")
    if columns is not None and (unlisted := [name for name in known if name not in set(columns)]):
        raise ParameterError(f"{unlisted[0]!r} is declared, but is not among the columns")
    if ledger is not None:
        ledger.check_unit(protected)
        if ledger.accounting == "gaussian":
            raise BudgetError(
                f"{ledger.path.name} is for noisy counts only (Gaussian accounting), and a private "
                "draft tells more: pay for it from a ledger with accounting 'tight'"
            )
        ledger.check(whole, release, failure or Fraction(0))
    cells = read_cells(
        source, columns, progress, line_breaks_in_cells=line_breaks_in_cells,
        person=protected.person, case_sensitive_ids=case_sensitive_ids,
    )  # fmt: skip
    asked, left_out = _asked(cells, known, columns)
    if failure is None and any(
        name not in known or known[name].kind == "categories" for name in asked
    ):
        raise ParameterError(
            "which delta? Values of a single record or person become categories with this "
            "probability at most: give delta=1e-9 or the like, or declare columns as numbers, "
            "dates or boolean"
        )
    curator = Curator(
        cells, Budget.from_rho(whole), ledger, release=release, randomness=randomness,
        unit=protected, period=period, delta=failure,
    )  # fmt: skip
    draft = _Draft(curator, known, left_out, bins, failure)
    return draft.made(asked)


def _asked(
    cells: Cells | PersonCells, known: Mapping[str, Declared], columns: Collection[str] | None
) -> tuple[list[str], dict[str, str]]:
    """The columns to describe, and why the others are not; by names and declared types only."""
    for name in known:
        if name not in cells.columns and name not in cells.unreadable:
            raise DataError(f"there is no column {name!r} to be declared: see the header")
    left_out = dict.fromkeys(cells.unreadable, "its type or its name cannot be that of a feature")
    asked = []
    for name in cells.columns:
        reason = _by_name(name) if columns is None and name not in known else None
        if reason is None:
            asked.append(name)
        else:
            left_out[name] = reason
    if not asked:
        raise DataError("there is no column to describe: name some with columns")
    return asked, left_out


def _by_name(name: str) -> str | None:
    if says_weight(name):
        return "by its name it is a survey weight"
    if says_person(name) or says_identifier(name):
        return "by its name it is an identifier"
    return None


@dataclass
class _Draft:
    """A private draft in the making."""

    curator: Curator
    known: dict[str, Declared]
    left_out: dict[str, str]
    bins: int | None
    delta: Fraction | None
    whole: set[str] = field(default_factory=set)
    features: dict[str, Feature] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    shares: dict[str, dict[str, float]] = field(default_factory=dict)

    def made(self, asked: list[str]) -> PrivateDraft:
        if self.curator.measured_total is None:
            self.curator.measure_total(rho=self.curator.remaining * FOR_TOTAL)
        self._survey([name for name in asked if self._is_open(name)])
        self._simple()
        left = {name: said for name, said in self.known.items() if name not in self.features}
        named = [name for name, said in left.items() if said.kind == "categories"]
        binned = {name: said for name, said in left.items() if said.kind == "numbers"}
        each = self.curator.remaining / max(1, len(left))
        if named:
            self._categories(named, each * len(named))
        if binned:
            self._edges(binned, each * len(binned))
        if not self.features:
            raise DataError(
                f"no column could be described for rho {float(self.curator.spent):.3g}, which is "
                "spent: declare kinds and ranges, and spend more"
            )
        delta = self.delta if named and self.delta is not None else Fraction(0)
        ordered = [self.features[name] for name in asked if name in self.features]
        return PrivateDraft(
            Schema(ordered), self.left_out, self.notes, self.shares, self.curator.spent, delta
        )

    def _is_open(self, name: str) -> bool:
        said = self.known.get(name)
        return said is None or (said.kind in ("numbers", "dates") and not said.has_range)

    def _survey(self, names: list[str]) -> None:
        if not names:
            return
        rho = self.curator.remaining * FOR_SURVEY
        measured = self.curator.measure([Threshold((name,)) for name in names], rho=rho)
        for name, table in zip(names, measured_tables(measured), strict=True):
            surveyed = Surveyed(table.counts, table.sigma)
            found, said = surveyed.declared(), self.known.pop(name, None)
            if said is not None and (found is None or found.kind != said.kind):
                self.left_out[name] = f"no range of {said.kind} can be seen through the noise"
            elif found is None:
                self.left_out[name] = TOO_FEW
            else:
                self.known[name] = found
                self.notes[name] = f"found: {found.kind}"
                if surveyed.are_whole:
                    self.whole.add(name)

    def _simple(self) -> None:
        """Describe the columns of which enough is known already."""
        for name, said in self.known.items():
            self.notes.setdefault(name, f"declared: {said.kind}")
            if said.kind == "boolean":
                self.features[name] = truth_feature(name)
            elif said.kind == "dates":
                self.features[name] = dates_feature(name, said)
                self.notes[name] += f", {said.low:g} to {said.high:g}"
            elif said.kind == "numbers":
                self.notes[name] += f", {said.low:g} to {said.high:g}"
                if is_short(said, whole=name in self.whole):
                    self.features[name] = whole_feature(name, said)

    def _categories(self, names: list[str], rho: Fraction) -> None:
        assert self.delta is not None  # asked for at the start
        counted, total = self.curator.unit.counted, self.curator.known_total().n
        for found in self.curator.find_categories(names, rho=rho, delta=self.delta):
            feature = categories_feature(found.column, found.counts)
            if feature is None:
                self.left_out[found.column] = RARE.format(
                    counted=counted, threshold=found.threshold
                )
                del self.notes[found.column]
                continue
            self.features[found.column] = feature
            self.shares[found.column] = category_shares(feature, found.counts, total)
            self.notes[found.column] += (
                f", {feature.size - 1} and (other); values of less than about "
                f"{found.threshold:,} {counted} are (other)"
            )

    def _edges(self, binned: Mapping[str, Declared], rho: Fraction) -> None:
        listed = {n: candidates_of(d, whole=n in self.whole) for n, d in binned.items()}
        each = float(rho) / len(binned)
        bins = self.bins or bins_for(self.curator.n, each, max(map(len, listed.values())))
        found = self.curator.find_edges(list(listed), list(listed.values()), bins - 1, rho=rho)
        for (name, said), edges in zip(binned.items(), found, strict=True):
            self.features[name] = numbers_feature(name, said, edges)
            self.notes[name] += f", {len(edges) + 1} bins"


def bins_for(n: int, rho: float, candidates: int) -> int:
    """As many bins as a budget can place: each has several times as many records as edges are off.

    A choice among m candidates errs by about ln(m)/η records, where η = √(2ρ) for one choice.

    Example:
        >>> bins_for(50_000, 0.001, 1000), bins_for(2_000, 0.001, 1000), bins_for(50, 0.001, 9)
        (16, 3, 2)
    """
    for bins in range(MOST_BINS, 2, -1):
        error = math.log(max(candidates, 2)) / math.sqrt(2 * rho / (bins - 1))
        if n / bins >= WORTH * error:
            return bins
    return 2
