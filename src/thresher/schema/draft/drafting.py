"""A draft of a schema in the making: records come in, features and reasons come out."""

from collections.abc import Collection, Iterable

import pyarrow as pa

from thresher.schema.draft.guess import LeftOut, guess
from thresher.schema.draft.seen import Seen
from thresher.schema.features import Feature


class Draft:
    """A schema in the making: what has been seen of each column so far.

    Args:
        names: The columns' names.
        asked: Those that a person asked for by name.

    Example:
        >>> draft = Draft(["sex"])
        >>> draft.add(pa.record_batch({"sex": ["F", "M", "F"]}))
        >>> draft.guesses()["sex"].labels
        ('F', 'M', '(other)')
    """

    def __init__(self, names: Iterable[str], asked: Collection[str] = ()) -> None:
        self._columns = {name: Seen(name) for name in names}
        self._asked = frozenset(asked)

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at some more records."""
        for name, seen in self._columns.items():
            seen.add(batch.column(name))

    def guesses(self) -> dict[str, Feature | LeftOut]:
        """For each column a feature, flagged for review, or why it is none."""
        return {
            name: guess(seen, asked=name in self._asked) for name, seen in self._columns.items()
        }

    def notes(self) -> list[str]:
        """What a person should know of the records as a whole."""
        return [note for seen in self._columns.values() for note in _repeated(seen)]


def _repeated(seen: Seen) -> list[str]:
    """Whether an identifier repeats, so that a person may have several rows."""
    drafted = guess(seen)
    identifies = isinstance(drafted, LeftOut) and drafted.identifies
    different = seen.values.number
    if not identifies or different > 0.98 * seen.cells:
        return []
    average = seen.cells / different
    return [
        f"{seen.name!r} repeats: each of its values has {average:.1f} rows on average, "
        "so a person may have several rows. If it tells persons apart, fit with --person "
        f"{seen.name} --rows-per-person G, or else only single rows are protected"
    ]
