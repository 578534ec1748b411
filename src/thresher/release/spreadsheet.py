"""Records as CSV that is safe to open in a spreadsheet."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def spreadsheet_safe(records: "pd.DataFrame") -> "pd.DataFrame":
    r"""Records whose texts no spreadsheet runs as formulas.

    A text that begins with `=`, `+`, `-`, `@`, a tab or a line break gets an apostrophe in front,
    in cells and in the names of columns. Numbers stay as they are, and so does a text that is a
    number.

    Example:
        >>> import pandas as pd
        >>> spreadsheet_safe(pd.DataFrame({"a": ["=1+1", "-5", "b"], "n": [-1, 0, 1]})).to_csv()
        ",a,n\n0,'=1+1,-1\n1,-5,0\n2,b,1\n"
    """
    from pandas.api.types import is_numeric_dtype  # half a second, which answers do without

    safe = records.rename(columns=safe_cell)
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        if not is_numeric_dtype(column):
            safe = safe.assign(**{str(safe.columns[place]): column.map(safe_cell)})
    return safe


def write_csv(records: "pd.DataFrame", path: str | Path, *, escape: bool = True) -> None:
    """Write records as CSV.

    Args:
        records: The records, as `Release.sample` gives them.
        path: The file.
        escape: Whether texts that a spreadsheet would run are made harmless. Such a text then
            differs from its label in the schema, so turn it off for files that thresher is to read.
    """
    (spreadsheet_safe(records) if escape else records).to_csv(path, index=False)


def safe_cell(cell: object) -> object:
    """A cell that no spreadsheet runs as a formula.

    Example:
        >>> safe_cell("=1+1"), safe_cell("-5"), safe_cell(">50K")
        ("'=1+1", '-5', '>50K')
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
