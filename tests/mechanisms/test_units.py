"""Whole fits under every unit of privacy: what is spent, what is public, and how far off it is."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import thresher as th
from thresher.errors import BudgetError, DataError, LedgerError, ParameterError, ReleaseError
from thresher.mechanisms.fitting import TOTAL_SHARE
from thresher.privacy import InsecureSeededRandomness, Unit
from thresher.privacy.curator import Curator
from thresher.privacy.persons import kept_rows
from thresher.schema import Categorical, IntegerRange, Schema

SCHEMA = Schema(
    [
        IntegerRange(name="age", low=0, high=3, nulls=0),
        Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
    ]
)
WORK = th.Workload(SCHEMA, [th.Threshold(("age", "sex"))])
PERSONS = 600
RHO = Fraction(1, 2)

UNITS = {
    "record added": Unit("add-remove"),
    "person replaced": Unit("replace", "who", 3),
    "person replaced, rows": Unit("replace", "who", 3, "rows"),
    "person added": Unit("add-remove", "who", 3),
    "person added, rows": Unit("add-remove", "who", 3, "rows"),
}


def visits() -> pd.DataFrame:
    """Persons with one to five rows; those with many are older."""
    rng = np.random.default_rng(0)
    rows = [
        (f"p{i}", min(3, visits // 2 + rng.integers(0, 2)), "FM"[rng.integers(0, 2)])
        for i, visits in enumerate(rng.integers(1, 6, PERSONS))
        for _ in range(visits)
    ]
    return pd.DataFrame(rows, columns=["who", "age", "sex"])


@pytest.fixture(scope="module")
def of():
    """The data that a unit is about."""
    frame = visits()
    persons, records = th.read(frame, SCHEMA, person="who"), th.read(frame, SCHEMA)
    return lambda unit: records if unit.person is None else persons


def fit(data, unit, seed=0, **options):
    randomness = InsecureSeededRandomness(seed)
    return th.GaussianJoint(rho=RHO).fit(data, WORK, unit=unit, randomness=randomness, **options)


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_a_fit_spends_its_budget_and_says_for_whom(unit, of, tmp_path):
    release = fit(of(unit), unit)
    assert release.spent == RHO
    assert release.unit == unit
    [table] = release.measurements
    assert table.n == release.n * unit.parts
    if unit.total_is_public:
        assert (release.n, release.n_sigma) == (PERSONS, 0.0)
        spent_on_table = RHO
    else:
        assert release.n_sigma == pytest.approx(
            (unit.total_squared / (2 * TOTAL_SHARE * RHO)) ** 0.5
        )
        spent_on_table = RHO * (1 - TOTAL_SHARE)
    assert table.sigma == pytest.approx((unit.table_squared / (2 * spent_on_table)) ** 0.5)
    release.save(tmp_path / "release")
    loaded = th.load(tmp_path / "release")
    assert (loaded.unit, loaded.n, loaded.n_sigma) == (unit, release.n, release.n_sigma)
    asked = "age=3, sex=F"
    assert loaded.answer(asked) == release.answer(asked)
    assert loaded.answer(asked).error_bar == release.answer(asked).error_bar


OLDER = "age in {1,2,3}, sex in {F,M}"


def covered(data, unit, change=lambda release: release) -> int:
    """How many of 200 fits have the true share within their margin of error."""
    counted = data if unit.person is None else kept_rows(data, unit)
    truth = th.exact_answer(counted, OLDER)
    answers = [change(fit(data, unit, seed)).answer(OLDER) for seed in range(200)]
    assert max(abs(answer - truth) for answer in answers) < 0.1
    return sum(abs(answer - truth) <= answer.error_bar for answer in answers)


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_margins_cover_what_is_counted(unit, of):
    """Of 200 margins at 95 %, fewer than 170 cover the truth with a probability below 1e-6."""
    assert covered(of(unit), unit) >= 170


def test_margins_that_forget_the_noise_of_n_are_caught(of):
    unit = UNITS["record added"]
    assert covered(of(unit), unit, lambda release: replace(release, n_sigma=0.0)) < 170


def test_shares_of_persons_are_not_shares_of_rows(of):
    data = of(UNITS["person replaced"])
    by = {
        counting: th.exact_answer(kept_rows(data, Unit(person="who", rows_per_person=3,
                                                        counting=counting)), "age=3")
        for counting in ("persons", "rows")
    }  # fmt: skip
    frame = visits()
    assert by["persons"] < by["rows"] < (frame.age == 3).mean()  # the old have more rows


def test_no_release_tells_the_true_number_where_it_is_private(of):
    data, unit = of(UNITS["record added"]), UNITS["record added"]
    told = {fit(data, unit, seed).n for seed in range(20)}
    assert len(told) > 5
    assert all(abs(n - data.n) < 8 * 4.5 for n in told)  # σ is 4.5: 8σ has a chance below 1e-14


def test_the_same_records_as_persons_with_one_row_each_give_the_same_release():
    frame = visits().drop_duplicates("who")
    one = th.read(frame, SCHEMA, person="who")
    records = th.read(frame, SCHEMA)
    by_person, by_record = fit(one, Unit(person="who")), fit(records, None)
    assert by_person.measurements[0].counts.tolist() == by_record.measurements[0].counts.tolist()
    assert by_person.n == by_record.n


def test_delta_has_a_default_only_where_the_number_is_public(of):
    persons = of(UNITS["person added"])
    for unit in (UNITS["person replaced"], UNITS["person replaced, rows"]):
        release = th.GaussianJoint(epsilon=1.0).fit(persons, WORK, unit=unit)
        assert release.delta == Fraction(1, PERSONS**2)
    with pytest.raises(BudgetError, match="give delta, such as 1e-9"):
        th.GaussianJoint(epsilon=1.0).fit(persons, WORK, unit=UNITS["person added"])
    release = th.GaussianJoint(epsilon=1.0, delta=1e-9).fit(
        persons, WORK, unit=UNITS["person added"]
    )
    assert float(release.delta) == 1e-9


@pytest.mark.parametrize("mechanism", [th.Auto, th.RAP, th.All0])
@pytest.mark.parametrize("name", ["record added", "person replaced, rows"])
def test_every_mechanism_runs_where_the_number_is_private(mechanism, name, of):
    settings = {} if mechanism is th.All0 else {"synthetic_rows": 20, "rounds": 2}
    unit = UNITS[name]
    release = mechanism(rho=RHO, **settings).fit(of(unit), WORK, unit=unit)
    assert release.spent == (RHO * TOTAL_SHARE if mechanism is th.All0 else RHO)
    if mechanism is not th.All0:
        assert th.present_error(release, of(unit)) < 0.3


def test_a_search_for_settings_spends_no_more_than_its_budget(of):
    unit = UNITS["person added, rows"]
    grid = th.Grid(rounds=(1, 2), queries_per_round=(1, 2))
    rap = th.RAP(rho=RHO, synthetic_rows=20)
    assert th.tune(of(unit), WORK, rap, grid=grid, unit=unit).release.spent == RHO


def test_parameters_are_checked_before_the_number_is_paid_for(of, tmp_path):
    ledger = th.Ledger.create(tmp_path / "l", RHO, unit=UNITS["record added"])
    with pytest.raises(ParameterError, match="rounds"):
        th.RAP(rho=RHO, rounds=-1).fit(
            of(UNITS["record added"]), WORK, unit=UNITS["record added"], ledger=ledger
        )
    with pytest.raises(BudgetError, match="requested rho 1"):
        th.GaussianJoint(rho=1).fit(
            of(UNITS["record added"]), WORK, unit=UNITS["record added"], ledger=ledger
        )
    assert ledger.spent == 0


def test_a_ledger_refuses_another_unit_with_the_reason(of, tmp_path):
    unit = UNITS["person added"]
    ledger = th.Ledger.create(tmp_path / "l", RHO, unit=unit)
    for other in (Unit(), UNITS["record added"], UNITS["person replaced"]):
        with pytest.raises(LedgerError, match="Budgets of different units do not add up"):
            fit(of(other), other, ledger=ledger)
    # How the rows of the same persons are counted is up to each release.
    fit(of(unit), UNITS["person added, rows"], ledger=ledger)
    assert ledger.remaining == 0
    assert ledger.read().unit == Unit("add-remove", "who")


def test_an_interrupted_fit_goes_on_with_the_number_it_had_measured(of, tmp_path, monkeypatch):
    unit = UNITS["person added, rows"]
    whole = fit(of(unit), unit)
    honest, calls = Curator._pay, []

    def pay(self, *about):
        calls.append(about)
        if len(calls) == 2:
            raise DataError("the connection was lost")
        return honest(self, *about)

    monkeypatch.setattr(Curator, "_pay", pay)
    randomness = InsecureSeededRandomness(0)
    options = {"unit": unit, "journal": tmp_path / "j", "randomness": randomness}
    with pytest.raises(DataError, match="connection"):
        th.GaussianJoint(rho=RHO).fit(of(unit), WORK, **options)
    with pytest.raises(ReleaseError, match="journal of another fit"):
        th.GaussianJoint(rho=RHO).fit(of(unit), WORK, **{**options, "unit": UNITS["person added"]})
    resumed = th.GaussianJoint(rho=RHO).fit(of(unit), WORK, **options)
    assert (resumed.n, resumed.n_sigma) == (whole.n, whole.n_sigma)
    assert resumed.spent == RHO


def test_a_curator_has_its_own_unit(of):
    unit = UNITS["record added"]
    curator = Curator(of(unit), th.Budget.from_rho(RHO), unit=unit)
    assert repr(curator).startswith("Curator(? records")
    query = th.Query.parse("sex=F", SCHEMA)
    with pytest.raises(ParameterError, match="measure it first"):
        curator.measure([query], rho=RHO / 2)
    assert curator.spent == 0
    with pytest.raises(ParameterError, match="has a unit and a period already"):
        th.GaussianJoint().fit(curator, WORK, unit=unit)
    curator.measure_total(rho=RHO / 10)
    with pytest.raises(ParameterError, match="known already"):
        curator.measure_total(rho=RHO / 10)
    release = th.GaussianJoint().fit(curator, WORK)
    assert release.n == curator.known_total().n
    assert curator.remaining == 0
    assert release.spent == RHO * Fraction(9, 10)
    with pytest.raises(ParameterError, match="known already"):
        Curator(of(Unit()), th.Budget.from_rho(1)).measure_total(rho=1)


def test_who_may_be_refused_once_n_is_measured_is_told_before(of, monkeypatch):
    """With 90 MiB of memory, batches of a million records still fit, and of ten million not."""
    heard = []
    unit, listen = UNITS["record added"], lambda *told: heard.append(told[-1])
    fit(of(unit), unit, progress=listen)
    assert not any("refused" in words for words in heard)
    monkeypatch.setattr("thresher.mechanisms.estimate.available_memory", lambda: 90 << 20)
    fit(of(unit), unit, progress=listen)
    [told] = [words for words in heard if "refused" in words]
    assert "If there are 10,000,000 records or more" in told
