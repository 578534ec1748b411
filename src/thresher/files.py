"""Reading and writing small files so that no reader ever meets half a file."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from thresher.errors import ThresherError


def read_json(path: str | Path, error: type[ThresherError]) -> Any:
    """The JSON value in a file; `error` says in words why there is none."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except OSError as fault:
        raise error(f"cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise error("is not text in UTF-8") from None
    except ValueError:
        raise error("cannot be read: its name holds a NUL character") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise error(
            f"is not JSON: {fault.msg} at line {fault.lineno}, column {fault.colno}"
        ) from None
    except RecursionError:
        raise error("is not JSON that can be read: it is nested too deeply") from None
    except ValueError:
        raise error("is not JSON that can be read: it holds a number of too many digits") from None


def write_json(path: str | Path, value: object) -> None:
    """Write a JSON file whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all: into a neighbour first, then renamed over."""
    target = Path(path)
    try:
        descriptor, neighbour = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(neighbour, 0o644)
            os.replace(neighbour, target)
        except BaseException:
            os.unlink(neighbour)
            raise
    except OSError as fault:
        raise ThresherError(f"{target} cannot be written: {fault.strerror}") from None


def flush(*paths: Path) -> None:
    """Make sure that files, and what folders list, survive a power cut."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
