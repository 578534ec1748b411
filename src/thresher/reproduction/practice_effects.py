"""Table "Practice": what each choice of the authors' code changes, and by how much.

Each choice is switched alone, from the paper's text to the authors' code. Repetitions share their
workloads and future thresholds, so differences are paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.future_error import fits as future_fits
from thresher.reproduction.paper_figure import Context, PaperFigure, mean_and_margin
from thresher.reproduction.practice import AUTHORS, TEXT
from thresher.reproduction.present_error import adaptive
from thresher.reproduction.running import Result, Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import Fit, sizes_within
from thresher.reproduction.variants import AUTHORS_ADAM

CLIPPING = "noisy answers clipped to [0, 1]"
REPLACEMENT = "history drawn without replacement"
GEOMETRIC = "Geometric(1/4) in place of Geometric(1/2)"
ADAM = "Adam, to a loss change of 1e-9 or 5,000 steps, in place of our optimiser"
COMPARED_SIZE = 64
THEIRS = "authors' code"


@dataclass(frozen=True)
class Switch:
    """One choice, switched from the text to the authors' code in one setting.

    Attributes:
        choice: What is switched.
        setting: Where.
        before: The runs by the text.
        after: The same runs by the authors' code.
        measure: `present` or `future` error.
    """

    choice: str
    setting: str
    before: Sequence[Fit]
    after: Sequence[Fit]
    measure: str


def switches(scale: Scale) -> list[Switch]:
    """All choices on the first data set of a scale."""
    text = replace(scale, data=scale.data[:1], practice=TEXT)
    [data] = text.data
    grid = text.marginals
    wanted = max(size for size in sizes_within(data, grid.k, grid.sizes) if size <= COMPARED_SIZE)
    found = []
    marginals = [task for task in adaptive(text) if task.size == wanted]
    for epsilon in grid.epsilons:
        before = [task for task in marginals if task.epsilon == epsilon]
        after = [replace(task, clipped=AUTHORS.clipped) for task in before]
        setting = f"|W| = {wanted}, ε = {epsilon:g}"
        found.append(Switch(CLIPPING, setting, before, after, "present"))
    histories = [task for task in future_fits(text) if task.distribution == "geometric"]
    for size in dict.fromkeys(task.size for task in histories if task.size <= COMPARED_SIZE):
        past = [task for task in histories if task.size == size]
        setting = f"|W_H| = {size}, geometric, ε = {text.future.epsilon:g}"
        distinct = [replace(task, replacement=AUTHORS.replacement) for task in past]
        flatter = [replace(task, geometric_p=AUTHORS.geometric_p) for task in past]
        found += [
            Switch(REPLACEMENT, setting, past, distinct, "future"),
            Switch(GEOMETRIC, setting, past, flatter, "future"),
        ]
    return [*found, _with_adam(marginals, scale)]


def _with_adam(marginals: Sequence[Fit], scale: Scale) -> Switch:
    """At one (T, K) of few rounds: Adam takes its thousands of steps in each of them."""
    grid = scale.marginals
    pair = min(grid.pairs, key=lambda pair: (abs(pair[0] * pair[1] - 64), pair[0]))
    before = [
        task
        for task in marginals
        if (task.rounds, task.queries_per_round) == pair and task.epsilon == grid.map_epsilon
    ]
    after = [replace(task, optimizer=AUTHORS_ADAM) for task in before]
    setting = f"|W| = {before[0].size}, ε = {grid.map_epsilon:g}, (T, K) = {pair}"
    return Switch(ADAM, setting, before, after, "present")


def tasks(scale: Scale) -> Sequence[Task]:
    """Every run of every switch."""
    return [task for switch in switches(scale) for task in (*switch.before, *switch.after)]


def least_by_seed(found: Sequence[tuple[Task, Result]], measure: str) -> dict[int, float]:
    """For each repetition the error of the (T, K) with the least present error in it."""
    best: dict[int, tuple[float, float]] = {}
    for task, result in found:
        assert isinstance(task, Fit)
        present = float(result["error"])
        errors = result["future"]["0"] if measure == "future" else [present]
        one = (present, sum(errors) / len(errors))
        best[task.seed] = min(best.get(task.seed, one), one)
    return {seed: error for seed, (_, error) in best.items()}


def collected(context: Context) -> pd.DataFrame:
    """One row a switch: both means, and the paired difference with a 95 % interval."""
    rows = []
    for switch in switches(context.scale):
        before = least_by_seed(context.found(switch.before), switch.measure)
        after = least_by_seed(context.found(switch.after), switch.measure)
        both = sorted(before.keys() & after.keys())
        if not both:
            continue
        change, margin = mean_and_margin(after[seed] - before[seed] for seed in both)
        rows.append(
            {
                "data": context.scale.data[0], "choice": switch.choice, "setting": switch.setting,
                "error": switch.measure, "repetitions": len(both),
                "text": sum(before[seed] for seed in both) / len(both),
                THEIRS: sum(after[seed] for seed in both) / len(both),
                "change": change, "low": change - margin, "high": change + margin,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def draw(context: Context) -> None:
    """The table, and its changes with their intervals."""
    found = collected(context)
    context.table("practice", found)
    context.text("practice-table.txt", as_markdown(found))
    title = context.title(
        context.scale.data[0],
        "change of error from the paper's text to the authors' code, paired; 95 % intervals",
    )
    height = 0.28 * len(found) + 0.6
    with plots.page(1, 1, title=title, width=7.0, height=height) as (figure, [[axes]]):
        places = range(len(found), 0, -1)
        spread = [found["change"] - found["low"], found["high"] - found["change"]]
        axes.errorbar(found["change"], places, xerr=spread, fmt="o", color=plots.BLUE)
        axes.axvline(0.0, color=plots.BLACK, linewidth=0.8)
        words = [f"{c[:34]}, {s}" for c, s in zip(found["choice"], found["setting"], strict=True)]
        axes.set_yticks(list(places), words)
        axes.set_xlabel("change of error (share of records)")
        context.save(figure, "practice")


def as_markdown(found: pd.DataFrame) -> str:
    """The table as the page shows it."""
    lines = [
        "| what the authors' code does | setting | error | by the text | by their code | change |",
        "|---|---|---|---|---|---|",
    ]
    for row in found.to_dict("records"):
        setting = str(row["setting"]).replace("|", "\\|")
        lines.append(
            f"| {row['choice']} | {setting} | {row['error']} | {row['text']:.3f} | "
            f"{row[THEIRS]:.3f} | "
            f"{row['change']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f}) |"
        )
    return "\n".join(lines) + "\n"


FIGURE = PaperFigure(
    "practice",
    "what each choice of the authors' code changes: clipping, replacement, Geometric(1/4), Adam",
    tasks,
    draw,
)
