"""What several mechanisms are tested on."""

import pytest

import thresher as th


@pytest.fixture(scope="session")
def adult():
    return th.datasets.adult()
