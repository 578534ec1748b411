"""Pages whose tables are made from stored results: the text is written, the numbers are filled in.

A page marks the place of a table by two comments:

    <!-- table: claims -->
    whatever stood there before
    <!-- end of table -->

`fill` puts `claims-table.txt` of the folder of results there. A name such as `extract/claims` is
that of a table in a folder within it.
"""

import re
from pathlib import Path

from thresher.errors import ParameterError
from thresher.files import write_text

PLACE = re.compile(
    r"(?P<begin><!-- table: (?P<name>[a-z0-9/-]+) -->\n).*?(?P<end><!-- end of table -->)",
    re.DOTALL,
)


def fill(page: Path, folder: Path) -> list[str]:
    """Put the tables of a folder of results into a page.

    Args:
        page: The page, in Markdown. It is changed in place.
        folder: Where the tables are. A table that is not there leaves its place as it is.

    Returns:
        The names of the tables that were filled in.
    """
    try:
        before = page.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"--page {page}: there is no such page of text") from None
    filled = []

    def table(place: re.Match[str]) -> str:
        path = folder / f"{place['name']}-table.txt"
        if not path.exists():
            return place[0]
        filled.append(place["name"])
        return f"{place['begin']}{path.read_text('utf-8').rstrip()}\n{place['end']}"

    after = PLACE.sub(table, before)
    if not PLACE.search(before):
        raise ParameterError(f"--page {page}: it has no place for a table (<!-- table: NAME -->)")
    if after != before:
        write_text(page, after)
    return filled
