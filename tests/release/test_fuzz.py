"""Release folders that are forged or damaged at random: they load, or raise a ReleaseError.

THRESHER_FUZZ=100 runs a hundred times as many examples.
"""

import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import thresher as th
from thresher.errors import ReleaseError
from thresher.release.document import checksum_of, seal_of
from thresher.report import release_page

OLD = Path(__file__).parent / "first_build"
FOLDERS = [path for path in sorted(OLD.iterdir()) if path.is_dir()]
EXAMPLES = 60 * int(os.environ.get("THRESHER_FUZZ", "1"))
THOROUGH = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([0, -1, 1e308, 10**400, "1/0", "1e-30000000", "\ud800", "\x1b[2J", "9" * 5000,
                       "rows", "tables", "rows and tables", "zeros", "age", "town"])
)  # fmt: skip
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS)


def places(value):
    """All containers in a document with each of their keys."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield value, key
        if isinstance(entry, dict | list):
            yield from places(entry)


def mutate_json(data, path):
    document = json.loads(path.read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        everywhere = list(places(document))
        if not everywhere:
            break
        container, key = data.draw(st.sampled_from(everywhere))
        if data.draw(st.booleans()):
            container[key] = data.draw(VALUES)
        else:
            del container[key]
    path.write_text(json.dumps(document))


def mutate_bytes(data, path):
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        how = data.draw(st.sampled_from(["cut", "insert", "replace"]))
        some = data.draw(st.binary(max_size=6))
        if how == "cut":
            del content[at : at + data.draw(st.integers(1, 50))]
        else:
            content[at : at + (len(some) if how == "replace" else 0)] = some
    path.write_bytes(content)


def mutate_archive(data, path):
    """Bytes of an array that is packed into the archive again, so that zip's checksums hold."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    name = data.draw(st.sampled_from(sorted(entries)))
    content = bytearray(entries[name])
    at = data.draw(st.integers(0, min(len(content), 300)))
    content[at : at + 2] = data.draw(st.binary(max_size=4))
    with zipfile.ZipFile(path, "w") as archive:
        for entry, packed in entries.items():
            archive.writestr(entry, bytes(content) if entry == name else packed)


def swap(data, path):
    others = [file for folder in FOLDERS for file in sorted(folder.iterdir())]
    path.write_bytes(data.draw(st.sampled_from(others)).read_bytes())


def remove(data, path):
    path.unlink()


def seal(folder):
    """Make the checksums true again, as a forger would."""
    path = folder / "release.json"
    try:
        about = json.loads(path.read_text())
        for name in about["files"]:
            if (folder / name).is_file():
                about["files"][name] = checksum_of(folder / name)
        about["checksum"] = seal_of(about)
        path.write_text(json.dumps(about))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass  # what cannot be sealed is left as it is


def mutate(data, folder):
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    ways = [mutate_bytes, swap, remove]
    ways += [mutate_json] * 5 if path.suffix == ".json" else []
    ways += [mutate_archive] * 3 if path.suffix == ".npz" else []
    data.draw(st.sampled_from(ways))(data, path)


def loaded(folder):
    """The release, or the words why there is none."""
    try:
        return th.load(folder), ""
    except ReleaseError as fault:
        return None, str(fault)


@THOROUGH
@given(st.data())
def test_a_mutated_folder_loads_or_is_refused_in_one_line(data):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "release"
        shutil.copytree(data.draw(st.sampled_from(FOLDERS)), folder)
        mutate(data, folder)
        if data.draw(st.integers(0, 9)):
            seal(folder)
        release, words = loaded(folder)
        assert words.isprintable()
        if release is None:
            return
        # What loads can be used: it says what it is, answers, and makes a page.
        assert repr(release)
        assert release_page(release).startswith("<!DOCTYPE html>")
        release.save(Path(place) / "again")
        th.load(Path(place) / "again")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_sealed_folder_that_nobody_mutated_loads(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "release")
    seal(tmp_path / "release")
    assert th.load(tmp_path / "release").n == 300
