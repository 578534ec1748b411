r"""Values and texts of others, made fit for an error message.

A message goes to a terminal and a log. So control characters are spelled out (`\x1b`), and what
cannot be written out, or only at great length, is cut short.
"""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 200
"""Characters of a value that a message shows."""


def plain(text: str) -> str:
    r"""A text with its control characters spelled out.

    Example:
        >>> plain("a\x1b[2J")
        'a\\x1b[2J'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(value: object) -> str:
    r"""Any value as a message shows it.

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


def meant(word: object, known: Iterable[str]) -> str:
    """A question for whoever wrote a word that is not known, or nothing if no known word is near.

    Example:
        >>> meant("tigth", ["tight", "paper"]), meant("RAP", ["auto", "rap"]), meant("x", ["rap"])
        (' (did you mean tight?)', ' (did you mean rap?)', '')
    """
    spelled = {name.casefold(): name for name in known}
    near = get_close_matches(str(word).casefold(), spelled, 1)
    return f" (did you mean {plain(spelled[near[0]])}?)" if near else ""
