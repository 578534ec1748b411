"""Table "Results": how many stored results tell their time, their versions, their commit and norms.

Results are never made again for what they do not tell, so those of earlier versions tell less.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from thresher.reproduction.running import Result, Store

COLUMNS: dict[str, Callable[[Result], bool]] = {
    "time, memory and versions": lambda result: "software" in result,
    "the commit, too": lambda result: "commit" in str(result.get("software")),
}
PRESENT = "present"
"""The kind of fits whose present error is looked at."""


def table_of(places: Sequence[Path], name: str) -> str:
    """One row a store, as the page beside the folder shows it.

    Args:
        places: The folders of the stores, the outermost first.
        name: What the stores are called.
    """
    heads = ["Results", "All", *COLUMNS, "Fits of present error", "with ℓ1 and ℓ2"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for place in places:
        with Store(place / name) as store:
            every = list(store.results())
        present = [result for kind, result in every if kind == PRESENT]
        path = (place / name).relative_to(places[0].parent).as_posix()
        counts = [
            len(every),
            *(sum(tells(result) for _, result in every) for tells in COLUMNS.values()),
            len(present),
            sum("l1" in result for result in present),
        ]
        lines.append(f"| [{path}]({path}) | {' | '.join(f'{count:,}' for count in counts)} |")
    return "\n".join(lines) + "\n"
