"""Searching for T and K: what it costs, and what comes out."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest

from thresher.errors import BudgetError, ParameterError, ReleaseError
from thresher.evaluation import present_error
from thresher.mechanisms.rap import RAP
from thresher.mechanisms.tuning import (
    CHOOSING,
    SEARCHING,
    Grid,
    Setting,
    courses,
    tune,
)
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger
from thresher.privacy.journal import Journal
from thresher.release.folder import load

RHO = Fraction(5, 7)
SMALL = Grid(rounds=(1, 2, 4), queries_per_round=(1, 2, 4))
BASE = RAP(rho=RHO, synthetic_rows=10)


def seeded(seed=0):
    return InsecureSeededRandomness(seed)


# What it costs.


class Seen(Curator):
    """A Curator that notes each payment, by verb."""

    __slots__ = ("paid",)

    def __init__(self, records, seed=0):
        super().__init__(records, Budget.from_rho(RHO), randomness=seeded(seed))
        self.paid = []

    def select(self, *args, rho, **more):
        self.paid.append(("select", rho))
        return super().select(*args, rho=rho, **more)

    def measure(self, *args, rho, **more):
        self.paid.append(("measure", rho))
        return super().measure(*args, rho=rho, **more)

    def choose(self, *args, rho):
        self.paid.append(("choose", rho))
        return super().choose(*args, rho=rho)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("search", ["diagonal", "grid"])
def test_trials_and_choices_have_their_shares_and_the_fit_has_the_rest(
    search, seed, records, workload
):
    curator = Seen(records, seed)
    tuned = tune(curator, workload, BASE, search=search, grid=SMALL)
    taken = courses(search, SMALL)
    most, choices = max(len(t) for t, _ in taken), max(c for _, c in taken)
    made = {frozenset(t): c for t, c in taken}[frozenset(tuned.trials)]
    chosen = [rho for verb, rho in curator.paid if verb == "choose"]
    assert chosen == [RHO * CHOOSING / choices] * made
    share = RHO * (SEARCHING - CHOOSING) / most
    payments = iter([rho for verb, rho in curator.paid if verb != "choose"])
    for trial in tuned.trials:
        assert sum(itertools.islice(payments, 2 * trial.rounds)) == share
    rest = list(payments)
    assert len(rest) == 2 * tuned.chosen.rounds
    assert sum(rest) == RHO - sum(chosen) - share * len(tuned.trials)
    assert curator.spent == tuned.release.spent == RHO
    assert len(tuned.release.measurements) == tuned.chosen.total


def test_every_payment_is_in_the_ledger(records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(10))
    tuned = tune(
        records, workload, BASE, grid=SMALL, ledger=ledger, release="spring", randomness=seeded()
    )
    assert ledger.spent == tuned.release.spent == RHO
    assert {entry.release for entry in ledger.entries} == {"spring"}


def test_a_grid_of_one_setting_has_nothing_to_choose(records, workload):
    plain = dataclasses.replace(BASE, rounds=2, queries_per_round=3)
    alone = plain.fit(records, workload, randomness=seeded())
    for search in ("diagonal", "grid"):
        tuned = tune(
            records, workload, BASE, search=search, grid=Grid((2,), (3,)), randomness=seeded()
        )
        assert tuned.chosen == Setting(2, 3)
        assert tuned.trials == ()
        assert tuned.release.spent == RHO
        assert np.array_equal(alone.source.rows.columns, tuned.release.source.rows.columns)


def test_the_rule_spends_nothing_on_the_search(records, workload):
    tuned = tune(records, workload, BASE, search="rule", randomness=seeded())
    plain = BASE.fit(records, workload, randomness=seeded())
    assert tuned.trials == (tuned.chosen,)
    assert tuned.release.settings == plain.settings
    assert np.array_equal(tuned.release.source.rows.columns, plain.source.rows.columns)


def test_a_curator_pays_for_it_too(records, workload):
    curator = Curator(records, Budget.from_rho(1), randomness=seeded())
    tuned = tune(curator, workload, BASE, search="grid", grid=SMALL)
    assert curator.spent == tuned.release.spent == RHO
    with pytest.raises(BudgetError):
        tune(curator, workload, BASE, search="grid", grid=SMALL)
    assert curator.spent == RHO


# What comes out.


def test_the_release_says_what_was_done_and_can_be_kept(records, workload, tmp_path):
    tuned = tune(records, workload, BASE, grid=SMALL, randomness=seeded())
    settings = tuned.release.settings
    assert tuned.release.mechanism == "rap"
    chosen = tuned.chosen
    assert (settings["rounds"], settings["queries_per_round"]) == (
        chosen.rounds, chosen.queries_per_round,
    )  # fmt: skip
    assert settings["search"] == "diagonal"
    assert settings["trials"] == [[t.rounds, t.queries_per_round] for t in tuned.trials]
    tuned.release.save(tmp_path / "release")
    kept = load(tmp_path / "release")
    assert dict(kept.settings) == settings
    assert kept.answer("sex=F") == pytest.approx(tuned.release.answer("sex=F"), abs=1e-6)


def test_with_a_huge_budget_the_best_trial_wins(records, workload):
    rich = RAP(rho=10**6, synthetic_rows=20)
    tuned = tune(records, workload, rich, search="grid", grid=SMALL, randomness=seeded())
    share = rich.rho * (SEARCHING - CHOOSING) / 9
    errors = {
        setting: present_error(
            dataclasses.replace(
                rich, rho=share, rounds=setting.rounds,
                queries_per_round=setting.queries_per_round,
            ).fit(records, workload, randomness=seeded()),
            records,
        )
        for setting in SMALL.settings()
    }  # fmt: skip
    # Other noise than in the search, of a fraction of a record: near ties can fall either way.
    assert errors[tuned.chosen] <= min(errors.values()) + 0.01


def test_small_workloads_cut_settings_short(records, workload):
    tuned = tune(
        records, workload[3:], BASE, search="grid", grid=Grid((1, 64), (4, 256)),
        randomness=seeded(),
    )  # fmt: skip
    assert tuned.release.spent == RHO


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"search": "luck"}, "rule, diagonal, grid"),
        ({"choosing": 1}, "choosing < searching < 1"),
        ({"searching": 1}, "choosing < searching < 1"),
        ({"searching": CHOOSING}, "choosing < searching < 1"),
        ({"choosing": 0}, "choosing"),
        ({"rap": RAP(rho=1, rounds=3)}, "leave them out"),
        ({"grid": Grid((1, 2), (4,))}, "as many values of T as of K"),
        ({"rap": RAP(rho=1, synthetic_rows=0)}, "synthetic_rows"),
    ],
)
def test_mistakes_cost_nothing(wrong, says, records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(10))
    asked = {"rap": BASE, "grid": SMALL, **wrong}
    with pytest.raises(ParameterError, match=says):
        tune(records, workload, ledger=ledger, **asked)
    assert ledger.spent == 0


# Interrupted.


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_search_goes_on_and_pays_nothing_twice(
    when, records, workload, tmp_path, monkeypatch
):
    ledger = Ledger.create(tmp_path / "l", Fraction(10))

    def run(seed=0):
        return tune(
            records, workload, BASE, grid=SMALL, ledger=ledger, journal=tmp_path / "j",
            randomness=seeded(seed),
        )  # fmt: skip

    honest = Journal.record

    def interrupted(self, result):
        if when == "after":
            honest(self, result)
        if result.get("verb") == "choose":
            raise KeyboardInterrupt
        if when == "before":
            honest(self, result)

    monkeypatch.setattr(Journal, "record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.setattr(Journal, "record", honest)
    tuned = run(seed=1)
    assert ledger.spent == tuned.release.spent == RHO
    # Whatever the noise would be now: all is in the journal.
    again = run(seed=2)
    assert again.chosen == tuned.chosen
    assert np.array_equal(again.release.source.rows.columns, tuned.release.source.rows.columns)
    assert ledger.spent == RHO


def test_a_journal_of_another_search_is_refused(records, workload, tmp_path):
    journal = tmp_path / "j"
    tune(records, workload, BASE, grid=SMALL, journal=journal, randomness=seeded())
    other = Grid((1, 2, 4), (1, 2, 8))
    with pytest.raises(ReleaseError, match="another fit"):
        tune(records, workload, BASE, grid=other, journal=journal, randomness=seeded())


def test_progress_names_the_trial(records, workload):
    told = []
    tune(
        records, workload, BASE, grid=SMALL, randomness=seeded(),
        progress=lambda *words: told.append(words),
    )  # fmt: skip
    assert told[0][2].startswith("trial 1, T=2, K=2, misfit")
