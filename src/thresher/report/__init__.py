"""A release as one page for people: it answers in the browser, works offline, and prints well."""

from thresher.report.not_private import Comparison
from thresher.report.page import Imprint, release_page

__all__ = ["Comparison", "Imprint", "release_page"]
