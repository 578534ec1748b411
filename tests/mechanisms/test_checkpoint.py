"""A fit that is killed late goes on from its last D': at most one fit is made again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from fractions import Fraction

import numpy as np
import pytest

from thresher.data.records import Records
from thresher.mechanisms import RAP, AdaptiveTables
from thresher.mechanisms.projector import Projector
from thresher.mechanisms.tuning import Grid, tune
from thresher.privacy import InsecureSeededRandomness
from thresher.privacy.access import Access
from thresher.queries import Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release import load
from thresher.tables import slabs_of

RHO = Fraction(5, 7)
GRID = Grid((1, 2, 4), (1, 2, 4))


@pytest.fixture
def pairs(schema):
    return Workload(schema, [Threshold(("age", "sex", "job")), Threshold(("sex", "town", "age"))])


def tables_of(records, workload, journal, **more):
    mechanism = AdaptiveTables(rho=RHO, rounds=8, synthetic_rows=20, workload_tables=False)
    return mechanism.fit(records, workload, journal=journal, **more)


def rap_of(records, workload, journal, **more):
    mechanism = RAP(rho=RHO, rounds=8, queries_per_round=2, synthetic_rows=20)
    return mechanism.fit(records, workload, journal=journal, **more)


def tuned_of(records, workload, journal, **more):
    rap = RAP(rho=RHO, synthetic_rows=20)
    return tune(records, workload, rap, grid=GRID, journal=journal, **more).release


def annealed_of(records, workload, journal, **more):
    mechanism = AdaptiveTables(rho=RHO, synthetic_rows=20, workload_tables=False)
    return mechanism.fit(records, workload, journal=journal, **more)


FITS = {"tables": tables_of, "annealed": annealed_of, "rap": rap_of, "tune": tuned_of}


class Counted:
    """Counts the fits of D', and stops at one of them."""

    def __init__(self, patch, stop=None):
        self.fits = 0
        honest = Projector.__call__

        def fitted(*args, **named):
            self.fits += 1
            if self.fits == stop:
                raise KeyboardInterrupt
            return honest(*args, **named)

        patch.setattr(Projector, "__call__", fitted)


def interrupted(fit, records, workload, journal, stop):
    with pytest.MonkeyPatch.context() as patch:
        Counted(patch, stop)
        with pytest.raises(KeyboardInterrupt):
            fit(records, workload, journal, randomness=InsecureSeededRandomness(7))


def resumed(fit, records, workload, journal):
    """The release, the number of fits, and what the user is told."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        counted = Counted(patch)
        release = fit(
            records, workload, journal, randomness=InsecureSeededRandomness(8),
            progress=lambda *words: told.append(words[2]),
        )  # fmt: skip
    return release, counted.fits, [words for words in told if "the journal has" in words]


def is_same(one, other):
    assert one.settings == other.settings
    assert one.source.parameters() == other.source.parameters()
    assert np.array_equal(one.source.rows.columns, other.source.rows.columns)
    assert len(one.measurements) == len(other.measurements)
    return True


@pytest.mark.parametrize("kind", FITS)
def test_interrupted_at_every_fit_none_is_made_again(kind, records, pairs, tmp_path):
    fit = FITS[kind]
    with pytest.MonkeyPatch.context() as patch:
        counted = Counted(patch)
        fit(records, pairs, tmp_path / "whole", randomness=InsecureSeededRandomness(7))
        fits = counted.fits
    assert fits >= (3 if kind == "annealed" else 8)
    for stop in {2, fits // 2, fits - 1, fits}:
        journal = tmp_path / f"stopped at {stop}"
        interrupted(fit, records, pairs, journal, stop)
        # The same journal without checkpoints: what a thresher without them would make of it.
        without = tmp_path / f"without {stop}"
        shutil.copytree(journal, without)
        for file in without.glob("fit*.npz"):
            file.unlink()
        release, again, notes = resumed(fit, records, pairs, journal)
        assert notes == []
        # A search, or what rounds find, may go on in another way, because the noise is new.
        assert again == fits - stop + 1 or kind in ("tune", "annealed")
        other, all_again, notes = resumed(fit, records, pairs, without)
        assert all_again == again + stop - 1
        assert notes == [
            "the journal has no checkpoint of D': D' is fitted again, from what was measured"
        ]
        assert is_same(release, other)
        # Finished, it is given once more without a fit.
        finished, again, notes = resumed(fit, records, pairs, journal)
        assert (again, notes) == (0, [])
        assert is_same(release, finished)


def test_a_resumed_search_compares_the_same_trials(records, pairs, tmp_path):
    """One of them measures all queries at once, and is fitted before the others."""
    every = Grid((1, 2), (4, pairs.query_count))
    seen, choose = [], Access.choose

    def stopped_at_first(self, workload, candidates, *, rho):
        [slab] = slabs_of(pairs[0].shape(pairs.schema))
        seen.append([candidate(pairs[0])(slab) for candidate in candidates])
        if len(seen) == 1:
            raise KeyboardInterrupt
        return choose(self, workload, candidates, rho=rho)

    def search():
        rap = RAP(rho=RHO, synthetic_rows=20)
        return tune(records, pairs, rap, search="grid", grid=every, journal=tmp_path / "journal")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Access, "choose", stopped_at_first)
        with pytest.raises(KeyboardInterrupt):
            search()
        search()
    assert len(seen[0]) == 4
    np.testing.assert_array_equal(seen[0], seen[1])


def late(records, workload, folder):
    """A journal of RAP that was interrupted in the last fit, and its last checkpoint."""
    interrupted(rap_of, records, workload, folder, 8)
    return folder / "fit0007.npz"


def rewritten(path, change, columns=None):
    with np.load(path) as arrays:
        about, kept = json.loads(arrays["about"].tobytes()), arrays["columns"]
    about.update(change)
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, about=text, columns=kept if columns is None else columns)


def swollen(path):
    """A few kilobytes that would become many megabytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.npy", b"\0" * 10)
        archive.writestr("columns.npy", b"\0" * (1 << 24))


DAMAGE = {
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: os.truncate(path, 0),
    "after other results": lambda path: rewritten(path, {"results": "00" * 16}),
    "after more calls": lambda path: rewritten(path, {"calls": 99}),
    "after fewer calls": lambda path: rewritten(path, {"calls": 2}),
    "a call before the first": lambda path: rewritten(path, {"calls": -1}),
    "of another fit": lambda path: rewritten(path, {"fit": 6}),
    "of another version": lambda path: rewritten(path, {"version": 1}),
    "of another thresher": lambda path: rewritten(path, {"thresher": "0.0.1"}),
    "of another kind": lambda path: rewritten(path, {"format": "thresher-release"}),
    "after more notes": lambda path: rewritten(path, {"notes": 1}),
    "kept nonsense": lambda path: rewritten(path, {"kept": "nonsense"}),
    "kept what is gone": lambda path: rewritten(path, {"kept": [1]}),
    "of another shape": lambda path: rewritten(path, {}, np.ones((3, 3), np.float32)),
    "no probabilities": lambda path: rewritten(path, {}, np.full((14, 20), 0.5, np.float32)),
    "not numbers": lambda path: rewritten(path, {}, np.full((14, 20), np.nan, np.float32)),
    "of objects": lambda path: rewritten(path, {}, np.full((14, 20), None)),
    "a bomb": swollen,
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "an earlier one is damaged": lambda path: os.truncate(path.with_name("fit0006.npz"), 9),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_checkpoint_that_cannot_be_used_is_said_and_costs_fits_only(
    damage, records, pairs, tmp_path
):
    path = late(records, pairs, tmp_path / "journal")
    # Before one of the last quarter of the rounds, D' is kept: it is judged by what comes then.
    assert sorted(file.name for file in path.parent.glob("fit*")) == ["fit0006.npz", path.name]
    other = tmp_path / "other"
    shutil.copytree(path.parent, other)
    DAMAGE[damage](path)
    release, again, notes = resumed(rap_of, records, pairs, path.parent)
    assert again == 8
    assert notes == [
        "the journal has a checkpoint of D' that cannot be used: D' is fitted again, from what was "
        "measured"
    ]
    intact, again, notes = resumed(rap_of, records, pairs, other)
    assert (again, notes) == (1, [])
    assert is_same(release, intact)


def calls_in(folder):
    """What each call cost that a journal has."""
    lines = (folder / "journal.jsonl").read_bytes().rstrip(b"\0").splitlines()
    return [line["rho"] for line in map(json.loads, lines) if "verb" in line]


@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize("stop", [2, 3])
def test_what_a_round_found_is_not_taken_from_a_checkpoint(found, stop, records, pairs, tmp_path):
    """A file that said that nothing was found ended a fit early, with large payments."""
    folder, changed = tmp_path / "journal", tmp_path / "changed"
    interrupted(annealed_of, records, pairs, folder, stop)
    shutil.copytree(folder, changed)
    before = calls_in(folder)
    for path in changed.glob("fit*.npz"):
        # What the last version had, and what this one has.
        rewritten(path, {"notes": [[found, 1.0, 1.0, 1]] * 9})
    intact, _, _ = resumed(annealed_of, records, pairs, folder)
    other, _, told = resumed(annealed_of, records, pairs, changed)
    assert len(told) == 1
    assert is_same(intact, other)
    assert calls_in(folder) == calls_in(changed)
    assert calls_in(folder)[: len(before)] == before


def test_a_checkpoint_of_another_journal_is_not_used(records, pairs, tmp_path):
    path = late(records, pairs, tmp_path / "journal")
    with pytest.MonkeyPatch.context() as patch:
        Counted(patch, 8)
        with pytest.raises(KeyboardInterrupt):
            rap_of(records, pairs, tmp_path / "other", randomness=InsecureSeededRandomness(9))
    for file in (tmp_path / "other").glob("fit*.npz"):
        shutil.copy(file, path.parent)
    _, again, notes = resumed(rap_of, records, pairs, path.parent)
    assert (again, len(notes)) == (8, 1)


def test_a_disk_without_room_for_checkpoints_stops_no_fit(records, pairs, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    release = rap_of(records, pairs, tmp_path / "journal")
    assert release.spent == RHO
    assert not list((tmp_path / "journal").glob("*fit*"))


def test_a_checkpoint_is_public_and_readable_by_its_owner_only(records, pairs, tmp_path):
    path = late(records, pairs, tmp_path / "journal")
    assert path.stat().st_mode & 0o777 == 0o600
    with np.load(path) as arrays:
        assert sorted(arrays) == ["about", "columns"]
        about = json.loads(arrays["about"].tobytes())
        rows = RelaxedRows(arrays["columns"], records.schema.sizes)
    assert rows.count == 20
    assert set(about) == {
        "format",
        "version",
        "thresher",
        "fit",
        "calls",
        "results",
        "kept",
        "notes",
    }
    key = json.loads((path.parent / "journal.jsonl").read_text().splitlines()[1])["bound"]["key"]
    assert key not in json.dumps(about)


def shuffled(records):
    """Other people: as many, of the same schema."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, size, records.n) for size in records.schema.sizes]
    return Records(records.schema, [column.astype(np.uint8) for column in columns])


class Uncounted(Records):
    """Records that nobody may count."""

    def counts(self, feature_sets, progress=None):
        raise AssertionError("counted, though nothing was paid")


def test_a_finished_journal_counts_no_record_and_says_so(records, pairs, tmp_path):
    """Otherwise a journal with a guess of all counts would be confirmed or refused, for nothing."""
    journal = tmp_path / "journal"
    whole = rap_of(records, pairs, journal, randomness=InsecureSeededRandomness(7))
    for data in (records, shuffled(records)):
        told = []
        unread = Uncounted(data.schema, [np.array(data.codes(name)) for name in data.schema.names])
        again = rap_of(unread, pairs, journal, progress=lambda *say, told=told: told.append(say[2]))
        [words] = told
        assert words.startswith("everything was paid for already, so no record was counted: the")
        assert is_same(whole, again)


KILLED = """
import os, signal, sys
import thresher as th
from thresher.mechanisms.projector import Projector

journal, out, stop = sys.argv[1], sys.argv[2], int(sys.argv[3])
fits, honest = 0, Projector.__call__

def fitted(*args, **named):
    global fits
    fits += 1
    if fits == stop:
        os.kill(os.getpid(), signal.SIGKILL)
    return honest(*args, **named)

Projector.__call__ = fitted
data = th.datasets.adult()
work = th.Workload.random(data.schema, k=2, size=12, seed=1)
mechanism = th.AdaptiveTables(epsilon=1.0, rounds=16, synthetic_rows=30, workload_tables=False)
release = mechanism.fit(
    data, work, journal=journal, randomness=th.InsecureSeededRandomness(3)
)
release.save(out)
print(fits)
"""


def test_a_process_that_is_killed_in_round_15_of_16_repeats_one_fit(tmp_path):
    def run(journal, out, stop):
        words = [sys.executable, "-c", KILLED, str(tmp_path / journal), str(tmp_path / out)]
        return subprocess.run([*words, str(stop)], capture_output=True, text=True, check=False)

    # One fit before the rounds, so the 16th is that of round 15.
    killed = run("journal", "release", 16)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    shutil.copytree(tmp_path / "journal", tmp_path / "without")
    for file in (tmp_path / "without").glob("fit*.npz"):
        file.unlink()
    done, other = run("journal", "release", 0), run("without", "other", 0)
    assert done.returncode == other.returncode == 0, done.stderr
    assert int(done.stdout) == 2, "the fit of round 15 is repeated, and that of round 16 is new"
    assert int(other.stdout) == 17
    one, same = load(tmp_path / "release"), load(tmp_path / "other")
    assert is_same(one, same)
    for left, right in zip(one.measurements, same.measurements, strict=True):
        assert np.array_equal(left.counts, right.counts)
