"""A ledger and a journal know their data again, and tell nobody else about them."""

import json
import os
import shutil
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.data.records import Records
from thresher.errors import BudgetError, LedgerError, ReleaseError
from thresher.mechanisms import RAP, All0, GaussianJoint
from thresher.privacy import Budget, Curator, Ledger
from thresher.privacy import fingerprint as of_counts
from thresher.privacy.counted import CountedTables
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.queries import Query, Threshold, Workload
from thresher.schema import Schema
from thresher.schema.features import Categorical

FIRST_BUILD = Path(__file__).parents[1] / "release" / "first_build" / "people.ledger"
RHO = Fraction(1, 2)
KEY = bytes(32)


def replaced(records, row=0):
    """A neighbour: one record has another value in one column."""
    columns = [column.copy() for column in records.columns]
    columns[0][row] = (columns[0][row] + 1) % next(iter(records.schema)).size
    return Records(records.schema, columns)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "people.ledger", Fraction(10))


def fingerprint(records, key):
    return of_counts.fingerprint(CountedTables(records), key)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


# The fingerprint.


@given(row=st.integers(0, 399), key=st.binary(min_size=1, max_size=64))
def test_any_replaced_record_changes_it(records, row, key):
    assert fingerprint(records, key) == fingerprint(records, key)
    assert fingerprint(records, key) != fingerprint(replaced(records, row), key)


def test_it_depends_on_the_key_the_schema_and_the_number_of_records(records, schema):
    said = {fingerprint(records, KEY), fingerprint(records, b"\1" * 32)}
    *kept, _ = schema
    letters = ("A", "B", "C", "D")
    place = Categorical(name="place", categories=letters, outside="A", nulls="A")
    renamed = Schema([*kept, place])
    said.add(fingerprint(Records(renamed, records.columns), KEY))
    said.add(fingerprint(Records(schema, [column[:-1] for column in records.columns]), KEY))
    two = Schema(
        [Categorical(name=name, categories=("x", "y"), outside="x", nulls="x") for name in "ab"]
    )
    said.add(fingerprint(Records(two, [np.array([0, 1]), np.array([1, 1])]), KEY))
    said.add(fingerprint(Records(two, [np.array([0, 1]), np.array([0, 1])]), KEY))
    assert len(said) == 6


def test_the_order_of_the_records_makes_no_difference(records, schema):
    backwards = Records(schema, [column[::-1] for column in records.columns])
    assert fingerprint(backwards, KEY) == fingerprint(records, KEY)


def test_the_width_in_which_codes_came_makes_no_difference(records, schema):
    wide = Records(schema, [column.astype(np.int64) for column in records.columns])
    assert fingerprint(wide, KEY) == fingerprint(records, KEY)


# Ledgers.


def test_a_ledger_is_for_the_records_that_were_spent_on_first(records, ledger):
    Curator(records, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    for other in (replaced(records), Records(records.schema, [c[:-1] for c in records.columns])):
        with pytest.raises(
            LedgerError, match=r"people.ledger is the ledger of other data.*declare"
        ):
            Curator(other, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
        with pytest.raises(LedgerError, match="is the ledger of other data"):
            GaussianJoint(rho=RHO).fit(other, workload_of(records), ledger=ledger)
    Curator(records, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    assert ledger.spent == 2 * RHO
    lines = ledger.path.read_text().splitlines()
    kinds = ["fingerprint" if "fingerprint" in line else "rho" in line for line in lines[1:]]
    taken_back = [True, False] * 4
    assert kinds == [True, "fingerprint", *taken_back, True]


def test_two_that_begin_at_once_cannot_both_bind_a_ledger(records, ledger):
    first, second = (
        Curator(data, Budget.from_rho(1), ledger) for data in (records, replaced(records))
    )
    first.measure([female(records)], rho=RHO)
    with pytest.raises(LedgerError, match="is the ledger of other data"):
        second.measure([female(records)], rho=RHO)
    assert ledger.spent == RHO
    assert second.spent == 0


def test_a_correction_is_declared_and_stays_on_record(records, ledger):
    Curator(records, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    with pytest.raises(LedgerError, match="is for these records already"):
        ledger.declare_corrected(records, why="nothing")
    corrected = replaced(records)
    ledger.declare_corrected(corrected, why="a typing error\nin row 1", who="ada")
    with pytest.raises(LedgerError, match="is the ledger of other data"):
        Curator(records, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    Curator(corrected, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    said = Ledger.open(ledger.path).read()
    assert said.spent == 2 * RHO
    assert [(c.number, c.who, c.why) for c in said.corrections] == [
        (3, "ada", "a typing error\nin row 1")
    ]
    assert [entry.number for entry in said.entries] == [1, 6]
    assert said.fingerprints[None] not in repr(said)


def test_a_correction_that_is_cut_anywhere_is_ignored_or_counted_whole(records, ledger):
    Curator(records, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    kept = ledger.path.read_bytes()
    ledger.declare_corrected(replaced(records), why="torn", who="ada")
    whole = ledger.path.read_bytes()
    for cut in range(len(kept), len(whole)):
        ledger.path.write_bytes(whole[:cut])
        counted = cut == len(whole) - 1
        assert len(ledger.read().corrections) == counted
        ledger.spend(RHO, release="next")
        assert ledger.path.read_bytes().startswith(whole if counted else kept)


def test_a_ledger_of_the_first_build_is_bound_by_its_next_spend(records, tmp_path):
    old = Ledger(Path(shutil.copy(FIRST_BUILD, tmp_path)))
    assert not old.read().fingerprints
    assert len(old.identity) == 64
    Curator(records, Budget.from_rho(1), old).measure([female(records)], rho="1/8")
    with pytest.raises(LedgerError, match="is the ledger of other data"):
        Curator(replaced(records), Budget.from_rho(1), old).measure([female(records)], rho="1/8")
    old.declare_corrected(replaced(records), why="a test")
    Curator(replaced(records), Budget.from_rho(1), old).measure([female(records)], rho="1/8")
    assert old.remaining == 0


def test_ledgers_of_one_name_made_at_one_moment_differ(records, tmp_path, monkeypatch):
    monkeypatch.setattr("thresher.privacy.ledger._now", lambda: "2026-01-01T00:00:00+00:00")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = (Ledger.create(tmp_path / name / "l", Fraction(1)) for name in "ab")
    assert one.identity != other.identity
    counted = CountedTables(records)
    one.spend(RHO, release="first")
    other.spend(RHO, release="first")
    assert one.recognise(counted, 1) != other.recognise(counted, 1)


def test_no_message_and_no_release_has_a_fingerprint(records, ledger, tmp_path):
    workload = workload_of(records)
    release = GaussianJoint(rho=RHO).fit(
        records, workload, ledger=ledger, journal=tmp_path / "journal"
    )
    release.save(tmp_path / "release")
    text = (tmp_path / "journal" / "journal.jsonl").read_bytes().rstrip(b"\0")
    lines = map(json.loads, text.splitlines())
    *_, bound = (line["bound"] for line in lines if "bound" in line)
    secrets = {ledger.read().fingerprints[None], *bound.values()}
    assert ledger.identity in secrets
    assert len(secrets) == 4
    told = b"".join(path.read_bytes() for path in (tmp_path / "release").iterdir())
    assert [secret for secret in secrets if secret.encode() in told] == []
    with pytest.raises(LedgerError) as caught:
        Curator(replaced(records), Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    assert not any(secret in str(caught.value) for secret in secrets)


# Journals.


def female(records):
    return Query.where(records.schema, {"sex": "F"})


def workload_of(records):
    return Workload(records.schema, [Threshold(("sex",)), Threshold(("town", "job"))])


def interrupted(records, ledger, folder, calls=2):
    """Some calls of a fit that then stops."""
    with Journal(folder, {"fit": 1}) as journal:
        curator = Curator(records, Budget.from_rho(1), ledger, spent=journal.spent, journal=journal)
        wall = JournaledCurator(curator, journal)
        for _ in range(calls):
            wall.measure([female(records)], rho="1/4")


def test_other_records_and_another_ledger_do_not_go_on_with_a_journal(records, ledger, tmp_path):
    folder = tmp_path / "journal"
    interrupted(records, ledger, folder)
    (tmp_path / "elsewhere").mkdir()
    other = Ledger.create(tmp_path / "elsewhere" / "people.ledger", Fraction(10))
    free = Ledger.create(tmp_path / "free.ledger", Fraction(10))
    for data, book, why in [
        (replaced(records), None, "paid from another ledger"),
        (replaced(records), free, "paid from another ledger"),
        (records, other, "paid from another ledger"),
        (records, None, "paid from another ledger"),
    ]:
        with pytest.raises(ReleaseError, match=why):
            interrupted(data, book, folder, calls=3)
    assert other.spent == free.spent == 0
    interrupted(records, ledger, folder)
    assert ledger.spent == RHO


def test_a_copied_ledger_is_the_same_ledger(records, ledger, tmp_path):
    """A ledger may move; what counts is what it says, not where it is."""
    interrupted(records, ledger, tmp_path / "journal")
    moved = Ledger(Path(shutil.move(ledger.path, tmp_path / "moved")))
    interrupted(records, moved, tmp_path / "journal")
    assert moved.spent == RHO


def test_a_journal_of_the_first_build_is_bound_when_it_goes_on(records, tmp_path):
    shutil.copytree(Path(__file__).parent / "first_build_journal", tmp_path / "journal")
    about = {"mechanism": "by hand", "n": 400}
    for data in (records, replaced(records)):
        with Journal(tmp_path / "journal", about) as journal:
            wall = JournaledCurator(
                Curator(data, Budget.from_rho(2), spent=journal.spent, journal=journal), journal
            )
            wall._pending.clear()
            if data is records:
                wall.measure([female(records)], rho="1/8")
                continue
            with pytest.raises(ReleaseError, match="other data"):
                wall.measure([female(records)], rho="1/8")


# A refused fit leaves nothing behind.


def test_a_refused_fit_leaves_no_journal(records, ledger, tmp_path):
    folder, workload = tmp_path / "journal", workload_of(records)
    Curator(records, Budget.from_rho(1), ledger).measure([female(records)], rho=RHO)
    with pytest.raises(LedgerError, match="is the ledger of other data"):
        GaussianJoint(rho=RHO).fit(replaced(records), workload, ledger=ledger, journal=folder)
    assert not folder.exists()
    with pytest.raises(BudgetError):
        GaussianJoint(rho=11).fit(records, workload, ledger=ledger, journal=folder)
    assert not folder.exists()
    All0(rho=RHO).fit(records, workload, ledger=ledger, journal=folder)
    assert not folder.exists()


def test_a_call_that_the_ledger_refuses_leaves_no_journal(records, ledger, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise LedgerError("gone")

    monkeypatch.setattr(Ledger, "spend", refuse)
    with pytest.raises(LedgerError, match="gone"):
        GaussianJoint(rho=RHO).fit(
            records, workload_of(records), ledger=ledger, journal=tmp_path / "journal"
        )
    assert not (tmp_path / "journal").exists()


def test_a_folder_with_other_files_in_it_stays(records, tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir()
    (folder / "mine.txt").write_text("kept")
    All0(rho=RHO).fit(records, workload_of(records), journal=folder)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_whoever_waited_for_a_journal_that_is_removed_makes_another(tmp_path, monkeypatch):
    """Between opening the file and locking it, the process before may have removed it."""
    before = Journal(tmp_path / "journal", {})
    honest, calls = os.open, []

    def opened(path, *args, **named):
        descriptor = honest(path, *args, **named)
        if str(path).endswith("journal.jsonl"):
            calls.append(path)
            if len(calls) == 1:
                before.__exit__()
        return descriptor

    monkeypatch.setattr(os, "open", opened)
    with Journal(tmp_path / "journal", {}) as journal:
        journal.announce(Fraction(1), room=10)
    assert len(calls) == 2
    assert b"paying" in (tmp_path / "journal" / "journal.jsonl").read_bytes()


# Files that only their owner can read.


def test_ledger_and_journal_are_readable_by_their_owner_only(records, ledger, tmp_path):
    before = os.umask(0)
    try:
        made = Ledger.create(tmp_path / "open.ledger", Fraction(10))
        GaussianJoint(rho=RHO).fit(
            records, workload_of(records), ledger=made, journal=tmp_path / "journal"
        )
    finally:
        os.umask(before)
    assert mode(made.path) == 0o600
    assert mode(tmp_path / "journal") == 0o700
    files = list((tmp_path / "journal").iterdir())
    assert len(files) == 3
    assert {mode(path) for path in files} == {0o600}


def test_an_interrupted_fit_on_other_data_is_refused_as_a_user_would_meet_it(
    records, ledger, tmp_path
):
    rap = RAP(rho=RHO, rounds=2, queries_per_round=1, synthetic_rows=5)
    workload, folder = workload_of(records), tmp_path / "journal"
    rap.fit(records, workload, journal=folder)
    journal = folder / "journal.jsonl"
    text = journal.read_text().rstrip("\0")
    *kept, _, _ = text.splitlines(keepends=True)  # the last call is still to come
    journal.write_text("".join(kept))
    with pytest.raises(ReleaseError, match="is the journal of a fit on other data"):
        rap.fit(replaced(records), workload, journal=folder)
    assert "".join(kept) in journal.read_text()
    assert rap.fit(records, workload, journal=folder).spent == RHO
