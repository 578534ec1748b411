"""What commands read: schemas, private records, and files of one query a line."""

from pathlib import Path

from thresher.cli.console import counting, warn
from thresher.data import datasets, read
from thresher.data.private import PrivateData
from thresher.errors import DataError
from thresher.schema import Schema


def load_schema(data: str, path: Path | None) -> Schema:
    """The schema of a command's data: its file, or that of the built-in data."""
    if path is None:
        if data == "adult":
            return datasets.adult_schema()
        raise DataError(f"{data} needs a schema: give --schema (`thresher schema draft` makes one)")
    schema = Schema.load(path)
    if schema.unreviewed:
        warn(f"{path} is a draft; still to be reviewed: {', '.join(schema.unreviewed)}")
    return schema


def load_records(
    data: str,
    schema: Schema,
    line_breaks: bool = False,
    person: str | None = None,
    case_sensitive_ids: bool = False,
) -> PrivateData:
    """The private records that a command is about: a file, or `adult` for the built-in set."""
    if data == "adult" and schema.fingerprint == datasets.adult_schema().fingerprint:
        if person is not None:
            raise DataError("adult has no ids of persons: each of its records is a person")
        return datasets.adult()
    with counting(f"reading {data}") as progress:
        return read(
            data, schema, progress, line_breaks_in_cells=line_breaks, person=person,
            case_sensitive_ids=case_sensitive_ids,
        )  # fmt: skip
