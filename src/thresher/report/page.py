"""The page: its sections in order, and what holds them together."""

from importlib.resources import files

from thresher.release import Release
from thresher.report import not_private, promise, synthetic
from thresher.report.markup import Markup, joined, tag
from thresher.report.measured import measured, trust
from thresher.report.not_private import Comparison

__all__ = ["Comparison", "report_page"]


def report_page(release: Release, comparison: Comparison | None = None) -> str:
    """One HTML page about a release, with nothing in it that must be fetched.

    Args:
        release: The release.
        comparison: Its errors beside the baselines'. They come from the private records: with
            them, the page is not private, and says so.

    Returns:
        The page. Without a comparison, it is post-processing of the release and costs no privacy.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload.random(data.schema, k=2, size=3, seed=0)
        >>> page = report_page(th.All0(epsilon=1.0).fit(data, work))
        >>> page.startswith("<!DOCTYPE html>"), "NOT PRIVATE" in page
        (True, False)
    """
    title = f"A private release by {release.mechanism}"
    sections = [
        promise.promise(release),
        promise.spent(release),
        measured(release),
        trust(release),
        synthetic.one_at_a_time(release),
        synthetic.two_together(release),
        *([not_private.beside_baselines(comparison)] if comparison else []),
        promise.made(release),
    ]
    body = joined(
        not_private.banner() if comparison else "",
        tag("header", tag("h1", title), tag("p", promise.in_short(release), class_="lead")),
        promise.insecure() if not release.is_secure else "",
        tag("main", *sections),
    )
    head = joined(
        tag("meta", charset="utf-8"),
        # Nothing may be fetched or run, whatever a label holds.
        tag("meta", http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", ("NOT PRIVATE: " if comparison else "") + title),
        tag("style", Markup(_style())),
    )  # fmt: skip
    page = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _style() -> str:
    return files("thresher.report").joinpath("report.css").read_text("utf-8")
