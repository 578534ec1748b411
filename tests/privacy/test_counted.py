"""The Curator counts its data once, after the first payment, and pays nothing if it cannot."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.data.exact import exact_answers, exact_count
from thresher.errors import DataError, LedgerError, ResourceError
from thresher.mechanisms import RAP, Auto, GaussianJoint
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger
from thresher.privacy.counted import CountedTables, maximal
from thresher.queries import Query, Threshold, Workload
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable, slabs_of

RHO = Fraction(1, 2)


class Elsewhere:
    """Private data that are not in memory; what is asked of them is written down."""

    def __init__(self, records, spoil=lambda tables: tables):
        self.schema, self.n, self._records = records.schema, records.n, records
        self.asked, self.spoil = [], spoil

    def counts(self, feature_sets, progress=None):
        self.asked.append(list(feature_sets))
        return self.spoil(self._records.counts(feature_sets))


@pytest.fixture
def workload(schema):
    return Workload(schema, [Threshold(("sex", "job")), Threshold(("town", "job", "age"), 2)])


def female(schema):
    return Query.where(schema, {"sex": "F"})


@pytest.mark.parametrize("mechanism", [Auto, GaussianJoint, RAP])
def test_a_fit_asks_its_data_once(mechanism, records, workload):
    data = Elsewhere(records)
    if mechanism is GaussianJoint:
        workload = Workload(workload.schema, [Threshold(t.features) for t in workload])
    release = mechanism(rho=RHO).fit(data, workload, randomness=InsecureSeededRandomness(0))
    assert len(data.asked) == 1
    assert set(map(frozenset, data.asked[0])) == {frozenset(t.features) for t in workload}
    same = mechanism(rho=RHO).fit(records, workload, randomness=InsecureSeededRandomness(0))
    assert all(
        np.array_equal(a.answers if hasattr(a, "answers") else a.count,
                       b.answers if hasattr(b, "answers") else b.count)
        for a, b in zip(release.measurements, same.measurements, strict=True)
    )  # fmt: skip


def test_nothing_is_asked_before_the_first_payment(records, workload):
    data, wide = Elsewhere(records), Elsewhere(records)
    Curator(data, Budget.from_rho(1)).will_ask(workload)
    names = [f"x{i}" for i in range(5)]
    wide.schema = Schema(IntegerRange(name=name, low=0, high=9999, nulls=0) for name in names)
    query = Query.where(wide.schema, dict.fromkeys(names, 0))
    with pytest.raises(ResourceError, match=r"more than 2\^63 cells"):
        Curator(wide, Budget.from_rho(1)).measure([query], rho=RHO)
    assert data.asked == wide.asked == []


def wrong_total(tables):
    first, *others = tables
    return [SparseTable(first.shape, first.cells, first.counts * 2), *others]


def negative(tables):
    first, *others = tables
    return [SparseTable(first.shape, first.cells, -first.counts), *others]


def unordered(tables):
    first, *others = tables
    return [SparseTable(first.shape, first.cells[::-1], first.counts), *others]


def other_shape(tables):
    first, *others = tables
    return [SparseTable((*first.shape, 1), first.cells, first.counts), *others]


def lost(tables):
    raise DataError("the connection was lost")


def interrupted(tables):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "spoil", [wrong_total, negative, unordered, other_shape, lost, interrupted]
)
def test_data_that_cannot_be_counted_cost_nothing(spoil, records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    data = Elsewhere(records, spoil)
    journal = tmp_path / "journal"
    with pytest.raises((DataError, KeyboardInterrupt)):
        RAP(rho=RHO).fit(data, workload, ledger=ledger, journal=journal)
    assert ledger.spent == 0
    assert not journal.exists()
    data.spoil = lambda tables: tables
    release = RAP(rho=RHO).fit(data, workload, ledger=ledger, journal=journal)
    assert ledger.spent == release.spent == RHO
    assert [entry.rho for entry in ledger.entries if entry.rho == RHO] == []


def test_other_data_cost_nothing(records, schema, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    Curator(records, Budget.from_rho(1), ledger).measure([female(schema)], rho="1/4")
    fewer = type(records)(schema, [column[1:] for column in records.columns])
    curator = Curator(fewer, Budget.from_rho(1), ledger)
    with pytest.raises(LedgerError, match="other data"):
        curator.measure([female(schema)], rho="1/4")
    assert curator.spent == 0
    assert ledger.spent == Fraction(1, 4)
    assert Ledger.open(ledger.path).remaining == Fraction(3, 4)


def test_a_payment_that_cannot_be_taken_back_stays(records, schema, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    curator = Curator(Elsewhere(records, lost), Budget.from_rho(1), ledger)

    def full(*_):
        raise LedgerError("no space left")

    monkeypatch.setattr(Ledger, "take_back", full)
    with pytest.raises(LedgerError, match="no space left"):
        curator.measure([female(schema)], rho="1/4")
    assert curator.spent == ledger.spent == Fraction(1, 4)


def test_what_fails_after_counting_stays_paid(records, workload, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    curator = Curator(records, Budget.from_rho(1), ledger)

    def broken(threshold):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        curator.select(workload, broken, 1, rho="1/4")
    assert curator.spent == ledger.spent == Fraction(1, 4)


@given(st.data())
def test_every_table_and_query_follows(records, schema, data):
    names = st.lists(st.sampled_from(schema.names), min_size=1, max_size=3, unique=True)
    sets = data.draw(st.lists(names.map(tuple), min_size=1, max_size=4))
    counted = CountedTables(records)
    counted.count_together(sets)
    features = data.draw(st.sampled_from(sets))
    features = tuple(data.draw(st.permutations(features)))[: data.draw(st.integers(1, 3))]
    threshold = Threshold(features, data.draw(st.integers(1, len(features))))
    shape = threshold.shape(schema)
    answers = counted.answers(threshold)
    parts = [answers(slab).reshape(-1) for slab in slabs_of(shape, 5)]
    assert np.array_equal(np.concatenate(parts), exact_answers(records, threshold).reshape(-1))
    values = {n: data.draw(st.sampled_from(schema[n].labels)) for n in features}
    query = Query.where(schema, values, threshold.r)
    assert counted.count(query) == exact_count(records, query)


def test_sums_that_are_kept_for_the_next_round_are_those_of_their_threshold(records, schema):
    """Rounds ask about the same features with another r, in another order, on several cores."""
    counted = CountedTables(records)
    counted.count_together([("sex", "job", "town", "age")])
    thresholds = [
        Threshold(names, r)
        for names in (("town", "job", "age"), ("age", "job", "town"), ("sex", "job", "town", "age"))
        for r in (1, 2, 3)
    ]

    def check(threshold):
        answers = counted.answers(threshold)
        for cells in (7, 10**6):
            slabs = slabs_of(threshold.shape(schema), cells)
            found = np.concatenate([answers(slab).reshape(-1) for slab in slabs])
            assert np.array_equal(found, exact_answers(records, threshold).reshape(-1))

    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(check, thresholds * 3):
            pass


@given(st.lists(st.sets(st.sampled_from("abcde"), min_size=1).map(lambda s: tuple(sorted(s)))))
def test_the_maximal_sets_cover_all_and_none_covers_another(sets):
    kept = maximal(sets)
    assert all(any(set(s) <= set(k) for k in kept) for s in sets)
    assert not any(set(a) < set(b) for a in kept for b in kept)
    assert len(set(kept)) == len(kept)


def test_a_fit_that_loses_its_data_in_the_middle_goes_on_from_its_journal(
    records, workload, tmp_path
):
    """Interrupted after some rounds, it finds the data gone; nothing is paid, and it can go on."""

    class Stopped(Exception):  # noqa: N818, it stands for a crash
        pass

    def stop(number, rounds, remark):
        raise Stopped

    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    fit = {"ledger": ledger, "journal": tmp_path / "journal"}
    rap = RAP(rho=RHO, rounds=3, queries_per_round=1)
    with pytest.raises(Stopped):
        rap.fit(Elsewhere(records), workload, **fit, progress=stop)
    paid = ledger.spent
    assert 0 < paid < RHO
    with pytest.raises(DataError, match="connection was lost"):
        rap.fit(Elsewhere(records, lost), workload, **fit)
    assert ledger.spent == paid
    assert rap.fit(Elsewhere(records), workload, **fit).spent == ledger.spent == RHO
