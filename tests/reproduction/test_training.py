"""Fits that are followed from iteration to iteration: the same fits, looked at."""

import pytest

from thresher.evaluation import errors_of
from thresher.reproduction import data
from thresher.reproduction.training import RoundsRun, TrainingRun

WATCHED = {
    "data": "adult-small", "epsilon": 1.0, "k": 3, "r": 1, "size": 3, "rounds": 2,
    "queries_per_round": 3, "synthetic_rows": 30, "seed": 0, "distribution": "geometric",
    "future": 4,
}  # fmt: skip


def test_a_watched_fit_is_the_same_fit():
    run = TrainingRun(**WATCHED, every=1)
    watched = run.run({})
    assert len(watched["present"]) == watched["iterations"]
    assert set(watched["round"]) == {1, 2}
    records = data.records_of("adult-small", {})
    _, history = run.history(records.schema)
    release = run.fitted(records, history, run.mechanism_for(history))
    last = errors_of(release.source.table, records, history).max
    assert watched["present"][-1] == pytest.approx(last, abs=1e-5)


@pytest.mark.parametrize("optimizer", ["accelerated", "adam"])
def test_a_fit_past_the_noise_has_its_iterations_in_every_round(optimizer):
    found = RoundsRun(**WATCHED, optimizer=optimizer, iterations=60, every=30).run({})
    assert found["rounds_done"] == [0, 0.5, 1, 1.5, 2]
    # Ours stops where no step leads further down; Adam knows no such place.
    least = 2 * 61 if optimizer == "adam" else 61
    assert least <= found["iterations"] <= 2 * 61
    assert len(found["last_misfit"]) == 2
    assert found["last_misfit"][-1] < found["first_misfit"][-1]


def test_a_fit_to_the_noise_is_looked_at_between_rounds():
    run = RoundsRun(**WATCHED, iterations=0, every=1)
    found = run.run({})
    assert found["rounds_done"] == [0, 1, 2]
    records = data.records_of("adult-small", {})
    _, history = run.history(records.schema)
    release = run.fitted(records, history, run.mechanism_for(history))
    last = errors_of(release.source.table, records, history).max
    assert found["present"][-1] == pytest.approx(last, abs=1e-5)
