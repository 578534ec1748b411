"""Which fits get the exact curve of Gaussian noise, by default and when they are told to."""

import json
import math
from fractions import Fraction

import pytest

import thresher as th
from thresher.data.records import Records
from thresher.errors import BudgetError, ParameterError, ReleaseError
from thresher.mechanisms import Residual
from thresher.mechanisms.tuning import Grid
from thresher.privacy import Budget, Curator, Ledger, Unit, epsilon_of, rho_of
from thresher.privacy.budget import PrivacyWarning
from thresher.release.statement import statement_of

DELTA = Fraction(1, 400**2)
CURVE = rho_of(1, DELTA, "gaussian")
TIGHT = rho_of(1, DELTA)
MEASURING = (th.GaussianPerQuery, th.GaussianJoint, Residual, th.All0)


@pytest.fixture(scope="module")
def records(adult):
    return Records(adult.schema, [adult.codes(name)[:400] for name in adult.schema.names])


@pytest.fixture(scope="module")
def workload(records):
    return th.Workload(records.schema, [th.Threshold(("sex", "income")), th.Threshold(("race",))])


@pytest.fixture(scope="module")
def hard(records):
    """A workload that `auto` cannot measure without rounds at ε = 1 and n = 400."""
    return th.Workload.random(records.schema, k=3, size=64, seed=0)


def auto(**given):
    return th.Auto(synthetic_rows=20, **given)


def gaussian_ledger(folder, delta=DELTA):
    rho = rho_of(1, delta, "gaussian")
    path = folder / "people.ledger"
    return Ledger.create(path, rho, epsilon=1.0, delta=float(delta), accounting="gaussian")


@pytest.mark.parametrize("kind", MEASURING)
def test_what_never_selects_gets_the_exact_curve(kind, records, workload):
    release = kind(epsilon=1).fit(records, workload)
    assert release.budget == Budget(CURVE, Fraction(1), DELTA, "gaussian")
    assert release.epsilon == 1.0
    for accounting in ("tight", "paper"):
        release = kind(epsilon=1, accounting=accounting).fit(records, workload)
        assert release.budget.rho == rho_of(1, DELTA, accounting)


def test_fits_with_and_without_choices_get_it(records, workload, hard):
    release = auto(epsilon=1).fit(records, workload)
    assert release.settings["rounds"] == 0
    assert (release.budget.accounting, release.spent) == ("gaussian", CURVE)
    release = auto(epsilon=1).fit(records, hard)
    assert release.settings["rounds"] > 0
    assert (release.budget.accounting, release.spent) == ("gaussian", CURVE)
    rap = th.RAP(epsilon=1, synthetic_rows=20)
    tuned = th.tune(records, workload, rap, grid=Grid((1, 2), (1, 2)))
    for release in (rap.fit(records, workload), tuned.release):
        assert (release.budget.accounting, release.spent) == ("gaussian", CURVE)
    release = auto(epsilon=1, accounting="tight").fit(records, hard)
    assert (release.budget.accounting, release.spent) == ("tight", TIGHT)


@pytest.mark.parametrize(
    "mechanism", [auto(epsilon=1, accounting="gaussian"), th.RAP(epsilon=1, accounting="gaussian")]
)
def test_a_selecting_fit_is_refused_before_it_pays(mechanism, records, hard, tmp_path):
    ledger = gaussian_ledger(tmp_path)
    with pytest.raises(
        BudgetError, match=r"covers noisy counts alone.*Take the mechanism residual"
    ):
        mechanism.fit(records, hard, ledger=ledger, journal=tmp_path / "journal")
    assert ledger.entries == ()
    assert not (tmp_path / "journal").exists()


def test_a_gaussian_ledger_decides(records, workload, hard, tmp_path):
    ledger = gaussian_ledger(tmp_path)
    assert json.loads(ledger.path.read_text())["ledger"] == "thresher ledger, version 5"
    with pytest.raises(BudgetError, match="covers noisy counts alone"):
        auto(epsilon="0.5").fit(records, hard, ledger=ledger)
    with pytest.raises(BudgetError, match="covers noisy counts alone"):
        auto(rho=TIGHT / 2).fit(records, hard, ledger=ledger)
    assert ledger.spent == 0
    release = Residual(epsilon="0.5").fit(records, hard, ledger=ledger)
    assert release.spent == ledger.spent == rho_of("0.5", DELTA, "gaussian")
    said = ledger.read()
    assert said.epsilon_so_far == epsilon_of(ledger.spent, float(DELTA), "gaussian")
    assert said.as_epsilon(said.total) == pytest.approx(1, rel=1e-9)
    release = auto(rho=ledger.remaining).fit(records, workload, ledger=ledger)
    assert release.budget.accounting == "gaussian"
    assert ledger.remaining == 0


def test_other_ledgers_keep_the_tight_conversion(records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "l", TIGHT, epsilon=1.0, delta=float(DELTA))
    release = Residual(epsilon=1).fit(records, workload, ledger=ledger)
    assert (release.budget.accounting, ledger.remaining) == ("tight", 0)
    assert json.loads(ledger.path.read_text().splitlines()[0])["ledger"].endswith("version 4")


def test_a_curator_decides(records, workload, hard):
    curator = Curator(records, Budget.from_epsilon(1, DELTA, "gaussian"))
    release = auto(rho=CURVE / 4).fit(curator, hard)
    assert (release.budget.accounting, release.spent) == ("gaussian", CURVE / 4)
    half = Residual(epsilon="0.4").fit(curator, workload)
    assert half.budget.accounting == "gaussian"
    rest = Residual().fit(curator, workload)
    assert rest.budget.accounting == "gaussian"
    assert rest.epsilon == epsilon_of(rest.spent, DELTA, "gaussian")
    other = Curator(records, Budget.from_epsilon(1, DELTA))
    assert Residual(epsilon="0.5").fit(other, workload).budget.accounting == "tight"
    with pytest.raises(ParameterError, match="Curator has another accounting"):
        Residual(epsilon="0.1", accounting="gaussian").fit(other, workload)


def test_where_n_is_private(records, workload, hard, tmp_path):
    unit, delta = Unit("add-remove"), Fraction(1, 10**6)
    for mechanism, work in ((Residual, workload), (auto, hard)):
        release = mechanism(epsilon=1, delta=delta).fit(records, work, unit=unit)
        assert (release.budget.accounting, release.n_sigma > 0) == ("gaussian", True)
        assert release.spent == release.budget.rho
    ledger = Ledger.create(tmp_path / "l", CURVE, accounting="gaussian", unit=unit)
    with pytest.raises(BudgetError, match="tables may, as n is private, choose"):
        auto(epsilon=1, delta=delta).fit(records, workload, unit=unit, ledger=ledger)
    assert ledger.spent == 0


def test_the_same_promise_with_less_noise(adult):
    work = th.Workload.random(adult.schema, k=3, size=16, seed=0)
    for epsilon, ratio in ((0.1, 0.947), (1, 0.953), (10, 0.962)):
        smallest = []
        for accounting in ("gaussian", "tight"):
            release = Residual(epsilon=epsilon, accounting=accounting).fit(adult, work)
            smallest.append(min(m.sigma for m in release.measurements))
        assert smallest[0] / smallest[1] == pytest.approx(ratio, abs=2e-3)


def test_an_interrupted_fit_goes_on_with_the_accounting_it_began_with(
    records, workload, tmp_path, monkeypatch
):
    def stopped(*_):
        raise KeyboardInterrupt

    def begin(journal, **given):
        with monkeypatch.context() as patch:
            patch.setattr(th.mechanisms.residual.mechanism.ResidualTables, "of", stopped)
            with pytest.raises(KeyboardInterrupt):
                Residual(epsilon=1, **given).fit(records, workload, journal=journal)

    begin(tmp_path / "new")
    release = Residual(epsilon=1).fit(records, workload, journal=tmp_path / "new")
    assert (release.budget.accounting, release.spent) == ("gaussian", CURVE)
    # A journal of before there was this accounting says nothing about it.
    begin(tmp_path / "old", accounting="tight")
    assert "accounting" not in (tmp_path / "old" / "journal.jsonl").read_text().splitlines()[0]
    release = Residual(epsilon=1).fit(records, workload, journal=tmp_path / "old")
    assert (release.budget.accounting, release.spent) == ("tight", TIGHT)
    with pytest.raises(ReleaseError, match="journal of another fit"):
        Residual(epsilon=1, accounting="tight").fit(records, workload, journal=tmp_path / "new")
    (tmp_path / "new" / "journal.jsonl").write_text("[]\n")
    with pytest.raises(ReleaseError):
        Residual(epsilon=1).fit(records, workload, journal=tmp_path / "new")


def test_rho_alone_can_have_this_accounting(records, workload, hard, tmp_path):
    release = Residual(rho="1/50", accounting="gaussian").fit(records, workload)
    assert release.epsilon == epsilon_of("1/50", DELTA, "gaussian") < epsilon_of("1/50", DELTA)
    release.save(tmp_path / "r")
    assert th.load(tmp_path / "r").budget == release.budget
    release = auto(rho="1/50", accounting="gaussian").fit(records, hard)
    assert release.epsilon == epsilon_of("1/50", DELTA, "gaussian")


def test_a_release_says_by_which_curve_in_plain_words(records, workload, tmp_path):
    release = Residual(epsilon=1).fit(records, workload)
    stated = statement_of(release)
    assert stated["thresher"]["accounting"] == "gaussian"
    details = stated["deployment"]["privacy_loss"]["privacy_parameters_details"]
    assert "the exact curve of Gaussian noise" in details
    assert "all results together tell no more" in details
    assert "Gaussian differential privacy" in stated["deployment"]["accounting"]["composition"]
    release.save(tmp_path / "r")
    assert "the exact curve of Gaussian noise" in (tmp_path / "r" / "README.md").read_text()
    loaded = th.load(tmp_path / "r")
    assert (loaded.budget, loaded.epsilon) == (release.budget, 1.0)
    assert (
        "by the tight conversion"
        in statement_of(Residual(epsilon=1, accounting="tight").fit(records, workload))[
            "deployment"
        ]["privacy_loss"]["privacy_parameters_details"]
    )


def test_plans_follow_the_same_rule(records, workload, hard, tmp_path):
    def accountings(work, **given):
        given = {"mechanism": th.Auto(synthetic_rows=20), **given}
        planned = th.plan(records.schema, n=400, workload=work, epsilon=1, progress=False, **given)
        return [(fit.budget.accounting, bool(fit.impossible)) for fit in planned.fits]

    few = th.Workload(records.schema, hard.thresholds[:3])
    assert accountings(workload) == [("gaussian", False)]
    assert accountings(workload, accounting="tight") == [("tight", False)]
    assert accountings(few, mechanism=th.RAP(synthetic_rows=20)) == [("gaussian", False)]
    ledger = gaussian_ledger(tmp_path)
    assert accountings(workload, ledger=ledger) == [("gaussian", False)]
    assert accountings(few, mechanism=th.RAP(), ledger=ledger) == [("gaussian", True)]


def test_a_large_epsilon_is_warned_of_once(records):
    with pytest.warns(PrivacyWarning) as warned:
        th.RAP(epsilon=20).budget_for(records)
    assert len(warned) == 1


def test_the_curve_of_the_paper_stays(records, workload):
    release = th.GaussianPerQuery(epsilon=1, accounting="paper").fit(records, workload)
    [sigma] = {m.sigma for m in release.measurements}
    queries = workload.query_count
    assert sigma == math.sqrt(queries / (2 * rho_of(1, DELTA, "paper")))
