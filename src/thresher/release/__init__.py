"""What is published of one fit: its answers with their margins of error, and the folder on disk."""

from thresher.release.answer import Answer
from thresher.release.folder import check_free, load
from thresher.release.release import Release

__all__ = ["Answer", "Release", "check_free", "load"]
