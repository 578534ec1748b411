"""The command line in this process: what it prints, what it says, and its exit status."""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from thresher.cli import main

CSV_ROWS = 300


@dataclass(frozen=True)
class Told:
    """What one command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """Standard output, which must be exactly one JSON object on one line."""
        assert self.status == 0, self.err
        assert self.out.count("\n") == 1
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


@pytest.fixture
def thresher(monkeypatch, capsys) -> Callable[..., Told]:
    """Run a command line as a shell would; further words are taken as they are."""

    def run(line: str, *words: object) -> Told:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["thresher", *shlex.split(line), *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        told = capsys.readouterr()
        return Told(int(caught.value.code or 0), told.out, told.err)

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder of one's own with a small CSV file, its schema and a workload."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    lines = ["age,town,pay"]
    for _ in range(CSV_ROWS):
        town = rng.integers(0, 3)
        lines.append(f"{rng.integers(20, 25)},{'ABC'[town]},{rng.integers(0, 50) + 20 * town}")
    Path("people.csv").write_text("\n".join(lines) + "\n")
    features = [
        {"name": "age", "kind": "integer", "low": 20, "high": 24, "nulls": 20},
        {"name": "town", "kind": "categorical", "categories": ["A", "B", "C"], "outside": "A",
         "nulls": "A"},
        {"name": "pay", "kind": "numeric", "edges": [0, 25, 50, 100], "nulls": "none",
         "extra": ["none"]},
    ]  # fmt: skip
    Path("s.json").write_text(
        json.dumps({"format": "thresher-schema", "version": 1, "features": features})
    )
    thresholds = [{"features": ["age", "town"], "r": 2}, {"features": ["town", "pay"], "r": 1}]
    Path("w.json").write_text(json.dumps({"thresholds": thresholds}))
    return tmp_path


FIT = "fit people.csv --schema s.json --workload w.json"
SMALL = "--rounds 2 --queries-per-round 3 --synthetic-rows 20"


@pytest.fixture
def release(folder, thresher) -> Path:
    """The release of a small fit."""
    told = thresher(f"{FIT} --rho 1/2 {SMALL} -o release")
    assert told.status == 0, told.err
    return Path("release")
