"""Data sets that need no download: ADULT, and made-up records with the shape of LOANS."""

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from thresher.data.reading import read
from thresher.data.records import Records
from thresher.schema import Schema
from thresher.schema.features import IntegerRange

LOANS_RECORDS = 42_535
LOANS_SIZES = {
    "loan_amnt": 101, "funded_amnt": 101, "funded_amnt_inv": 101, "int_rate": 101,
    "installment": 101, "annual_inc": 101, "dti": 101, "delinq_2yrs": 17, "inq_last_6mths": 27,
    "mths_since_last_delinq": 122, "mths_since_last_record": 122, "open_acc": 62, "pub_rec": 7,
    "revol_bal": 101, "revol_util": 122, "total_acc": 101, "total_pymnt": 101,
    "total_pymnt_inv": 101, "total_rec_prncp": 101, "total_rec_int": 101,
    "total_rec_late_fee": 101, "recoveries": 101, "collection_recovery_fee": 101,
    "last_pymnt_amnt": 101, "delinq_amnt": 101, "pub_rec_bankruptcies": 4,
    "settlement_amount": 101, "settlement_percentage": 101, "settlement_term": 26, "term": 3,
    "grade": 8, "sub_grade": 36, "emp_length": 12, "home_ownership": 6,
    "verification_status": 4, "issue_d": 61, "loan_status": 5, "purpose": 15, "zip_code": 1001,
    "addr_state": 51, "earliest_cr_line": 72, "last_pymnt_d": 61, "next_pymnt_d": 121,
    "last_credit_pull_d": 145, "debt_settlement_flag": 3, "debt_settlement_flag_date": 145,
    "settlement_status": 4, "settlement_date": 145,
}  # fmt: skip

LENDING_CLUB_SIZES = {
    "loan_amnt": 100, "funded_amnt": 100, "funded_amnt_inv": 100, "term": 2, "int_rate": 94,
    "installment": 100, "grade": 7, "sub_grade": 35, "emp_length": 11, "home_ownership": 4,
    "annual_inc": 25, "verification_status": 3, "issue_d": 52, "loan_status": 2, "purpose": 14,
    "addr_state": 49, "dti": 100, "delinq_2yrs": 11, "inq_last_6mths": 9, "open_acc": 38,
    "pub_rec": 5, "revol_bal": 100, "total_acc": 81, "total_pymnt": 100,
}  # fmt: skip


def adult() -> Records:
    """UCI ADULT: 48,842 records, 14 features, 588 one-hot columns, coded as in the literature.

    Becker & Kohavi (1996), CC BY 4.0; see ATTRIBUTION.md beside the file.

    Example:
        >>> adult().n
        48842
    """
    with as_file(files("thresher.data").joinpath("adult.csv.xz")) as path:
        return read(path, adult_schema(), in_memory=True)


def adult_schema() -> Schema:
    """The public description of ADULT's columns, from its code book.

    Example:
        >>> adult_schema()["sex"].labels
        ('Female', 'Male')
    """
    with as_file(files("thresher.data").joinpath("adult.schema.json")) as path:
        return Schema.load(path)


def loans(path: str | Path) -> Records:
    """LOANS, from the processed file of the literature, which you must have.

    The file is `loans.csv` (42,535 integer-coded records, 48 features), drawn from Lending
    Club's public loan data by Vietri et al. (2020). It is published in `datasets/` of
    https://github.com/giusevtr/fem, to which Aydore et al. (2021) point as well; the
    `loans-domain.json` beside it gives the sizes used here.

    Args:
        path: Where the CSV file is.

    Example:
        >>> loans("no such folder/loans.csv")
        Traceback (most recent call last):
        thresher.errors.DataError: there is no file no such folder/loans.csv
    """
    return read(path, loans_schema(), in_memory=True)


def loans_schema() -> Schema:
    """The public description of LOANS: every feature is coded 0 to size-1.

    Example:
        >>> loans_schema()["term"].labels
        ('0', '1', '2')
    """
    return _coded(LOANS_SIZES)


def _coded(sizes: Mapping[str, int]) -> Schema:
    """Features whose values are coded 0 to size-1."""
    return Schema(
        IntegerRange(name=name, low=0, high=size - 1, nulls=0) for name, size in sizes.items()
    )


def lending_club(path: str | Path) -> Records:
    """An extract of Lending Club's loans of 2007 to 2011, which you must have.

    37,806 records and 24 of the 48 columns of LOANS, integer-coded, money in quantile bins. It
    does not come with this package: its licence is not known.

    Args:
        path: Where the CSV file is; it may be compressed.

    Example:
        >>> lending_club("no such folder/lending-club-coded.csv.xz")
        Traceback (most recent call last):
        thresher.errors.DataError: there is no file no such folder/lending-club-coded.csv.xz
    """
    return read(path, lending_club_schema(), in_memory=True)


def lending_club_schema() -> Schema:
    """The public description of the extract: every feature is coded 0 to size-1.

    Example:
        >>> len(lending_club_schema()), lending_club_schema().width
        (24, 1142)
    """
    return _coded(LENDING_CLUB_SIZES)


LOANS_TIES = (
    (
        "loan_amnt", "funded_amnt", "funded_amnt_inv", "installment", "total_pymnt",
        "total_pymnt_inv", "total_rec_prncp", "total_rec_int",
    ),
    ("int_rate", "grade", "sub_grade"),
    ("open_acc", "total_acc"),
    ("recoveries", "collection_recovery_fee", "loan_status"),
    (
        "settlement_amount", "settlement_percentage", "settlement_term", "settlement_status",
        "settlement_date", "debt_settlement_flag", "debt_settlement_flag_date",
    ),
)  # fmt: skip
"""Columns of LOANS that say nearly the same, by what they mean."""

LOANS_COMMONEST = {
    "term": 0.73, "home_ownership": 0.48, "annual_inc": 0.56, "loan_status": 0.86, "purpose": 0.47,
    "addr_state": 0.18, "delinq_2yrs": 0.89, "inq_last_6mths": 0.49, "pub_rec": 0.95,
    "pub_rec_bankruptcies": 0.95, "delinq_amnt": 0.99, "total_rec_late_fee": 0.93,
    "recoveries": 0.88, "collection_recovery_fee": 0.9, "mths_since_last_record": 0.9,
    "mths_since_last_delinq": 0.63, "next_pymnt_d": 0.9, "debt_settlement_flag": 0.99,
    "debt_settlement_flag_date": 0.99, "settlement_status": 0.99, "settlement_date": 0.99,
    "settlement_amount": 0.99, "settlement_percentage": 0.99, "settlement_term": 0.99,
}  # fmt: skip
"""The share of the commonest value: as an extract of the loans has it, or guessed from its kind."""


def loans_like(seed: int, n: int = LOANS_RECORDS, *, version: Literal[1, 2] = 2) -> Records:
    """A made-up stand-in with the shape of LOANS: the same columns and sizes, no real loan.

    A few hidden traits drive all columns, so the columns correlate. Columns that mean nearly the
    same are tied to each other, and the commonest value of a column has the share that it has in
    an extract of the real loans (37,806 records, 24 columns), or a guess where that lacks it.
    docs/reproduction-appendix.md compares it with the extract.

    Version 1 knows neither ties nor these shares. Figures that were made with it say so.

    Args:
        seed: Two calls with one seed and version give the same records.
        n: The number of records.
        version: How the columns are made; 1 is the first, which came before the extract was seen.

    Example:
        >>> loans_like(seed=0, n=100)
        Records(100 records, 48 features, 4427 one-hot columns)
    """
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((n, 6))
    if version == 2:
        return Records(loans_schema(), _tied_columns(traits, rng))
    columns = [_skewed_column(traits, size, rng) for size in LOANS_SIZES.values()]
    return Records(loans_schema(), columns)


def _tied_columns(
    traits: npt.NDArray[np.float64], rng: np.random.Generator
) -> list[npt.NDArray[np.uint64]]:
    """Columns in groups: those of a group differ by little noise."""
    n = len(traits)
    group_of = {name: number for number, tied in enumerate(LOANS_TIES) for name in tied}
    hidden = {number: _score(traits, rng) for number in range(len(LOANS_TIES))}
    columns = []
    for name, size in LOANS_SIZES.items():
        if name in group_of:
            score = hidden[group_of[name]] + rng.standard_normal(n) * rng.uniform(0.02, 0.3)
        else:
            score = _score(traits, rng)
        weights = np.arange(1, size + 1, dtype=float) ** -rng.uniform(0.1, 1.0)
        if name in LOANS_COMMONEST:
            share = LOANS_COMMONEST[name]
            weights[0] = weights[1:].sum() * share / (1 - share)
        elif size > 2:
            # The commonest value need not be the least.
            rng.shuffle(weights)
        columns.append(_by_quantile(score, weights))
    return columns


def _score(traits: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """What a column goes by: some of the traits, with noise; its variance is about 1."""
    loadings = rng.standard_normal(traits.shape[1]) * rng.choice([0.0, 1.0], traits.shape[1])
    score = traits @ loadings + rng.standard_normal(len(traits)) * rng.uniform(0.5, 2.0)
    return np.asarray(score / score.std())


def _skewed_column(
    traits: npt.NDArray[np.float64], size: int, rng: np.random.Generator
) -> npt.NDArray[np.uint64]:
    loadings = rng.standard_normal(traits.shape[1]) * rng.choice([0.0, 1.0], traits.shape[1])
    score = traits @ loadings + rng.standard_normal(len(traits)) * rng.uniform(0.2, 1.5)
    weights = np.arange(1, size + 1, dtype=float) ** -rng.uniform(0.2, 1.6)
    if rng.random() < 0.25:
        weights[0] += rng.uniform(3, 20) * weights.sum()
    return _by_quantile(score, weights)


def _by_quantile(
    score: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> npt.NDArray[np.uint64]:
    """Values in the order of a score, as frequent as their weights."""
    quantile = (np.argsort(np.argsort(score)) + 0.5) / len(score)
    cumulative = np.cumsum(weights) / weights.sum()
    return np.minimum(np.searchsorted(cumulative, quantile), len(weights) - 1).astype(np.uint64)
