"""What every test run needs, whichever part of the tree it is asked for."""

from hypothesis import settings

# Imported whole before pytest collects doctests file by file: otherwise the first file collected
# is imported a second time, and its classes are not those that the package knows.
import thresher  # noqa: F401

# A first call compiles kernels and loads files; no test here measures time.
settings.register_profile("thresher", deadline=None)
settings.load_profile("thresher")
