"""Files of records: one, a list of them, a pattern or a folder.

Files are opened one after another, and never read whole. Each must have every column that is
wanted. This is checked for all of them before the first record is read.
"""

import glob
from collections.abc import Collection, Generator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.data.batches import Batches, refuse_missing
from thresher.data.engines.address import is_address, without_secrets
from thresher.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

PACKED = ("", ".gz", ".bz2", ".xz", ".zst")
ENDINGS = {
    "CSV": tuple(f".{kind}{packed}" for kind in ("csv", "tsv") for packed in PACKED),
    "JSON lines": tuple(f".{kind}{packed}" for kind in ("jsonl", "ndjson") for packed in PACKED),
    "Parquet": (".parquet", ".pq"),
}
"""How the files of each kind end, in small letters."""

Paths = str | Path | Sequence[str | Path]


def open_paths(
    source: Paths,
    stack: ExitStack,
    wanted: Collection[str] | None = None,
    *,
    line_breaks_in_cells: bool = False,
) -> Batches:
    r"""The records of one or more files, which close with the stack.

    Args:
        source: A path, a pattern such as `part-*.parquet`, a folder, or a list of these.
        stack: What closes files.
        wanted: The columns to read. None for all of them, which must be the same in all files.
        line_breaks_in_cells: Whether a quoted cell of a CSV file may go on over several lines.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ...     for part in (1, 2):
        ...         _ = Path(folder, f"part-{part}.csv").write_text(f"age,sex\n{part},F\n")
        ...     opened = open_paths(f"{folder}/part-*.csv", stack, wanted=["age"])
        ...     [batch.to_pydict() for batch in opened.batches]
        [{'age': ['1']}, {'age': ['2']}]
    """
    paths = files_of(source)
    if len(paths) == 1:
        return _open(paths[0], stack, wanted, line_breaks_in_cells)
    columns: list[str] | None = None
    names_in_records = False
    for path in paths:
        with ExitStack() as brief:
            first = _open(path, brief, wanted, line_breaks_in_cells)
        _check(path, first.columns, wanted, paths[0], columns)
        columns = columns or first.columns
        names_in_records |= first.names_in_records

    def batches() -> "Generator[pa.RecordBatch, None, None]":
        for path in paths:
            with ExitStack() as brief:
                opened = _open(path, brief, wanted, line_breaks_in_cells)
                _check(path, opened.columns, wanted, paths[0], columns)
                yield from opened.batches

    described = str(source) if isinstance(source, str | Path) else f"the list of {len(paths)} files"
    reading = stack.enter_context(closing(batches()))
    return Batches(described, columns or [], reading, names_in_records)


def files_of(source: Paths) -> list[Path]:
    """The files that a path, a pattern, a folder or a list of these stands for.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("b.csv", "a.csv", "_SUCCESS"):
        ...         _ = Path(folder, name).write_text("age")
        ...     [path.name for path in files_of(folder)]
        ['a.csv', 'b.csv']
    """
    several = [source] if isinstance(source, str | Path) else list(source)
    for one in several:
        if is_address(one):
            raise DataError(
                f"{without_secrets(str(one))} is a table of a database, and no file: use `connect`"
            )
    if not several or not all(isinstance(one, str | Path) for one in several):
        raise DataError(
            f"records cannot be read from a {type(source).__name__} of anything but paths: give "
            "paths of files, or make a data frame"
        )
    files = [path for one in several for path in _expanded(one)]
    seen: set[Path] = set()
    for path in files:
        if path.resolve() in seen:
            raise DataError(f"{path} is named twice: its records would count twice")
        seen.add(path.resolve())
    return files


def _expanded(source: str | Path) -> list[Path]:
    path = Path(source)
    try:
        if path.is_dir():
            return _files_in(path)
        if not path.is_file():
            return _matching(str(source))
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: a header line and records are expected")
    except OSError as fault:
        raise DataError(f"{path} cannot be read: {fault.strerror}") from None
    return [path]


def _matching(pattern: str) -> list[Path]:
    if not glob.has_magic(pattern) or "\0" in pattern:
        raise DataError(f"there is no file {pattern}")
    found = [Path(path) for path in sorted(glob.glob(pattern, recursive=True))]
    files = [path for path in found if path.is_file()]
    if not files:
        raise DataError(f"there is no file that matches {pattern}")
    return files


def _files_in(folder: Path) -> list[Path]:
    """The files of records in a folder and its folders, without hidden names and `_SUCCESS`."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        kind = _kind(path)
        if kind and path.is_file() and not any(part.startswith((".", "_")) for part in inside):
            kinds.setdefault(kind, []).append(path)
    if not kinds:
        raise DataError(f"the folder {folder} has no files of records in it ({', '.join(ENDINGS)})")
    if len(kinds) > 1:
        raise DataError(
            f"the folder {folder} has files of several kinds ({', '.join(kinds)}): name those to "
            f"read by a pattern such as {folder}/*{ENDINGS[next(iter(kinds))][0]}"
        )
    return next(iter(kinds.values()))


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)


def _open(
    path: Path, stack: ExitStack, wanted: Collection[str] | None, line_breaks_in_cells: bool
) -> Batches:
    # Each kind of file has a module, imported when it is needed: Arrow loads slowly.
    match _kind(path):
        case "CSV":
            from thresher.data.delimited import open_delimited

            return open_delimited(path, stack, wanted, line_breaks_in_cells=line_breaks_in_cells)
        case "JSON lines":
            from thresher.data.json_lines import open_json_lines

            return open_json_lines(path, stack, wanted)
        case "Parquet":
            from thresher.data.parquet import open_parquet

            return open_parquet(path, stack, wanted)
    known = [ending for endings in ENDINGS.values() for ending in endings]
    raise DataError(f"{path}: the kind of file is told by its ending; known are {', '.join(known)}")


def _check(
    path: Path,
    found: list[str],
    wanted: Collection[str] | None,
    first: Path,
    columns: list[str] | None,
) -> None:
    """Refuse a file among others that lacks a column."""
    if wanted is not None:
        refuse_missing(str(path), found, wanted)
    elif columns is not None and set(found) != set(columns):
        raise DataError(
            f"{path} has other columns ({len(found)}) than {first} ({len(columns)}): name those "
            "to read that all files have"
        )
