"""What is published of one fit: its answers, how wrong they may be, and the folder on disk."""

from typing import TYPE_CHECKING

from thresher.lazy import attach

if TYPE_CHECKING:
    from thresher.release.answer import Answer
    from thresher.release.folder import check_free, load
    from thresher.release.release import Release
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "thresher.release.answer": "Answer",
            "thresher.release.folder": "check_free load",
            "thresher.release.release": "Release",
        },
    )

__all__ = ["Answer", "Release", "check_free", "load"]
