"""A release on disk: whole or not at all, read back as it was, and nothing else is ever read."""

import errno
import itertools
import json
import math
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
from thresher.mechanisms import MECHANISMS, RAP, GaussianJoint, Residual
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


@pytest.fixture(scope="module")
def residual(records):
    return fitted(Residual(rho=2), records)


@pytest.fixture(params=["rap", "gaussian", "residual"])
def saved(request, tmp_path):
    """The folder of a release with rows, of one with tables, and of one with residuals."""
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
        assert np.array_equal(one.answers, same.answers)
        assert one.answers.shape == same.answers.shape
    assert again.source.kind == release.source.kind
    assert [f.name for f in (tmp_path / "a" / "new").iterdir()] == ["folder"]


def test_a_person_can_read_it(rap, tmp_path):
    rap.save(tmp_path / "release")
    about = json.loads((tmp_path / "release" / "release.json").read_text())
    assert about["promise"] == {"epsilon": 1.0, "delta": 1 / 300**2}
    assert about["budget"]["accounting"] == "gaussian"
    assert Fraction(about["spent"]) == rap.budget.rho
    assert about["secure_randomness"] is False
    assert about["schema"] == SCHEMA.fingerprint
    assert set(about["versions"]) >= {"thresher", "numpy"}
    lines = (tmp_path / "release" / "measurements.csv").read_text().splitlines()
    assert lines[0] == "query,noisy_count,sigma,noisy_share,table"


def test_nothing_but_public_things_is_in_it(saved):
    files = sorted(saved.iterdir())
    assert {file.name for file in files} <= {
        "release.json", "schema.json", "workload.json", "measurements.csv", "tables.npz",
        "rows.npz", "residuals.npz", "statement.json", "README.md",
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
    for place in ("file", "x" * 5000, "a\0b", "\x1b[31mred"):
        with pytest.raises(ReleaseError, match="is not a release") as caught:
            load(tmp_path / place)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("version", [0, 8, None, "1"])
def test_another_version(saved, version):
    edit(saved, lambda about: {**about, "version": version})
    with pytest.raises(
        ReleaseError, match=f"it is of version {version!r}; this thresher reads 1 to"
    ):
        load(saved)


def test_a_release_from_before_prediction_errors_were_stated(saved):
    edit(saved, lambda about: about.pop("miss") and None)
    assert load(saved).source.prediction_error is None


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ".", "", "./x"])
def test_files_outside_the_folder_are_not_looked_at(saved, name, monkeypatch):
    (saved.parent / "secret").write_text("x")
    edit(saved, lambda about: about["files"].update({name: "0" * 64}))
    looked = []
    honest = checksum_of
    monkeypatch.setattr(
        release_folder, "checksum_of", lambda path: looked.append(path) or honest(path)
    )
    with pytest.raises(ReleaseError, match=r"'files': has an unknown entry"):
        load(saved)
    assert all(path.resolve().parent == saved.resolve() for path in looked)


@pytest.mark.parametrize("name", ["schema.json", "workload.json", "measurements.csv"])
def test_a_file_that_is_read_must_be_listed(saved, name):
    edit(saved, lambda about: about["files"].pop(name) and None)
    with pytest.raises(ReleaseError, match=f"'files': lacks '{name}'"):
        load(saved)


def test_arrays_that_are_read_must_be_listed(saved):
    [path] = saved.glob("*.npz")
    edit(saved, lambda about: about["files"].pop(path.name) and None)
    with pytest.raises(ReleaseError, match=f"lists no {path.name}"):
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


def archive_of(path, name, shape, dtype, content):
    """An .npz file with one array, whose header says what it likes."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as file,
    ):
        file.write(b"\x93NUMPY\x01\x00\x76\x00" + header.encode())
        for block in content:
            file.write(block)


@pytest.fixture
def with_rows(rap, tmp_path):
    rap.save(tmp_path / "release")
    return tmp_path / "release"


def test_an_array_that_claims_to_be_enormous(with_rows):
    archive_of(with_rows / "rows.npz", "columns", (10, 99999999999999), "<f4", [b"1234"])
    edit(with_rows, lambda about: None)
    with pytest.raises(ReleaseError, match=r"which is not what the schema and release\.json say"):
        load(with_rows)


@pytest.mark.parametrize(
    ("shape", "words"),
    [((10, 8), "a larger array than release.json says"),
     ((10, 2_500_000), "a larger array than release.json says")],
)  # fmt: skip
def test_an_archive_that_inflates_to_more_than_the_rows_is_not_inflated(
    with_rows, monkeypatch, shape, words
):
    """100 MB of zeros in 100 KB, as the array itself or behind one of the right size."""
    archive_of(with_rows / "rows.npz", "columns", shape, "<f4", [bytes(10**6)] * 100)
    assert (with_rows / "rows.npz").stat().st_size < 150_000
    edit(with_rows, lambda about: None)
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # so nothing can be inflated
    with pytest.raises(ReleaseError, match=words):
        load(with_rows)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_is_compressed_as_numpy_does(with_rows, method):
    """A damaged stream of another kind raised an LZMAError."""
    path = with_rows / "rows.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("columns.npy", bytes(1000))
        start = archive.infolist()[0].header_offset + 30 + len("columns.npy")
    content = bytearray(path.read_bytes())
    content[start + 9 : start + 20] = b"\xff" * 11
    path.write_bytes(content)
    edit(with_rows, lambda about: None)
    with pytest.raises(ReleaseError, match="compressed in a way that numpy does not write"):
        load(with_rows)


def test_no_release_has_more_rows_than_usual_unless_its_settings_say_so(with_rows):
    count = release_folder.MOST_ROWS + 1
    np.savez(with_rows / "rows.npz", columns=np.tile(np.eye(5, 1, dtype=np.float32), (2, count)))
    for stated in (None, 12, "many", True, -1, 1e9):
        edit(with_rows, lambda about, n=stated: about["settings"].update(synthetic_rows=n))
        with pytest.raises(ReleaseError, match=r"shape .10, 10001. and type <f4"):
            load(with_rows)
    edit(with_rows, lambda about: about["settings"].update(synthetic_rows=count))
    assert load(with_rows).source.rows.count == count


def test_no_release_has_more_rows_than_the_memory_ceiling(with_rows):
    with zipfile.ZipFile(with_rows / "rows.npz", "a") as archive:
        archive.infolist()[0].file_size = 3 << 30
        archive._didModify = True
    edit(with_rows, lambda about: about["settings"].update(synthetic_rows=10**9))
    with pytest.raises(ReleaseError, match=r"holds 3\.0 GiB; thresher reads up to 2 GiB"):
        load(with_rows)


def test_an_archive_has_the_expected_arrays_only(saved):
    [path] = saved.glob("*.npz")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.npy", b"")
    edit(saved, lambda about: None)
    with pytest.raises(ReleaseError, match=f"{path.name} has other arrays than release.json says"):
        load(saved)


def test_tables_in_another_order_of_memory_are_the_same(gaussian, tmp_path):
    gaussian.save(tmp_path / "release")
    measured = {f"table{i}": m.counts for i, m in enumerate(gaussian.measurements)}
    np.savez(
        tmp_path / "release" / "tables.npz",
        **{name: np.asfortranarray(counts) for name, counts in measured.items()},
    )
    edit(tmp_path / "release", lambda about: None)
    for m, counts in zip(load(tmp_path / "release").measurements, measured.values(), strict=True):
        assert np.array_equal(m.counts, counts)


def table(sigma):
    return {"features": ["age", "to,wn"], "r": 2, "sigma": sigma}


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
    "a tolerance below 0": lambda about: {**about, "tolerance_of_r_of_k": -1.0},
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
    "n of 400 digits": lambda about: {**about, "n": 10**400},
    "n is true": lambda about: {**about, "n": True},
    "settings in a number": lambda about: {**about, "settings": 5},
    "versions in a list": lambda about: {**about, "versions": []},
    "versions in numbers": lambda about: {**about, "versions": {"numpy": 2}},
    "randomness in words": lambda about: {**about, "secure_randomness": "no"},
    "a sigma of 0": lambda about: {**about, "measured_tables": [table(0.0)]},
    "a sigma below 0": lambda about: {**about, "measured_tables": [table(-1.0)]},
    "a sigma that is no number": lambda about: {**about, "measured_tables": [table(math.nan)]},
    "an infinite sigma": lambda about: {**about, "measured_tables": [table(math.inf)]},
    "epsilon as a number": lambda about: about["budget"].update(epsilon=1.0),
    "epsilon without delta": lambda about: about["budget"].update(
        epsilon="1", delta=None, accounting="tight"
    ),
    "epsilon without its conversion": lambda about: about["budget"].update(
        epsilon="1", delta="1/90000", accounting=None
    ),
    "an enormous epsilon": lambda about: about["budget"].update(
        epsilon="1" + "0" * 400, delta="1/90000", accounting="tight"
    ),
    "a fraction that would take forever": lambda about: {**about, "spent": "1e-30000000"},
    "a fraction of 5,000 digits": lambda about: {**about, "spent": "1/" + "3" * 5000},
    "more spent than given": lambda about: {**about, "spent": "1000"},
    "another promise": lambda about: about["promise"].update(epsilon=0.001),
    "another delta": lambda about: about["promise"].update(delta=0.5),
    "half a character": lambda about: about["settings"].update(note="\ud800"),
    "half a character in a key": lambda about: about["settings"].update({"\ud800": 1}),
    "half a character in the mechanism": lambda about: {**about, "mechanism": "\ud800"},
    "an escape in the mechanism": lambda about: {**about, "mechanism": "\x1b[31mrap"},
    "an escape in a version": lambda about: {**about, "versions": {"numpy": "\x9b31m"}},
    "an escape in the date": lambda about: {**about, "created": "\x1b[31m"},
    "more queries than there are": lambda about: {**about, "measured_queries": 10**6},
    "no settings": lambda about: about.pop("settings") and {**about, "settings_": 0},
}


@pytest.mark.parametrize("name", CHANGES)
def test_forged_entries_are_clear_errors(saved, name):
    edit(saved, CHANGES[name])
    refused(saved)


def refused(folder):
    """A ReleaseError in one line that does nothing to a terminal."""
    with pytest.raises(ReleaseError, match="release") as caught:
        load(folder)
    assert str(caught.value).isprintable()


def test_an_integer_of_5000_digits(saved):
    path = saved / "release.json"
    path.write_text(path.read_text().replace('"n": 300', '"n": ' + "9" * 5000))
    refused(saved)


@pytest.mark.parametrize(
    ("entry", "value"),
    [("sigma", "0"), *itertools.product(
        ["sigma", "noisy_count"], ["nan", "inf", "-inf", "-1.5", "", "1e400", "0x1", "1_0"])],
)  # fmt: skip
def test_numbers_that_cannot_have_been_measured(with_rows, entry, value):
    row = {"query": "age=20", "noisy_count": "3", "sigma": "2.0", entry: value}
    forged = "query,noisy_count,sigma\r\n" + ",".join(row.values()) + "\r\n"
    (with_rows / "measurements.csv").write_text(forged)
    edit(with_rows, lambda about: {**about, "measured_queries": 1})
    refused(with_rows)


def rows_like(rap):
    honest = rap.source.rows.columns
    return {
        "all zero": np.zeros_like(honest),
        "complex": honest.astype(np.complex64),
        "of 64 bits": honest.astype(np.float64),
        "half": honest / 2,
        "one feature too much": np.concatenate([honest[:5] + honest[5:] / 2, honest[5:]]) / 1.5,
        "endless": np.where(honest > 0, np.inf, honest).astype(np.float32),
    }


@pytest.mark.parametrize("kind", ["all zero", "complex", "of 64 bits", "half",
                                  "one feature too much", "endless"])  # fmt: skip
def test_rows_that_are_no_probabilities(rap, with_rows, kind):
    np.savez(with_rows / "rows.npz", columns=rows_like(rap)[kind])
    edit(with_rows, lambda about: None)
    refused(with_rows)


def test_terminal_escapes_in_a_release_reach_no_terminal(with_rows):
    (with_rows / "measurements.csv").write_text(
        "query,noisy_count,sigma\nage=\x1b[31m20\x9b,1,1.0\n"
    )
    edit(with_rows, lambda about: None)
    refused(with_rows)
    (with_rows / "schema.json").write_text('{"format": "thresher-schema", "version": "\\u001b[2J"}')
    edit(with_rows, lambda about: None)
    refused(with_rows)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("measurements.csv", "query,noisy_count,sigma\nage=20,many,1.0\n"),
        ("measurements.csv", "query,noisy_count,sigma\nshoe=20,1,1.0\n"),
        ("measurements.csv", "query,noisy_count,sigma\nage=20\n"),
        ("measurements.csv", "query\nage=20\n"),
        ("measurements.csv", ""),
        ("measurements.csv", "query,noisy_count,sigma\n" + "x" * 131_073 + ",1,1.0\n"),
        ("measurements.csv", 'query,noisy_count,sigma\n"age=20,1,1.0\n'),
        ("workload.json", '{"thresholds": [{"features": ["age"], "r": ' + "1" * 5000 + "}]}"),
        ("measurements.csv", "query,noisy_count,sigma\nage=20," + "9" * 30 + ",1.0\n"),
        ("schema.json", "{}"),
        ("workload.json", "{}"),
        ("workload.json", '{"thresholds": [{"features": ["shoe"]}]}'),
    ],
)
def test_forged_files_are_clear_errors(saved, file, content):
    (saved / file).write_text(content)
    # Lines that follow those of single queries are for people, and are not read.
    edit(saved, lambda about: {**about, "measured_queries": max(1, about["measured_queries"])})
    refused(saved)


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
