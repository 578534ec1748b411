"""The worker: one thing at a time, and never for longer than the limits say."""

import asyncio
import threading

import pytest

from thresher.service.limits import Limits
from thresher.service.refusal import Refusal
from thresher.service.worker import Deadline, Worker


def test_what_takes_too_long_is_refused_and_what_waits_behind_it_too():
    go_on = threading.Event()

    async def requests():
        worker = Worker(Limits(seconds=0.2))
        slow = asyncio.create_task(worker.run(lambda _: go_on.wait()))
        waiting = asyncio.create_task(worker.run(lambda _: "never starts"))
        found = await asyncio.gather(slow, waiting, return_exceptions=True)
        go_on.set()
        after = await worker.run(lambda _: "served")
        worker.close()
        return [(fault.status_code, fault.code) for fault in found], after

    assert asyncio.run(requests()) == ([(422, "too_slow"), (429, "busy")], "served")


def test_only_so_many_may_wait():
    go_on = threading.Event()

    async def requests():
        worker = Worker(Limits(waiting=2))
        first = [asyncio.create_task(worker.run(lambda _: go_on.wait())) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="too many requests are waiting"):
            await worker.run(lambda _: None)
        go_on.set()
        served = await asyncio.gather(*first)
        worker.close()
        return served

    assert asyncio.run(requests()) == [True, True]


def test_a_deadline_that_has_passed():
    Deadline(at=float("inf"), seconds=1).check()
    with pytest.raises(Refusal, match="longer than 1 seconds"):
        Deadline(at=0.0, seconds=1).check()
