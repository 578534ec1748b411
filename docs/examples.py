"""Extension of griffe: our docstrings say `Example:` where it knows only `Examples:`."""

import re
from typing import Any

import griffe

HEADING = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Renders the doctests of every docstring as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = HEADING.sub("Examples:", obj.docstring.value)
