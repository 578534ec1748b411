"""A first draft of a schema, read off the data, for a person to review."""

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from thresher.data.batches import Batches
from thresher.data.private import Progress
from thresher.data.reading import open_batches
from thresher.errors import DataError
from thresher.schema import Schema
from thresher.wording import shown


@dataclass(frozen=True)
class DraftedSchema:
    """A schema guessed from data. It tells which values occur, so it is not private.

    Attributes:
        schema: The features, each with a note of what to review.
        left_out: The columns that are no feature, each with the reason.
        notes: What else a person should know, such as an identifier that repeats.

    Example:
        >>> import pandas as pd
        >>> drafted = draft_schema(pd.DataFrame({"sex": ["F", "M"], "empty": [None, None]}))
        >>> drafted.left_out
        {'empty': 'it has no values'}
    """

    schema: Schema
    left_out: dict[str, str]
    notes: tuple[str, ...] = ()


def draft_schema(
    source: Any,
    progress: Progress | None = None,
    *,
    columns: Collection[str] | None = None,
    line_breaks_in_cells: bool = False,
) -> DraftedSchema:
    """Guess a schema, every guess flagged for review.

    Args:
        source: What `thresher.read` takes.
        progress: Called with the number of records read so far.
        columns: The names of the columns to describe. None for all that can be features. A survey
            weight or an identifier is described only if it is named here.
        line_breaks_in_cells: As for `thresher.read`.

    Returns:
        The draft, and why each of the other columns was left out.

    Example:
        >>> import pandas as pd
        >>> drafted = draft_schema(pd.DataFrame({"sex": ["F", "M", "F"]}))
        >>> drafted.schema["sex"].labels
        ('F', 'M', '(other)')
    """
    # Imported here, since Arrow loads slowly and only a draft needs it.
    from thresher.schema.draft import Draft, LeftOut

    with ExitStack() as stack:
        opened = open_batches(source, stack, columns, line_breaks_in_cells=line_breaks_in_cells)
        names = _chosen(opened, columns)
        draft = Draft(names, asked=columns or ())
        rows = 0
        for batch in opened.batches:
            draft.add(batch)
            rows += len(batch)
            if progress:
                progress(rows)
    if not rows:
        raise DataError(f"{opened.described} holds no records")
    guesses = draft.guesses()
    left_out = {name: guess.reason for name, guess in guesses.items() if isinstance(guess, LeftOut)}
    features = [guess for guess in guesses.values() if not isinstance(guess, LeftOut)]
    if not features:
        raise DataError(f"{opened.described} has no column that could be a feature")
    return DraftedSchema(Schema(features), left_out, tuple(draft.notes()))


def _chosen(opened: Batches, columns: Collection[str] | None) -> list[str]:
    """The columns to describe, in the order of the source."""
    if columns is None:
        return opened.columns
    for name in columns:
        if name not in opened.columns:
            raise DataError(f"{opened.described} has no column {shown(name)}: see its header")
    return [name for name in opened.columns if name in set(columns)]
