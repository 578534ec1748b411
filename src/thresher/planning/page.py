"""A forecast as one HTML page that loads nothing: a picture of errors against ε, and a table."""

from collections.abc import Iterable, Sequence
from html import escape
from math import log10
from typing import TYPE_CHECKING

from thresher.planning.picture import LINES, decades, in_short, remarks, table_of
from thresher.planning.trial import ExpectedFit
from thresher.wording import plain

if TYPE_CHECKING:
    from thresher.planning.forecast import Forecast

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 290, 60, 250, 35
"""The size of the picture, and where its axes are."""

STYLE = """
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; color: #1b1f24; background: #fff;
  font: 16px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; overflow-wrap: anywhere; }
h2 { border-bottom: 1px solid #c9ced6; }
svg { width: 100%; height: auto; font-size: 12px; }
.level { stroke: #dfe3e8; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid #dfe3e8;
  white-space: nowrap; }
.wide { overflow-x: auto; }
"""


def page_of(forecast: "Forecast") -> str:
    """The page. Names in it come from a schema that others wrote: all text is escaped."""
    heads, *rows = table_of(forecast)
    measured = [
        f"at ε = {fit.epsilon:g}: {', '.join(map(str, fit.measured))}"
        for fit in forecast.fits
        if fit.measured
    ]
    body = "\n".join(_row(row, "td") for row in rows)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Before you pay: a forecast</title>
<style>{STYLE}</style>
</head>
<body>
<h1>Before you pay</h1>
<p>A {_text(in_short(forecast))}.</p>
<h2>Errors against ε</h2>
{_chart(forecast.fits)}
<div class="wide"><table>
<thead>{_row(heads, "th")}</thead>
<tbody>
{body}
</tbody>
</table></div>
<h2>What would be measured</h2>
{_list(measured)}
<h2>Remarks</h2>
{_list(remarks(forecast))}
</body>
</html>
"""


def _chart(fits: Sequence[ExpectedFit]) -> str:
    """Errors and margins against ε, both on logarithmic scales."""
    known = sorted((fit for fit in fits if fit.errors is not None), key=lambda fit: fit.epsilon)
    if not known:
        return "<p>No errors could be forecast.</p>"
    low, high = decades(known)
    first, last = log10(known[0].epsilon), log10(known[-1].epsilon)

    def x(epsilon: float) -> float:
        along = (log10(epsilon) - first) / (last - first) if last > first else 0.5
        return LEFT + 25 + along * (WIDTH - LEFT - 55)

    def y(error: float) -> float:
        up = (log10(max(error, 10.0**low)) - low) / (high - low)
        return BOTTOM - up * (BOTTOM - TOP)

    marks = []
    for power in range(low, high + 1):
        level = y(10.0**power)
        marks.append(
            f'<line x1="{LEFT}" y1="{level:.1f}" x2="{WIDTH}" y2="{level:.1f}" class="level"/>'
            f'<text x="{LEFT - 6}" y="{level + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for fit in known:
        at = f'x="{x(fit.epsilon):.1f}" y="{BOTTOM + 20}"'
        marks.append(f'<text {at} text-anchor="middle">ε = {fit.epsilon:.4g}</text>')
    for place, (name, (_, words, colour)) in enumerate(LINES.items()):
        points = [(x(f.epsilon), y(error)) for f in known if (error := f.expected(name))]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        legend = LEFT + place * (WIDTH - LEFT) / len(LINES) + 10
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        marks += [_mark(px, py, name, colour) for px, py in [*points, (legend, 12.0)]]
        marks.append(f'<text x="{legend + 10:.1f}" y="16">{words}</text>')
    described = "; ".join(
        f"at ε = {fit.epsilon:.4g}, largest {fit.expected('largest'):.2g}, typical "
        f"{fit.expected('typical'):.2g}"
        for fit in known
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>Expected errors against ε</title>'
        f"<desc>{described}</desc>{''.join(marks)}</svg>"
    )


def _mark(x: float, y: float, name: str, colour: str) -> str:
    """A square, a circle or a triangle: lines can be told apart without their colours."""
    if name == "largest":
        shape = f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"'
    elif name == "typical":
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"'
    else:
        corners = f"{x - 5:.1f},{y + 4:.1f} {x + 5:.1f},{y + 4:.1f} {x:.1f},{y - 5:.1f}"
        shape = f'<polygon points="{corners}"'
    return f'{shape} fill="{colour}"/>'


def _row(cells: Iterable[str], kind: str) -> str:
    return f"<tr>{''.join(f'<{kind}>{_text(cell)}</{kind}>' for cell in cells)}</tr>"


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"


def _text(words: str) -> str:
    return escape(plain(words))
