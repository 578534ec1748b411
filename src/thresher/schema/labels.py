"""Which texts can name a feature or a value."""

import re

CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # all but tab, line feed and carriage return
    "\u202a-\u202e\u2066-\u2069]"  # reorder what stands beside them
)
"""Characters that can act on a terminal instead of being shown."""


def is_label(value: object) -> bool:
    r"""Whether a value can name a feature or one of its values.

    It must be text without blanks at its ends, without half characters (lone surrogates) and
    without control characters other than tab and line breaks.

    Example:
        >>> is_label("at least one"), is_label(" one"), is_label("\x1b[31mred"), is_label(1)
        (True, False, False, False)
    """
    if not isinstance(value, str) or not value or value != value.strip():
        return False
    return is_storable(value) and not CONTROLS.search(value)


def is_storable(text: str) -> bool:
    r"""Whether a text can be written as UTF-8: it holds no half of a character.

    Example:
        >>> is_storable("é"), is_storable("\ud800")
        (True, False)
    """
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
