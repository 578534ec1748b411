"""An experiment after RAP++: numbers as numbers in D', and prefix queries in place of cells.

RAP++ (Vietri et al. 2022) gives a row of D' one number for a numeric feature in place of a
probability for each of its values. Here a row has a centre and a width for each, and
the logistic distribution with these gives the probabilities. A *prefix* query asks for
numeric features "at most this value", and for the others "this value", as usual.

Run `python -m benchmarks.numeric_rows [--lending-club FILE] [--data adult …] [--seeds 3]` from the
root of the repository. Four versions of RAP are compared, with the same T, K and ρ: one-hot and
numeric rows, each fitted to cells and to prefixes. Errors are the largest over all cells, and
over all prefixes. Noise and selection are numpy's: this is an experiment on public data, and
nothing of it can be released.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import thresher as th
from benchmarks.accuracy import with_error
from thresher.relaxed.optimisers import AcceleratedProjection, Iterate, Optimiser
from thresher.relaxed.projection import Stopping, project
from thresher.relaxed.rows import RelaxedRows, offsets_of
from thresher.relaxed.selected import SelectedQueries
from thresher.relaxed.softmax import softmax
from thresher.relaxed.steps import adam_step
from thresher.relaxed.targets import Gradient, Misfit, QueryTargets, Residuals
from thresher.release.sources import SyntheticRows
from thresher.tables import slabs_of

EPSILONS, MARGINALS, ROWS = (0.1, 1.0), 16, 1000
MANY = 12
"""Features of numbers with more values than this count as numeric."""
LARGEST = 2_000_000
"""The most queries of a threshold of these workloads, whose tables are all kept in memory."""

RATE = 0.01
"""The step size of Adam for each square root of the number of targets."""
FIRST_WIDTH, WIDEST, COOLING = 20, 4, 0.95
"""Widths start at a twentieth of the range of a feature. As in RAP++, a fit is annealed: it begins
with distributions that are a quarter of the range wider, and takes this off, step by step. Without
it, rows far from a query would have no derivative."""

CATEGORIES = {
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
    "native-country", "income", "term", "grade", "sub_grade", "home_ownership", "purpose",
    "verification_status", "loan_status", "addr_state",
}  # fmt: skip

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Numbers:
    """Which features of a schema are numeric."""

    schema: th.Schema

    @property
    def blocks(self) -> list[slice]:
        """The one-hot columns of each numeric feature."""
        offsets = offsets_of(self.schema.sizes)
        return [
            slice(int(start), int(start) + feature.size)
            for feature, start in zip(self.schema, offsets[:-1], strict=True)
            if self.is_number(feature.name)
        ]

    def is_number(self, name: str) -> bool:
        """Whether a feature is numeric."""
        return name not in CATEGORIES and self.schema[name].size > MANY

    def axes(self, threshold: th.Threshold) -> list[int]:
        """The numeric axes of a table."""
        return [i for i, name in enumerate(threshold.features) if self.is_number(name)]

    def prefixes(self, columns: Array) -> Array:
        """For numeric features the probability of at most each value, in place of each value."""
        added = columns.copy()
        for block in self.blocks:
            np.cumsum(columns[block], axis=0, out=added[block])
        return added

    def back(self, slopes: Array) -> Array:
        """The derivatives by columns, from those by prefixes."""
        found = slopes.copy()
        for block in self.blocks:
            found[block] = np.cumsum(slopes[block][::-1], axis=0)[::-1]
        return found


@dataclass(frozen=True, eq=False)
class PrefixTargets:
    """Noisy answers to prefix queries."""

    numbers: Numbers
    cells: QueryTargets

    def __len__(self) -> int:
        return len(self.cells)

    def residuals(
        self, rows: RelaxedRows, gradient: Gradient | None = None, weight: float = 1.0
    ) -> Residuals:
        """Residuals at D'; the gradient of weight × misfit is added to `gradient`."""
        added = RelaxedRows(self.numbers.prefixes(rows.columns), rows.sizes)
        if gradient is None:
            return self.cells.residuals(added)
        inner = Gradient(np.zeros_like(rows.columns), rows.sizes)
        found = self.cells.residuals(added, inner, weight)
        gradient.columns[...] += self.numbers.back(inner.columns)
        return found


class NumericAdam:
    """Adam on centres and widths of numeric features, and on the logits of the others.

    The first of a numeric feature's columns stands for its centre, in tenths of its range, and the
    second for the logarithm of its width, in values.
    """

    def __init__(self, numbers: Numbers, rng: np.random.Generator) -> None:
        self.numbers, self.sizes = numbers, numbers.schema.sizes
        self.starts = offsets_of(self.sizes)[:-1]
        self.point = rng.standard_normal((sum(self.sizes), ROWS)).astype(np.float32)
        for block in numbers.blocks:
            self.point[block.start] = rng.uniform(0, 10, ROWS)
            self.point[block.start + 1] = np.log((block.stop - block.start) / FIRST_WIDTH)
        self.heat = 0.0

    def iterates(self, misfit: Misfit, start: Array) -> Iterator[Iterate]:
        """Yield D' after D', from where it stood."""
        mean, spread = np.zeros_like(self.point), np.zeros_like(self.point)
        slopes, step, size = np.zeros_like(start), 0, RATE * float(np.sqrt(len(misfit)))
        while True:
            self.heat = COOLING**step / WIDEST
            columns = self.columns()
            yield Iterate(columns, misfit.residuals(columns, slopes))
            step += 1
            adam_step(self.point, self.by_point(columns, slopes), mean, spread, step, size)

    def columns(self) -> Array:
        """The probabilities of all values."""
        logits = self.point.copy()
        for block in self.numbers.blocks:
            logits[block] = self._logits(block)[0]
        return softmax(logits, self.sizes)

    def _logits(self, block: slice) -> tuple[Array, Array, Array]:
        """Logarithms of logistic densities, and their derivatives by centre and log of width."""
        count = np.float32(block.stop - block.start)
        cold = np.exp(np.clip(self.point[block.start + 1], -1.5, np.log(count)))
        width = np.hypot(cold, np.float32(self.heat * count))
        values = np.arange(count, dtype=np.float32)[:, None]
        distance = (values - self.point[block.start] * count / 10) / width
        size, slope = np.abs(distance), np.tanh(distance / 2)
        logits = -size - 2 * np.log1p(np.exp(-size))
        return logits, slope * count / 10 / width, slope * distance * (cold / width) ** 2

    def by_point(self, columns: Array, by_columns: Array) -> Array:
        """The derivatives by centres, widths and logits, from those by columns."""
        sums = np.add.reduceat(by_columns * columns, self.starts, axis=0)
        found = columns * (by_columns - np.repeat(sums, self.sizes, axis=0))
        for block in self.numbers.blocks:
            _, by_centre, by_width = self._logits(block)
            by_logits = found[block].copy()
            found[block] = 0
            found[block.start] = (by_logits * by_centre).sum(axis=0)
            found[block.start + 1] = (by_logits * by_width).sum(axis=0)
        return np.ascontiguousarray(found, dtype=np.float32)


@dataclass(frozen=True)
class Version:
    """A kind of rows, and a kind of queries."""

    name: str
    numeric_rows: bool
    prefixes: bool


VERSIONS = (
    Version("one-hot, cells", False, False),
    Version("one-hot, prefixes", False, True),
    Version("numeric, cells", True, False),
    Version("numeric, prefixes", True, True),
)


class Tables:
    """All tables of a workload, true or of D', as cells or as prefixes."""

    def __init__(self, numbers: Numbers, work: th.Workload) -> None:
        self.numbers, self.work = numbers, work

    def of(self, table: Callable[[th.Threshold], NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """The cells of every table."""
        return [table(threshold) for threshold in self.work]

    def added(self, tables: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """The prefixes of every table."""
        found = []
        for threshold, table in zip(self.work, tables, strict=True):
            for axis in self.numbers.axes(threshold):
                table = np.cumsum(table, axis=axis)
            found.append(table)
        return found

    def on_rows(self, rows: RelaxedRows) -> list[NDArray[np.float64]]:
        """The cells of every table of D'."""
        schema, source = self.work.schema, SyntheticRows(rows, self.work.schema)

        def table(threshold: th.Threshold) -> NDArray[np.float64]:
            shape = threshold.shape(schema)
            [whole] = slabs_of(shape, LARGEST)
            return np.asarray(source.table(threshold)(whole), float).reshape(shape)

        return self.of(table)


def fitted(
    version: Version, data: th.Records, tables: Tables, epsilon: float, seed: int
) -> RelaxedRows:
    """RAP with the rule's T and K: select the worst queries, measure them, fit D', repeat."""
    rng, schema, n = np.random.default_rng(seed), data.schema, data.n
    rho = float(th.Budget.from_epsilon(epsilon, 1 / n**2).rho)
    settled = th.RAP().resolve(n, th.Budget.from_epsilon(epsilon, 1 / n**2).rho, tables.work)
    rounds, per_round = settled.rounds, settled.queries_per_round
    # Half of a round's ρ selects, with Gumbel noise, and half measures: both have this scale.
    noise = float(np.sqrt(per_round * rounds / rho) / n)
    truth = tables.of(lambda threshold: th.exact_answers(data, threshold) / n)
    wanted = tables.added(truth) if version.prefixes else truth
    optimiser: Optimiser = AcceleratedProjection()
    rows = RelaxedRows.uniform(schema.sizes, ROWS, rng)
    if version.numeric_rows:
        optimiser = NumericAdam(tables.numbers, rng)
        rows = RelaxedRows(optimiser.columns(), schema.sizes)
    columns: list[list[int]] = []
    answers: list[float] = []
    flat = np.concatenate([table.ravel() for table in wanted])
    starts = np.cumsum([0, *(table.size for table in wanted)])
    chosen_before: list[int] = []
    for _ in range(rounds):
        found = tables.on_rows(rows)
        found = tables.added(found) if version.prefixes else found
        scores = np.abs(np.concatenate([table.ravel() for table in found]) - flat)
        scores += rng.gumbel(0.0, noise, len(scores))
        scores[chosen_before] = -np.inf
        chosen = np.argpartition(-scores, per_round)[:per_round]
        for place in chosen.tolist():
            number = int(np.searchsorted(starts, place, side="right")) - 1
            threshold = list(tables.work)[number]
            cell = np.unravel_index(place - starts[number], threshold.shape(schema))
            columns.append(
                [
                    int(schema.offsets[schema.index(name)]) + int(code)
                    for name, code in zip(threshold.features, cell, strict=True)
                ]
            )
            answers.append(float(flat[place] + rng.normal(0.0, noise)))
        chosen_before += chosen.tolist()
        queries = SelectedQueries.of(columns, [len(query) for query in columns])
        cells = QueryTargets(queries, np.array(answers), noise)
        target = PrefixTargets(tables.numbers, cells) if version.prefixes else cells
        rows = project(rows, [target], optimiser, Stopping(iterations=300)).rows
    return rows


def main() -> None:
    """Print one line per data set, ε and version."""
    parser = argparse.ArgumentParser(description="Numeric rows and prefix queries in RAP.")
    parser.add_argument("--data", action="append", help="adult, lending-club or both")
    parser.add_argument(
        "--lending-club", metavar="FILE", help="the extract of Lending Club's loans"
    )
    parser.add_argument("--version", action="append", help="part of the name of a version")
    parser.add_argument("--epsilon", action="append", type=float, help="0.1 and 1 if not given")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    versions = [v for v in VERSIONS if any(w in v.name for w in given.version or [""])]
    print(f"RAP, {MARGINALS} 3-way marginals, n' = {ROWS}, {given.seeds} seeds: largest errors")
    print(f"{'data':>13} {'eps':>4} {'version':>18}  over cells        over prefixes     cpu s")
    for name in given.data or ("adult", "lending-club"):
        if name == "lending-club" and given.lending_club is None:
            print("lending-club is left out: give --lending-club FILE")
            continue
        data = (
            th.datasets.adult() if name == "adult" else th.datasets.lending_club(given.lending_club)
        )
        for epsilon in given.epsilon or EPSILONS:
            for version in versions:
                errors = [errors_of(version, data, epsilon, seed) for seed in range(given.seeds)]
                cells, prefixes, seconds = zip(*errors, strict=True)
                print(
                    f"{name:>13} {epsilon:4} {version.name:>18}  {with_error(cells)}   "
                    f"{with_error(prefixes)}   {np.mean(seconds):.0f}",
                    flush=True,
                )


def errors_of(
    version: Version, data: th.Records, epsilon: float, seed: int
) -> tuple[float, float, float]:
    """The largest error over cells and over prefixes, and the seconds of the fit."""
    work = th.Workload.random(data.schema, 3, size=MARGINALS, seed=seed, max_queries=LARGEST)
    tables = Tables(Numbers(data.schema), work)
    began = time.process_time()
    rows = fitted(version, data, tables, epsilon, seed)
    seconds = time.process_time() - began
    truth = tables.of(lambda threshold: th.exact_answers(data, threshold) / data.n)
    found = tables.on_rows(rows)
    both = ((truth, found), (tables.added(truth), tables.added(found)))
    cells, prefixes = (
        max(float(np.abs(a - b).max()) for a, b in zip(*pair, strict=True)) for pair in both
    )
    return cells, prefixes, seconds


if __name__ == "__main__":
    main()
