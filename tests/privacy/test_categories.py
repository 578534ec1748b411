"""Requests about records without a schema: checked before they pay, and paid before they look."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.data.cells import Cells
from thresher.data.records import Records
from thresher.errors import BudgetError, LedgerError, ParameterError, ThresherError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger, Unit
from thresher.privacy.conversion import epsilon_of, rho_of
from thresher.privacy.ledger import _now
from thresher.privacy.ledger_lines import sealed
from thresher.schema import IntegerRange, Schema
from thresher.schema.draft.survey import survey_feature

SCHEMA = Schema([survey_feature("a"), survey_feature("b")])
PEOPLE = [
    {"a": Counter({"x": 9}), "b": Counter({"1": 9})},
    {"a": Counter({"": 4, "y": 5}), "b": Counter({str(i): 1 for i in range(9)})},
    {"a": Counter({"\x00": 8, "z" * 300: 1}), "b": Counter({"nan": 3, "1e999": 3, "-5": 3})},
]


def curator_of(columns, *, rho=1, delta="1/100", **options):
    return Curator(
        Cells(SCHEMA, 9, columns), Budget.from_rho(rho), delta=delta,
        randomness=InsecureSeededRandomness(1), **options,
    )  # fmt: skip


def test_a_curator_of_coded_records_is_not_asked_about_cells():
    records = Records(
        Schema([IntegerRange(name="a", low=0, high=1, nulls=0)]), [np.array([0, 1], dtype=np.uint8)]
    )
    curator = Curator(records, Budget.from_rho(1), delta="1/10")
    with pytest.raises(ParameterError, match="no schema yet"):
        curator.find_categories(["a"], rho="1/2", delta="1/100")
    with pytest.raises(ParameterError, match="no schema yet"):
        curator.find_edges(["a"], [[1.0]], 1, rho="1/2")
    assert curator.spent == 0


def test_delta_is_a_budget_of_its_own():
    curator = curator_of(PEOPLE[0])
    curator.find_categories(["a"], rho="1/10", delta="1/200")
    with pytest.raises(BudgetError, match=r"remaining 0\.005"):
        curator.find_categories(["a"], rho="1/10", delta="1/100")
    assert curator.spent == Fraction(1, 10)
    curator.find_categories(["a"], rho="1/10", delta="1/200")
    with pytest.raises(BudgetError, match="remaining 0:"):
        curator.find_categories(["a"], rho="1/10", delta="1e-9")


def test_without_delta_there_are_no_categories():
    curator = Curator(Cells(SCHEMA, 9, PEOPLE[0]), Budget.from_rho(1))
    with pytest.raises(BudgetError):
        curator.find_categories(["a"], rho="1/10", delta="1e-9")
    assert curator.spent == 0


def test_no_journal_and_no_person():
    with pytest.raises(ParameterError, match="journal"):
        curator_of(PEOPLE[0], journal=object())
    with pytest.raises(ThresherError):
        curator_of(PEOPLE[0], unit=Unit(person="a"))


class Fickle(str):
    """A name that is another one when it is looked at again."""

    looks = 0

    def __str__(self):
        self.looks += 1
        return "a" if self.looks < 2 else "b"


ANY = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(), st.text(max_size=3),
    st.fractions(), st.sampled_from(["a", "b", "1/10", "1e-9", Fickle("a")]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(ANY, max_size=3), candidates=st.lists(st.lists(ANY, max_size=4), max_size=3),
    count=ANY, rho=ANY, delta=ANY,
)  # fmt: skip
def test_a_call_raises_before_it_pays_or_returns_whatever_the_records(
    names, candidates, count, rho, delta
):
    outcomes = {"categories": set(), "edges": set()}
    for people in PEOPLE:
        for verb in outcomes:
            curator = curator_of(people, rho=100)
            try:
                if verb == "categories":
                    curator.find_categories(names, rho=rho, delta=delta)
                else:
                    curator.find_edges(names, candidates, count, rho=rho)
            except (ThresherError, TypeError, ValueError, AttributeError) as fault:
                assert curator.spent == 0
                outcomes[verb].add((type(fault), str(fault)))
            else:
                assert curator.spent > 0
                outcomes[verb].add(None)
    assert all(len(outcome) == 1 for outcome in outcomes.values())


def test_values_that_cannot_be_labels_are_never_told():
    curator = Curator(Cells(SCHEMA, 9, PEOPLE[2]), Budget.from_rho(1000), delta="1/2")
    [found] = curator.find_categories(["a"], rho=900, delta="1/2")
    assert found.counts == {}


def test_more_edges_than_candidates_are_all_of_them():
    curator = curator_of(PEOPLE[1])
    assert curator.find_edges(["b"], [[1.0, 2.0]], 9, rho="1/10") == [(1.0, 2.0)]


# What the ledger writes down.


def test_the_ledger_writes_down_both_and_keeps_its_promise(tmp_path):
    epsilon, delta = 1.0, 1e-9
    total = rho_of(epsilon, delta)
    ledger = Ledger.create(tmp_path / "l", total, epsilon=epsilon, delta=delta)
    curator = curator_of(PEOPLE[0], ledger=ledger, delta="1e-10")
    curator.find_categories(["a"], rho="1/1000", delta="1e-10")
    [entry] = ledger.entries
    assert (entry.rho, entry.delta) == (Fraction(1, 1000), Fraction(1, 10**10))
    said = ledger.read()
    assert said.fingerprints == {}  # the first fit binds the records
    ledger.spend(said.remaining, release="all the rest")
    assert said.remaining < total - entry.rho
    left = Fraction(delta) - entry.delta
    assert epsilon_of(ledger.spent, left) <= epsilon
    with pytest.raises(BudgetError):
        ledger.spend(Fraction(1, 10**9), release="more")


def test_a_delta_beyond_that_of_the_ledger_is_refused(tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(1), epsilon=5.0, delta=1e-9)
    curator = curator_of(PEOPLE[0], ledger=ledger, delta="2e-9")
    with pytest.raises(BudgetError, match="requested delta"):
        curator.find_categories(["a"], rho="1/1000", delta="2e-9")
    assert (ledger.spent, curator.spent, ledger.entries) == (0, 0, ())


def test_a_ledger_without_delta_says_what_was_spent_of_it(tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(1))
    curator_of(PEOPLE[0], ledger=ledger).find_categories(["a"], rho="1/2", delta="1/1000")
    said = ledger.read()
    assert (said.delta_spent, said.remaining) == (Fraction(1, 1000), Fraction(1, 2))
    assert said.epsilon_so_far is None


def test_a_ledger_of_an_earlier_version_spends_no_delta(tmp_path):
    header = {"ledger": "thresher ledger, version 3", "data": "", "rho": "1", "decimal": "1",
              "epsilon": None, "delta": None, "accounting": "zcdp", "unit": {"neighbours":
              "replace"}, "created": _now(), "id": "0" * 64}  # fmt: skip
    (tmp_path / "l").write_text(sealed(header, "") + "\n")
    ledger = Ledger.open(tmp_path / "l")
    with pytest.raises(LedgerError, match="earlier version"):
        curator_of(PEOPLE[0], ledger=ledger).find_categories(["a"], rho="1/2", delta="1/1000")
    curator_of(PEOPLE[1], ledger=ledger).find_edges(["b"], [[1.0]], 1, rho="1/2")
    assert ledger.spent == Fraction(1, 2)
