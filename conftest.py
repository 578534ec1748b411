"""What every test run needs, whichever part of the tree it is asked for."""

import os

# Workers share the cores between them: a second thread inside one would only make both wait.
if "PYTEST_XDIST_WORKER" in os.environ:
    for library in ("NUMBA", "OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from hypothesis import settings

# Imported whole before pytest collects doctests file by file: otherwise the first file collected
# is imported a second time, and its classes are not those that the package knows.
import thresher

for name in thresher.__all__:
    getattr(thresher, name)

# A first call compiles kernels and loads files; no test here measures time. Where a submission is
# judged, the same examples are tried every time; everywhere else, new ones.
settings.register_profile("thresher", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("thresher")
