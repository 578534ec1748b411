"""A release as one page for people: self-contained HTML that works offline and prints well."""

from thresher.report.page import Comparison, report_page

__all__ = ["Comparison", "report_page"]
