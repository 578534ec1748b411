"""Which texts can name a feature or a value, and how a faulty value is shown in a message."""

import re
from typing import Any

CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # all but tab, line feed and carriage return
    "\u202a-\u202e\u2066-\u2069]"  # reorder what stands beside them
)
"""Characters that can act on a terminal instead of being shown."""

MOST_SHOWN = 200
"""Characters of a faulty value that a message quotes."""


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


def shown(value: Any) -> str:
    r"""A faulty value of a public description, as a message quotes it.

    Example:
        >>> shown("a\x1b"), shown(10**5000)
        ("'a\\x1b'", 'a number of very many digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes out no whole number of more than 4,300 digits
        return "a number of very many digits"
    except RecursionError:
        return "a value that is nested too deeply"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def plain(text: str) -> str:
    r"""A text with its control characters spelled out, fit for a message.

    Example:
        >>> plain("a\x1b[2J")
        'a\\x1b[2J'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
