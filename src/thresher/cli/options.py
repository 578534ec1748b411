"""Options and arguments that several commands share, and what is checked about their values."""

import csv
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.errors import ParameterError
from thresher.privacy.budget import Accounting
from thresher.privacy.unit import Counting, Neighbours

SMALLEST, LARGEST = 1e-100, 1e100
"""Privacy parameters beyond these promise everything or nothing."""

LONGEST = 400
"""Characters of a number, and its largest power of ten. More is a mistake, and slow to compute."""

LONGEST_PATH, LONGEST_NAME = 4096, 255
"""Bytes of a path, and of one name in it, on common file systems."""


def _flag(param: typer.CallbackParam) -> str:
    return str(param.opts[0]) if param.param_type_name == "option" else str(param.name).upper()


def usable_path(param: typer.CallbackParam, value: Any) -> Any:
    """Refuse a path that no file can have, or that cannot be written down as text."""
    if value is None:
        return None
    text, flag = str(value), _flag(param)
    if "\0" in text:
        raise ParameterError(f"{flag} holds a NUL character: give the path of a file")
    try:
        coded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(f"{flag} is not text in UTF-8: rename it") from None
    names = [] if "://" in text else coded.split(b"/")
    if len(coded) > LONGEST_PATH or any(len(name) > LONGEST_NAME for name in names):
        raise ParameterError(f"{flag} is too long for a path: {len(text):,} characters")
    return value


def output_option(told: str) -> Any:
    """The option for the file that a command writes.

    Args:
        told: What `--help` says about it.
    """
    return typer.Option("--output", "-o", metavar="FILE", help=told, callback=usable_path)


def usable_paths(param: typer.CallbackParam, values: list[Any]) -> list[Any]:
    """Refuse any of several paths that no file can have."""
    return [usable_path(param, value) for value in values]


def positive(param: typer.CallbackParam, value: Any) -> Any:
    """Refuse what is no finite number above 0; the value stays as it was written."""
    if value is None:
        return None
    number = _number(str(value))
    if number is None or number <= 0:
        raise ParameterError(
            f"{_flag(param)} must be a finite number above 0, not {str(value)[:40]!r}; "
            f"try {_flag(param)} 0.1"
        )
    if not SMALLEST <= number <= LARGEST:
        raise ParameterError(
            f"{_flag(param)} must lie between {SMALLEST:g} and {LARGEST:g}; try {_flag(param)} 0.1"
        )
    return value


def several_positive(param: typer.CallbackParam, value: Any) -> Any:
    """Refuse a list, separated by commas, in which something is no finite number above 0."""
    for word in str(value).split(","):
        positive(param, word)
    return value


def probability(param: typer.CallbackParam, value: float | None) -> float | None:
    """Refuse what does not lie strictly between 0 and 1."""
    if value is not None and not 0 < value < 1:
        raise ParameterError(
            f"{_flag(param)} must lie between 0 and 1, not {value:g}; try {_flag(param)} 1e-9"
        )
    return value


def period_name(param: typer.CallbackParam, value: str | None) -> str | None:
    """Refuse a period that does not print, or is blank or long."""
    if value is not None and not (value.strip() and value.isprintable() and len(value) <= 100):
        raise ParameterError(f"{_flag(param)} must be a short name such as 2024")
    return value


def names_in(listed: str, flag: str) -> list[str]:
    """The names in a list such as `a,b,"c, d"`."""
    names = [name.strip() for name in next(csv.reader([listed], skipinitialspace=True), [])]
    if not names or "" in names:
        raise ParameterError(
            f"{flag} must list names with commas between them, such as age,sex; a name with a "
            "comma goes in double quotes"
        )
    return names


def _number(text: str) -> Fraction | float | None:
    """A number such as 0.5, 1e-3 or 1/3. Huge powers of ten become 0 or infinity at once."""
    power = re.fullmatch(r"\s*[+-]?[\d_.]+[eE]([+-]?\d+)\s*", text[:LONGEST])
    if len(text) > LONGEST:
        return None
    if power is not None and abs(int(power[1])) > LONGEST:
        return math.inf if int(power[1]) > 0 else math.ulp(0)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The private records: a CSV, JSON lines or Parquet file, or a folder of them; a table "
        "of a database (postgresql://host/database#table, duckdb:///file.db#table); or `adult`.",
        callback=usable_path,
    ),
]

ReleaseFolder = Annotated[
    Path,
    typer.Argument(metavar="RELEASE", help="The folder of a release.", callback=usable_path),
]

WorkloadFile = Annotated[
    Path,
    typer.Option(
        "--workload", "-w", metavar="FILE", help="The workload file.", callback=usable_path
    ),
]

OtherWorkload = Annotated[
    Path | None,
    typer.Option(
        "--workload",
        "-w",
        metavar="FILE",
        help="Compare on this workload. Default: the workload of the release.",
        callback=usable_path,
    ),
]

Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FOLDER", help="The folder of the new release.",
        callback=usable_path,
    ),
]  # fmt: skip

SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="The schema file. Only `adult` needs none.",
        callback=usable_path,
    ),
]

LineBreaks = Annotated[
    bool,
    typer.Option(
        "--line-breaks-in-cells",
        help="Quoted cells of a CSV file may span lines. Otherwise each line is a record.",
    ),
]

Epsilon = Annotated[
    float | None,
    typer.Option(metavar="NUMBER", help="ε of the privacy promise.", callback=positive),
]

Delta = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="δ of the privacy promise. Default: 1/n² for n records or persons, if n is public.",
        callback=probability,
    ),
]

Rho = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="The budget as ρ of zCDP, in place of ε and δ, such as 0.05 or 1/20.",
        callback=positive,
    ),
]

CURVES = (
    "How ε and δ become ρ: `tight`; `gaussian`, with less noise; or `paper` for the paper's "
    "conversion."
)

AccountingOption = Annotated[
    Accounting,
    typer.Option(
        "--accounting",
        help=f"{CURVES} Nothing but noisy counts can be paid from a ledger with `gaussian`.",
    ),
]

FitAccounting = Annotated[
    Accounting | None,
    typer.Option(
        "--accounting",
        help=f"{CURVES} Default: that of the ledger; without one, `gaussian`.",
    ),
]

SyntheticRows = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", help="n', the rows of the synthetic data. Default: 1000.", min=1
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Seed of the random start of the synthetic data. The noise has no seed.",
        min=0,
    ),
]

BaselineSeed = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", help="Seed of the baselines' noise.", min=0)
]

Public = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Records with the same columns that D' starts from. You vouch that they are public: "
        "they cost nothing, and the promise does not cover them.",
        callback=usable_path,
    ),
]

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The ledger that this release is paid from.",
        callback=usable_path,
    ),
]

NeighboursOption = Annotated[
    Neighbours,
    typer.Option(
        "--neighbours",
        help="What is protected: that one unit is replaced by another (`replace`; their number is "
        "public), or that one is there at all (`add-remove`; their number is measured).",
    ),
]

Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="The column that says whose row it is. Then persons are protected with all their "
        "rows. Default: each record is a unit.",
    ),
]

RowsPerPerson = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="The most rows of a person that are used.", min=1),
]

CountingOption = Annotated[
    Counting,
    typer.Option(
        "--count",
        help="With --person: answer shares of `persons`, each shared out over their rows, or of "
        "`rows`, with more noise.",
    ),
]

CaseSensitiveIds = Annotated[
    bool,
    typer.Option(
        "--case-sensitive-ids", help="Ids that differ only in capitals are different persons."
    ),
]

Period = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The period of the records, such as 2024, in a ledger of several periods.",
        callback=period_name,
    ),
]

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with an interrupted run. Nothing is paid for twice."),
]

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release of the same name.")]
