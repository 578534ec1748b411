"""Checkpoints: the D' of every fit is kept beside the journal, so that no fit is made again.

A fit that is resumed runs from the start, and the journal answers the calls that were paid for. To
these, D' does not matter; so the fits between them can be left out, up to the last one whose D' is
on disk. A checkpoint names the calls that it comes after by a digest of their results. One that
does not agree with the journal, or cannot be read, is not used: D' is then fitted again.

A checkpoint is a file `fit0012.npz` (after the 12th fit) with two arrays: `columns`, D' itself, and
`about`, a JSON text as bytes. Both follow from the results of paid calls, so they are public. What
is paid for does not depend on D' but through `noted` numbers. These stand in the journal, and are
part of the digest.
"""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from thresher.errors import ThresherError
from thresher.privacy.journal import JournaledCurator
from thresher.relaxed.rows import RelaxedRows
from thresher.release.arrays import Expected, read_arrays
from thresher.release.folder import DAMAGE, checked_rows

FORMAT, VERSION = "thresher-checkpoint", 3
LONGEST_ABOUT = 1 << 20
"""The most bytes of the text about a checkpoint."""


class Fits:
    """The fits of D' of one run, in their order. This one keeps none of them."""

    def __call__(
        self, rows: RelaxedRows, fit: Callable[[], RelaxedRows], *, keep: bool = False
    ) -> RelaxedRows:
        """Fit D'.

        Args:
            rows: D' before.
            fit: Makes D' from it.
            keep: Whether D' will be looked at again after the next call that is paid for.

        Returns:
            D' after the fit.
        """
        return fit()

    def noted(self, find: Callable[[], Sequence[float]]) -> list[float]:
        """A few numbers that follow from D', on which later calls may depend.

        Args:
            find: Finds them. It is not called if an interrupted run has found them before.
        """
        return [*map(float, find())]


class CheckpointedFits(Fits):
    """Fits whose D' are kept beside a journal, and those that an interrupted run has kept.

    Args:
        access: The calls and their results.
        note: Is given a few words for the user.
    """

    def __init__(self, access: JournaledCurator, note: Callable[[str], None]) -> None:
        self._access, self._note = access, note
        self._number = 0
        self._found: _Found | None = None
        self._kept: list[int] = []

    def noted(self, find: Callable[[], Sequence[float]]) -> list[float]:
        """Take the numbers from the journal; or find them, and write them down there."""
        return self._access.noted(find)

    def __call__(
        self, rows: RelaxedRows, fit: Callable[[], RelaxedRows], *, keep: bool = False
    ) -> RelaxedRows:
        """Take D' from a checkpoint; or fit it, and write a checkpoint.

        Where an interrupted run went on to a later fit, nobody looks at D', and it stays as it was.
        """
        self._number += 1
        number = self._number
        if self._found is None:
            self._found = self._read_all(rows)
        if keep:
            self._kept.append(number)
        if number <= self._found.last:
            return self._found.rows.pop(number, rows)
        fitted = fit()
        # A checkpoint is worth having, but no reason to stop: the disk may be full.
        with suppress(OSError):
            self._write(fitted)
        return fitted

    def _write(self, fitted: RelaxedRows) -> None:
        """Write a checkpoint whole or not at all, then drop those that nobody needs any more."""
        calls, notes = self._access.answered, self._access.notes_taken
        about = {
            "format": FORMAT,
            "version": VERSION,
            "thresher": version("thresher"),
            "fit": self._number,
            "calls": calls,
            "notes": notes,
            "results": self._access.digest(calls, notes),
            "kept": self._kept,
        }
        text = np.frombuffer(json.dumps(about).encode(), np.uint8)
        folder = self._access.folder
        descriptor, new = tempfile.mkstemp(dir=folder, prefix=".fit")
        try:
            with os.fdopen(descriptor, "wb") as file:
                np.savez(file, about=text, columns=fitted.columns)
            os.replace(new, folder / _name(self._number))
        except BaseException:
            os.unlink(new)
            raise
        needed = {_name(number) for number in (*self._kept, self._number)}
        for path in _files(folder):
            if path.name not in needed:
                path.unlink()

    def _read_all(self, rows: RelaxedRows) -> "_Found":
        """The last D' of an interrupted run, with those before it that will be looked at again."""
        if not self._access.results:
            return _Found(0, {})
        files = _files(self._access.folder)
        try:
            if not files:
                raise ValueError("none")
            last = int(files[-1].stem.removeprefix("fit"))
            about, columns = self._read(last, rows)
            earlier = {int(number) for number in about["kept"] if int(number) < last}
            found = {number: self._read(number, rows)[1] for number in earlier}
        except (OSError, ThresherError, *DAMAGE):
            if self._access.answered < self._access.results:
                words = "a checkpoint of D' that cannot be used" if files else "no checkpoint of D'"
                self._note(f"the journal has {words}: D' is fitted again, from what was measured")
            return _Found(0, {})
        return _Found(last, {**found, last: columns})

    def _read(self, number: int, rows: RelaxedRows) -> tuple[dict[str, Any], RelaxedRows]:
        """A checkpoint, if it is the D' after exactly the calls that the journal has."""
        expected = {
            "about": Expected((None,), "|u1", longest=LONGEST_ABOUT),
            "columns": Expected(rows.columns.shape, "<f4"),
        }
        arrays = read_arrays(self._access.folder / _name(number), expected)
        about = json.loads(arrays["about"].tobytes())
        calls, notes = about["calls"], about["notes"]
        for known, stated in ((self._access.results, calls), (self._access.notes, notes)):
            if type(stated) is not int or not 0 <= stated <= known:
                raise ValueError("it comes after results that the journal does not have")
        names = ("format", "version", "thresher", "fit", "results")
        if {name: about[name] for name in names} != {
            "format": FORMAT,
            "version": VERSION,
            "thresher": version("thresher"),
            "fit": number,
            "results": self._access.digest(calls, notes),
        }:
            raise ValueError("it is of another run")
        # Arrays that were read cannot be written to, and kernels are compiled for those that can.
        columns = np.array(arrays["columns"], order="C")
        return about, checked_rows(columns, self._access.schema, _name(number))


@dataclass(frozen=True)
class _Found:
    """The checkpoints of an interrupted run.

    Attributes:
        last: The number of the last fit whose D' is known, or 0.
        rows: D' after some of the fits, that one included.
    """

    last: int
    rows: dict[int, RelaxedRows]


def _name(number: int) -> str:
    return f"fit{number:04d}.npz"


def _files(folder: Path) -> list[Path]:
    """The checkpoints in a folder, in the order of their fits."""
    found = [path for path in folder.glob("fit*.npz") if path.stem[3:].isdecimal()]
    return sorted(found, key=lambda path: int(path.stem[3:]))
