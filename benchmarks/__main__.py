"""Run every benchmark, or those named: `python -m benchmarks [name …]`.

Each module of this folder with a `main()` is a benchmark. It runs in a process of its own on one
thread, so that one's memory and caches are not another's; one that lacks an optional dependency
is reported and skipped. `benchmarks.peers`, which takes hours, is run by its name.
"""

import os
import pkgutil
import subprocess
import sys
import time

import benchmarks

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = dict.fromkeys([f"{library}_NUM_THREADS" for library in LIBRARIES], "1")
SKIPPED = 77

RUN_ONE = f"""
import importlib, sys
try:
    module = importlib.import_module("benchmarks.{{name}}")
except ModuleNotFoundError as missing:
    if (missing.name or "").split(".")[0] in ("benchmarks", "thresher"):
        raise
    print(f"skipped: the module {{{{missing.name}}}} is not installed")
    sys.exit({SKIPPED})
if hasattr(module, "main"):
    module.main()
"""


def main() -> None:
    """Run the benchmarks one after the other; fail at the end if one of them failed."""
    known = sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if not module.ispkg and not module.name.startswith("_")
    )
    wanted = sys.argv[1:] or known
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(known)}")
    failed = []
    for name in wanted:
        print(f"== {name} ==", flush=True)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", RUN_ONE.format(name=name)],
            env={**os.environ, **ONE_THREAD},
            check=False,
        )
        print(f"-- {name}: {time.perf_counter() - start:.0f} s in all\n", flush=True)
        if done.returncode not in (0, SKIPPED):
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
