"""Releases over HTTP: a page for people and an API for programs. It never sees a record.

It opens release folders and nothing else. No module of this package imports one that reads
records, and import-linter checks that (see `pyproject.toml`).
"""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.service.api import application
    from thresher.service.limits import Limits
    from thresher.service.releases import open_releases
    from thresher.service.server import serve
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.service.api": "application",
            "thresher.service.limits": "Limits",
            "thresher.service.releases": "open_releases",
            "thresher.service.server": "serve",
        },
    )

__all__ = ["Limits", "application", "open_releases", "serve"]
