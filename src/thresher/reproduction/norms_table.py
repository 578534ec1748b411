"""Table "Norms": errors in ℓ1 and ℓ2 beside ℓ∞, from the runs of present error.

(T, K) is the best by ℓ∞, as in the figure. Results of earlier versions do not tell these norms: a
setting is shown where all its repetitions do.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from thresher.reproduction.paper_figure import Context, for_each_data_set, means_of_whole

NORMS = {
    "l1": "ℓ1: the mean error over all queries, in millionths of the records",
    "l2": "ℓ2: the root mean square error over all queries, in millionths of the records",
}
SETTING = ["data", "epsilon", "size"]


def draw(context: Context, lines: Mapping[str, pd.DataFrame]) -> None:
    """The table, for programs and for the page.

    Args:
        context: Results, parameters, and a place for the files.
        lines: The runs of each line, one row a run.
    """
    found = collected(lines, context.scale.marginals.repetitions)
    context.table("norms", found)
    table = for_each_data_set(
        context.scale.data, lambda data: as_markdown(found[found["data"] == data], list(lines))
    )
    context.text("norms-table.txt", table)


def collected(lines: Mapping[str, pd.DataFrame], repetitions: int) -> pd.DataFrame:
    """Means over repetitions, one row a setting and a line."""
    parts = [pd.DataFrame(columns=[*SETTING, *NORMS, "line"])]
    for label, frame in lines.items():
        if len(frame) and set(NORMS) <= set(frame):
            told = frame.dropna(subset=list(NORMS))
            parts.append(means_of_whole(told, SETTING, repetitions, *NORMS).assign(line=label))
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else parts[0]


def as_markdown(found: pd.DataFrame, lines: Sequence[str]) -> str:
    """A table for each norm, one row a setting, as the page shows them."""
    parts = []
    for norm, words in NORMS.items():
        rows = [f"| ε | \\|W\\| | {' | '.join(lines)} |", "|---" * (2 + len(lines)) + "|"]
        for (epsilon, size), here in found.groupby(["epsilon", "size"]):
            means = dict(zip(here["line"], here[norm], strict=True))
            told = [f"{1e6 * means[line]:.1f}" if line in means else "—" for line in lines]
            rows.append(f"| {epsilon:g} | {size} | {' | '.join(told)} |")
        parts.append(f"{words}:\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)
