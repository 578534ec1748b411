"""Two tables of the page: `auto` beside each of the others, and accuracies of classifiers."""

import math
from collections.abc import Iterator, Sequence

from benchmarks.peers.cells import PREDICTION
from benchmarks.peers.one import OK
from benchmarks.peers.results import Results
from benchmarks.peers.summary import Place, geometric_mean, means
from benchmarks.tables import HELD_OUT

COMPARED = "auto"


def beside(results: Results, names: Sequence[str]) -> Iterator[str]:
    """Each other mechanism's errors divided by those of `auto`, where both were measured."""
    yield (
        f"| beside `{COMPARED}` | cells | runs not finished | it is better in | largest error "
        "| mean of maxima | total variation | at best |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    found = {key: means(results, key) for key in ("max", "mean_max", "total_variation")}
    for name in names:
        compared = {
            key: {
                place: ratio
                for place, by_name in places.items()
                if {name, COMPARED} <= by_name.keys()
                and not math.isnan(ratio := by_name[name].times(by_name[COMPARED]))
            }
            for key, places in found.items()
        }
        if name == COMPARED or not compared["max"]:
            continue
        better = sum(ratio < 1 for ratio in compared["max"].values())
        place, least = min(compared["max"].items(), key=lambda item: item[1])
        ratios = " | ".join(number(geometric_mean(c.values()), "{:.2f}") for c in compared.values())
        yield (
            f"| `{name}` | {len(compared['max'])} | {unfinished(results, name)} | {better} "
            f"| {ratios} | {least:.2f} ({named(place)}) |"
        )


def predictions(results: Results, names: Sequence[str]) -> Iterator[str]:
    """The share of right predictions for records that were left out, by table and ε."""
    found, real, majority = (
        {place: by_name for place, by_name in means(results, key).items() if place[1] == PREDICTION}
        for key in ("accuracy", "real_accuracy", "majority")
    )
    present = [name for name in names if any(name in by_name for by_name in found.values())]
    yield f"| table | ε | most frequent | real records | {' | '.join(f'`{n}`' for n in present)} |"
    yield f"|---|---|---|---|{'---|' * len(present)}"
    for place, by_name in found.items():
        # All mechanisms are tested on the same records; the one with most seeds has them all.
        most = max(real[place], key=lambda name: len(real[place][name].by_seed))
        bounds = (f"{table[place][most].value:.3f}" for table in (majority, real))
        shown = (by_name[name].in_full() if name in by_name else "–" for name in present)
        yield f"| {table_name(place)} | {place[2]:g} | {' | '.join((*bounds, *shown))} |"


def unfinished(results: Results, name: str) -> int:
    """How many runs of a mechanism ended without errors to compare, for whatever reason."""
    rows = (row for cell, row in results.rows.items() if cell.mechanism == name)
    return sum(row["status"] not in (OK, "no answers") for row in rows)


def named(place: Place) -> str:
    """A cell in words."""
    return f"{place[0]}, {place[1]}, ε = {place[2]:g}"


def table_name(place: Place) -> str:
    """The table of a cell, with a star if it was set aside."""
    return f"{place[0]} *" if place[0] in HELD_OUT else place[0]


def number(value: float, form: str) -> str:
    """A number, or a dash if there is none."""
    return "–" if math.isnan(value) else form.format(value)
