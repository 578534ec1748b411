"""Page = command: what the page computes is what Python answers, to 1e-6."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import thresher as th
from thresher.report.facts import facts_of
from thresher.report.payload import packed

from .releases import MECHANISMS, as_page, by_python, people, random_queries, workload

EXPLORER = Path(__file__).parents[2] / "explorer"
QUERIES = 2_000

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs node")


UNITS = (th.Unit(), th.Unit("add-remove"))  # with the second, n is measured


@pytest.mark.parametrize(
    ("name", "unit"), [*((name, UNITS[0]) for name in MECHANISMS), ("tables", UNITS[1])]
)
def test_the_page_answers_as_the_command_does(name, unit, tmp_path):
    data = people()
    release = MECHANISMS[name].fit(
        data, workload(data.schema), unit=unit, randomness=th.InsecureSeededRandomness(5)
    )
    payload = tmp_path / "payload"
    payload.write_text(packed(facts_of(release)))
    queries = [*random_queries(release, QUERIES, seed=7)]
    told = subprocess.run(
        ["node", str(EXPLORER / "test" / "answers.js"), str(payload)],
        input=json.dumps([as_page(query, data.schema) for query in queries]),
        capture_output=True,
        text=True,
        check=True,
    )
    for query, (*found, text) in zip(queries, json.loads(told.stdout), strict=True):
        assert found == pytest.approx(by_python(release, query), abs=1e-6), text
        if all(c.codes for c in query.conditions):
            assert th.Query.parse(text, data.schema) == query


def test_the_bundle_is_built_from_these_sources():
    told = subprocess.run(
        ["node", str(EXPLORER / "build.js"), "hash"], capture_output=True, text=True, check=True
    )
    bundle = EXPLORER.parent / "src" / "thresher" / "report" / "bundle" / "explorer.js"
    assert told.stdout.strip() in bundle.read_text("utf-8")[:200], "run `make explorer`"
