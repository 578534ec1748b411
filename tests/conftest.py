"""A few hundred made-up people, whose features depend on each other."""

import numpy as np
import pytest

from thresher.data.records import Records
from thresher.queries import Threshold, Workload
from thresher.schema import Schema
from thresher.schema.features import Categorical, IntegerRange


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema(
        (
            IntegerRange(name="age", low=20, high=24, nulls=20),
            Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
            Categorical(name="job", categories=("none", "part", "full"), outside="none",
                        nulls="none"),
            Categorical(name="town", categories=("A", "B", "C", "D"), outside="A", nulls="A"),
        )
    )  # fmt: skip


@pytest.fixture(scope="session")
def records(schema) -> Records:
    rng = np.random.default_rng(5)
    age = rng.integers(0, 5, 400)
    sex = (rng.random(400) < 0.2 + 0.1 * age).astype(int)
    job = np.minimum(2, (age + rng.integers(0, 2, 400)) // 2)
    town = np.where(sex == 1, rng.integers(0, 2, 400), rng.integers(1, 4, 400))
    return Records(schema, [column.astype(np.uint8) for column in (age, sex, job, town)])


@pytest.fixture(scope="session")
def workload(schema) -> Workload:
    """Marginals and r-of-k thresholds, one feature and three, beside each other."""
    return Workload(
        schema,
        [
            Threshold(("age", "sex", "job")),
            Threshold(("town", "job"), r=1),
            Threshold(("sex", "town", "age"), r=2),
            Threshold(("town",)),
        ],
    )
