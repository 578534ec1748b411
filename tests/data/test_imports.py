"""Commands that read no records do not wait for Arrow and pandas to load."""

import subprocess
import sys

import pytest

# The package's front door imports everything; what stands behind it is what is tested here.
ALONE = """
import importlib.util, sys, types
thresher = types.ModuleType("thresher")
thresher.__path__ = importlib.util.find_spec("thresher").submodule_search_locations
sys.modules["thresher"] = thresher
"""


@pytest.mark.parametrize(
    "act",
    [
        "import thresher.schema.features",
        "import thresher.queries",
        "from thresher.data import datasets; datasets.adult_schema()",
        "import thresher.data.drafting",
    ],
)
def test_arrow_and_pandas_are_not_loaded(act):
    told = f"{ALONE}{act}\nprint(sorted({{'pyarrow', 'pandas'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
