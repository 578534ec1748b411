"""Every mechanism through the one protocol: `fit(curator_or_records, workload) -> Release`."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest

from thresher.data.records import Records
from thresher.errors import BudgetError, ParameterError, QueryError, ResourceError
from thresher.mechanisms import MECHANISMS, RAP, All0, GaussianJoint, GaussianPerQuery
from thresher.mechanisms.adaptive_tables import plan, workload_tables
from thresher.mechanisms.estimate import Estimate
from thresher.privacy.budget import Budget, rho_of
from thresher.privacy.curator import Curator
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Query, Threshold, Workload
from thresher.release.folder import load
from thresher.schema import Schema
from thresher.schema.features import Categorical

SMALL = {"rap": {"rounds": 3, "queries_per_round": 2, "synthetic_rows": 20}}
EVERY = sorted(MECHANISMS)


def make(name, **budget):
    return MECHANISMS[name](**budget, **SMALL.get(name, {}))


def workloads(schema, mixed):
    return {
        "mixed": mixed,
        "one threshold": Workload(schema, [Threshold(("sex", "job"))]),
        "r < k": Workload(schema, [Threshold(("sex", "job", "town"), r=2)]),
        "k = 1": Workload(schema, [Threshold(("sex",)), Threshold(("job",))]),
        "everything": Workload.all(schema, 4, 1),
    }


@pytest.mark.parametrize("kind", ["mixed", "one threshold", "r < k", "k = 1", "everything"])
@pytest.mark.parametrize("name", EVERY)
def test_one_protocol(name, kind, schema, records, workload, tmp_path):
    work = workloads(schema, workload)[kind]
    rounds = []
    release = make(name, rho=Fraction(7, 3)).fit(
        records,
        work,
        randomness=InsecureSeededRandomness(3),
        progress=lambda *told: rounds.append(told),
        expect=lambda estimate: rounds.append(str(estimate)),
    )

    assert release.spent == (0 if name == "all0" else Fraction(7, 3))
    assert release.budget.rho == Fraction(7, 3)
    made_by = "tables" if name == "auto" else name
    assert (release.mechanism, release.n, release.is_secure) == (made_by, 400, False)
    assert release.workload == work
    last = release.settings.get("rounds", 0)
    ended = [(t, last) for t in range(1, last + 1)]
    if made_by == "tables" and not last:
        ended = [(1, 1)]
    assert re.match(r"about \d+ s and ", rounds[0])
    # Round 0 is told of where kernels have to be compiled first.
    assert [told[:2] for told in rounds[1:] if told[0] > 0] == ended
    assert made_by in repr(release)

    release.save(tmp_path / "release")
    again = load(tmp_path / "release")
    assert again.spent == release.spent
    assert again.settings == release.settings
    assert len(again.measurements) == len(release.measurements)
    rng = np.random.default_rng(0)
    for (threshold, table), (_, same) in zip(
        release.answer_all(), again.answer_all(work), strict=True
    ):
        assert table.shape == threshold.shape(schema)
        assert np.array_equal(table, same)
        for cell in rng.integers(0, table.size, 5).tolist():
            codes = np.unravel_index(cell, table.shape)
            values = {
                feature: schema[feature].labels[code]
                for feature, code in zip(threshold.features, codes, strict=True)
            }
            query = Query.where(schema, values, r=threshold.r)
            assert release.answer(query) == pytest.approx(table[codes], abs=1e-6)
            assert again.answer(query.text(schema)) == release.answer(query)


@pytest.mark.parametrize("name", EVERY)
def test_a_curator_gives_what_is_asked_for_and_no_more(name, records, workload):
    curator = Curator(records, Budget.from_rho("2"), randomness=InsecureSeededRandomness(0))
    curator.measure([workload.query(0)], rho="1/10")
    release = make(name, rho="1/7").fit(curator, workload)
    paid = 0 if name == "all0" else Fraction(1, 7)
    assert release.spent == paid
    assert curator.spent == Fraction(1, 10) + paid
    # Without a budget of its own, a mechanism takes what is left.
    rest = make(name).fit(curator, workload)
    assert rest.budget.rho == Fraction(19, 10) - paid
    assert curator.remaining == (Fraction(19, 10) if name == "all0" else 0)


class Spendthrift(GaussianJoint):
    """A mechanism whose code is wrong: it plans with nine times its budget."""

    def resolve(self, n, rho, workload):
        return super().resolve(n, 9 * rho, workload)


@pytest.mark.parametrize("is_gaussian", [False, True])
def test_a_mechanism_that_would_spend_more_than_the_release_states_is_refused(
    is_gaussian, records, workload
):
    curator = Curator(records, Budget.from_rho(1, is_gaussian=is_gaussian))
    for data in (curator, records):
        with pytest.raises(BudgetError, match="a fault of the mechanism"):
            Spendthrift(rho="1/100").fit(data, workload)
    assert curator.spent == 0


@pytest.mark.parametrize("name", EVERY)
def test_a_curator_with_too_little_is_refused_before_anything_is_paid(name, records, workload):
    curator = Curator(records, Budget.from_rho("1/2"), randomness=InsecureSeededRandomness(0))
    if name == "all0":  # costs nothing, so it always fits
        assert make(name, rho=1).fit(curator, workload).spent == 0
        return
    with pytest.raises(BudgetError, match=r"requested rho=1, remaining 0.5, difference 0.5"):
        make(name, rho=1).fit(curator, workload)
    assert curator.spent == 0
    make(name).fit(curator, workload)
    with pytest.raises(BudgetError, match="needs a budget"):
        make(name).fit(curator, workload)


@pytest.mark.parametrize("name", EVERY)
def test_a_ledger_with_too_little_is_refused_before_anything_is_paid(
    name, records, workload, tmp_path
):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1, 2))
    fit = make(name, rho=1).fit
    if name == "all0":
        fit(records, workload, ledger=ledger)
    else:
        with pytest.raises(BudgetError, match=r"requested rho 1, remaining 0.5 of 0.5"):
            fit(records, workload, ledger=ledger, release="first")
    assert ledger.entries == ()


@pytest.mark.parametrize("name", EVERY)
def test_the_ledger_holds_what_was_spent(name, records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(2))
    release = make(name, rho="1/3").fit(records, workload, ledger=ledger, release="mine")
    assert ledger.spent == release.spent
    assert {entry.release for entry in ledger.entries} <= {"mine"}
    assert release.is_secure


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"epsilon": -1.0}, "epsilon must be a finite number above 0"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number above 0"),
        ({"epsilon": "one"}, "epsilon must be a finite number above 0"),
        ({"rho": 0}, "rho must be a finite number above 0"),
        ({"rho": 1e12}, "promises nothing"),
        ({"epsilon": 1, "rho": 1}, "either epsilon or rho, not both"),
        ({"epsilon": 1, "delta": 1}, "delta must lie between 0 and 1"),
        ({"rho": 1, "delta": 1e-6}, "delta belongs to epsilon"),
        ({"delta": 1e-6}, "delta belongs to epsilon"),
        ({}, "needs a budget: give epsilon"),
    ],
)
def test_wrong_budgets(name, budget, words, records, workload):
    with pytest.raises(BudgetError, match=words):
        make(name, **budget).fit(records, workload)


def test_a_wrong_accounting(records, workload):
    with pytest.raises(ParameterError, match="accounting must be"):
        All0(epsilon=1, accounting="loose").fit(records, workload)


def test_epsilon_buys_rho_by_either_accounting(records, workload):
    for accounting in ("tight", "paper"):
        release = All0(epsilon=1, accounting=accounting).fit(records, workload)
        assert release.budget.rho == rho_of(1, Fraction(1, 400**2), accounting)
        assert (release.epsilon, release.delta) == (1.0, Fraction(1, 400**2))


def test_a_single_record_has_a_promise_too(schema, workload, tmp_path):
    alone = Records(schema, [np.zeros(1, np.uint8)] * 4)
    release = GaussianJoint(rho=1).fit(alone, workload)
    assert release.delta == Fraction(1, 4)
    release.save(tmp_path / "alone")
    assert "epsilon" in repr(load(tmp_path / "alone"))


@pytest.mark.parametrize("name", EVERY)
def test_a_workload_over_another_schema_is_refused(name, records):
    other = Schema([Categorical(name="sex", categories=("F", "M"), outside="F", nulls="F")])
    with pytest.raises(QueryError, match="another schema"):
        make(name, rho=1).fit(records, Workload.all(other, 1))


def test_a_curator_brings_its_own_ledger_and_randomness(records, workload, tmp_path):
    curator = Curator(records, Budget.from_rho(1))
    for given in (
        {"randomness": InsecureSeededRandomness(0)},
        {"journal": tmp_path / "journal"},
        {"ledger": Ledger.create(tmp_path / "ledger", Fraction(1))},
    ):
        with pytest.raises(ParameterError, match="a Curator has its own"):
            GaussianJoint().fit(curator, workload, **given)
    assert curator.spent == 0
    assert not (tmp_path / "journal").exists()


def test_what_cannot_fit_is_refused_before_anything_is_paid(records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    with pytest.raises(ResourceError, match=r"GiB of memory .* fewer synthetic rows"):
        RAP(rho=1, synthetic_rows=10**12).fit(records, workload, ledger=ledger)
    assert ledger.spent == 0
    with pytest.raises(ResourceError, match="about 12 days: wait"):
        Estimate(seconds=1e6, memory=0, advice="wait").check()
    assert str(Estimate(seconds=90.4, memory=3 << 29, advice="")) == "about 90 s and 1.50 GiB"


def test_the_gaussian_mechanisms_tell_what_the_paper_and_joint_sensitivity_tell(
    schema, records, workload
):
    [per_query, joint] = (
        kind(rho="1/2").fit(records, workload, randomness=InsecureSeededRandomness(1))
        for kind in (GaussianPerQuery, GaussianJoint)
    )
    # m queries of sensitivity 1, against four marginals whose squared sensitivity is 2 each.
    m = workload.query_count
    assert [t.sigma for t in per_query.measurements] == pytest.approx([m**0.5] * 4)
    assert [t.sigma for t in joint.measurements] == pytest.approx([8**0.5] * 4)
    assert [m.threshold.r == m.threshold.k for m in joint.measurements] == [True] * 4


def test_thresholds_over_the_same_features_share_one_marginal(schema, records):
    work = Workload(schema, [Threshold(("sex", "job"), r) for r in (1, 2)])
    release = GaussianJoint(rho=1).fit(records, work)
    assert [m.threshold for m in release.measurements] == [Threshold(("sex", "job"))]


def test_all_zero_is_zero(schema, records, workload):
    release = All0(epsilon=1).fit(records, workload)
    assert release.answer("sex=F") == 0.0
    assert not any(table.any() for _, table in release.answer_all())


@pytest.mark.parametrize("accounting", ["tight", "paper"])
def test_every_split_of_rounds_and_queries_spends_exactly_the_budget(
    accounting, schema, records, tmp_path
):
    work = Workload(schema, [Threshold(("sex", "job")), Threshold(("town",))])
    m = work.query_count
    assert m == 10
    for rounds, per_round in itertools.product((1, 2, 3, 7, 11), (1, 3, 4, 10, 25)):
        rap = RAP(
            epsilon="0.7", accounting=accounting, rounds=rounds, queries_per_round=per_round,
            synthetic_rows=4,
        )  # fmt: skip
        release = rap.fit(records, work, randomness=InsecureSeededRandomness(rounds))
        assert release.spent == rho_of("0.7", Fraction(1, 400**2), accounting)
        measured = sum(np.size(getattr(m, "counts", 0)) for m in release.measurements)
        assert measured == min(m, rounds * per_round)
        assert release.settings["rounds"] == min(rounds, -(-m // min(m, per_round)))


def test_auto_takes_rap_only_where_no_table_of_two_features_can_be_measured(monkeypatch):
    values = tuple(map(str, range(30)))
    wide = Schema([Categorical(name=n, categories=values, outside="0", nulls="0") for n in "abc"])
    rng = np.random.default_rng(0)
    few = Records(wide, [rng.integers(0, 30, 100) for _ in "abc"])
    work = Workload(wide, [Threshold(("a", "b", "c"), r=2)])
    auto = MECHANISMS["auto"](rho=1, rounds=2, synthetic_rows=5)
    release = auto.fit(few, work)
    assert release.mechanism == "tables"
    assert release.measurements[-1].counts.size >= 900, "more cells than records"
    monkeypatch.setattr(plan, "MOST_CELLS_OF_A_PAIR", 899)
    monkeypatch.setattr(workload_tables, "LEAST_CELLS_FITTED", 1)
    monkeypatch.setattr(workload_tables, "MOST_CELLS_CLAMPED_TO", 1000)
    assert auto.fit(few, work).mechanism == "rap"
    asked_itself = Workload(wide, [Threshold(("a", "b"))])
    assert auto.fit(few, asked_itself).mechanism == "tables"
    many = Records(wide, [rng.integers(0, 30, 900) for _ in "abc"])
    assert auto.fit(many, work).mechanism == "tables"


def test_auto_takes_rap_if_asked_for_a_setting_of_rap(records, workload):
    release = MECHANISMS["auto"](rho=1, rounds=2, queries_per_round=3).fit(records, workload)
    assert (release.mechanism, release.settings["queries_per_round"]) == ("rap", 3)


def test_tables_measures_the_tables_of_a_workload_if_the_budget_allows(records, schema):
    work = Workload(schema, [Threshold(("sex", "job")), Threshold(("job", "town", "sex"))])
    needed = {("job", "sex"), ("job", "sex", "town")}

    def measured(rho):
        release = MECHANISMS["tables"](rho=rho, rounds=1, synthetic_rows=5).fit(records, work)
        return [tuple(sorted(m.threshold.features)) for m in release.measurements]

    rich, poor = measured(100), measured(Fraction(1, 10**9))
    assert needed <= set(rich)
    residuals = {("job", "sex", "town")[:1], ("job", "sex"), ("job", "town"), ("sex", "town")}
    assert residuals <= set(rich)
    assert len(rich) == 1 + 7 + 1  # the other feature, all residuals of three, and a round
    assert len(poor) == len(schema) + 1
