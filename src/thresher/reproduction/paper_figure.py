"""What every figure of the paper is here: the runs it needs, and how its tables and plots are made.

A figure is a module with `tasks(scale)` and `draw(context)`; `figures.FIGURES` lists them.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from thresher.evaluation.future import student_t
from thresher.files import write_text
from thresher.reproduction import plots
from thresher.reproduction.data import title_of
from thresher.reproduction.running import Result, Store, Task
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import ALL


@dataclass(frozen=True)
class Context:
    """What drawing needs: results, parameters, and a place for the files.

    Attributes:
        store: The results.
        scale: The parameters.
        folder: Where tables and plots go.
        written: The files written so far.
    """

    store: Store
    scale: Scale
    folder: Path
    written: list[Path] = field(default_factory=list)

    def found(self, tasks: Iterable[Task]) -> list[tuple[Task, Result]]:
        """Tasks with their results, where there are any: some cannot be run everywhere."""
        return [(task, self.store[task]) for task in dict.fromkeys(tasks) if task in self.store]

    def has_all(self, tasks: Iterable[Task]) -> bool:
        """Whether the results of all these tasks are there."""
        return all(task in self.store for task in tasks)

    def whole(self, tasks: Sequence[Task]) -> pd.DataFrame:
        """The frame of these tasks, empty unless all their results are there."""
        return self.frame(tasks if self.has_all(tasks) else ())

    def frame(self, tasks: Iterable[Task]) -> pd.DataFrame:
        """Parameters and plain numbers of the results, one row a run."""
        rows: list[dict[str, Any]] = []
        for task, result in self.found(tasks):
            numbers = {k: v for k, v in result.items() if isinstance(v, int | float)}
            rows.append({**task.parameters, **numbers})
        return pd.DataFrame(rows)

    def title(self, data: str, about: str) -> str:
        """The title of a figure: the data set, the scale, and what is shown."""
        return f"{title_of(data)} · scale “{self.scale.name}”\n{about}"

    def name(self, stem: str, data: str) -> str:
        """The name of a file about one data set: LOANS and its stand-in never share one."""
        return f"{stem}-{data}"

    def table(self, stem: str, frame: pd.DataFrame) -> None:
        """Write a table as CSV; it says of every row which data set it is about."""
        told = frame.copy()
        if "data" in told:
            told.insert(0, "data set", told["data"].map(title_of))
            told = told.drop(columns="data")
        path = self.folder / f"{stem}.csv"
        write_text(path, told.to_csv(index=False, float_format="%.8g"))
        self.written.append(path)

    def save(self, figure: Figure, name: str) -> None:
        """Write a plot."""
        self.written.extend(plots.save(figure, self.folder, name))

    def text(self, name: str, words: str) -> None:
        """Write a text file."""
        write_text(self.folder / name, words)
        self.written.append(self.folder / name)


def is_of_the_paper(task: Task) -> bool:
    """Whether a run is of what the paper shows, not of our line beside it."""
    return getattr(task, "mechanism", None) != "auto"


def optional_line(task: Task) -> str | None:
    """The line without which a figure is still drawn, if a run is of one.

    `auto` is ours. The paper's way needs JAX. GM and non-adaptive RAP hold the noisy answers of all
    queries, and large workloads have more of these than a machine may have memory for.
    """
    if not is_of_the_paper(task):
        return "auto"
    if task.kind == "reference":
        return "the paper's way in JAX"
    if task.kind != "present":
        return None
    if getattr(task, "mechanism", None) == "gaussian_per_query":
        return "GM"
    is_non_adaptive = getattr(task, "queries_per_round", None) == ALL
    return "non-adaptive RAP" if is_non_adaptive and task.parameters["mechanism"] == "rap" else None


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper.

    Attributes:
        name: What the command line calls it.
        about: What it shows, in a line.
        tasks: The runs it needs at a scale.
        draw: Makes its tables and plots, without the line of `auto` while runs of it are missing.
    """

    name: str
    about: str
    tasks: Callable[[Scale], Sequence[Task]]
    draw: Callable[[Context], None]

    def missing(self, scale: Scale, store: Store) -> list[Task]:
        """The runs, each once, without which it is not drawn: all but those of `auto`."""
        wanted = dict.fromkeys(self.tasks(scale))
        return [task for task in wanted if task not in store and is_of_the_paper(task)]


def best_pairs(frame: pd.DataFrame, by: Sequence[str], least: str = "error") -> pd.DataFrame:
    """For each setting the (T, K) whose mean over repetitions is least, with that mean.

    Args:
        frame: One row a run.
        by: The columns that make a setting.
        least: The column to be least.
    """
    pairs = ["rounds", "queries_per_round"]
    means = means_of(frame, [*by, *pairs], least)
    return means.loc[means.groupby(list(by))[least].idxmin()].reset_index(drop=True)


def least_per_repetition(
    frame: pd.DataFrame, by: Sequence[str], least: str = "error"
) -> pd.DataFrame:
    """The least error over (T, K) in each repetition, then its mean with a 95 % interval.

    This is what the paper's regressions see. The mean of minima is at most the minimum of means
    that `best_pairs` gives, so only like is compared with like.

    Args:
        frame: One row a run, with the repetition as `seed`.
        by: The columns that make a setting.
        least: The column to be least.

    Returns:
        For each setting `least per repetition`, `low`, `high` and `repetitions`.
    """
    minima = frame.groupby([*by, "seed"])[least].min().reset_index()
    rows = []
    for setting, here in minima.groupby(list(by)):
        mean, margin = mean_and_margin(here[least])
        told = setting if isinstance(setting, tuple) else (setting,)
        rows.append(
            {
                **dict(zip(by, told, strict=True)),
                "least per repetition": mean,
                "low": mean - margin,
                "high": mean + margin,
                "repetitions": len(here),
            }
        )
    return pd.DataFrame(rows)


def means_of_whole(
    frame: pd.DataFrame, by: Sequence[str], repetitions: int, *columns: str
) -> pd.DataFrame:
    """The means of the settings that have all their repetitions."""
    if not len(frame):
        return frame
    counts = frame.groupby(list(by))["seed"].transform("size")
    return means_of(frame[counts == repetitions], by, *columns)


def means_of(frame: pd.DataFrame, by: Sequence[str], *columns: str) -> pd.DataFrame:
    """The means over repetitions of some columns, for each setting."""
    return frame.groupby(list(by))[list(columns)].mean().reset_index()


def for_each_data_set(data: Sequence[str], table: Callable[[str], str]) -> str:
    """A table for each data set, with its name above where there are several.

    Example:
        >>> print(for_each_data_set(["adult"], lambda name: "| 1 |"))
        | 1 |
        >>> print(for_each_data_set(["adult", "loans-0"], lambda name: "| 1 |").splitlines()[0])
        **ADULT**
    """
    if len(data) == 1:
        return table(data[0])
    return "\n".join(f"**{title_of(name)}**\n\n{table(name)}" for name in data)


def image_of(folder: Path, figure: str, data: str) -> Path | None:
    """The plot of a figure on a data set, or on all of them, if there is one."""
    names = (f"{figure}-{data}.png", f"{figure}.png")
    return next((folder / name for name in names if (folder / name).exists()), None)


def mean_and_margin(values: Iterable[float]) -> tuple[float, float]:
    """A mean, and how far its 95 % interval extends to both sides (Student's t).

    Example:
        >>> mean, margin = mean_and_margin([0.1, 0.3])
        >>> round(mean, 3), round(margin, 3)
        (0.2, 1.271)
    """
    listed = [float(value) for value in values]
    mean, count = sum(listed) / len(listed), len(listed)
    if count < 2:
        return mean, math.inf
    return mean, student_t(count - 1) * statistics.stdev(listed) / math.sqrt(count)


def counted(count: int, word: str) -> str:
    """A number and its noun.

    Example:
        >>> counted(1, "repetition"), counted(3, "repetition")
        ('1 repetition', '3 repetitions')
    """
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def pair_name(rounds: Any, per_round: Any) -> str:
    """(T, K) as figures show it.

    Example:
        >>> pair_name(16, 4)
        '(16,4)'
    """
    return f"({int(rounds)},{int(per_round)})"
