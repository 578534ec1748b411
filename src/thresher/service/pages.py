"""The pages for people: the explorer of each release, and a list of the releases."""

from collections.abc import Mapping
from urllib.parse import quote

from jinja2 import Environment

from thresher.release import Release
from thresher.report import Imprint, release_page

_INDEX = Environment(autoescape=True).from_string("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Releases</title></head><body><main><h1>Releases</h1>
<ul>
{% for name, address, release in listed %}
<li><a href="{{ address }}">{{ name }}</a>: {{ "{:,}".format(release.n) }} \
{{ release.unit.counted }}, {{ release.schema|length }} features, \
ε = {{ "%.4g"|format(release.epsilon) }}</li>
{% endfor %}
</ul>
<p>Programs use the API: <a href="/openapi.json">its description</a>.</p>
</main></body></html>
""")


def address_of(name: str) -> str:
    """Where the page of a release is.

    Example:
        >>> address_of("loans 2024?")
        '/explore/loans%202024%3F'
    """
    return f"/explore/{quote(name, safe='')}"


def index_page(releases: Mapping[str, Release]) -> str:
    """A page that lists the releases."""
    listed = [(name, address_of(name), release) for name, release in releases.items()]
    return _INDEX.render(listed=listed)


def explorer_page(name: str, release: Release) -> str:
    """The page of a release, which answers in the browser."""
    return release_page(release, Imprint(name=name))
