"""The section of docs/accuracy.md that is drawn from the stored results."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.beside import (
    COMPARED,
    beside,
    named,
    number,
    predictions,
    table_name,
    unfinished,
)
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.results import Results
from benchmarks.peers.summary import (
    Found,
    geometric_mean,
    means,
    ratios,
    worse_than,
)
from benchmarks.tables import HELD_OUT, LATE, TUNING
from thresher.reproduction.page import fill

PICTURE = "images/peers.svg"
GROUPS = {
    "tables for tuning": TUNING,
    "tables set aside": tuple(name for name in HELD_OUT if name not in LATE),
    "tables set aside when the rules stood": LATE,
}


def draw(results: Results, docs: Path) -> None:
    """Put the tables into docs/accuracy.md, and draw the picture beside it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "peers-table.txt").write_text(section(results), "utf-8")
        fill(docs / "accuracy.md", Path(folder))
    _picture(results, docs / PICTURE)


def section(results: Results) -> str:
    """The tables, in Markdown."""
    errors = means(results, "max")
    names = _present(results)
    parts = (
        (*_verdict(errors, COMPARED, "largest error"), "", *_losses(errors)),
        _verdict(means(results, "total_variation"), "auto_mean", "total variation"),
        beside(results, names),
        _by_mechanism(results, names),
        predictions(results, names),
        _by_cell(errors, names),
    )
    return "\n\n".join(filter(None, ("\n".join(part).strip() for part in parts)))


def _verdict(found: Found, name: str, measure: str) -> Iterator[str]:
    """How often a mechanism is the best of all in a measure."""
    compared = ratios(found, name)
    if not compared:
        return
    yield f"| `{name}`, {measure} | cells | best | within 10 % of the best | mean ratio | worst |"
    yield "|---|---|---|---|---|---|"
    for kind, names in GROUPS.items():
        chosen = {place: ratio for place, ratio in compared.items() if place[0] in names}
        if chosen:
            shares = [np.mean([r <= most for r in chosen.values()]) for most in (1 + 1e-9, 1.1)]
            place, worst = max(chosen.items(), key=lambda item: item[1])
            yield (
                f"| {kind} | {len(chosen)} | {shares[0]:.0%} | {shares[1]:.0%} "
                f"| {geometric_mean(chosen.values()):.2f} | {worst:.2f} ({named(place)}) |"
            )


def _losses(errors: Found) -> Iterator[str]:
    """Where plain noisy tables are better."""
    for other in ("gaussian_joint", "residual"):
        worse = worse_than(errors, COMPARED, other)
        if any(other in by_name for by_name in errors.values()):
            yield (
                f"`{COMPARED}` is worse than `{other}` by more than a standard error in "
                f"{len(worse)} cells{': ' if worse else ''}{'; '.join(map(named, worse))}.\n"
            )


def _by_mechanism(results: Results, names: Sequence[str]) -> Iterator[str]:
    yield (
        "| mechanism | cells | not finished | largest error | mean of maxima | total variation "
        "| processor time | memory |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    found = {key: means(results, key) for key in ("max", "mean_max", "total_variation")}
    spent = {key: means(results, key) for key in ("cpu_seconds", "peak_megabytes")}
    for name in names:
        compared = (
            number(geometric_mean(ratios(table, name).values()), "{:.2f}")
            for table in found.values()
        )
        seconds, memory = (
            np.median([m[name].value for m in table.values() if name in m] or [math.nan])
            for table in spent.values()
        )
        cells = sum(name in by_name for by_name in found["max"].values())
        yield (
            f"| `{name}` | {cells} | {unfinished(results, name)} | {' | '.join(compared)} "
            f"| {number(seconds, '{:.0f} s')} | {number(memory, '{:.0f} MB')} |"
        )


def _by_cell(errors: Found, names: Sequence[str]) -> Iterator[str]:
    yield f"| table | workload | ε | {' | '.join(f'`{name}`' for name in names)} | `auto` / best |"
    yield f"|---|---|---|{'---|' * len(names)}---|"
    best = {name: ratios(errors, name) for name in {COMPARED, *names}}
    for place, by_name in errors.items():
        shown = (
            ("**{}**" if best[name].get(place) == 1 else "{}").format(by_name[name])
            if name in by_name
            else "–"
            for name in names
        )
        ratio = number(best[COMPARED].get(place, math.nan), "{:.2f}")
        yield f"| {table_name(place)} | {place[1]} | {place[2]:g} | {' | '.join(shown)} | {ratio} |"


def _present(results: Results) -> list[str]:
    present = {cell.mechanism for cell in results.rows}
    return [name for name in CONTESTANTS if name in present]


def _picture(results: Results, path: Path) -> None:
    """A dot per cell and mechanism: how many times the least error of the cell it has."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "peers"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), sharey=True)
    names = _present(results)
    titles = {"max": "largest error", "total_variation": "total variation"}
    for panel, (measure, title) in zip(axes, titles.items(), strict=True):
        _dots(panel, means(results, measure), names)
        panel.set_title(f"{title}, as a multiple of the cell's best")
    figure.tight_layout()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def _dots(panel: Any, found: Found, names: Sequence[str]) -> None:
    for height, name in enumerate(names):
        compared = ratios(found, name)
        for is_held_out, colour in ((False, "tab:blue"), (True, "tab:orange")):
            chosen = [r for place, r in compared.items() if (place[0] in HELD_OUT) == is_held_out]
            offset = 0.12 if is_held_out else -0.12
            label = ("set aside" if is_held_out else "tuning") if not height else None
            heights = [height + offset] * len(chosen)
            panel.plot(chosen, heights, "o", color=colour, alpha=0.5, ms=4, label=label)
    panel.set_xscale("log")
    panel.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    panel.axvline(1.1, color="grey", lw=0.5)
    panel.legend(loc="upper right")
