"""The paper's claims on present error, time and memory, each as a number in stored results."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from thresher.queries import Workload
from thresher.reproduction import (
    adaptivity,
    filtering,
    memory,
    paper_numbers,
    present_error,
    printed_osas,
    runtime,
    thresholds,
)
from thresher.reproduction import synthetic_rows as rows_figure
from thresher.reproduction.data import title_of
from thresher.reproduction.paper_figure import Context, PaperFigure, best_pairs
from thresher.reproduction.present_error import adaptive, others
from thresher.reproduction.regression import compare_models
from thresher.reproduction.scales import Scale
from thresher.reproduction.tasks import Choosing, PresentFit, sizes_within
from thresher.reproduction.verdicts import Claim, Finding, exactly, factor, finding, within, worst

ABOUT_50 = 37.5
"""Within a quarter of 50, as for errors."""
ABOUT_EQUAL = 0.02
"""Errors that differ by less than this are called about equal."""
OF_IT = 0.25
"""The share of a number by which another may differ that is said to be the same."""
SMALL, MIDDLE, LARGE = 0.01, 0.1, 1.0
"""The paper's ε."""

Epsilons = tuple[float, ...]
Measure = Callable[[Context], Finding | None]


def first(context: Context) -> str:
    """The data set that claims are checked on."""
    return context.scale.data[0]


BySeed = dict[int, float]
"""A number for each repetition."""


def least(frame: pd.DataFrame) -> BySeed:
    """The least error over (T, K), by repetition."""
    return by_seed(frame.groupby("seed")["error"].min().reset_index(), "error")


def by_seed(frame: pd.DataFrame, column: str) -> BySeed:
    """A column of a frame that has one row a repetition."""
    return {int(seed): float(value) for seed, value in frame[["seed", column]].to_numpy()}


def best_pair(frame: pd.DataFrame) -> tuple[int, int]:
    """The (T, K) with the least mean error."""
    best = best_pairs(frame, ["data"]).iloc[0]
    return int(best["rounds"]), int(best["queries_per_round"])


def _here(context: Context, tasks: Sequence[Any], **fixed: Any) -> pd.DataFrame:
    """Stored runs of the first data set with some parameters."""
    wanted = [
        task
        for task in tasks
        if task.data == first(context)
        and all(getattr(task, name) == value for name, value in fixed.items())
    ]
    return context.frame(wanted)


def _sizes(context: Context) -> tuple[int, ...]:
    """The sizes of the workloads of marginals that the data set has."""
    grid = context.scale.marginals
    return sizes_within(first(context), grid.k, grid.sizes)


def _where(context: Context, *words: str) -> str:
    return ", ".join([title_of(first(context)), *words])


def _paired(one: BySeed, other: BySeed) -> list[float]:
    """Differences within repetitions."""
    return [one[seed] - other[seed] for seed in one if seed in other]


def _ratios(one: BySeed, other: BySeed) -> list[float]:
    """Ratios within repetitions."""
    return [one[seed] / other[seed] for seed in one if seed in other]


def adaptivity_is_crucial(context: Context) -> Finding | None:
    """The rise of error without adaptivity, at the ε and |W| where it is the smallest."""
    found = []
    settings = itertools.product(context.scale.marginals.epsilons, _sizes(context))
    for epsilon, size in settings:
        best = _here(context, adaptive(context.scale), size=size, epsilon=epsilon)
        other = _here(context, others(context.scale, "rap"), size=size, epsilon=epsilon)
        if len(best) and len(other):
            where = _where(context, f"|W| = {size}", f"ε = {epsilon:g}")
            found.append(finding(_paired(least(other), least(best)), 0.0, "above", where))
    return worst(found)


def non_adaptive_is_all_0(epsilons: Epsilons) -> Measure:
    """How far non-adaptive RAP is from All-0, at most, for |W| ≥ 4 and some ε."""

    def measure(context: Context) -> Finding | None:
        found, grid = [], context.scale.marginals
        for epsilon in (e for e in grid.epsilons if e in epsilons):
            for size in _sizes(context):
                one = _here(context, others(context.scale, "rap"), size=size, epsilon=epsilon)
                other = _here(context, others(context.scale, "all0"), size=size, epsilon=epsilon)
                if size >= 4 and len(one) and len(other):
                    where = _where(context, f"|W| = {size}", f"ε = {epsilon:g}")
                    found.append(within(_paired(least(one), least(other)), ABOUT_EQUAL, where))
        return worst(found)

    return measure


def best_total_grows(context: Context) -> Finding | None:
    """The factor by which the best T·K grows from the smallest ε to the largest."""
    grid, totals = context.scale.marginals, []
    [size] = sizes_within(first(context), grid.k, (grid.map_size,))
    for epsilon in (grid.epsilons[0], grid.epsilons[-1]):
        frame = _here(context, adaptive(context.scale), size=size, epsilon=epsilon)
        if not len(frame):
            return None
        best = frame.sort_values("error").drop_duplicates("seed")
        asked = best["rounds"] * best["queries_per_round"]
        totals.append(by_seed(best.assign(asked=asked), "asked"))
    ratios = _ratios(totals[1], totals[0])
    return factor(ratios, 1.0, "above", _where(context, f"|W| = {size}"))


def beside_the_paper(selection: Choosing, epsilon: float) -> Callable[[Scale], list[PresentFit]]:
    """The runs whose error is compared with the paper's line: one ε, all sizes and (T, K)."""

    def runs(scale: Scale) -> list[PresentFit]:
        every = adaptive(scale, selection=selection)
        return [task for task in every if (task.data, task.epsilon) == (scale.data[0], epsilon)]

    return runs


def paper_s_error(selection: Choosing, epsilon: float) -> Measure:
    """How far RAP's error is from the paper's line, at most, with correct or printed noise."""

    def measure(context: Context) -> Finding | None:
        found = []
        for size in _sizes(context):
            runs = beside_the_paper(selection, epsilon)(context.scale)
            frame = _here(context, runs, size=size)
            paper = printed_osas.paper_line(first(context), epsilon, size)
            if not len(frame) or math.isnan(paper):
                continue
            gaps = [error - paper for error in least(frame).values()]
            ours = f"ours: {sum(gaps) / len(gaps) + paper:.3f}, the paper: {paper:.3f}"
            where = _where(context, f"|W| = {size}", f"ε = {epsilon:g}", ours)
            found.append(within(gaps, OF_IT * paper, where))
        return worst(found)

    return measure


def filter_adds(epsilon: float) -> Measure:
    """What the filter adds to error at equal numbers of queries, amid those that both have."""

    def measure(context: Context) -> Finding | None:
        frame = context.frame(filtering.tasks(context.scale))
        if not len(frame) or not frame["filtered"].any():
            return None
        observed = filtering.least_errors(frame[frame["data"] == first(context)])
        found = compare_models(filtering.observations(observed, "queries"))
        sizes = observed.groupby("filtered")["queries"]
        at = math.sqrt(float(sizes.min().max()) * float(sizes.max().min()))
        added, low, high = found.effect(epsilon, math.log(at), robust=True)
        where = _where(context, f"{at:.0f} queries", f"ε = {epsilon:g}", "by workload")
        return Finding(added, low, high, 0.0, "above", where)

    return measure


def conjunctions_are_easiest(context: Context) -> Finding | None:
    """How much smaller error is at r = k than at the best r < k."""
    grid = context.scale.thresholds
    size, epsilon = grid.map_size, grid.map_epsilon
    by_r = {
        r: _here(context, thresholds.mapped(context.scale), r=r, size=size, epsilon=epsilon)
        for r in grid.r
    }
    if not all(len(frame) for frame in by_r.values()):
        return None
    easiest = least(pd.concat([frame for r, frame in by_r.items() if r < grid.k]))
    where = _where(context, f"|W| = {size}", f"ε = {epsilon:g}")
    return finding(_paired(easiest, least(by_r[grid.k])), 0.0, "above", where)


def many_small_rounds(context: Context) -> Finding | None:
    """What T < K costs against T > K, at the r < k where it is the least."""
    grid, found = context.scale.thresholds, []
    where = _where(context, f"|W| = {grid.map_size}", f"ε = {grid.map_epsilon:g}")
    for r in (r for r in grid.r if r < grid.k):
        frame = _here(
            context, thresholds.mapped(context.scale), r=r, size=grid.map_size,
            epsilon=grid.map_epsilon,
        )  # fmt: skip
        if not len(frame):
            return None
        many = frame["rounds"] > frame["queries_per_round"]
        few = frame["rounds"] < frame["queries_per_round"]
        costs = _paired(least(frame[few]), least(frame[many]))
        found.append(finding(costs, 0.0, "above", f"{where}, r = {r}"))
    return worst(found)


def more_rows_help(context: Context) -> Finding | None:
    """The change of error from the fewest rows to the most, at the r where it is the largest."""
    grid, found = context.scale.thresholds, []
    for r in grid.r:
        few, many = (
            _here(context, rows_figure.tasks(context.scale), r=r, synthetic_rows=rows)
            for rows in (grid.rows[0], grid.rows[-1])
        )
        if len(few) and len(many):
            where = _where(context, f"r = {r}", f"n' = {grid.rows[0]} to {grid.rows[-1]}")
            found.append(finding(_paired(least(many), least(few)), 0.0, "below", where))
    return worst(found)


def any_is_slower(context: Context) -> Finding | None:
    """How many times as long r = 1 takes as r = k, each with its best (T, K); most over n'."""
    grid, found = context.scale.thresholds, []
    for rows in grid.rows:
        seconds = {}
        for r in (1, grid.k):
            frame = _here(context, rows_figure.tasks(context.scale), r=r, synthetic_rows=rows)
            if not len(frame):
                return None
            rounds, per_round = best_pair(frame)
            at = (frame["rounds"] == rounds) & (frame["queries_per_round"] == per_round)
            seconds[r] = by_seed(frame[at], "seconds")
        where = _where(context, f"n' = {rows}", "the paper: up to 20")
        found.append(factor(_ratios(seconds[1], seconds[grid.k]), 1.0, "above", where))
    return max((f for f in found if f), key=lambda f: f.value, default=None)


def gaussian_ignores_r(context: Context) -> Finding | None:
    """The largest mean difference of GM's error between r and k."""
    grid, found = context.scale.thresholds, []
    tasks = thresholds.fits(context.scale, "gaussian_per_query")
    for epsilon in grid.epsilons:
        frames = {
            r: _here(context, tasks, r=r, epsilon=epsilon, size=grid.sizes[0]) for r in grid.r
        }
        if not all(len(frame) for frame in frames.values()):
            continue
        last = least(frames[grid.k])
        for r in grid.r[:-1]:
            where = _where(context, f"r = {r} and {grid.k}", f"ε = {epsilon:g}")
            share = sum(last.values()) / len(last)
            found.append(within(_paired(least(frames[r]), last), OF_IT * share, where))
    return worst(found)


def more_queries(data: paper_numbers.DataName) -> Measure:
    """How many times as many queries workloads have without the filter.

    Schemas and numbers of records are public, so nothing has to be run. On ADULT it is the whole
    space; on LOANS, workloads of equal size.
    """

    def measure(context: Context) -> Finding | None:
        schema = paper_numbers.schema_of(data)
        whole = Workload.all(schema, paper_numbers.K)
        kept = whole.within(paper_numbers.RECORDS[data]).kept
        ratio = whole.query_count / kept.query_count
        if data == "adult":
            where = f"ADULT, all {len(whole)} marginals over the {len(kept)} that are kept"
            return exactly(ratio, ABOUT_50, "above", where)
        equal = ratio * len(kept) / len(whole)
        return exactly(equal, ABOUT_50, "above", "LOANS, workloads of equal size")

    return measure


def memory_saved(line: str, claimed: float) -> Measure:
    """How many times as large a workload fits as with all queries held."""

    def measure(context: Context) -> Finding | None:
        wanted = [task for task in memory.tasks(context.scale) if task in context.store]
        if not wanted:
            return None
        found = memory.collected(context)
        data = str(context.scale.data[-1])
        ours, held = (
            _largest(found[(found["data"] == data) & (found["line"] == f"{line}, {words}")])
            for words in (memory.OURS, memory.HELD)
        )
        low = ours[0] / held[1]
        high = ours[1] / held[0] if held[0] else math.inf
        where = f"{title_of(data)}, {line}, {context.scale.memory.cap_mib} MiB"
        return Finding(low, low, high, claimed, "above", where)

    return measure


def _largest(line: pd.DataFrame) -> tuple[float, float]:
    """Between which numbers of queries a line ends: the most that fit, and the fewest that do not.

    The former is 0 where none fits, the latter infinite where all that were tried do.
    """
    fits, fails = line[line["fits"]]["queries"], line[~line["fits"]]["queries"]
    return (float(fits.max()) if len(fits) else 0.0), (
        float(fails.min()) if len(fails) else math.inf
    )


def oneshot_is_faster(context: Context) -> Finding | None:
    """How many times as long AS takes as OSAS, at the largest |W|."""
    lines = runtime.fits(context.scale)
    sizes = context.scale.runtime.sizes
    size = max(sizes_within(first(context), context.scale.marginals.k, sizes))
    frames = [_here(context, lines[name], size=size) for name in (runtime.AS, runtime.OSAS)]
    if not all(len(frame) for frame in frames):
        return None
    slow, fast = (by_seed(frame, "seconds") for frame in frames)
    return factor(_ratios(slow, fast), 1.0, "above", _where(context, f"|W| = {size}"))


def inclusion_exclusion_saves(context: Context) -> Finding | None:
    """What inclusion–exclusion saves, at the r where it is the most."""
    frame = context.frame(runtime.timings(context.scale))
    if not len(frame):
        return None
    saved = 1 - frame["inclusion_exclusion"] / frame["partitions"]
    by_r = {r: saved[frame["r"] == r] for r in frame["r"].unique()}
    most = max(by_r, key=lambda r: float(by_r[r].mean()))
    return finding(by_r[most], 0.0, "above", f"NumPy, r = {most}, the paper: up to 0.4")


def better_in_every_norm(norm: str) -> Measure:
    """RAP's error over All-0's in another norm, at the ε and |W| where it is the largest."""

    def measure(context: Context) -> Finding | None:
        found = []
        settings = itertools.product(context.scale.marginals.epsilons, _sizes(context))
        for epsilon, size in settings:
            rap = _here(context, adaptive(context.scale), size=size, epsilon=epsilon)
            zero = _here(context, others(context.scale, "all0"), size=size, epsilon=epsilon)
            if not all(len(frame) and norm in frame for frame in (rap, zero)):
                continue
            at_best = by_seed(rap.sort_values("error").drop_duplicates("seed"), norm)
            nothing = by_seed(zero, norm)
            shares = [at_best[seed] / nothing[seed] for seed in at_best if seed in nothing]
            if not any(map(math.isnan, shares)):  # older results have no such norm
                where = _where(context, f"|W| = {size}", f"ε = {epsilon:g}")
                found.append(factor(shares, 1.0, "below", where))
        return worst(found)

    return measure


BESIDE: tuple[tuple[str, PaperFigure, Choosing], ...] = (
    ("", present_error.FIGURE, "oneshot"),
    (", as Algorithm 4 is printed (not private)", printed_osas.FIGURE, "printed-osas"),
)
PRESENT_CLAIMS = (
    Claim("Adaptivity is crucial", "non-adaptive minus best adaptive error", present_error.FIGURE,
          adaptivity_is_crucial),
    Claim("Non-adaptive RAP is about All-0 for all but the smallest workloads (ε ≤ 0.1)",
          "largest gap between the two", present_error.FIGURE,
          non_adaptive_is_all_0((SMALL, MIDDLE))),
    Claim("Non-adaptive RAP is about All-0 for all but the smallest workloads (ε = 1)",
          "largest gap between the two", present_error.FIGURE, non_adaptive_is_all_0((LARGE,))),
    Claim("The best T·K grows with ε", "its factor from the smallest to the largest ε",
          adaptivity.OVER_EPSILONS, best_total_grows),
    *(
        Claim(f"RAP's error{words}, within a quarter of the paper's",
              "gap to the paper's unfiltered line", figure, paper_s_error(selection, epsilon),
              beside_the_paper(selection, epsilon))
        for words, figure, selection in BESIDE
        for epsilon in (SMALL, MIDDLE, LARGE)
    ),
    *(
        Claim("Filtering raises error at equal numbers of queries", "what the filter adds",
              filtering.FIGURE, filter_adds(epsilon))
        for epsilon in (SMALL, MIDDLE, LARGE)
    ),
    Claim("r = 4 is the easiest of r-of-4", "least error of r < 4 minus that of r = 4",
          thresholds.ADAPTIVITY, conjunctions_are_easiest),
    Claim("For r < 4, many rounds of few queries are best",
          "least error with T < K minus that with T > K", thresholds.ADAPTIVITY,
          many_small_rounds),
    Claim("More synthetic rows reduce error mildly", "change of error", rows_figure.FIGURE,
          more_rows_help),
    Claim("r = 1 is slower than r = 4 (the paper: up to 20 times)",
          "time of r = 1 over time of r = 4, at its largest", rows_figure.FIGURE, any_is_slower),
    Claim("GM's error is independent of r, within a quarter of it",
          "largest difference between r and 4",
          thresholds.FIGURE, gaussian_ignores_r),
    *(
        Claim("Unfiltered, RAP answers some 50 times more queries (at its peak)",
              "queries without the filter over those with it", present_error.FIGURE,
              more_queries(data), lambda _: ())
        for data in paper_numbers.SIZES
    ),
    Claim("500 times less memory, non-adaptive",
          "largest workload, ours over all queries at once, at least", memory.FIGURE,
          memory_saved("non-adaptive", 500.0)),
    Claim("4 times less memory, adaptive",
          "largest workload, ours over all queries at once, at least", memory.FIGURE,
          memory_saved("adaptive", 4.0)),
    Claim("OSAS is faster than AS", "time of AS over time of OSAS", runtime.FIGURE,
          oneshot_is_faster),
    Claim("Inclusion–exclusion saves time (the paper: up to 40 %)", "share saved, at its largest",
          runtime.FORMS_FIGURE, inclusion_exclusion_saves),
    Claim("(ours) RAP beats All-0 in ℓ1 as well", "mean error, RAP over All-0",
          present_error.FIGURE, better_in_every_norm("l1")),
    Claim("(ours) RAP beats All-0 in ℓ2 as well", "root mean square error, RAP over All-0",
          present_error.FIGURE, better_in_every_norm("l2")),
)  # fmt: skip
