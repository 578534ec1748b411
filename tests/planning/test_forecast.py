"""Forecasts: what they say, what they use, and what speaks against a fit."""

import dataclasses
import math
from fractions import Fraction

import pytest

import thresher as th
from thresher.planning import doubts, forecast, trial
from thresher.planning.forecast import _crossing
from thresher.privacy.budget import rho_of


@pytest.fixture(scope="module")
def schema():
    return th.Schema(
        th.IntegerRange(name=name, low=0, high=size - 1, nulls=0)
        for name, size in {"a": 3, "b": 4, "c": 40, "d": 2}.items()
    )


@pytest.fixture(scope="module")
def work(schema):
    sets = [("a", "b"), ("b", "c"), ("a", "d")]
    return th.Workload(schema, [*map(th.Threshold, sets), th.Threshold(("a", "b", "d"), r=2)])


@pytest.fixture(scope="module")
def planned(schema, work):
    return th.plan(schema, n=3000, workload=work, epsilon=[0.3, 3], margin=0.01)


def test_errors_fall_with_epsilon_and_the_plan_is_the_same_again(schema, work, planned):
    low, high = planned.fits
    for name in ("largest", "typical", "cell_margin", "one_way_margin", "threshold_margin"):
        assert low.expected(name) > high.expected(name) > 0
    again = th.plan(schema, n=3000, workload=work, epsilon=[0.3, 3], margin=0.01)
    assert again.as_json() == {**planned.as_json(), "plans": again.as_json()["plans"]}
    assert [f.errors for f in again.fits] == [f.errors for f in planned.fits]


def test_json_keeps_the_contract(planned):
    told = planned.as_json()
    for plan, epsilon, fit in zip(told["plans"], (0.3, 3.0), planned.fits, strict=True):
        keys = {"epsilon", "rho", "largest_error", "typical_error", "seconds", "memory"}
        assert keys <= plan.keys()
        assert plan["epsilon"] == epsilon
        accounting = fit.budget.accounting
        assert plan["rho"] == float(rho_of(epsilon, Fraction(1, 3000**2), accounting))
    assert 0.3 < told["epsilon_for_margin"] < 30


def test_a_forecast_is_near_the_errors_of_a_fit(schema, work, planned):
    """Not a claim of accuracy (benchmarks/forecast.py has one): no factor or share is lost."""
    from thresher.planning.stand_in import stand_in

    people = stand_in(schema, 3000, seed=5)
    release = th.Auto(epsilon=3.0).fit(people, work, randomness=th.InsecureSeededRandomness(9))
    real = th.present_error(release, people)
    assert real / 3 < planned.fits[1].errors.largest < 3 * real


def test_the_picture_and_the_page(planned):
    text = str(planned)
    assert "forecast for 3,000 people, 4 thresholds" in text
    assert "± r of k" in text
    assert "no record was read" in text
    page = planned.page()
    assert page.count("<polyline") == 3
    assert "http" not in page.replace("http-equiv", "")


def test_a_name_on_the_page_is_text():
    schema = th.Schema(
        th.IntegerRange(name=name, low=0, high=3, nulls=0) for name in ("<b>", "c", "d")
    )
    work = th.Workload(schema, [th.Threshold(("<b>", "c")), th.Threshold(("c", "d"))])
    page = th.plan(schema, n=50, workload=work, epsilon=1).page()
    assert "&lt;b&gt; × c" in page
    assert "<b>" not in page


def test_the_ledger_says_what_would_be_left(schema, work, tmp_path):
    ledger = th.Ledger.create(tmp_path / "book", rho_of(1, 1e-6), epsilon=1.0, delta=1e-6)
    told = th.plan(
        schema, n=3000, workload=work, epsilon=[0.5, 2], delta=1e-6, ledger=ledger
    ).as_json()
    small, large = told["plans"]
    assert small["left_rho"] == pytest.approx(float(rho_of(1, 1e-6) - rho_of(0.5, 1e-6)))
    assert 0.5 < small["left_epsilon"] < 1
    assert large["left_rho"] < 0
    assert any("it would be refused" in doubt for doubt in told["doubts"])
    assert ledger.spent == 0


def test_an_epsilon_too_small_for_n_and_tables_far_larger_than_n(schema):
    work = th.Workload(schema, [th.Threshold(("a", "b", "c"))])
    told = th.plan(schema, n=4, workload=work, epsilon=0.01)
    assert any("epsilon 0.01 is too small for 4 people" in doubt for doubt in told.doubts)
    assert any("more than 100 cells per record" in doubt for doubt in told.doubts)


def test_a_workload_of_very_many_thresholds(schema, work, monkeypatch):
    monkeypatch.setattr(doubts, "MANY_THRESHOLDS", 3)
    [doubt] = doubts.doubts_about([], work, 3000, None)
    assert "4 thresholds share one budget" in doubt


def test_what_cannot_be_fitted_or_tried_is_said_and_not_tried(schema, work, monkeypatch):
    monkeypatch.setattr(trial, "LONGEST_TRIAL", 0.0)
    monkeypatch.setattr(forecast, "stand_in", None)  # nobody is made up for nothing
    [fit] = th.plan(schema, n=3000, workload=work, epsilon=1).fits
    assert fit.errors is None
    assert "plan a part of the workload" in fit.impossible

    rap = th.RAP(synthetic_rows=10**12)
    told = th.plan(schema, n=3000, workload=work, epsilon=1, mechanism=rap)
    assert told.as_json()["plans"][0]["largest_error"] is None
    assert any("GiB of memory" in doubt for doubt in told.doubts)


def test_settings_of_the_mechanism_count(schema, work):
    told = th.plan(schema, n=3000, workload=work, epsilon=1, mechanism=th.GaussianJoint())
    [kind] = told.fits[0].measured
    assert (told.fits[0].mechanism, kind.kind, kind.number) == ("gaussian_joint", "tables", 4)
    # Nothing is selected, so accounting is Gaussian, and whole numbers cost a ninth.
    assert told.fits[0].budget.accounting == "gaussian"
    assert kind.sigma[0] == pytest.approx(math.sqrt(4 / float(told.fits[0].rho) + 1 / 9), rel=1e-6)


@pytest.mark.parametrize(
    ("known", "error", "epsilon"),
    [
        ([(0.1, 0.1), (1.0, 0.01)], 0.01, 1.0),
        ([(0.1, 0.1), (1.0, 0.01)], 0.001, 10.0),
        ([(0.1, 0.1), (1.0, 0.01), (2.0, 0.01)], 0.03162278, 0.316228),
        ([(0.1, 0.1), (1.0, 0.1)], 0.01, math.inf),
    ],
)
def test_the_epsilon_of_an_error(known, error, epsilon):
    assert _crossing(known, error) == pytest.approx(epsilon, rel=1e-3)


MISTAKES = {
    "n": ({"n": 1}, "n must be a whole number of at least 2"),
    "margin": ({"margin": 2.0}, "margin must lie between 0 and 1"),
    "epsilon": ({"epsilon": []}, "epsilon must be a number or several"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(schema, work, case):
    change, words = MISTAKES[case]
    with pytest.raises(th.ParameterError, match=words):
        th.plan(schema, **{"n": 100, "workload": work, "epsilon": 1, **change})


def test_no_record_is_looked_at(planned):
    """The forecast keeps nothing but public facts and numbers."""
    assert {field.name for field in dataclasses.fields(planned)} == {
        "fits", "workload", "n", "margin", "account", "doubts", "advice", "knows_people",
    }  # fmt: skip
