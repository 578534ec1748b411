"""Figure "Runtime": adaptive RAP (OSAS and AS), non-adaptive RAP, and the paper's way in JAX."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from thresher.reproduction import plots
from thresher.reproduction.paper_figure import Context, PaperFigure, means_of
from thresher.reproduction.query_forms import FormTiming
from thresher.reproduction.reference import ReferenceFit
from thresher.reproduction.running import Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL, PresentFit, sizes_within

OSAS, AS, NON_ADAPTIVE, REFERENCE = (
    "adaptive, OSAS", "adaptive, AS", "non-adaptive", "adaptive, the paper's way (JAX)",
)  # fmt: skip
AUTO = "auto (ours)"
STYLES = {OSAS: 0, AS: 4, NON_ADAPTIVE: 1, REFERENCE: 3, AUTO: 5}
MEASURED = {"seconds": "processor time (s)", "peak_mib": "peak memory (MiB)"}
FORMS = {
    "partitions": "generalized products",
    "inclusion_exclusion": "inclusion–exclusion",
    "counting": "counting (ours)",
}


def fits(scale: Scale) -> dict[str, list[PresentFit]]:
    """The runs of each line."""
    grid = scale.runtime
    rounds, per_round = grid.pair
    lines: dict[str, list[PresentFit]] = {name: [] for name in STYLES}
    for data in scale.data:
        k = scale.marginals.k
        for seed in range(grid.repetitions):
            common: dict[str, Any] = {
                "data": data, "epsilon": grid.epsilon, "k": k, "r": k, "seed": seed,
                "synthetic_rows": scale.marginals.synthetic_rows, "optimizer": scale.optimizer,
            }  # fmt: skip
            practice = scale.practice.of_fits
            paired = {**common, **practice, "rounds": rounds, "queries_per_round": per_round}
            for size in sizes_within(data, k, grid.sizes):
                lines[OSAS].append(PresentFit(**paired, size=size))
                lines[AS].append(PresentFit(**paired, size=size, selection="iterative"))
                lines[AUTO].append(PresentFit(**common, size=size, mechanism="auto"))
            for size in sizes_within(data, k, grid.non_adaptive_sizes):
                lines[NON_ADAPTIVE].append(
                    PresentFit(**common, **practice, size=size, rounds=1, queries_per_round=ALL)
                )
            for size in sizes_within(data, k, grid.reference_sizes):
                iterations = grid.reference_iterations
                way = {name: value for name, value in paired.items() if name not in practice}
                lines[REFERENCE].append(ReferenceFit(**way, size=size, iterations=iterations))
    return lines


def tasks(scale: Scale) -> Sequence[Task]:
    """All lines."""
    return [task for line in fits(scale).values() for task in line]


def draw(context: Context) -> None:
    """A panel for each data set."""
    parts = []
    for label, wanted in fits(context.scale).items():
        frame = context.whole(wanted) if label == AUTO else context.frame(wanted)
        if len(frame):
            # Results of earlier versions do not tell their memory.
            columns = [name for name in ("seconds", "peak_mib", "queries") if name in frame]
            parts.append(means_of(frame, ["data", "size"], *columns).assign(line=label))
    found = pd.concat(parts, ignore_index=True)
    context.table("runtime", found)
    for data in context.scale.data:
        _draw_data(context, data, found[found["data"] == data])


def _draw_data(context: Context, data: str, found: pd.DataFrame) -> None:
    grid = context.scale.runtime
    rounds, per_round = grid.pair
    note = f"; JAX: {grid.reference_iterations} iterations a round, with compilation"
    if REFERENCE not in set(found["line"]):
        note = "; the paper's way in JAX was not run"
    title = context.title(
        data,
        f"{context.scale.marginals.k}-way marginals, ε = {grid.epsilon:g}, adaptive: T = {rounds}, "
        f"K = {per_round}{note}",
    )
    shown = {name: words for name, words in MEASURED.items() if name in found}
    with plots.page(1, len(shown), title=title, width=3.8, height=3.0) as (figure, [panels]):
        for axes, (column, words) in zip(panels, shown.items(), strict=True):
            curves = []
            for label, style in STYLES.items():
                here = found[found["line"] == label].sort_values("size")
                if len(here):
                    x, y = list(here["size"]), list(here[column])
                    curves.append(plots.Curve(label, x, y, style))
            plots.draw_curves(axes, curves)
            plots.sizes_axis(axes, sorted(found["size"].unique()), "|W|, thresholds")
            axes.set_yscale("log")
            axes.set_ylabel(words)
        plots.legend_below(figure, panels[0], 3)
        context.save(figure, context.name("runtime", data))


def timings(scale: Scale) -> list[FormTiming]:
    """The forms of the polynomial threshold query, for each r and repetition."""
    grid, runtime = scale.thresholds, scale.runtime
    return [
        FormTiming(k=grid.k, r=r, repeats=runtime.forms_repeats, seed=seed)
        for r in grid.r
        for seed in range(runtime.repetitions)
    ]


def draw_forms(context: Context) -> None:
    """Bars for each r: the paper's two forms, and the dynamic programme that runs here."""
    frame = means_of(context.frame(timings(context.scale)), ["r"], *FORMS)
    frame["saved"] = 1 - frame["inclusion_exclusion"] / frame["partitions"]
    context.table("forms", frame)
    k = context.scale.thresholds.k
    title = (
        f"Forms of the polynomial threshold query · scale “{context.scale.name}”\n"
        f"64 r-of-{k} queries on 1,000 random rows, NumPy, one core; "
        "%: inclusion–exclusion against generalized products"
    )
    with plots.page(1, 1, title=title, width=4.6, height=2.8) as (figure, [[axes]]):
        width = 0.27
        for i, (form, label) in enumerate(FORMS.items()):
            x = [r + (i - 1) * width for r in frame["r"]]
            hatch = ("", "///", "...")[i]
            axes.bar(
                x, frame[form], width * 0.92, label=label, color=plots.COLOURS[i], hatch=hatch,
                edgecolor="white", linewidth=0.4,
            )  # fmt: skip
        words = [
            f"r = {r}\n({-100 * saved:+.0f} %)".replace("-", "−")
            for r, saved in zip(frame["r"], frame["saved"], strict=True)
        ]
        axes.set_xticks(list(frame["r"]), words)
        axes.set_ylabel("processor time (ms)")
        plots.legend_below(figure, axes, 3)
        context.save(figure, "forms")


FIGURE = PaperFigure(
    "runtime",
    "time and memory of RAP, adaptive or not, AS against OSAS, the paper's way in JAX, and auto",
    tasks,
    draw,
)
FORMS_FIGURE = PaperFigure(
    "forms",
    "time of the forms of the polynomial threshold query: what inclusion–exclusion saves",
    timings,
    draw_forms,
)
