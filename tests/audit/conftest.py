"""Lets the audit's own modules be imported by name, and leaves audits out of the coverage."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def pytest_collection_modifyitems(items):
    # Audits run one line of code many thousand times: to trace each of them takes minutes.
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.no_cover)
