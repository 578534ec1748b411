"""Tasks have stable keys, results survive crashes, and a rerun does only what is missing."""

import csv
import dataclasses
import json
import os
import signal
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from distributed import LocalCluster

from thresher.errors import ParameterError, ResourceError
from thresher.parallel import cores
from thresher.reproduction import workforce
from thresher.reproduction.query_forms import FormTiming
from thresher.reproduction.running import Store, Task, UnavailableError
from thresher.reproduction.tasks import FutureFit, PresentFit
from thresher.reproduction.workforce import Share, Skipped, Workforce, run_alone, run_missing

ALONE = Workforce(processes=1)


@dataclass(frozen=True, kw_only=True)
class Doubling(Task):
    kind: ClassVar[str] = "doubling"
    ran: ClassVar[list[int]] = []

    number: int
    fault: str = ""

    def run(self, sources):
        self.ran.append(self.number)
        if self.fault == "crash":
            raise RuntimeError("the machine is gone")
        if self.fault == "memory":
            raise ResourceError("too large for this machine")
        if self.fault == "library":
            raise UnavailableError("not installed here")
        return {"double": 2 * self.number, "cores": cores()}


@pytest.fixture(autouse=True)
def _fresh():
    Doubling.ran.clear()


def timing(r):
    return FormTiming(k=4, r=r, rows=5, queries=2, repeats=1)


def test_keys_are_the_same_everywhere_and_for_ever():
    assert timing(1).key == "8c30225c0978649c"
    assert len({timing(r).key for r in (1, 2, 3, 4)}) == 4


def test_every_parameter_is_part_of_the_key():
    task = PresentFit(data="adult", epsilon=0.1, k=3, r=3, size=4, seed=0)
    others = {
        "data": "adult-small", "mechanism": "all0", "epsilon": 1.0, "k": 4, "r": 2, "size": 5,
        "rounds": 2, "queries_per_round": 7, "synthetic_rows": 9, "optimizer": "adam", "seed": 1,
        "filtered": True, "selection": "iterative", "clipped": True,
    }  # fmt: skip
    assert set(others) == {field.name for field in dataclasses.fields(task)}
    keys = {dataclasses.replace(task, **{name: value}).key for name, value in others.items()}
    assert len(keys | {task.key}) == len(others) + 1


def test_results_of_the_first_pages_are_still_known():
    task = PresentFit(
        data="adult", epsilon=0.1, k=4, r=1, size=16, rounds=64, queries_per_round=4, seed=1,
        filtered=True,
    )  # fmt: skip
    assert task.key == "c54895f3145a2447"  # the first line of docs/reproduction/results.csv
    later = {"clipped": True, "replacement": False, "geometric_p": 0.25, "augmented": 3}
    fit = FutureFit(
        data="adult", epsilon=0.1, k=3, r=1, size=4, seed=0, distribution="uniform", future=9
    )
    assert not later.keys() & fit.stored.keys()
    keys = {dataclasses.replace(fit, **{name: value}).key for name, value in later.items()}
    assert len(keys | {fit.key}) == 5


def test_results_are_there_when_the_store_is_opened_again(tmp_path):
    path = tmp_path / "new" / "results.csv"
    with Store(path) as store:
        store.append(Doubling(number=3), {"double": 6, "list": [1.5, 'ε, "quoted"']})
    with Store(path) as store:
        assert Doubling(number=3) in store
        assert Doubling(number=4) not in store
        assert store[Doubling(number=3)] == {"double": 6, "list": [1.5, 'ε, "quoted"']}


def test_half_a_line_is_forgotten_and_what_follows_is_whole(tmp_path):
    path = tmp_path / "results.csv"
    with Store(path) as store:
        store.append(Doubling(number=1), {"double": 2})
        store.append(Doubling(number=2), {"double": 4})
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines(keepends=True)[-1])):
        path.write_bytes(whole[:-cut])
        with Store(path) as store:
            assert len(store) == 1
            store.append(Doubling(number=2), {"double": 4})
        assert path.read_bytes() == whole


def test_a_store_is_written_by_one_process_at_a_time(tmp_path):
    with (
        Store(tmp_path / "results.csv"),
        pytest.raises(ParameterError, match="in use by another run"),
    ):
        Store(tmp_path / "results.csv")


def test_another_file_is_not_taken_for_a_store(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("name,age\nAda,36\n")
    with pytest.raises(ParameterError, match="not a store of results"):
        Store(path)
    assert path.read_text() == "name,age\nAda,36\n"
    with pytest.raises(ParameterError, match="cannot be written"):
        Store(path / "results.csv")


def test_a_crash_loses_only_the_runs_in_flight(tmp_path):
    tasks = [Doubling(number=1), Doubling(number=2), Doubling(number=3, fault="crash")]
    with Store(tmp_path / "r.csv") as store, pytest.raises(RuntimeError, match="machine is gone"):
        run_missing(tasks, store, {}, ALONE)
    Doubling.ran.clear()
    with Store(tmp_path / "r.csv") as store:
        assert run_missing([*tasks[:2], Doubling(number=4)], store, {}, ALONE) == []
        assert store[tasks[1]]["double"] == 4
    assert Doubling.ran == [4]


def test_a_task_listed_twice_runs_once(tmp_path):
    seen = []
    with Store(tmp_path / "r.csv") as store:
        tasks = [Doubling(number=1), Doubling(number=1), Doubling(number=2)]
        run_missing(tasks, store, {}, ALONE, lambda done, total, kind: seen.append((done, total)))
        assert run_missing(tasks, store, {}, ALONE) == []
    assert sorted(Doubling.ran) == [1, 2]
    assert seen == [(1.0, 2.0), (2.0, 2.0)]


@pytest.mark.parametrize("fault", ["memory", "library"])
def test_what_cannot_run_here_is_told_and_tried_again(tmp_path, fault):
    task = Doubling(number=1, fault=fault)
    with Store(tmp_path / "r.csv") as store:
        for _ in range(2):
            [skipped] = run_missing([task], store, {}, ALONE)
            assert isinstance(skipped, Skipped)
            assert skipped.task == task
        assert task not in store
    assert Doubling.ran == [1, 1]


@pytest.mark.parametrize("before", [None, "2"])
def test_a_task_has_one_core_and_leaves_no_trace(monkeypatch, before):
    monkeypatch.delenv("THRESHER_CORES", raising=False)
    if before:
        monkeypatch.setenv("THRESHER_CORES", before)
    assert run_alone(Doubling(number=1), {})[1]["cores"] == 1
    assert os.environ.get("THRESHER_CORES") == before


def test_processes_of_this_machine(tmp_path):
    tasks = [timing(r) for r in (1, 2, 3, 4)]
    with Store(tmp_path / "r.csv") as store:
        assert run_missing(tasks, store, {}, Workforce(processes=2)) == []
        assert all(task in store for task in tasks)


SLOW_ENOUGH = 12


def fits(count):
    return [
        PresentFit(
            data="adult-small", epsilon=1.0, k=2, r=2, size=2, rounds=2, queries_per_round=2,
            synthetic_rows=20, seed=seed,
        )
        for seed in range(count)
    ]  # fmt: skip


def stored(path):
    """What a results.csv says, but for the order of its lines and what was measured of time."""
    with path.open() as file:
        lines = list(csv.DictReader(file))
    found = {}
    for line in lines:
        result = json.loads(line["result"])
        for name in ("seconds", "cpu_seconds", "peak_mib"):
            result.pop(name)
        found[line["key"]] = (line["kind"], line["parameters"], result)
    assert len(found) == len(lines)
    return found


def test_a_cluster_loses_a_worker_and_gives_the_same_results(tmp_path):
    tasks, killed = fits(SLOW_ENOUGH), []
    with LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:

        def kill_one(done, total, kind):
            if not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.pid)
                os.kill(worker.pid, signal.SIGKILL)

        with Store(tmp_path / "here.csv") as here, Store(tmp_path / "there.csv") as there:
            run_missing(tasks, here, {}, ALONE)
            workforce = Workforce(dask=cluster.scheduler_address)
            assert run_missing(tasks, there, {}, workforce, kill_one) == []
    assert killed
    assert stored(tmp_path / "there.csv") == stored(tmp_path / "here.csv")


def test_machines_share_the_work_and_their_results_are_merged(tmp_path):
    tasks = [Doubling(number=number) for number in range(30)]
    for number in (1, 2, 3):
        part = Workforce(processes=1, share=Share.parse(f"{number}/3"))
        with Store(tmp_path / f"{number}.csv") as store:
            run_missing(tasks, store, {}, part)
            assert 0 < len(store) < 30
    assert sorted(Doubling.ran) == list(range(30))
    with Store(tmp_path / "all.csv") as store:
        added = [store.merge(tmp_path / f"{number}.csv") for number in (1, 2, 3, 3)]
        assert sum(added) == 30
        assert added[-1] == 0
        assert all(store[task]["double"] == 2 * task.number for task in tasks)
    with Store(tmp_path / "all.csv") as store:
        assert len(store) == 30
        with pytest.raises(ParameterError, match="cannot be read"):
            store.merge(tmp_path / "none.csv")
        (tmp_path / "other.csv").write_text("name,age\nAda,36\n")
        with pytest.raises(ParameterError, match="not a store of results"):
            store.merge(tmp_path / "other.csv")


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "a/b"])
def test_a_share_is_checked(text):
    with pytest.raises(ParameterError, match="--share"):
        Share.parse(text)


def test_no_task_is_begun_when_the_time_is_up(tmp_path):
    with Store(tmp_path / "r.csv") as store:
        out_of_time = Workforce(processes=1, minutes=-1.0)
        assert run_missing([Doubling(number=1)], store, {}, out_of_time) == []
        assert len(store) == 0


def test_short_runs_come_first_where_asked(tmp_path):
    @dataclass(frozen=True, kw_only=True)
    class Weighted(Doubling):
        @property
        def cost(self):
            return float(self.number)

    tasks = [Weighted(number=number) for number in (2, 3, 1)]
    for cheap_first, order in ((False, [3, 2, 1]), (True, [1, 2, 3])):
        Doubling.ran.clear()
        with Store(tmp_path / f"{cheap_first}.csv") as store:
            run_missing(tasks, store, {}, Workforce(processes=1, cheap_first=cheap_first))
        assert Doubling.ran == order


def test_a_result_says_what_it_took_and_what_made_it():
    found = run_alone(fits(1)[0], {})[1]
    assert found["cpu_seconds"] > 0
    assert found["peak_mib"] is None or found["peak_mib"] > 10
    assert "numpy" in found["software"]


@dataclass(frozen=True, kw_only=True)
class Filling(Doubling):
    """Fills as many MiB of memory."""

    def run(self, sources):
        return {"filled": int(np.ones(self.number * 2**17).sum())}


def test_a_small_run_after_a_large_one_does_not_have_its_memory(monkeypatch, tmp_path):
    large, small = (run_alone(Filling(number=size), {})[1]["peak_mib"] for size in (800, 1))
    assert large is None or small < large - 700
    monkeypatch.setattr(workforce, "PEAK_RESET", tmp_path / "no such folder" / "file")
    assert run_alone(Filling(number=1), {})[1]["peak_mib"] is None


def test_a_low_priority_is_asked_for_once_the_task_begins(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "setpriority", lambda *words: asked.append(words))
    run_alone(Doubling(number=1), {})
    assert asked == []
    [_] = Workforce(processes=1, niceness=15).results([Doubling(number=1)], {})
    assert asked == [(os.PRIO_PROCESS, 0, 15)]


def test_workers_with_several_threads_are_refused(tmp_path):
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as local,
        Store(tmp_path / "r.csv") as store,
        pytest.raises(ParameterError, match="--nthreads 1"),
    ):
        run_missing([timing(1)], store, {}, Workforce(dask=local.scheduler_address))


def test_no_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr("thresher.reproduction.workforce.CONNECTING", 0.5)
    with (
        Store(tmp_path / "r.csv") as store,
        pytest.raises(ParameterError, match="no scheduler answers"),
    ):
        run_missing([timing(1)], store, {}, Workforce(dask="tcp://127.0.0.1:9"))
