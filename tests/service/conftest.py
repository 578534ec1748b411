"""A service of three small releases, which earlier builds wrote."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from thresher.service import Limits, application, open_releases

FOLDERS = Path(__file__).parent.parent / "release" / "first_build"
NAMES = ("tables", "gaussian_joint", "all0")


@pytest.fixture(scope="session")
def releases():
    return open_releases([FOLDERS / name for name in NAMES])


@pytest.fixture(scope="session")
def client(releases):
    limits = Limits(body=2000, queries=20, characters=200, rows=50, cells=20)
    with TestClient(application(releases, limits)) as client:
        yield client
