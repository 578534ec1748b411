"""A first draft of a schema, read off the data, for a person to review."""

from contextlib import ExitStack
from typing import Any

from thresher.data.reading import Progress, open_batches
from thresher.errors import DataError
from thresher.schema import Schema


def draft_schema(
    source: Any, progress: Progress | None = None, *, line_breaks_in_cells: bool = False
) -> tuple[Schema, list[str]]:
    """Guess a schema, every guess flagged for review.

    Args:
        source: What `thresher.read` takes.
        progress: Called with the number of records read so far.
        line_breaks_in_cells: As for `thresher.read`.

    Returns:
        The draft, and the names of columns left out: empty, free text, or without a usable name.

    Example:
        >>> import pandas as pd
        >>> draft, left_out = draft_schema(pd.DataFrame({"sex": ["F", "M", "F"]}))
        >>> draft["sex"].labels
        ('F', 'M', '(other)')
    """
    # Imported here, since Arrow loads slowly and only a draft needs it.
    from thresher.schema.draft import Draft

    with ExitStack() as stack:
        opened = open_batches(source, stack, line_breaks_in_cells=line_breaks_in_cells)
        draft = Draft(opened.columns)
        rows = 0
        for batch in opened.batches:
            draft.add(batch)
            rows += len(batch)
            if progress:
                progress(rows)
    if not rows:
        raise DataError(f"{opened.described} holds no records")
    guesses = draft.guesses()
    left_out = [name for name, guess in guesses.items() if guess is None]
    features = [guess for guess in guesses.values() if guess is not None]
    if not features:
        raise DataError(f"{opened.described} has no column that could be a feature")
    return Schema(features), left_out
