"""Write made-up people as a person file of the ACS PUMS would have them: codes, and blank cells.

Nobody in it exists, and no share in it is that of a real population. Only the columns of
`schema.json` are there. Example: `python made_up_pums.py people.csv --n 20000`
"""

import argparse
from collections.abc import Mapping

import numpy as np
import pandas as pd

SHARES: dict[str, Mapping[int, float]] = {
    "DIVISION": {
        0: 0.01, 1: 0.05, 2: 0.13, 3: 0.14, 4: 0.06, 5: 0.2, 6: 0.06, 7: 0.12, 8: 0.07, 9: 0.16
    },
    "SEX": {1: 0.49, 2: 0.51},
    "RAC1P": {
        1: 0.64, 2: 0.12, 3: 0.008, 4: 0.001, 5: 0.001, 6: 0.06, 7: 0.002, 8: 0.068, 9: 0.1
    },
    "CIT": {1: 0.84, 2: 0.01, 3: 0.01, 4: 0.07, 5: 0.07},
}  # fmt: skip


def people(n: int, seed: int = 0) -> pd.DataFrame:
    """The codes of n made-up people; a missing value is a blank cell of the file.

    Example:
        >>> people(3, seed=1).columns[:3].tolist()
        ['DIVISION', 'AGEP', 'SEX']
    """
    rng = np.random.default_rng(seed)
    drawn = {name: rng.choice([*s], n, p=[*s.values()]) for name, s in SHARES.items()}
    age = np.minimum(rng.triangular(0, 25, 97, n), 94).astype(int)
    adult, old = age >= 25, age >= 65
    foreign = drawn["CIT"] >= 4

    school = np.clip(age - 2, 1, 16)  # children go to school, grade by grade
    finished = rng.choice([12, 16, 17, 19, 20, 21, 22, 24], n, p=FINISHED)
    school = np.where(adult, finished, np.where(age >= 18, np.minimum(finished, 19), school))
    disabled = rng.random(n) < 0.03 + 0.0001 * age**2 * np.where(school < 16, 1.0, 0.6)
    outside = np.where(old, 0.8, 0.2) + 0.3 * disabled + 0.3 * (age < 19)
    unemployed = 0.04 + 0.05 * (school < 16) + 0.04 * (age < 25) + 0.04 * disabled
    soldier = (rng.random(n) < 0.01) & (age < 45)
    status = np.where(rng.random(n) < unemployed, 3, np.where(rng.random(n) < 0.03, 2, 1))
    status = np.where(rng.random(n) < outside, 6, np.where(soldier, 4, status))

    works = np.isin(status, [1, 2, 4])
    pay = np.exp(9.6 + 0.9 * works + 0.11 * np.maximum(school - 16, 0) + rng.normal(0, 0.7, n))
    pay = np.where(~works & ~old & (rng.random(n) < 0.5), 0, pay).round(-1)
    family = np.exp(rng.normal(10.1, 0.8, n))  # what the others in the household add
    poverty = np.minimum((np.where(age < 15, 0, pay) + family) / 250, 501).astype(int)
    uninsured = 0.06 + 0.12 * foreign + 0.15 * (status == 3) + 0.06 * (poverty < 200)
    married = rng.choice([1, 2, 3, 4], n, p=[0.74, 0.08, 0.15, 0.03])
    single = rng.random(n) < np.clip(1.6 - age / 35, 0.06, 1)

    return pd.DataFrame(
        {
            **drawn,
            "AGEP": age,
            "MAR": np.where(single | (age < 18), 5, married),
            "SCHL": blank_where(age < 3, school),
            "ESR": blank_where(age < 16, status),
            "HICOV": np.where((rng.random(n) < uninsured) & ~old, 2, 1),
            "DIS": np.where(disabled, 1, 2),
            "PINCP": blank_where(age < 15, pay.astype(int)),
            "POVPIP": blank_where(rng.random(n) < 0.03, poverty),
        }
    )


FINISHED = [0.1, 0.24, 0.04, 0.2, 0.09, 0.2, 0.1, 0.03]


def blank_where(is_blank: np.ndarray, codes: np.ndarray) -> pd.Series:
    """Whole numbers, and missing values where the survey has none."""
    return pd.Series(codes, dtype="Int64").mask(is_blank)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file", help="where the made-up people go, as CSV")
    options.add_argument("--n", type=int, default=20_000, help="how many people (default: 20000)")
    options.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
    asked = options.parse_args()
    people(asked.n, asked.seed).to_csv(asked.file, index=False)
