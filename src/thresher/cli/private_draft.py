"""What `thresher schema draft --private` does: a schema that is paid for, and can be published."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from thresher.cli.console import Interrupted, counting, print_json, say, show, warn, working
from thresher.cli.options import names_in
from thresher.cli.paying import check_unit, open_ledger, unit_of
from thresher.data.engines.address import without_secrets
from thresher.drafting import Declared, PrivateDraft, draft_schema_privately
from thresher.drafting.declared import Kind
from thresher.errors import BudgetError, DataError, ParameterError
from thresher.files import write_json
from thresher.privacy.budget import rho_of
from thresher.privacy.ledger import Ledger
from thresher.privacy.unit import Counting, Neighbours, Unit

OF_LEDGER = Fraction(1, 100)
"""The part of a ledger's δ that a draft spends unless it is told."""

NOTE = (
    "This schema was found in the records under differential privacy, for rho {rho:.6g} and delta "
    "{delta:.3g}. What it tells is paid for. Ranges and categories are those of most records: what "
    "is rare counts as (other), or as the nearest end."
)


@dataclass(frozen=True)
class Spending:
    """What the options say about the budget of a private draft."""

    rho: str | None
    epsilon: float | None
    delta: float | None
    ledger: Path | None
    period: str | None
    neighbours: Neighbours
    person: str | None
    rows_per_person: int | None
    counting: Counting

    @property
    def is_given(self) -> bool:
        """Whether any option was given that only a private draft has."""
        given = (
            self.rho, self.epsilon, self.delta, self.ledger, self.period, self.person,
            self.rows_per_person,
        )  # fmt: skip
        return any(option is not None for option in given) or self.neighbours != "replace"

    def unit(self) -> Unit:
        """What is protected."""
        # The δ of a draft is no default of anything: `amounts` asks for it.
        return unit_of(
            self.neighbours, self.person, self.rows_per_person, self.counting, None, None
        )

    def amounts(self, ledger: Ledger | None) -> tuple[Fraction, Fraction | None]:
        """ρ, and what of δ goes to values of single records."""
        if (self.epsilon is None) == (self.rho is None):
            raise BudgetError("how much may be spent? Give either --rho or --epsilon")
        delta = None if self.delta is None else Fraction(str(self.delta))
        if delta is None and ledger is not None and (known := ledger.read().delta):
            delta = Fraction(str(known)) * OF_LEDGER
        if self.epsilon is None:
            return Fraction(str(self.rho)), delta
        if delta is None:
            raise BudgetError("--epsilon needs --delta, or a --ledger that has one")
        return rho_of(self.epsilon, delta / 2), delta / 2


def draft_privately(
    data: str,
    output: Path,
    columns: list[str] | None,
    declared: dict[str, Declared],
    spending: Spending,
    *,
    bins: int | None,
    shares: Path | None,
    line_breaks: bool,
    case_sensitive_ids: bool,
    as_json: bool,
) -> None:
    """Find a schema with noise, write it, and say what it cost."""
    for target in [output] if shares is None else [output, shares]:
        if target.is_dir() or not target.absolute().parent.is_dir():
            raise DataError(f"{target} cannot be written: name a file in a folder that exists")
    unit = spending.unit()
    ledger = None if spending.ledger is None else open_ledger(spending.ledger)
    if ledger is not None:
        check_unit(ledger, unit)
    elif spending.period is not None:
        raise ParameterError("--period says which part of a ledger is spent on: give --ledger too")
    else:
        warn(
            "without --ledger nothing adds up what this draft and later releases spend together; "
            "`thresher ledger create` makes a ledger"
        )
    rho, delta = spending.amounts(ledger)
    doing = f"reading {without_secrets(data)}"
    # The number of persons may be public, but how many rows each of them has is not.
    is_told = unit.total_is_public and unit.person is None
    try:
        with counting(doing) if is_told else working(doing) as progress:
            draft = draft_schema_privately(
                data, rho=rho, delta=delta, declared=declared, columns=columns, bins=bins,
                ledger=ledger, release=f"schema draft {output}", unit=unit,
                period=spending.period, progress=progress if is_told else None,
                line_breaks_in_cells=line_breaks, case_sensitive_ids=case_sensitive_ids,
            )  # fmt: skip
    except KeyboardInterrupt:
        raise Interrupted(
            "a draft that is interrupted is not kept; `thresher ledger show` tells what was paid"
        ) from None
    draft.schema.save(output, warning=NOTE.format(rho=float(draft.rho), delta=float(draft.delta)))
    if shares is not None:
        write_json(shares, draft.shares)
    _tell(draft, output, as_json)


def _tell(draft: PrivateDraft, output: Path, as_json: bool) -> None:
    for name, note in draft.notes.items():
        say(f"{name}: {note}")
    for name, reason in draft.left_out.items():
        say(f"left out: {name!r}: {reason}")
    features = list(draft.schema.names)
    if as_json:
        print_json(
            {
                "schema": str(output), "features": features, "left_out": draft.left_out,
                "notes": draft.notes, "rho": float(draft.rho), "delta": float(draft.delta),
            }
        )  # fmt: skip
        return
    show(
        f"wrote {output}: {len(features)} features, for rho {float(draft.rho):.6g} and delta "
        f"{float(draft.delta):.3g}"
    )


def declared_columns(
    categories: str | None, numbers: str | None, dates: str | None, booleans: str | None
) -> dict[str, Declared]:
    """What the options declare about columns.

    Example:
        >>> declared_columns("sex,race", "age=0:120", None, None)["age"]
        Declared(kind='numbers', low=0.0, high=120.0)
    """
    declared: dict[str, Declared] = {}
    kinds: dict[Kind, str | None] = {
        "categories": categories, "numbers": numbers, "dates": dates, "boolean": booleans,
    }  # fmt: skip
    for kind, option in kinds.items():
        flag = "--booleans" if kind == "boolean" else f"--{kind}"
        for text in [] if option is None else names_in(option, flag):
            name, said = _declared(kind, text)
            if name in declared:
                raise ParameterError(f"{name!r} is declared twice: give each column one kind")
            declared[name] = said
    return declared


def _declared(kind: Kind, text: str) -> tuple[str, Declared]:
    """A column, with its range if it is one of numbers or dates: `age`, or `age=0:120`."""
    name, equals, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    if kind not in ("numbers", "dates") or not equals or not colon:
        return text, Declared(kind)
    try:
        return name, Declared(kind, float(low), float(high))
    except ValueError:
        raise ParameterError(
            f"the range in {text!r} must be two numbers, such as {name}=0:120"
        ) from None
