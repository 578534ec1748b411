"""The pages for people: a list of the releases, and a page for each."""

from collections.abc import Callable, Mapping
from html import escape
from urllib.parse import quote

from thresher.release import Release
from thresher.release.promise import NOT_PRIVATE, promise_of

Page = Callable[[Release], str]
"""Makes the whole HTML page of a release."""

_HEAD = (
    '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>{title}</title></head>'
    "<body><main><h1>{title}</h1>\n"
)


def address_of(name: str) -> str:
    """Where the page of a release is.

    Example:
        >>> address_of("loans 2024?")
        '/explore/loans%202024%3F'
    """
    return f"/explore/{quote(name, safe='')}"


def index_page(releases: Mapping[str, Release]) -> str:
    """A page that lists the releases."""
    lines = [
        f'<li><a href="{address_of(name)}">{escape(name)}</a>: '
        f"{release.n:,} {release.unit.counted}, {len(release.schema)} features, "
        f"ε = {release.epsilon:.4g}</li>"
        for name, release in releases.items()
    ]
    return (
        _HEAD.format(title="Releases")
        + f"<ul>{''.join(lines)}</ul>\n"
        + '<p>Programs use the API; <a href="/openapi.json">its description</a>.</p>'
        + "</main></body></html>\n"
    )


def plain_page(release: Release) -> str:
    """A page that says what a release promises, and which features it has."""
    warning = () if release.is_secure else (f"Not private. {NOT_PRIVATE}",)
    paragraphs = "".join(f"<p>{escape(text)}</p>\n" for text in (*warning, *promise_of(release)))
    features = "".join(
        f"<li>{escape(feature.name)} ({feature.kind}, {feature.size:,} values)</li>"
        for feature in release.schema
    )
    return (
        _HEAD.format(title="A release of thresher")
        + f"{paragraphs}<h2>Features</h2><ul>{features}</ul></main></body></html>\n"
    )
