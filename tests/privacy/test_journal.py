"""Interrupted at any point, a fit goes on from its journal and never pays twice."""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from thresher.data.records import Records
from thresher.errors import BudgetError, LedgerError, ParameterError, ReleaseError
from thresher.mechanisms import RAP, GaussianJoint, GaussianPerQuery, Residual
from thresher.privacy import Budget
from thresher.privacy.curator import Curator
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.ledger import Ledger
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Query, Threshold, Workload
from thresher.schema import Categorical, Schema

RHO = Fraction(5, 7)
RAPS = {
    selection: RAP(rho=RHO, rounds=3, queries_per_round=2, synthetic_rows=10, selection=selection)
    for selection in ("oneshot", "iterative")
}
CALLS = {"oneshot": 6, "iterative": 9}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger", Fraction(10))


def run(mechanism, records, workload, tmp_path, ledger, **more):
    return mechanism.fit(records, workload, ledger=ledger, journal=tmp_path / "journal", **more)


def results_in(tmp_path):
    path = tmp_path / "journal" / "journal.jsonl"
    if not path.exists():
        return []
    text = path.read_bytes().rstrip(b"\0")
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if "verb" in line]


class Interruption:
    """Raises at the given call of a method, before or after what the method does."""

    def __init__(self, owner, names, call, when, fault):
        self.call, self.when, self.fault, self.calls = call, when, fault, 0
        self.patch = pytest.MonkeyPatch()
        for name in names:
            self.patch.setattr(owner, name, self.around(getattr(owner, name)))

    def around(self, honest):
        def interrupted(*args, **named):
            mine, self.calls = self.calls, self.calls + 1
            if mine == self.call and self.when == "before":
                raise self.fault
            result = honest(*args, **named)
            if mine == self.call and self.when == "after":
                raise self.fault
            return result

        return interrupted

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.patch.undo()


POINTS = {
    "before it is announced": (Journal, ["announce"], "before"),
    "announced, not paid": (Journal, ["announce"], "after"),
    "paid in the ledger": (Ledger, ["spend"], "after"),
    "paid, not recorded": (Journal, ["record"], "before"),
    "recorded": (Journal, ["record"], "after"),
}
LOSES = {"announced, not paid", "paid in the ledger", "paid, not recorded"}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("selection", RAPS)
def test_interrupted_at_every_call_and_point(point, selection, records, workload, tmp_path_factory):
    owner, names, when = POINTS[point]
    for call in range(CALLS[selection]):
        folder = tmp_path_factory.mktemp("fit")
        ledger = Ledger.create(folder / "ledger", Fraction(1))
        with (
            Interruption(owner, names, call, when, KeyboardInterrupt()),
            pytest.raises(KeyboardInterrupt),
        ):
            run(RAPS[selection], records, workload, folder, ledger)
        before, paid = results_in(folder), ledger.spent
        lost = point in LOSES
        assert len(before) == call + (point == "recorded")
        release = run(RAPS[selection], records, workload, folder, ledger)
        after = results_in(folder)
        assert after[: len(before)] == before
        # What is replayed is what was paid for, and the release holds it.
        counts = [c for result in after if result["verb"] == "measure" for c in result["counts"]]
        assert [m.count for m in release.measurements] == counts
        queries = [q for result in after if result["verb"] == "select" for q in result["queries"]]
        told = [m.query.text(records.schema) for m in release.measurements]
        assert told == queries[: len(told)]
        assert release.spent == RHO
        if point == "announced, not paid":
            assert ledger.spent < RHO
        else:
            assert ledger.spent == RHO
        kept = sum(Fraction(result["rho"]) for result in before)
        assert paid == kept if not lost or point == "announced, not paid" else paid > kept
        # Only a loss of the very last measurement leaves nothing to measure with again.
        last = call == CALLS[selection] - 1
        assert len(counts) == (4 if lost and last else 6)


@pytest.mark.parametrize("point", sorted(LOSES))
def test_a_lost_payment_is_counted_and_the_rest_shrinks_evenly(
    point, records, workload, tmp_path, ledger
):
    owner, names, when = POINTS[point]
    with (
        Interruption(owner, names, 2, when, KeyboardInterrupt()),
        pytest.raises(KeyboardInterrupt),
    ):
        run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    amounts = [Fraction(result["rho"]) for result in results_in(tmp_path)]
    # Six equal payments were planned, the third was lost, so three parts are paid by four calls.
    assert amounts == [RHO / 6] * 2 + [RHO / 6 * Fraction(3, 4)] * 4


def test_interrupted_again_and_again(records, workload, tmp_path, ledger):
    """Every run loses one payment and gets one call further."""
    for call in range(4):
        with (
            Interruption(Journal, ["record"], 1, "before", KeyboardInterrupt()),
            pytest.raises(KeyboardInterrupt),
        ):
            run(RAPS["oneshot"], records, workload, tmp_path, ledger)
        assert len(results_in(tmp_path)) == call + 1
    release = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert ledger.spent == release.spent == RHO


@pytest.mark.parametrize("kind", [GaussianJoint, GaussianPerQuery, Residual])
def test_tables_are_kept_and_replayed(kind, records, workload, tmp_path, ledger):
    mechanism = kind(rho=RHO)
    release = run(mechanism, records, workload, tmp_path, ledger)
    again = run(mechanism, records, workload, tmp_path, ledger)
    assert ledger.spent == RHO
    assert len(ledger.entries) == 1
    for one, same in zip(release.measurements, again.measurements, strict=True):
        assert one.threshold == same.threshold
        assert one.sigma == same.sigma
        assert np.array_equal(one.answers, same.answers)


def test_contrasts_of_another_size_are_not_replayed(records, workload, tmp_path, ledger):
    run(Residual(rho=RHO), records, workload, tmp_path, ledger)
    [path] = (tmp_path / "journal").glob("*.npy")
    np.save(path, np.load(path)[1:])
    with pytest.raises(ReleaseError, match="damaged, or of another run"):
        run(Residual(rho=RHO), records, workload, tmp_path, ledger)


@pytest.mark.parametrize("kind", [GaussianJoint, Residual])
def test_where_everything_was_lost_there_is_nothing_to_go_on_with(
    kind, records, workload, tmp_path, ledger
):
    mechanism = kind(rho=RHO)
    with (
        Interruption(Journal, ["record"], 0, "before", KeyboardInterrupt()),
        pytest.raises(KeyboardInterrupt),
    ):
        run(mechanism, records, workload, tmp_path, ledger)
    for _ in range(2):
        with pytest.raises(BudgetError, match="paid its whole budget when its results were lost"):
            run(mechanism, records, workload, tmp_path, ledger)
    assert ledger.spent == RHO


def test_non_adaptive_rap_is_kept_too(records, schema, tmp_path, ledger):
    work = Workload(schema, [Threshold(("sex", "job")), Threshold(("town", "sex"), r=1)])
    rap = RAP(rho=RHO, rounds=1, queries_per_round=work.query_count, synthetic_rows=5)
    release = run(rap, records, work, tmp_path, ledger)
    again = run(rap, records, work, tmp_path, ledger)
    assert np.array_equal(release.source.rows.columns, again.source.rows.columns)
    assert ledger.spent == RHO


def test_a_replayed_fit_is_the_same_fit(records, workload, tmp_path, ledger):
    release = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    again = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert np.array_equal(release.source.rows.columns, again.source.rows.columns)
    assert again.spent == ledger.spent == RHO


@pytest.mark.parametrize("fault", [LedgerError("gone"), BudgetError("spent"), ParameterError("x")])
def test_what_is_refused_unpaid_is_not_lost(fault, records, workload, tmp_path, ledger):
    with Interruption(Curator, ["_carry_out"], 3, "before", fault), pytest.raises(type(fault)):
        run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    release = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert ledger.spent == release.spent == RHO
    assert len(release.measurements) == 6


def test_what_fails_after_it_was_paid_is_lost(records, workload, tmp_path, ledger):
    with (
        Interruption(Curator, ["_carry_out"], 3, "after", ParameterError("x")),
        pytest.raises(ParameterError),
    ):
        run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    paid = ledger.spent
    release = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert paid == 4 * RHO / 6
    assert ledger.spent == release.spent == RHO


@pytest.mark.parametrize("name", [*RAPS, "tables"])
def test_on_a_full_disk_nothing_is_paid(name, records, workload, tmp_path, ledger, monkeypatch):
    mechanism = RAPS.get(name, GaussianJoint(rho=RHO))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(ReleaseError, match=r"No space left on device. Nothing was paid for"):
            run(mechanism, records, workload, tmp_path, ledger)
    assert ledger.spent == 0
    assert run(mechanism, records, workload, tmp_path, ledger).spent == ledger.spent == RHO


def test_a_real_limit_on_file_sizes(records, workload, tmp_path, ledger):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, limits[1]))
        with pytest.raises(ReleaseError, match=r"File too large. Nothing was paid for"):
            run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert ledger.spent == 0
    assert run(RAPS["oneshot"], records, workload, tmp_path, ledger).spent == RHO


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_is_really_full(records, workload, tmp_path, ledger):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        rap = RAP(rho=RHO, rounds=20, queries_per_round=2, synthetic_rows=5)
        with pytest.raises(ReleaseError, match=r"No space left on device. Nothing was paid for"):
            run(rap, records, workload, disk, ledger)
        kept = results_in(disk)
        assert kept
        assert ledger.spent == sum(Fraction(result["rho"]) for result in kept) < RHO
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_io_error_while_recording_is_told(records, workload, tmp_path, ledger):
    broken = OSError(errno.EIO, os.strerror(errno.EIO))
    with (
        Interruption(Journal, ["record"], 3, "before", broken),
        pytest.raises(ReleaseError, match=r"Input/output error. What was paid for last is lost"),
    ):
        run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert run(RAPS["oneshot"], records, workload, tmp_path, ledger).spent == ledger.spent == RHO


def test_without_posix_fallocate_zeros_are_written(
    records, workload, tmp_path, ledger, monkeypatch
):
    monkeypatch.delattr(os, "posix_fallocate")
    run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert run(RAPS["oneshot"], records, workload, tmp_path, ledger).spent == ledger.spent == RHO


def test_the_journal_of_another_fit_is_refused(records, schema, workload, tmp_path, ledger):
    run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    others = [
        (RAPS["iterative"], workload, ledger),
        (RAP(rho=RHO / 2, rounds=3, queries_per_round=2, synthetic_rows=10), workload, ledger),
        (RAP(rho=RHO, rounds=3, queries_per_round=2, synthetic_rows=11), workload, ledger),
        (GaussianJoint(rho=RHO), workload, ledger),
        (RAPS["oneshot"], workload[:2], ledger),
        (RAPS["oneshot"], workload, None),
    ]
    for mechanism, work, book in others:
        with pytest.raises(ReleaseError, match="is the journal of another fit"):
            run(mechanism, records, work, tmp_path, book)
    assert ledger.spent == RHO


def damaged(lines):
    """Ways in which a journal can be wrong, by name."""
    yield "not JSON", [lines[0], "{"]
    yield "not an object", [*lines, "7"]
    yield "a result that nobody announced", [lines[0], *lines[2:]]
    yield (
        "another amount than announced",
        [
            *lines[:2],
            json.dumps({**json.loads(lines[2]), "rho": "1/100"}),
        ],
    )
    yield "no amount", [*lines[:2], json.dumps({"verb": "select", "queries": []})]
    yield "an amount below zero", [lines[0], json.dumps({"paying": "-1"})]
    yield "not a number", [lines[0], json.dumps({"paying": "x"})]
    yield "by zero", [lines[0], json.dumps({"paying": "1/0"})]
    yield "no queries", [*lines[:2], json.dumps({"verb": "select", "rho": str(RHO / 6)})]
    yield (
        "queries of another schema",
        [
            *lines[:2],
            json.dumps({"verb": "select", "rho": str(RHO / 6), "queries": ["colour=red"]}),
        ],
    )
    measure = json.loads(lines[4])
    yield "fewer sigmas", [*lines[:4], json.dumps({**measure, "sigmas": [1.0]})]
    yield "fewer counts", [*lines[:4], json.dumps({**measure, "counts": []})]
    yield "a binding without a key", [lines[0], json.dumps({"bound": {"records": "", "ledger": 1}})]
    yield (
        "a key that is none",
        [lines[0], json.dumps({"bound": {"key": "x", "records": "", "ledger": 1}})],
    )
    yield (
        "a key that is too long",
        [lines[0], json.dumps({"bound": {"key": "00" * 65, "records": "", "ledger": 1}})],
    )
    yield "a deep nest", [lines[0], "[" * 100_000]
    yield "other calls", [*lines[:2], json.dumps({**measure, "rho": str(RHO / 6)})]


def test_a_damaged_journal_is_refused(records, workload, tmp_path, ledger):
    run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    path = tmp_path / "journal" / "journal.jsonl"
    lines = path.read_bytes().rstrip(b"\0").decode().splitlines()
    first, *others = (line for line in lines if "bound" not in json.loads(line))
    assert len(lines) - len(others) == 3
    for name, wrong in damaged([first, *others]):
        path.write_text("\n".join(wrong) + "\n")
        with pytest.raises(ReleaseError) as refused:
            run(RAPS["oneshot"], records, workload, tmp_path, ledger)
        assert "damaged" in str(refused.value) or "does not fit this run" in str(refused.value), (
            name
        )
    assert ledger.spent == RHO


def test_a_torn_last_line_was_never_finished(records, workload, tmp_path, ledger):
    release = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    path = tmp_path / "journal" / "journal.jsonl"
    text = path.read_bytes().rstrip(b"\0")
    path.write_bytes(text[: text.rfind(b"\n", 0, -1) + 20] + b"\0" * 100)
    again = run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    # The last measurement is lost, and the five calls before it are not.
    assert [m.query for m in again.measurements] == [m.query for m in release.measurements][:4]
    assert ledger.spent == again.spent == RHO


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b'{"format": "thresher-jour'])
def test_a_journal_that_was_only_begun_is_begun_again(content, records, workload, tmp_path, ledger):
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "journal.jsonl").write_bytes(content)
    assert run(RAPS["oneshot"], records, workload, tmp_path, ledger).spent == RHO


@pytest.mark.parametrize("damage", ["missing", "cut", "pickled", "another shape"])
def test_a_damaged_table_is_refused(damage, records, workload, tmp_path, ledger):
    mechanism = GaussianJoint(rho=RHO)
    run(mechanism, records, workload, tmp_path, ledger)
    path = tmp_path / "journal" / "call0000-1.npy"
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:90])
    elif damage == "pickled":
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    else:
        np.save(path, np.zeros((2, 2), dtype=np.int64))
    with pytest.raises(ReleaseError, match="damaged, or of another run"):
        run(mechanism, records, workload, tmp_path, ledger)


def test_two_processes_do_not_share_a_journal(records, workload, tmp_path, ledger):
    with Journal(tmp_path / "journal", {}), pytest.raises(ReleaseError, match="is in use"):
        Journal(tmp_path / "journal", {})
    with Journal(tmp_path / "journal", {}) as free:
        assert free.spent == 0


def test_a_journal_where_none_can_be(records, workload, tmp_path, ledger):
    (tmp_path / "journal").write_text("a file")
    with pytest.raises(ReleaseError, match="cannot be used"):
        run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert ledger.spent == 0


KILLED = """
import os, signal, sys
from fractions import Fraction
import numpy as np
from thresher.data.records import Records
from thresher.schema.features import Categorical
from thresher.mechanisms import RAP
from thresher.privacy import journal
from thresher.privacy.ledger import Ledger
from thresher.queries import Workload
from thresher.schema import Schema

folder, function, call = sys.argv[1], sys.argv[2], int(sys.argv[3])
calls = 0

def killing(honest):
    def killed(*args, **named):
        global calls
        calls += 1
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(*args, **named)
    return killed

for owner in (os, journal.Curator):
    if hasattr(owner, function):
        setattr(owner, function, killing(getattr(owner, function)))
names = [chr(97 + i) for i in range(3)]
schema = Schema(Categorical(name=name, categories=("x", "y", "z"), outside="x", nulls="x")
                for name in names)
rng = np.random.default_rng(0)
records = Records(schema, [rng.integers(0, 3, 100).astype(np.uint8) for _ in names])
rap = RAP(rho="5/7", rounds=3, queries_per_round=2, synthetic_rows=5)
ledger = Ledger.open(folder + "/ledger")
release = rap.fit(records, Workload.all(schema, 2), ledger=ledger, journal=folder + "/journal")
print(len(release.measurements))
"""


@pytest.mark.parametrize(("function", "call"), [("pwrite", 4), ("fsync", 9), ("_carry_out", 4)])
def test_killed_at_once_by_the_system(function, call, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    words = [sys.executable, "-c", KILLED, str(tmp_path), function]
    killed = subprocess.run([*words, str(call)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert ledger.spent < RHO
    done = subprocess.run([*words, "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 6
    assert RHO - RHO / 6 <= ledger.spent <= RHO


def test_a_seeded_replay_pays_the_rest_only(records, workload, tmp_path, ledger):
    with (
        Interruption(Journal, ["announce"], 3, "before", KeyboardInterrupt()),
        pytest.raises(KeyboardInterrupt),
    ):
        run(RAPS["oneshot"], records, workload, tmp_path, ledger)
    assert ledger.spent == RHO / 2
    release = run(
        RAPS["oneshot"], records, workload, tmp_path, ledger,
        randomness=InsecureSeededRandomness(0),
    )  # fmt: skip
    assert ledger.spent == release.spent == RHO


FIRST_BUILD = Path(__file__).parent / "first_build_journal"
"""A journal that the first build wrote: each verb, and a last call that was paid for and lost."""


def calls_of_the_first_build(wall, schema):
    """The calls behind that journal; two more than it has."""
    work = Workload(
        schema, [Threshold(("town", "job"), r=1), Threshold(("sex", "age")), Threshold(("town",))]
    )
    rho, female = Fraction(1, 8), Query.where(schema, {"sex": "F"})

    def always(value):
        return lambda _: lambda slab: np.full(slab.shape, value)

    yield [query.text(schema) for query in wall.select(work, always(0.0), 2, rho=rho)]
    yield wall.select_table([work[2], work[1]], always(0.0), [0, 3], rho=rho)
    query, table = wall.measure([female, work[2]], rho=rho)
    yield query.count, table.counts.tolist(), round(table.sigma, 6)
    yield wall.choose(work, [always(0.5), always(0.0)], rho=rho)
    [table] = wall.measure([work[0]], rho=rho, jointly=False)
    yield table.counts[1].tolist()
    yield [m.query for m in wall.measure([female], rho=rho)] == [female]
    yield [m.query for m in wall.measure([female], rho=rho)] == [female]


def test_a_journal_of_the_first_build_resumes(records, schema, tmp_path):
    shutil.copytree(FIRST_BUILD, tmp_path / "journal")
    with Journal(tmp_path / "journal", {"mechanism": "by hand", "n": 400}) as journal:
        assert (journal.spent, journal.lost) == (Fraction(6, 8), Fraction(1, 8))
        curator = Curator(records, Budget.from_rho(1), spent=journal.spent, journal=journal)
        said = list(calls_of_the_first_build(JournaledCurator(curator, journal), schema))
    assert said == [
        ["any of: town=B, job=part", "any of: town=B, job=none"],
        Threshold(("town",)),
        (226, [79, 183, 67, 73], 3.464102),
        0,
        [265, 270, 229],
        True,
        True,
    ]
    # Three eighths were planned for, two are left; each further call costs two thirds.
    assert curator.spent == Fraction(6, 8) + 2 * Fraction(1, 8) * Fraction(2, 3)


def test_a_journal_of_the_first_build_needs_a_ledger_that_saw_its_spending(records, tmp_path):
    shutil.copytree(FIRST_BUILD, tmp_path / "journal")
    ledger = Ledger.create(tmp_path / "fresh.ledger", Fraction(1))
    with Journal(tmp_path / "journal", {"mechanism": "by hand", "n": 400}) as journal:
        curator = Curator(records, Budget.from_rho(1), ledger, spent=journal.spent, journal=journal)
        with pytest.raises(ReleaseError, match="the ledger that it began with"):
            JournaledCurator(curator, journal)


def test_a_setting_of_the_first_build_goes_by_its_present_name(tmp_path):
    about = {"mechanism": "tables", "settings": {"rounds": 2, "own_tables": True}}
    with Journal(tmp_path / "journal", about) as journal:
        journal.announce(Fraction(1, 8), room=0)
    present = {"mechanism": "tables", "settings": {"rounds": 2, "workload_tables": True}}
    with Journal(tmp_path / "journal", present) as journal:
        assert journal.lost == Fraction(1, 8)
    with pytest.raises(ReleaseError, match="journal of another fit"):
        Journal(tmp_path / "journal", {**present, "mechanism": "rap"})


@pytest.mark.parametrize("first", [Threshold(("a",)), Threshold(("a", "b"))])
def test_counts_are_replayed_for_what_was_measured_only(first, tmp_path):
    """The counts of one table were shown as those of another of the same shape."""
    values = ("0", "1")
    schema = Schema(
        Categorical(name=name, categories=values, outside="0", nulls="0") for name in "abc"
    )
    records = Records(schema, [np.array([0, 1, 1], dtype=np.uint8)] * 3)

    def measured(target):
        with Journal(tmp_path / "journal", {"fit": 1}) as journal:
            curator = Curator(records, Budget.from_rho(1), spent=journal.spent, journal=journal)
            return JournaledCurator(curator, journal).measure([target], rho="1/2")[0]

    kept = measured(first)
    assert measured(first).counts.tolist() == kept.counts.tolist()
    with pytest.raises(ReleaseError, match="which makes other calls"):
        measured(Threshold(("c",) if first.k == 1 else ("b", "a")))
