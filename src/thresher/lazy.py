"""Names of a package that are imported when they are first used (PEP 562).

`import thresher` and `thresher --help` then do without numpy, pandas, pyarrow and numba. A package
lists its public names three times: as imports under `TYPE_CHECKING`, for type checkers, editors and
the import linter; in the table given to `attach`; and in `__all__`. A test compares the three.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names come from its modules on demand.

    Args:
        package: The package's `__name__`.
        modules: For each module, its public names with spaces between them. A module that is
            public itself has its last part among them.

    Example:
        >>> get, names = attach("thresher.lazy", {"fractions": "Fraction", "os.path": "path"})
        >>> get("Fraction")(1, 2), names()
        (Fraction(1, 2), ['Fraction', 'path'])
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        loaded = import_module(module)
        value = loaded if module.rpartition(".")[2] == name else getattr(loaded, name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(module_of)
