"""Requests made up from the OpenAPI document: none fails, and every response is as described.

THRESHER_FUZZ=100 runs a hundred times as many examples.
"""

import os
from pathlib import Path

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from thresher.service import Limits, application, open_releases

FOLDERS = Path(__file__).parent.parent / "release" / "first_build"
NAMES = ("tables", "gaussian_joint", "all0", "rap")
QUERIES = [
    "town=A",
    "2 of: town=A, age=20..22, pay=none",
    "pay != none",
    "age=20, shoe=1",
    "any of:",
]
EXAMPLES = 15 * int(os.environ.get("THRESHER_FUZZ", "1"))


def described():
    """The application, whose document names real releases and queries for the examples to use."""
    releases = open_releases([FOLDERS / name for name in NAMES])
    app = application(releases, Limits(queries=20, characters=200, rows=50, cells=100))
    for path in app.openapi()["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "release":
                    parameter["schema"]["enum"] = list(NAMES)
                if parameter["name"] == "feature":
                    parameter["schema"]["items"] = {"enum": ["age", "town", "pay", "shoe"]}
                if parameter["name"] in ("query", "where"):
                    parameter["schema"] = {"anyOf": [parameter["schema"], {"enum": QUERIES}]}
    return app


SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", described())


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
def test_no_request_fails_and_every_response_is_as_described(case):
    # A text can be of the right kind and still be no query that the release answers.
    case.call_and_validate(excluded_checks=[positive_data_acceptance])
