"""Runs cells one after the other, each in a process with a cap on memory and time."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import ONE_THREAD
from benchmarks.peers.cells import Cell, together
from benchmarks.peers.results import Results


@dataclass(frozen=True)
class Caps:
    """What one run may take, of processor time and of memory."""

    seconds: int
    megabytes: int


def run_all(cells: Iterable[Cell], results: Results, caps: Caps, minutes: float) -> None:
    """Run cells until the time is over, and store each result at once."""
    end = time.monotonic() + 60 * minutes
    commit = present_commit()
    for served in together(cells):
        if time.monotonic() >= end:
            print("the time is over: run it again to go on")
            return
        for cell, found in zip(served, run_one(served, caps), strict=True):
            results.add(cell, found, commit)
            shown = f"max {found['max']:.4g}" if "max" in found else found["status"]
            name = f"{cell.data}, {cell.workload}, ε = {cell.epsilon:g}, seed {cell.seed}"
            print(f"{name:55} {cell.mechanism:15} {shown}", flush=True)


def run_one(cells: Sequence[Cell], caps: Caps) -> list[dict[str, Any]]:
    """The cells of one fit, in a separate process; a status says if it fails or takes too much."""

    def without(status: str) -> list[dict[str, Any]]:
        return [{"status": status}] * len(cells)

    began = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "benchmarks.peers.one",
            json.dumps([asdict(cell) for cell in cells]),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (caps.seconds, caps.seconds)),
    )
    while True:
        try:
            said, faults = began.communicate(timeout=0.5)
            break
        except subprocess.TimeoutExpired:
            if _megabytes(began.pid) > caps.megabytes:
                began.kill()
                began.communicate()
                return without(f"over {caps.megabytes} MB")
    if began.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return without(f"over {caps.seconds} s")
    if began.returncode:
        return without(f"failed: {(faults.strip().splitlines() or ['killed'])[-1][:120]}")
    found: list[dict[str, Any]] = json.loads(said.strip().splitlines()[-1])
    return found


def _megabytes(process: int) -> float:
    """What a process holds in memory now; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize() / 2**20


def present_commit() -> str:
    """The commit of this code, with a plus if files were changed since."""
    command = ["git", "describe", "--always", "--dirty=+"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
