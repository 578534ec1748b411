"""What all pictures share. They are inline SVG.

Each has a title and a description for screen readers. Colours can be told apart by colour-blind
readers (Okabe and Ito's palette, or one hue from light to dark), and marks differ in shape as well.
"""

import math
from collections.abc import Callable

from thresher.release import Answer
from thresher.report.markup import Markup, tag

WIDTH = 560.0
UNIT = "\N{NO-BREAK SPACE}%"
CHARACTER = 6.2
"""The width of a character of the pictures' text, roughly."""


def percent(share: float) -> str:
    """A share as a percentage with about three digits.

    Example:
        >>> [percent(share).replace(UNIT, " %") for share in (0.12345, 0.00012, 0, 1)]
        ['12.3 %', '0.012 %', '0 %', '100 %']
    """
    if share == 0:
        return f"0{UNIT}"
    digits = max(0, 2 - math.floor(math.log10(abs(100 * share))))
    written = f"{100 * share:.{min(digits, 4)}f}"
    return (written.rstrip("0").rstrip(".") if "." in written else written) + UNIT


def margin(answer: Answer) -> str:
    """The margin of error of an answer in words.

    Example:
        >>> margin(Answer(0.25, 0.011)).replace(UNIT, " %"), margin(Answer(0.25))
        ('± 1.1 %', 'unknown')
    """
    return "unknown" if answer.error_bar is None else f"± {percent(answer.error_bar)}"


def with_margin(answer: Answer) -> str:
    """An answer with its margin of error, if it has one."""
    return percent(answer) + ("" if answer.error_bar is None else f" {margin(answer)}")


def ticks(top: float) -> list[float]:
    """Round numbers from 0 to the top, about four of them.

    Example:
        >>> ticks(0.9)
        [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    rough = top / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.8)
    return [round(i * step, 12) for i in range(int(top / step + 1e-9) + 1)]


def shortened(label: str, room: float) -> str:
    """A label that fits into the room there is."""
    most = max(2, int(room / CHARACTER))
    return label if len(label) <= most else label[: most - 1] + "…"


def picture(title: str, description: str, height: float, marks: Markup) -> Markup:
    """One picture, with a title and a description for screen readers."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        marks,
        viewBox=f"0 0 {WIDTH:g} {height:.0f}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def levels(
    top: float, place: Callable[[float], float], left: float, right: float = WIDTH
) -> list[Markup]:
    """Lines across at round shares, each with its number."""
    marks = []
    for tick in ticks(top):
        y = place(tick)
        marks += [
            line(left, y, right, y, "level"),
            text(left - 5.0, y + 4.0, percent(tick), "end"),
        ]
    return marks


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A line of a kind that the style sheet knows."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def text(
    x: float, y: float, words: str, anchor: str, kind: str | None = None, **more: object
) -> Markup:
    """Words, with their start, middle or end at x."""
    return tag("text", words, x=x, y=y, text_anchor=anchor, class_=kind, **more)
