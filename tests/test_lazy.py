"""Names are imported when they are first used, and every list of a package's names is the same."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import thresher
from thresher.lazy import attach

ROOT = Path(thresher.__file__).parent
LAZY = sorted(
    ".".join(("thresher", *file.parent.relative_to(ROOT).parts))
    for file in ROOT.rglob("__init__.py")
    if "attach(" in file.read_text("utf-8")
)
HEAVY = ("numpy", "pandas", "pyarrow", "numba")


def static_imports(package: str) -> dict[str, str]:
    """The imports under TYPE_CHECKING: what type checkers and the import linter see."""
    tree = ast.parse(Path(import_module(package).__file__).read_text("utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    return {name.name: node.module for node in block.body for name in node.names}


@pytest.mark.parametrize("package", LAZY)
def test_the_lists_of_names_agree(package):
    loaded = import_module(package)
    static = static_imports(package)
    assert sorted(static) == sorted(loaded.__all__) == loaded.__dir__()
    for name, module in static.items():
        value = getattr(loaded, name)
        source = import_module(module)
        assert value is getattr(source, name), name


def test_packages_that_an_answer_needs_are_lazy():
    names = ("data", "privacy", "queries", "release", "schema", "tables")
    assert {"thresher", *(f"thresher.{name}" for name in names)} <= set(LAZY)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match=r"module 'thresher' has no attribute 'load_all'"):
        thresher.load_all  # noqa: B018
    with pytest.raises(ImportError, match="load_all"):
        from thresher import load_all  # noqa: F401


def test_a_name_is_looked_up_once(monkeypatch):
    package = type(sys)("thresher_test_package")
    monkeypatch.setitem(sys.modules, package.__name__, package)
    package.__getattr__, _ = attach(package.__name__, {"fractions": "Fraction"})
    from fractions import Fraction

    assert package.Fraction is Fraction
    assert vars(package)["Fraction"] is Fraction


@pytest.mark.parametrize("program", ["import thresher"])
def test_an_import_loads_nothing_heavy(program):
    asked = f"import sys\n{program}\nprint([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
