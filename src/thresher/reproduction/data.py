"""The data sets of the experiments by name: ADULT, LOANS or what stands in for it, small ones."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Literal

from thresher.data import Records, datasets
from thresher.errors import DataError
from thresher.reproduction.running import Sources
from thresher.schema import Schema

ADULT, LOANS_LIKE = "adult", "loans-like-2"
ADULT_SMALL, LOANS_LIKE_SMALL = "adult-small", "loans-like-2-small"
FIRST_LOANS_LIKE, FIRST_LOANS_LIKE_SMALL = "loans-like", "loans-like-small"
"""The first version of the stand-in. Stored results that name it stay what they are."""
LOANS = "loans-"
"""What the name of a user's file of LOANS begins with; a digest of the file follows."""
EXTRACT = "lending-club"
"""What the name of a user's extract of Lending Club's loans begins with."""

SMALL_RECORDS = 2000
SMALL_FEATURES = {
    ADULT_SMALL: (
        "workclass", "education-num", "marital-status", "relationship", "race", "sex",
        "native-country", "income",
    ),
    LOANS_LIKE_SMALL: (
        "delinq_2yrs", "inq_last_6mths", "pub_rec", "pub_rec_bankruptcies", "term", "grade",
        "sub_grade", "emp_length",
    ),
}  # fmt: skip
SMALL_FEATURES[FIRST_LOANS_LIKE_SMALL] = SMALL_FEATURES[LOANS_LIKE_SMALL]
STAND_INS: dict[str, Literal[1, 2]] = {
    LOANS_LIKE: 2, LOANS_LIKE_SMALL: 2, FIRST_LOANS_LIKE: 1, FIRST_LOANS_LIKE_SMALL: 1,
}  # fmt: skip
"""Made-up data sets, with their version of `loans_like`."""
STAND_IN_SEED = 0


def title_of(name: str) -> str:
    """What a data set is called in every title and table.

    Example:
        >>> title_of("loans-like-2")
        'LOANS stand-in (made-up records)'
    """
    small = f", {SMALL_RECORDS} records, 8 features" if name in SMALL_FEATURES else ""
    if name.startswith(ADULT):
        return "ADULT" + small
    if name.startswith(EXTRACT):
        return "Lending Club extract, 24 columns"
    if is_stand_in(name):
        version = ", version 1" if STAND_INS[name] == 1 else ""
        return f"LOANS stand-in (made-up records{version}{small})"
    return "LOANS (from the file)"


def is_stand_in(name: str) -> bool:
    """Whether a data set is made-up."""
    return name in STAND_INS


def source_of(path: Path, begins: str, option: str) -> tuple[str, Sources]:
    """The name of a user's file in these experiments, and where it is.

    Args:
        path: Where the file is.
        begins: What its name begins with. A digest of the file follows, so that results of two
            files are never taken for one another.
        option: The option that gave it, for messages.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as fault:
        raise DataError(f"{option} {path}: cannot be read: {fault.strerror}") from None
    name = f"{begins.rstrip('-')}-{digest[:12]}"
    return name, {name: str(path.resolve())}


def records_of(name: str, sources: Sources) -> Records:
    """The records of a data set; a process reads them once."""
    return _records(name, sources.get(name))


@lru_cache(maxsize=8)
def schema_of(name: str) -> Schema:
    """The schema of a data set, without its records."""
    if name.startswith(ADULT):
        whole = datasets.adult_schema()
    elif name.startswith(EXTRACT):
        whole = datasets.lending_club_schema()
    else:
        whole = datasets.loans_schema()
    kept = SMALL_FEATURES.get(name)
    return whole if kept is None else Schema(f for f in whole if f.name in kept)


@lru_cache(maxsize=2)
def _records(name: str, path: str | None) -> Records:
    if is_stand_in(name):
        whole = datasets.loans_like(STAND_IN_SEED, version=STAND_INS[name])
    elif name.startswith(ADULT):
        whole = datasets.adult()
    elif path is not None:
        reader = datasets.lending_club if name.startswith(EXTRACT) else datasets.loans
        whole = reader(path)
    else:
        option = "--lending-club" if name.startswith(EXTRACT) else "--loans"
        raise DataError(f"the file of {name} is not known: give it with {option}")
    if name not in SMALL_FEATURES:
        return whole
    schema = schema_of(name)
    return Records(schema, [whole.codes(feature)[:SMALL_RECORDS] for feature in schema.names])
