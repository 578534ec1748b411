"""A release on disk: whole or not at all, read back as it was, and nothing else is ever read."""

import errno
import json
import os
import pickle
import shutil
import subprocess
import zipfile
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import thresher as th
from thresher.errors import ReleaseError
from thresher.mechanisms import MECHANISMS, RAP, GaussianJoint
from thresher.privacy import QueryMeasurement
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Threshold, Workload
from thresher.release import folder as release_folder
from thresher.release.document import checksum_of, seal_of
from thresher.release.folder import load
from thresher.schema import Schema
from thresher.schema.features import Categorical, IntegerRange

CANARY = "SECRET-7731"
SCHEMA = Schema(
    (
        IntegerRange(name="age", low=20, high=24, nulls=20),
        Categorical(name="to,wn", categories=("a\rb", 'q"', "{x}", "Ü", "line\nbreak"),
                    outside="Ü", nulls="Ü"),
    )
)  # fmt: skip
WORK = Workload(SCHEMA, [Threshold(("age", "to,wn")), Threshold(("to,wn",))])


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    towns = [*SCHEMA["to,wn"].labels, CANARY]
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 27, 300),
            "to,wn": rng.choice(towns, 300),
            f"note-{CANARY}": [CANARY] * 300,
        }
    )
    return th.read(people, SCHEMA)


def fitted(mechanism, records):
    return mechanism.fit(records, WORK, randomness=InsecureSeededRandomness(1))


@pytest.fixture(scope="module")
def rap(records):
    return fitted(RAP(epsilon=1, rounds=5, queries_per_round=4, synthetic_rows=8), records)


@pytest.fixture(scope="module")
def gaussian(records):
    return fitted(GaussianJoint(rho=2), records)


@pytest.fixture(params=["rap", "gaussian"])
def saved(request, tmp_path):
    """The folder of a release with rows, and of one with tables."""
    request.getfixturevalue(request.param).save(tmp_path / "release")
    return tmp_path / "release"


def edit(folder, change):
    """Change what release.json says, and make its checksums true again, as a forger would."""
    path = folder / "release.json"
    about = json.loads(path.read_text())
    for name in about["files"]:
        if (folder / name).is_file():
            about["files"][name] = checksum_of(folder / name)
    about = change(about) or about
    about["checksum"] = seal_of(about)
    path.write_text(json.dumps(about))


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_what_is_saved_is_what_is_loaded(name, records, tmp_path):
    settings = {"synthetic_rows": 5, "rounds": 2} if name == "rap" else {}
    release = fitted(MECHANISMS[name](epsilon="0.3", **settings), records)
    release.save(tmp_path / "a" / "new" / "folder")
    again = load(str(tmp_path / "a" / "new" / "folder"))
    for field in ("schema", "n", "workload", "mechanism", "settings", "budget", "spent",
                  "is_secure", "created", "versions", "epsilon", "delta"):  # fmt: skip
        assert getattr(again, field) == getattr(release, field), field
    for one, same in zip(release.measurements, again.measurements, strict=True):
        if isinstance(one, QueryMeasurement):
            assert one == same
            continue
        assert (one.threshold, one.sigma, one.n) == (same.threshold, same.sigma, same.n)
        assert np.array_equal(one.counts, same.counts)
        assert one.counts.dtype == same.counts.dtype
    assert again.source.kind == release.source.kind
    assert [f.name for f in (tmp_path / "a" / "new").iterdir()] == ["folder"]


def test_a_person_can_read_it(rap, tmp_path):
    rap.save(tmp_path / "release")
    about = json.loads((tmp_path / "release" / "release.json").read_text())
    assert about["promise"] == {"epsilon": 1.0, "delta": 1 / 300**2}
    assert about["budget"]["accounting"] == "tight"
    assert Fraction(about["spent"]) == rap.budget.rho
    assert about["secure_randomness"] is False
    assert about["schema"] == SCHEMA.fingerprint
    assert set(about["versions"]) >= {"thresher", "numpy"}
    lines = (tmp_path / "release" / "measurements.csv").read_text().splitlines()
    assert lines[0] == "query,noisy_count,sigma"


def test_nothing_but_public_things_is_in_it(saved):
    files = sorted(saved.iterdir())
    assert {file.name for file in files} <= {
        "release.json", "schema.json", "workload.json", "measurements.csv", "tables.npz",
        "rows.npz",
    }  # fmt: skip
    for file in files:
        assert CANARY.encode() not in file.read_bytes()
        if file.suffix == ".npz":
            with zipfile.ZipFile(file) as archive:
                assert all(CANARY.encode() not in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("damage", ["missing", "cut", "one bit", "empty", "longer"])
def test_every_file_is_guarded(saved, damage, tmp_path):
    for file in sorted(saved.iterdir()):
        copy = tmp_path / "copy"
        shutil.copytree(saved, copy)
        path, content = copy / file.name, bytearray(file.read_bytes())
        if damage == "missing":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "one bit":
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        elif damage == "empty":
            path.write_bytes(b"")
        else:
            path.write_bytes(content + b'{"a": 1}')
        with pytest.raises(ReleaseError, match="copy"):
            load(copy)
        shutil.rmtree(copy)


def test_every_byte_of_release_json_counts(saved):
    path = saved / "release.json"
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(whole), 200).tolist():
        content = bytearray(whole)
        content[at] = ord("7") if content[at] != ord("7") else ord("8")
        if json_value(content) == json.loads(whole):
            continue  # a blank between two entries
        path.write_bytes(content)
        with pytest.raises(ReleaseError):
            load(saved)
    path.write_bytes(whole)
    load(saved)


def json_value(content):
    try:
        return json.loads(bytes(content))
    except ValueError:
        return None


@pytest.mark.parametrize("content", [b"[]", b"{}", b"7", b"null", b"", b"\xff\xfe", b"[" * 10**5])
def test_a_foreign_folder(tmp_path, content):
    (tmp_path / "release.json").write_bytes(content)
    with pytest.raises(ReleaseError, match=str(tmp_path)):
        load(tmp_path)


def test_no_folder_at_all(tmp_path):
    with pytest.raises(ReleaseError, match=r"is not a release: it has no file release.json"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match="is not a release"):
        load(tmp_path / "file")


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_version(saved, version):
    edit(saved, lambda about: {**about, "version": version})
    with pytest.raises(ReleaseError, match=f"it is of version {version!r}; this thresher reads 1"):
        load(saved)


def test_a_release_from_before_misses_were_told(saved):
    edit(saved, lambda about: about.pop("miss") and None)
    assert getattr(load(saved).source, "miss", None) is None


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ".", "", "./x"])
def test_files_outside_the_folder_are_not_looked_at(saved, name, monkeypatch):
    (saved.parent / "secret").write_text("x")
    edit(saved, lambda about: about["files"].update({name: "0" * 64}))
    looked = []
    honest = checksum_of
    monkeypatch.setattr(
        release_folder, "checksum_of", lambda path: looked.append(path) or honest(path)
    )
    with pytest.raises(ReleaseError, match=r"outside the folder|is missing"):
        load(saved)
    assert all(path.resolve().parent == saved.resolve() for path in looked)


def test_a_file_that_is_read_must_be_listed(saved):
    for name in ("schema.json", "workload.json", "measurements.csv"):
        edit(saved, lambda about, name=name: about["files"].pop(name) and None)
        with pytest.raises(ReleaseError, match=f"lists no .*{name}"):
            load(saved)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("pwned",)


@pytest.mark.parametrize(
    "how", ["object array", "pickle in place of npy", "pickle in place of npz"]
)
def test_nothing_is_ever_unpickled(saved, how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [path] = saved.glob("*.npz")
    name = "columns" if path.name == "rows.npz" else "table0"
    if how == "object array":
        np.savez(path, **{name: np.array([Bomb()], dtype=object)}, allow_pickle=True)
    elif how == "pickle in place of npy":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}.npy", pickle.dumps(Bomb()))
    else:
        path.write_bytes(pickle.dumps(Bomb()))
    edit(saved, lambda about: None)
    with pytest.raises(ReleaseError, match="release"):
        load(saved)
    assert not (tmp_path / "pwned").exists()


def arrays(name):
    """Arrays that are not what they should be."""
    yield {}
    yield {name: np.zeros((3, 3), np.float32)}
    yield {name: np.zeros(0, np.float32)}
    yield {name: np.full((10, 8), np.nan, np.float32)}
    yield {name: np.full((10, 8), 2, np.float32)}
    yield {name: np.full((10, 8), -1, np.float64)}
    yield {name: np.array("text")}
    yield {name: np.full((10, 0), 1, np.float32)}
    yield {name: np.zeros((5, 5), np.int32)}
    yield {name: np.array(["2020-01-01"], dtype="datetime64[D]")}


def test_arrays_of_something_else(saved):
    [path] = saved.glob("*.npz")
    for wrong in arrays("columns" if path.name == "rows.npz" else "table0"):
        np.savez(path, **wrong)
        edit(saved, lambda about: None)
        with pytest.raises(ReleaseError):
            load(saved)


def test_an_array_that_claims_to_be_enormous(saved):
    [path] = saved.glob("*.npz")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (10, 99999999999999), }"
    header += b" " * (117 - len(header)) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        name = "columns" if path.name == "rows.npz" else "table0"
        archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00\x76\x00" + header + b"1234")
    edit(saved, lambda about: None)
    with pytest.raises(ReleaseError, match="damaged"):
        load(saved)


CHANGES = {
    "no n": lambda about: about.pop("n") and None,
    "n of 0": lambda about: {**about, "n": 0},
    "n in words": lambda about: {**about, "n": "many"},
    "n is infinite": lambda about: {**about, "n": float("inf")},
    "rho by zero": lambda about: about["budget"].update(rho="1/0"),
    "rho below zero": lambda about: about["budget"].update(rho="-1"),
    "no budget": lambda about: {**about, "budget": None},
    "spent in words": lambda about: {**about, "spent": "x"},
    "spent is a list": lambda about: {**about, "spent": []},
    "answers from elsewhere": lambda about: {**about, "answers_from": "the internet"},
    "answers from a list": lambda about: {**about, "answers_from": ["rows"]},
    "a miss below 0": lambda about: {**about, "miss": -0.1},
    "a miss that is no number": lambda about: {**about, "miss": float("nan")},
    "a miss in words": lambda about: {**about, "miss": "little"},
    "a largest table below 0": lambda about: {**about, "largest_fitted": -1},
    "a reach below 0": lambda about: {**about, "reach": -1.0},
    "a reach that is no number": lambda about: {**about, "reach": float("nan")},
    "another schema": lambda about: {**about, "schema": "0" * 64},
    "tables in words": lambda about: {**about, "measured_tables": "all"},
    "tables of what is not there": lambda about: {
        **about,
        "measured_tables": [{"features": ["shoe"], "r": 1, "sigma": 1.0}],
    },
    "tables without sigma": lambda about: {**about, "measured_tables": [{"features": ["age"]}]},
    "files in words": lambda about: {**about, "files": "all"},
    "files without names": lambda about: {**about, "files": None},
    "no settings": lambda about: about.pop("settings") and {**about, "settings_": 0},
}


@pytest.mark.parametrize("name", CHANGES)
def test_forged_entries_are_clear_errors(saved, name):
    edit(saved, CHANGES[name])
    with pytest.raises(ReleaseError, match="release"):
        load(saved)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("measurements.csv", "query,noisy_count,sigma\nage=20,many,1.0\n"),
        ("measurements.csv", "query,noisy_count,sigma\nshoe=20,1,1.0\n"),
        ("measurements.csv", "query,noisy_count,sigma\nage=20\n"),
        ("measurements.csv", "query\nage=20\n"),
        ("measurements.csv", "query,noisy_count,sigma\nage=20," + "9" * 30 + ",1.0\n"),
        ("schema.json", "{}"),
        ("workload.json", "{}"),
        ("workload.json", '{"thresholds": [{"features": ["shoe"]}]}'),
    ],
)
def test_forged_files_are_clear_errors(saved, file, content):
    (saved / file).write_text(content)
    edit(saved, lambda about: None)
    with pytest.raises(ReleaseError, match="release"):
        load(saved)


def test_what_stands_there_is_not_overwritten_unasked(rap, gaussian, tmp_path):
    rap.save(tmp_path / "release")
    with pytest.raises(ReleaseError, match=r"release exists: choose another name, or overwrite it"):
        gaussian.save(tmp_path / "release")
    assert load(tmp_path / "release").mechanism == "rap"
    gaussian.save(tmp_path / "release", overwrite=True)
    assert load(tmp_path / "release").mechanism == "gaussian_joint"
    assert not (tmp_path / "release" / "rows.npz").exists()
    assert [f.name for f in tmp_path.iterdir()] == ["release"]


def test_what_is_no_release_is_never_overwritten(rap, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("years of work")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("folder", "file", "link"):
        for overwrite in (False, True):
            with pytest.raises(ReleaseError, match=f"{name} exists: choose another name$"):
                rap.save(tmp_path / name, overwrite=overwrite)
    assert (tmp_path / "folder" / "thesis.txt").exists()
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("target", ["savez_compressed", "replace", "fsync", "mkdir", "dumps"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_full_disk_leaves_nothing_half_written(rap, tmp_path, monkeypatch, target, overwrite):
    folder = tmp_path / "here"
    folder.mkdir()
    if overwrite:
        rap.save(folder / "release")
    before = sorted(folder.rglob("*"))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    owner = {"savez_compressed": np, "dumps": json}.get(target, os)
    with monkeypatch.context() as patch:
        patch.setattr(owner, target, full)
        with pytest.raises(ReleaseError, match=r"release cannot be written: .*No space left"):
            rap.save(folder / "release", overwrite=overwrite)
    assert sorted(folder.rglob("*")) == before
    if overwrite:
        load(folder / "release")
    rap.save(folder / "release", overwrite=overwrite)
    load(folder / "release")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_is_really_full(rap, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(disk)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(ReleaseError, match=r"cannot be written: .*No space left"):
            rap.save(disk / "release")
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_interruption_leaves_the_old_release(rap, gaussian, tmp_path, monkeypatch):
    rap.save(tmp_path / "release")
    honest, calls = os.replace, []

    def interrupted(source, target):
        calls.append(target)
        if len(calls) == 3:  # release.json, the old release moved aside, the new one in its place
            raise KeyboardInterrupt
        honest(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gaussian.save(tmp_path / "release", overwrite=True)
    assert [f.name for f in tmp_path.iterdir()] == ["release"]
    assert load(tmp_path / "release").mechanism == "rap"


def test_a_place_that_cannot_be(rap, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match=r"cannot be written: Not a directory|File exists"):
        rap.save(tmp_path / "file" / "release")
    with pytest.raises(ReleaseError, match="File name too long"):
        rap.save(tmp_path / ("x" * 300))
