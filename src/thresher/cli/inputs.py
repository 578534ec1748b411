"""What commands read: schemas, private records, and files of one query a line."""

from pathlib import Path

from thresher.cli.console import counting, warn, working
from thresher.data import connect, datasets, read
from thresher.data.engines.address import is_address, without_secrets
from thresher.data.engines.engine import NO_IDS
from thresher.data.header import LONGEST_HEADER, separator_of
from thresher.data.paths import files_of
from thresher.data.private import PrivateData
from thresher.data.records import Records
from thresher.errors import DataError, ParameterError
from thresher.schema import Schema
from thresher.schema.features import Bins


def load_schema(data: str, path: Path | None) -> Schema:
    """The schema of a command's data: its file, or that of the built-in data."""
    if path is None:
        if data == "adult":
            return datasets.adult_schema()
        raise DataError(
            f"{without_secrets(data)} needs a schema: give --schema (`thresher schema draft` makes "
            "one from a file)"
        )
    if str(path) == "adult":
        return datasets.adult_schema()
    schema = Schema.load(path)
    if schema.unreviewed:
        warn(f"{path} is a draft; still to be reviewed: {', '.join(schema.unreviewed)}")
    return schema


def named_schema(path: Path | None) -> Schema:
    """The schema of a command that reads no records: its file, or `adult`."""
    if path is None:
        raise ParameterError(
            "--schema is missing: give the schema file of your data, or `--schema adult` for that "
            "of the built-in data"
        )
    return load_schema("", path)


def load_records(
    data: str,
    schema: Schema,
    line_breaks: bool = False,
    person: str | None = None,
    case_sensitive_ids: bool = False,
    *,
    tell_number: bool = True,
) -> PrivateData:
    """The private records that a command is about: a file, a table of a database, or `adult`.

    Args:
        data: What the user calls them.
        schema: Their schema.
        line_breaks: Whether a quoted cell of a CSV file may go on over several lines.
        person: The column that says whose row it is.
        case_sensitive_ids: Whether ids that differ only in capitals are different persons.
        tell_number: Whether the progress may say how many records there are.
    """
    if data == "adult" and schema.fingerprint == datasets.adult_schema().fingerprint:
        if person is not None:
            raise DataError("adult has no ids of persons: each of its records is a person")
        return datasets.adult()
    if is_address(data):
        if person is not None:
            raise DataError(f"{without_secrets(data)}: {NO_IDS}")
        with working(f"connecting to {without_secrets(data)}"):
            return connect(data, schema)
    _warn_of_decimal_commas(Path(data), schema)
    with counting(f"reading {data}") if tell_number else working(f"reading {data}") as progress:
        return read(
            data, schema, progress, line_breaks_in_cells=line_breaks, person=person,
            case_sensitive_ids=case_sensitive_ids,
        )  # fmt: skip


def load_public(path: Path, data: str, schema: Schema, line_breaks: bool = False) -> Records:
    """The public records that D' starts from: files, none of which holds the private ones.

    Args:
        path: Where they are.
        data: What the user calls the private records.
        schema: The schema of both.
        line_breaks: Whether a quoted cell of a CSV file may go on over several lines.
    """
    is_file = data != "adult" and not is_address(data)
    private = {file.resolve() for file in files_of(data)} if is_file else set()
    for file in files_of(path):
        if file.resolve() in private:
            raise DataError(
                f"--public {file} holds the private records themselves: D' would start as a copy "
                "of them"
            )
    with counting(f"reading {path}") as progress:
        return read(path, schema, progress, line_breaks_in_cells=line_breaks, in_memory=True)


def _warn_of_decimal_commas(path: Path, schema: Schema) -> None:
    """Where semicolons separate cells, numbers are often written 3,5, which is none to a schema.

    Only the header is looked at, which is public: whether a cell has a comma is not.
    """
    if path.suffix.lower() != ".csv" or not path.is_file():
        return
    names = [feature.name for feature in schema if isinstance(feature, Bins)]
    with path.open("rb") as file:
        header = file.readline(LONGEST_HEADER).decode("utf-8", "replace")
    if names and separator_of(path, header.strip("\r\n")) == ";":
        warn(
            f"{path} is separated by semicolons. If its numbers have decimal commas (3,5), they "
            f"count as missing in {names[0]} and its like: write decimal points first"
        )
