"""The page: words by a template, answers by the script of `explorer/`, all in one file."""

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from jinja2 import Environment, StrictUndefined, Template

from thresher.release import Release
from thresher.report import measured, not_private, promise
from thresher.report.facts import facts_of
from thresher.report.not_private import Comparison
from thresher.report.payload import packed
from thresher.report.wording import count, percent

View = Literal["ask", "report"]

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
    "\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]"
)
"""Characters that are not shown, and marks that turn the direction of the text around them."""


@dataclass(frozen=True)
class Imprint:
    """Who publishes a release, in their words.

    Attributes:
        name: What the release's folder is called, for the commands that the page shows.
        title: The title of the page.
        owner: Who publishes it.
        contact: Where questions go.

    Example:
        >>> Imprint(name="adult-release", title="Census income, 1994").title
        'Census income, 1994'
    """

    name: str = "RELEASE"
    title: str = ""
    owner: str = ""
    contact: str = ""


def release_page(
    release: Release,
    imprint: Imprint | None = None,
    view: View = "ask",
    comparison: Comparison | None = None,
) -> str:
    """One HTML page of a release that answers questions in the browser and fetches nothing.

    Args:
        release: The release.
        imprint: Who publishes it.
        view: What the page shows first: a question to build, or the report.
        comparison: Errors beside the baselines'. They come from the private records: with them,
            the page is not private, and says so.

    Returns:
        The page. Without a comparison, it is post-processing of the release and costs no privacy.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> page = release_page(th.All0(epsilon=1.0).fit(data, work))
        >>> page.startswith("<!DOCTYPE html>"), "NOT PRIVATE" in page
        (True, False)
    """
    imprint = imprint or Imprint()
    facts = {
        **facts_of(release),
        "name": imprint.name,
        "points": measured.points(release),
        "comparison": None if comparison is None else not_private.picture(comparison),
    }
    script = _part("bundle/explorer.js")
    return _template().render(
        release=release,
        title=imprint.title or f"A private release by {release.mechanism}",
        imprint=imprint,
        view=view,
        in_short=promise.in_short(release),
        promise=promise.promise(release),
        spent=promise.spent(release),
        made=promise.made(release),
        workload=promise.workload(release),
        measured=measured.measured(release),
        trust=measured.trust(release),
        comparison=None if comparison is None else not_private.beside_baselines(comparison),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=_part("bundle/explorer.css"),
        payload=packed(facts),
    )


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_visible,
    )
    environment.filters |= {"percent": percent, "count": count}
    return environment.from_string(_part("page.html"))


def _visible(value: object) -> object:
    return _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value


@cache
def _part(name: str) -> str:
    return files("thresher.report").joinpath(name).read_text("utf-8")
