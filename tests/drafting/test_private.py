"""A private draft: what it finds, what it leaves out, and what it pays for.

Where noise decides, counts are ten standard deviations or more from where they would be taken for
something else: a test fails by chance with a probability below 1e-6.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import thresher as th
from thresher.drafting import Declared, draft_schema_privately
from thresher.drafting.private import bins_for
from thresher.errors import BudgetError, DataError, LedgerError, ParameterError

N = 4000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Bern"], N, p=[0.5, 0.3, 0.2]),
            "rooms": rng.integers(1, 9, N),
            "income": rng.lognormal(10, 1, N).round(2),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20000, N), "D"),
            "owner": rng.random(N) < 0.4,
            "nickname": [f"n{i}" for i in range(N)],
            "person_id": np.arange(N),
        }
    )


def test_everything_is_found(people):
    draft = draft_schema_privately(people, rho="1/2", delta="1e-9")
    kinds = {feature.name: feature.kind for feature in draft.schema}
    assert kinds == {
        "city": "categorical", "rooms": "integer", "income": "numeric", "born": "dates",
        "owner": "boolean",
    }  # fmt: skip
    assert draft.schema["city"].labels == ("Bern", "Oslo", "Rome", "(other)")
    assert draft.schema["rooms"].labels == (*map(str, range(1, 9)), "unknown")
    assert "no value has enough records" in draft.left_out["nickname"]
    assert "identifier" in draft.left_out["person_id"]
    assert (draft.rho, draft.delta) == (Fraction(1, 2), Fraction(1, 10**9))


def test_bins_have_about_equally_many_records(people):
    draft = draft_schema_privately(
        people, rho="1/2", columns=["income"], declared={"income": Declared("numbers", 0, 10**6)},
        bins=8,
    )  # fmt: skip
    assert draft.delta == 0  # no categories were looked for
    sizes = np.bincount(th.read(people, draft.schema).codes("income"))
    assert len(sizes) == 8
    assert sizes.min() > N / 8 / 3
    assert sizes.max() < 3 * N / 8


def test_a_rare_value_is_not_told(people):
    """Alert has one record: it is told with a probability of at most 1e-9."""
    frame = people[["city"]].copy()
    frame.loc[0, "city"] = "Alert"
    draft = draft_schema_privately(frame, rho="1/2", delta="1e-9")
    assert "Alert" not in draft.schema["city"].labels


def test_one_ledger_pays_for_the_draft_and_for_the_fit(people, tmp_path):
    ledger = th.Ledger.create(tmp_path / "l", th.Budget.from_epsilon(3, 1e-9).rho, epsilon=3.0,
                              delta=1e-9)  # fmt: skip
    draft = draft_schema_privately(people, rho="1/20", delta="1e-11", ledger=ledger)
    assert ledger.spent == draft.rho == Fraction(1, 20)
    assert {entry.release for entry in ledger.entries} == {"schema draft"}
    data = th.read(people, draft.schema)
    work = th.Workload.random(draft.schema, k=2, r=2, size=2, seed=0)
    th.All0(epsilon=1, delta=1e-9).fit(data, work, ledger=ledger)
    th.GaussianJoint(rho="1/100").fit(data, work, ledger=ledger)
    assert ledger.spent == Fraction(6, 100)


def test_added_or_removed_records_pay_for_their_number(people):
    draft = draft_schema_privately(
        people[["city"]], rho="1/2", delta="1e-9", unit=th.Unit("add-remove")
    )
    assert draft.schema["city"].size == 4
    assert draft.rho == Fraction(1, 2)


def test_what_is_declared_is_not_surveyed(people, monkeypatch):
    monkeypatch.setattr(th.Curator, "measure", None)
    declared = {"owner": Declared("boolean"), "born": Declared("dates", 1950, 2004),
                "city": Declared("categories")}  # fmt: skip
    draft = draft_schema_privately(
        people, rho="1/10", delta="1e-9", declared=declared, columns=list(declared)
    )
    assert draft.notes["owner"] == "declared: boolean"
    assert draft.schema["born"].labels[0] == "1950"
    free = draft_schema_privately(
        people, rho="1/10", declared={"owner": Declared("boolean")}, columns=["owner"]
    )
    assert (free.rho, free.delta) == (0, 0)


def test_too_small_a_budget_is_said(people):
    """In one of a hundred drafts, noise alone looks like numbers: hence the seed."""
    seeded = {"randomness": th.InsecureSeededRandomness(0)}
    with pytest.raises(DataError, match="which is spent"):
        draft_schema_privately(people[["city"]], rho="1e-12", delta="1e-9", **seeded)
    draft = draft_schema_privately(
        people, rho="1e-9", columns=["rooms", "owner"],
        declared={"rooms": Declared("numbers"), "owner": Declared("boolean")}, **seeded,
    )  # fmt: skip
    assert draft.left_out == {"rooms": "no range of numbers can be seen through the noise"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rho": 0}, BudgetError, "rho must be"),
        ({}, ParameterError, "which delta"),
        ({"delta": 2}, ParameterError, "delta must lie"),
        ({"bins": 1}, ParameterError, "bins must be"),
        ({"unit": th.Unit(person="person_id")}, LedgerError, "another unit"),
        ({"declared": {"x": Declared("boolean")}}, DataError, "no column 'x' to be declared"),
        ({"columns": ["y"], "delta": "1e-9"}, DataError, "no column 'y'"),
        (
            {"columns": ["city"], "declared": {"x": Declared("boolean")}},
            ParameterError,
            "not among",
        ),
    ],
)
def test_a_wrong_request_costs_nothing(people, tmp_path, options, error, message):
    ledger = th.Ledger.create(tmp_path / "l", Fraction(1))
    with pytest.raises((error, LedgerError), match=message):
        draft_schema_privately(people, **{"rho": "1/10", "ledger": ledger, **options})
    assert ledger.spent == 0


def test_more_than_the_ledger_has_is_refused_before_anything_is_read(tmp_path):
    ledger = th.Ledger.create(tmp_path / "l", Fraction(1, 100))
    with pytest.raises(BudgetError, match="requested rho"):
        draft_schema_privately(tmp_path / "none.csv", rho="1/10", delta="1e-9", ledger=ledger)


@pytest.fixture(scope="module")
def visits(people):
    """Everybody has one to six visits; one person has a hundred, all in a town of their own."""
    rng = np.random.default_rng(2)
    rows = people[["city", "income", "person_id"]].loc[
        np.repeat(np.arange(N), rng.integers(1, 7, N))
    ]
    alone = pd.DataFrame({"city": ["Alert"] * 100, "income": [1e6] * 100, "person_id": [N] * 100})
    return pd.concat([rows, alone]).sample(frac=1, random_state=3)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("counting", ["persons", "rows"])
def test_persons_with_several_rows(visits, people, neighbours, counting):
    """A person's hundred rows are told with a probability of at most 1e-9."""
    unit = th.Unit(neighbours, "person_id", 3, counting)
    draft = draft_schema_privately(visits, rho="1/2", delta="1e-9", unit=unit)
    assert list(draft.schema.names) == ["city", "income"]
    assert draft.schema["city"].labels == ("Bern", "Oslo", "Rome", "(other)")
    assert draft.shares["city"]["Rome"] == pytest.approx(0.5, abs=0.1)
    assert f"{counting} are (other)" in draft.notes["city"]
    sizes = np.bincount(th.read(people, draft.schema).codes("income"))
    assert sizes.max() < 5 * N / draft.schema["income"].size
    assert draft.rho == Fraction(1, 2)


def test_one_ledger_of_persons_pays_for_the_draft_and_for_the_fit(visits, tmp_path):
    unit = th.Unit(person="person_id", rows_per_person=3)
    ledger = th.Ledger.create(tmp_path / "l", th.Budget.from_epsilon(3, 1e-9).rho, epsilon=3.0,
                              delta=1e-9, unit=unit)  # fmt: skip
    draft = draft_schema_privately(visits, rho="1/20", delta="1e-11", ledger=ledger, unit=unit)
    data = th.read(visits, draft.schema, person="person_id")
    work = th.Workload(draft.schema, [th.Threshold(("city", "income"))])
    th.GaussianJoint(rho="1/100").fit(data, work, ledger=ledger, unit=unit)
    assert ledger.spent == Fraction(6, 100)
    assert ledger.read().delta_spent == Fraction(1, 10**11)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"person": "who"}, "lacks the column 'who'"),
        ({}, {"columns": ["city", "person_id"]}, "cannot be a feature"),
        ({"person_id": "a"}, {}, "differ only in capitals"),
        ({"person_id": None}, {}, "cells without an id"),
    ],
)
def test_wrong_ids_cost_nothing(people, tmp_path, change, options, message):
    unit = th.Unit(person=options.pop("person", "person_id"), rows_per_person=2)
    ledger = th.Ledger.create(tmp_path / "l", Fraction(1), unit=unit)
    frame = people.astype({"person_id": object})
    for name, cell in change.items():
        frame.loc[0, name], frame.loc[1, name] = cell, "A"
    with pytest.raises(DataError, match=message):
        draft_schema_privately(frame, rho="1/10", delta="1e-9", ledger=ledger, unit=unit, **options)
    assert ledger.spent == 0


def test_bins_grow_with_the_budget():
    assert [bins_for(10**5, rho, 1000) for rho in (1e-7, 1e-4, 1e-2)] == sorted(
        bins_for(10**5, rho, 1000) for rho in (1e-7, 1e-4, 1e-2)
    )
    assert bins_for(10**5, 1, 1000) == 16
