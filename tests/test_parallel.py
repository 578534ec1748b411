"""Work on all cores: results in order, a few ahead, faults where they belong."""

import threading

import pytest

from thresher.errors import ParameterError
from thresher.parallel import cores, in_order


@pytest.fixture(params=[1, 2, 4])
def workers(request, monkeypatch):
    monkeypatch.setattr("thresher.parallel.cores", lambda: request.param)
    return request.param


def test_results_come_in_order(workers):
    slow = threading.Event()

    def work(i):
        if i == 0 and workers > 1:
            slow.wait(10)  # the first is the last to be done
        if i == 1:
            slow.set()
        return i * i

    assert list(in_order(work, range(50))) == [i * i for i in range(50)]


def test_only_a_few_are_ahead(workers):
    begun = []

    def work(i):
        begun.append(i)
        return i

    results = in_order(work, range(1000))
    for i in range(10):
        assert next(results) == i
        assert len(begun) <= i + 2 + 2 * workers
    results.close()
    assert len(begun) <= 11 + 2 * workers


def test_a_fault_in_the_work_is_raised_in_its_turn(workers):
    def work(i):
        return 1 / (3 - i)

    results = in_order(work, range(10))
    assert [next(results) for _ in range(3)] == [1 / 3, 1 / 2, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_a_fault_in_the_items_is_raised_too(workers):
    def items():
        yield 1
        raise KeyError("items")

    with pytest.raises(KeyError):
        list(in_order(str, items()))


def test_nothing_to_do(workers):
    assert list(in_order(str, [])) == []


def test_one_piece_starts_no_thread(workers):
    before = threading.active_count()
    [found] = in_order(lambda _: (threading.current_thread(), threading.active_count()), ["one"])
    assert found == (threading.current_thread(), before)


def test_work_inside_work(workers):
    def work(i):
        return sum(in_order(lambda j: i * j, range(5)))

    assert list(in_order(work, range(6))) == [10 * i for i in range(6)]


def test_the_environment_can_say_fewer(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    for said, meant in (("1", 1), ("2", 2), ("99", 3), ("0", 1), ("-4", 1), ("", 3)):
        monkeypatch.setenv("THRESHER_CORES", said)
        assert cores() == meant
    monkeypatch.delenv("THRESHER_CORES")
    assert cores() == 3
    monkeypatch.setenv("THRESHER_CORES", "many")
    with pytest.raises(ParameterError, match="THRESHER_CORES must be a whole number"):
        cores()
