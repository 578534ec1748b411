"""HTML and SVG that escape by construction: text becomes markup only through `tag`.

Labels come from a schema that somebody else wrote, so they may hold anything. A plain string is
always text here; only `Markup`, which `tag` and `joined` make, is left as it is.
"""

import html
import re
from collections.abc import Iterable

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
"""Marks that turn the direction of the text around them, out of their own label too."""

_VOID = {"meta", "br", "hr"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """Text as HTML: nothing in it is markup, and nothing in it is invisible.

    Example:
        >>> escaped('<b onclick="x">')
        '&lt;b onclick=&quot;x&quot;&gt;'
    """
    if isinstance(text, Markup):
        return text
    visible = _TURNING.sub("\N{REPLACEMENT CHARACTER}", str(text))
    return Markup(html.escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", visible)))


def joined(*parts: object) -> Markup:
    """Parts one after the other, text among them escaped."""
    return Markup("".join(escaped(part) for part in parts))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element: its children escaped unless they are markup, its attributes always.

    A trailing underscore of an attribute is dropped, and others become hyphens; an attribute that
    is None is left out.

    Example:
        >>> tag("p", "1 < 2", class_="note", aria_label='"')
        '<p class="note" aria-label="&quot;">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{_plain(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def section(title: str, *parts: object) -> Markup:
    """A part of the page under its own heading."""
    return tag("section", tag("h2", title), *parts)


def details(summary: str, *parts: object) -> Markup:
    """Parts that are hidden until somebody opens them."""
    return tag("details", tag("summary", summary), *parts)


def table(
    heads: Iterable[object], rows: Iterable[Iterable[object]], caption: str | None = None
) -> Markup:
    """A table with one line of heads; a cell that is a number stands to the right."""
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = (tag("tr", *(_cell(cell) for cell in row)) for row in rows)
    told = tag("caption", caption) if caption else ""
    return tag("table", told, tag("thead", head), tag("tbody", *body))


def _cell(cell: object) -> Markup:
    is_number = re.fullmatch(r"[±≤<]?\s?[-−+]?[\d,]+(\.\d+)?(e-?\d+)?\s?%?", str(cell)) is not None
    return tag("td", cell, class_="number" if is_number else None)


def _plain(value: object) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
    # An attribute is escaped even where its value is markup: a quote must not end it.
    return str(escaped(str(text)))
