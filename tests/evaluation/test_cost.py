"""The estimate of a comparison: it grows with what is walked."""

from types import SimpleNamespace

import pytest

import thresher.evaluation.cost as module
from thresher.data.datasets import adult_schema
from thresher.evaluation.cost import comparing
from thresher.privacy import Budget
from thresher.queries import Workload

SCHEMA = adult_schema()


@pytest.fixture(autouse=True)
def no_room_for_noisy_tables(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 0)


def release(rows):
    source = SimpleNamespace(rows=SimpleNamespace(count=rows) if rows else None)
    return SimpleNamespace(source=source, n=48842, budget=Budget.from_rho(1))


def seconds(rows, r, k=5):
    work = Workload.random(SCHEMA, k=k, r=r, size=64, seed=0)
    return comparing(release(rows), work).seconds


def test_marginals_take_nothing_and_other_tables_are_walked():
    assert seconds(1000, r=5) == 0
    assert seconds(0, r=2) == pytest.approx(2 * 2.07e9 * 1e-8, rel=0.01)


def test_bounds_save_most_of_the_walk(monkeypatch):
    bounded = seconds(1000, r=2)
    monkeypatch.setattr(module, "MOST_KEPT", 0)
    assert seconds(1000, r=2) - 2.07e9 * 1e-8 > 5 * (bounded - 2.07e9 * 1e-8) > 0


def test_more_rows_take_longer():
    assert seconds(500, r=2) < seconds(1000, r=2)


def test_noisy_tables_count_where_there_is_room_for_them(monkeypatch):
    without = seconds(1000, r=3, k=3)
    monkeypatch.setattr(module, "available_memory", lambda: 1 << 40)
    assert seconds(1000, r=3, k=3) > without
