"""`thresher serve` under load: requests per second, the 99th percentile, and memory.

The client is wrk, on the loopback address and on the same cores as the service. Every kind of
request goes through a list of different queries, so that nothing is answered from a cache. The
release is the folder that is named, or a fit of `auto` to 16 3-way marginals of ADULT at ε = 1.

    python -m benchmarks.service [RELEASE]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np

import thresher as th

REQUESTS = 100_000
SECONDS = 5
CONNECTIONS = 8
COMMAND_LINE = "from thresher.cli import main; main()"
QUERIES = 500


def main() -> None:
    """Print one line per kind of request, and the memory before and after many requests."""
    if shutil.which("wrk") is None:
        print("skipped: wrk is not installed (Debian has a package of that name)")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else fitted(Path(place) / "adult")
        release = th.load(folder)
        with served(folder) as (process, address):
            base = f"{address}v1/releases/{quote(folder.resolve().name)}"
            kinds = requests_of(release)
            heads = ("per second", "median", "99 %", "processor", "refused")
            print(f"{'request':<30}" + "".join(f"{head:>12}" for head in heads))
            for name, lines in kinds.items():
                found = load(process.pid, base, lines, place)
                print(f"{name:<30}" + "".join(f"{cell:>12}" for cell in found), flush=True)
            remember(process.pid, base, kinds["one answer"], place)


def fitted(folder: Path) -> Path:
    """The release of a small fit."""
    data = th.datasets.adult()
    work = th.Workload.random(data.schema, k=3, r=3, size=16, seed=0)
    th.Auto(epsilon=1.0).fit(data, work, progress=False).save(folder)
    return folder


def requests_of(release: th.Release) -> dict[str, list[str]]:
    """Lua expressions that make the requests of each kind, after the release's address."""
    rng = np.random.default_rng(0)
    cells = [cell(release, rng) for _ in range(QUERIES)]
    ranges = [f"2 of: {cell(release, rng)}" for _ in range(QUERIES)]
    names = release.schema.names
    pairs = [rng.choice(names, 2, replace=False).tolist() for _ in range(100)]
    small = [p for p in pairs if release.schema[p[0]].size * release.schema[p[1]].size <= 200]
    bodies = [json.dumps({"queries": cells[i : i + 100]}) for i in range(0, QUERIES, 100)]
    return {
        "one answer": [get("answer", query=query) for query in cells],
        "one answer, 2 of 3": [get("answer", query=query) for query in ranges],
        "100 answers": [post("answers", body) for body in bodies],
        "a table of two features": [get("table", feature=pair) for pair in small],
        "100 synthetic records": [get("sample", rows=100, seed=i) for i in range(100)],
    }


def cell(release: th.Release, rng: np.random.Generator) -> str:
    """Three conditions at random."""
    chosen = rng.choice(len(release.schema), 3, replace=False)
    features = [release.schema[release.schema.names[i]] for i in chosen]
    conditions = [th.Condition(f.name, [int(rng.integers(f.size))]) for f in features]
    return th.Query(conditions).text(release.schema).removeprefix("all of: ")


def get(path: str, **asked: object) -> str:
    """A GET request in Lua."""
    return f"wrk.format('GET', base .. {json.dumps(f'/{path}?{urlencode(asked, doseq=True)}')})"


def post(path: str, body: str) -> str:
    """A POST request in Lua."""
    kind = "{['Content-Type'] = 'application/json'}"
    return f"wrk.format('POST', base .. '/{path}', {kind}, {json.dumps(body)})"


def load(process: int, base: str, requests: list[str], place: str) -> tuple[str, ...]:
    """Run wrk for some seconds, and say what it measured."""
    before = processor_seconds(process)
    told = wrk(base, requests, place)
    spent = (processor_seconds(process) - before) / max(1, served_in(told))
    rate = float(re.search(r"Requests/sec:\s*([\d.]+)", told)[1])
    median, slow = (re.search(rf"{share}%\s+([\d.]+\w+)", told)[1] for share in (50, 99))
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", told)
    return f"{rate:,.0f}", median, slow, f"{1e3 * spent:.2f}ms", refused[1] if refused else "0"


def served_in(told: str) -> int:
    """How many requests wrk says were answered."""
    return int(re.search(r"(\d+) requests in", told)[1])


def wrk(base: str, requests: list[str], place: str) -> str:
    """The words of wrk after one run."""
    script = Path(place) / "requests.lua"
    path = re.sub(r"^\w+://[^/]+", "", base)
    listed = ",\n".join(requests)
    script.write_text(
        f"local base, made, at = {json.dumps(path)}, nil, 0\n"
        f"local function make() return {{\n{listed}\n}} end\n"
        "function request()\n  made = made or make()\n"
        "  at = at % #made + 1\n  return made[at]\nend\n"
    )
    run = f"wrk -t1 -c{CONNECTIONS} -d{SECONDS}s --timeout 10s --latency -s {script} {base}"
    return subprocess.run(run.split(), capture_output=True, text=True, check=True).stdout


def remember(process: int, base: str, requests: list[str], place: str) -> None:
    """Print the memory of the service, again and again until it has served many requests."""
    served, after = 0, [f"0: {resident(process):.1f} MiB"]
    while served < REQUESTS:
        served += served_in(wrk(base, requests, place))
        if served >= REQUESTS * len(after) / 5:
            after.append(f"{served:,}: {resident(process):.1f} MiB")
    print(f"memory after so many requests: {'; '.join(after)}")


def processor_seconds(process: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> float:
    """The resident memory of a process, in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service of one release in a process."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND_LINE, "serve", str(folder), "--port", "0", "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process, json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
