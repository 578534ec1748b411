"""What is published of one fit: its answers, how wrong they may be, and the folder on disk."""

from thresher.release.error_bars import Answer
from thresher.release.folder import load
from thresher.release.release import Release

__all__ = ["Answer", "Release", "load"]
