"""Relaxed Projection reaches what can be reached, and stops where the noise says."""

import numpy as np
import pytest

from thresher.errors import ParameterError
from thresher.queries import Threshold
from thresher.relaxed.projection import OPTIMISERS, Stopping, project
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import SelectedQueries, answers
from thresher.relaxed.standardised import Residuals
from thresher.relaxed.tables import threshold_table
from thresher.relaxed.targets import Gradient, Misfit, QueryTargets, TableTarget, Target
from thresher.schema import IntegerRange, Schema

SIZES = (6, 4, 9, 2, 5)
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip("abcde", SIZES, strict=True)
)


def start(rows: int = 100, seed: int = 0) -> RelaxedRows:
    return RelaxedRows.uniform(SIZES, rows, np.random.default_rng(seed))


def population(records: int = 400) -> RelaxedRows:
    """Records with correlated features, one-hot."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 2, size=(records, 1))
    codes = np.floor(rng.random((records, len(SIZES))) ** (1 + 2 * kind) * np.array(SIZES))
    return RelaxedRows.from_codes(SIZES, codes.astype(np.int64))


def random_queries(count: int, k: int, r: int) -> SelectedQueries:
    rng = np.random.default_rng(3)
    offsets = start(1).offsets
    chosen = [np.sort(rng.choice(len(SIZES), k, replace=False)) for _ in range(count)]
    return SelectedQueries.of(
        [[int(offsets[f] + rng.integers(SIZES[f])) for f in features] for features in chosen], r=r
    )


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser_fits_consistent_answers(optimiser: str) -> None:
    queries = random_queries(12, k=3, r=2)
    truth = answers(population(), queries)
    result = project(start(), [QueryTargets(queries, truth, sigma=0.01)], optimiser)
    assert result.reason == "noise"
    assert np.sqrt(np.mean((answers(result.rows, queries) - truth) ** 2)) <= 0.01001
    totals = np.add.reduceat(result.rows.columns, start().offsets[:-1], axis=0)
    np.testing.assert_allclose(totals, 1.0, atol=1e-5)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_same_inputs_give_the_same_rows(optimiser: str) -> None:
    targets = [QueryTargets(random_queries(8, 3, 3), np.full(8, 0.1), sigma=0.02)]
    stopping = Stopping(iterations=30)
    first = project(start(700), targets, optimiser, stopping)
    second = project(start(700), targets, optimiser, stopping)
    np.testing.assert_array_equal(first.rows.columns, second.rows.columns)


def test_high_one_of_four_answers_are_reached() -> None:
    """Adam with Sparsemax pins rows at vertices and stalls at 0.7 here."""
    offsets = start().offsets
    queries = SelectedQueries.of(
        [[int(offsets[f]) for f in features] for features in [(0, 1, 2, 3), (0, 1, 2, 4)]], r=1
    )
    result = project(start(1000), [QueryTargets(queries, np.full(2, 0.95), sigma=0.002)])
    np.testing.assert_allclose(answers(result.rows, queries), 0.95, atol=0.003)


def test_spike_among_contradictory_answers_is_fitted() -> None:
    """One value holds 0.9; the others' noisy answers are negative, which no D' can give."""
    queries = SelectedQueries.of([[column] for column in range(6)], r=1)
    wanted = np.array([0.9, -0.01, -0.02, 0.02, -0.03, 0.01])
    result = project(start(), [QueryTargets(queries, wanted, sigma=0.001)])
    # The nearest point of the simplex: 0.9, 0.02 and 0.01 share what is missing to 1.
    nearest = np.array([0.9, 0.0, 0.0, 0.02, 0.0, 0.01]) + np.array([1, 0, 0, 1, 0, 1]) * 0.07 / 3
    nearest[[1, 2, 4]] = [0.0133333, 0.0033333, 0.0]
    reached = answers(result.rows, queries)
    assert reached[0] == pytest.approx(0.92, abs=0.01)
    assert np.sum((reached - wanted) ** 2) <= np.sum((nearest / nearest.sum() - wanted) ** 2)


def test_default_never_lets_the_misfit_rise() -> None:
    queries = random_queries(40, k=3, r=1)
    noisy = answers(population(), queries) + np.random.default_rng(0).normal(0, 0.05, 40)
    result = project(start(), [QueryTargets(queries, noisy, sigma=0.001)])
    assert np.all(np.diff(result.misfits) <= 0.0)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_whole_tables_are_fitted(r: int) -> None:
    thresholds = [Threshold(tuple("abc"), r), Threshold(tuple("bde"), r)]
    truth = [threshold_table(population(), SCHEMA, threshold) for threshold in thresholds]
    rng = np.random.default_rng(0)
    targets = [
        TableTarget(SCHEMA, threshold, exact + rng.normal(0, 0.01, exact.shape), sigma=0.01)
        for threshold, exact in zip(thresholds, truth, strict=True)
    ]
    result = project(start(), targets)
    for threshold, exact in zip(thresholds, truth, strict=True):
        error = threshold_table(result.rows, SCHEMA, threshold) - exact
        assert np.sqrt(np.mean(error**2)) < 0.015


def test_tables_and_queries_mix_and_their_gradients_agree() -> None:
    cells = np.array(list(np.ndindex(6, 2))) + start().offsets[[0, 3]]
    rng = np.random.default_rng(0)
    noisy = rng.random(12)
    one_by_one: Target = QueryTargets(SelectedQueries.of(cells, r=2), noisy, sigma=0.1)
    whole: Target = TableTarget(SCHEMA, Threshold(("a", "d")), noisy, sigma=0.1)
    rows = start(30)
    gradients = []
    values = []
    for targets in ([one_by_one], [whole], [one_by_one, whole]):
        gradient = np.empty_like(rows.columns)
        values.append(Misfit(targets, SIZES).residuals(rows.columns, gradient).misfit)
        gradients.append(gradient)
    np.testing.assert_allclose(values, values[0], rtol=1e-4)
    for gradient in gradients[1:]:
        np.testing.assert_allclose(gradient, gradients[0], rtol=1e-3, atol=1e-4)


def test_every_iteration_can_be_recorded() -> None:
    seen: list[tuple[int, float, float]] = []

    def record(iteration: int, misfit: float, rows: RelaxedRows) -> None:
        seen.append((iteration, misfit, float(rows.columns.sum())))

    targets = [QueryTargets(random_queries(8, 3, 3), np.full(8, 0.3), sigma=0.01)]
    result = project(start(), targets, stopping=Stopping(iterations=5), record=record)
    assert [iteration for iteration, _, _ in seen] == list(range(6))
    assert tuple(misfit for _, misfit, _ in seen) == result.misfits
    assert result.reason == "iterations"


@pytest.mark.parametrize("least", [0, 7])
def test_a_good_fit_is_final_only_after_the_least_iterations(least: int) -> None:
    rows = start()
    queries = random_queries(8, k=3, r=3)
    good = [QueryTargets(queries, answers(rows, queries) + 0.001, sigma=0.01)]
    result = project(rows, good, stopping=Stopping(at_once=True, last_gain=1.0, least=least))
    assert (result.reason, len(result.misfits) - 1) == ("noise", least)
    with pytest.raises(ParameterError, match="least"):
        Stopping(least=-1)


def test_start_is_left_as_it_is() -> None:
    rows = start()
    before = rows.columns.copy()
    targets = [QueryTargets(random_queries(4, 2, 2), np.full(4, 0.3), sigma=0.01)]
    project(rows, targets)
    np.testing.assert_array_equal(rows.columns, before)


def test_stops_at_the_noise_not_below() -> None:
    queries = random_queries(10, k=2, r=2)
    truth = answers(population(), queries)
    loose = project(start(), [QueryTargets(queries, truth, sigma=0.05)])
    tight = project(start(), [QueryTargets(queries, truth, sigma=0.001)])
    assert loose.reason == "noise"
    assert len(loose.misfits) < len(tight.misfits)


def test_a_good_start_may_stay_as_it_is() -> None:
    rows = start()
    targets = [QueryTargets(random_queries(4, 2, 2), np.full(4, 0.3), sigma=10.0)]
    kept = project(rows, targets, stopping=Stopping(at_once=True))
    np.testing.assert_array_equal(kept.rows.columns, rows.columns)
    assert (len(kept.misfits), kept.reason) == (1, "noise")
    assert len(project(rows, targets).misfits) > 1


class NotFiniteNearby:
    """A target whose misfit is not a number but where D' stands first."""

    def __init__(self, target: Target, rows: RelaxedRows) -> None:
        self._target, self._known = target, rows.columns.copy()

    def __len__(self) -> int:
        return len(self._target)

    def residuals(
        self, rows: RelaxedRows, gradient: Gradient | None = None, weight: float = 1.0
    ) -> Residuals:
        found = self._target.residuals(rows, gradient, weight)
        if np.array_equal(rows.columns, self._known):
            return found
        return Residuals(len(self), np.nan, np.nan)


def test_a_step_to_what_is_not_a_number_is_not_taken() -> None:
    rows = start()
    target = QueryTargets(random_queries(4, 2, 2), np.full(4, 0.3), sigma=0.01)
    result = project(rows, [NotFiniteNearby(target, rows)])
    np.testing.assert_array_equal(result.rows.columns, rows.columns)
    assert result.reason == "optimum"


def test_mistakes_are_named() -> None:
    queries = random_queries(2, 2, 2)
    targets = [QueryTargets(queries, np.zeros(2), sigma=0.1)]
    with pytest.raises(ParameterError, match='"accelerated", "sparse", "adam"'):
        project(start(), targets, optimiser="sgd")
    with pytest.raises(ParameterError, match="nothing to project on"):
        project(start(), [])
    with pytest.raises(ParameterError, match="sigma"):
        QueryTargets(queries, np.zeros(2), sigma=0.0)
    with pytest.raises(ParameterError, match="2 queries"):
        QueryTargets(queries, np.zeros(3), sigma=0.1)
    with pytest.raises(ParameterError, match="cells"):
        TableTarget(SCHEMA, Threshold(("a", "b")), np.zeros(5), sigma=0.1)
    with pytest.raises(ParameterError, match="iterations"):
        Stopping(iterations=-1)
