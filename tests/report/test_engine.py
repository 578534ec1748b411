"""Page = command: what the page computes is what Python answers, to 1e-6."""

import json
import shutil
import subprocess
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from thresher.queries.conditional import all_of
from thresher.release.cross_table import complete, ratio
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
    queries = [*random_queries(release, QUERIES, seed=7)]
    told = by_page(release, [as_page(query, data.schema) for query in queries], tmp_path)
    for query, (*found, text) in zip(queries, told, strict=True):
        assert found == pytest.approx(by_python(release, query), abs=1e-6), text
        if all(c.codes for c in query.conditions):
            assert th.Query.parse(text, data.schema) == query


@pytest.mark.parametrize("name", ["tables", "gaussian_joint"])
def test_queries_about_views_are_put_as_the_command_puts_them(name, tmp_path):
    plain = people()
    age = plain.schema["age"]
    schema = plain.schema.with_views([th.View.at_cuts(age, "old", [25])])
    data = th.Records(schema, plain.columns)
    work = th.Workload(schema, [th.Threshold(("old", "grade")), th.Threshold(("age",))])
    release = MECHANISMS[name].fit(data, work, randomness=th.InsecureSeededRandomness(5))
    queries = [
        th.Query([th.Condition(first, codes), th.Condition("grade", [grade])], r)
        for first, codes in (("old", [0]), ("age", range(5)), ("age", range(4)), ("age", [3]))
        for grade in range(3)
        for r in (1, 2)
    ]
    told = by_page(release, [as_page(query, schema) for query in queries], tmp_path)
    for query, (*found, text) in zip(queries, told, strict=True):
        assert found == pytest.approx(by_python(release, query), abs=1e-6), text


@pytest.mark.parametrize("name", ["tables", "gaussian_joint", "rap"])
def test_random_ranges_are_put_to_the_views_that_know_them_best(name, tmp_path):
    """Ranges of a column that has two views, and of columns that have one or none."""
    plain = people()
    age, pay = plain.schema["age"], plain.schema["pay in k"]
    schema = plain.schema.with_views(
        [
            th.View.at_cuts(age, "decade", [22, 25, 27]),
            th.View.at_cuts(age, "old", [25]),
            th.View.at_cuts(pay, "well paid", [40_000]),
        ]
    )
    data = th.Records(schema, plain.columns)
    thresholds = [("decade", "grade"), ("old", "well paid", "smoker"), ("age", "grade"), ("old",)]
    work = th.Workload(schema, [th.Threshold(names) for names in thresholds])
    release = MECHANISMS[name].fit(data, work, randomness=th.InsecureSeededRandomness(5))
    queries = [*_queries_with_views(schema, 600)]
    told = by_page(release, [as_page(query, schema) for query in queries], tmp_path)
    answered, by_views = 0, 0
    for query, (*found, text) in zip(queries, told, strict=True):
        wanted = by_python(release, query)
        assert found == pytest.approx(wanted, abs=1e-6), text
        answered += wanted[0] is not None
        by_views += wanted[0] is not None and release._best_put(query) != query
    assert answered > 50
    assert by_views > 20 or name == "rap"
    # A share among some people, all of it through views.
    part = th.Query([th.Condition("age", range(5, 10)), th.Condition("pay in k", range(10, 25))])
    whole = th.Query([th.Condition("smoker", [0])])
    page = {**as_page(part, schema), "among": as_page(whole, schema)["conditions"]}
    [(share, margin, estimated, _)] = by_page(release, [page], tmp_path)
    both, among = (
        release.answer(complete(release, conditions))
        for conditions in (all_of(part, whole).conditions, whole.conditions)
    )
    wanted = ratio(both, among)
    assert (share, margin) == pytest.approx((wanted, wanted.error_bar), abs=1e-6)
    assert estimated == wanted.is_estimated


def _queries_with_views(schema, count):
    rng = np.random.default_rng(9)
    ends = {"age": [0, 2, 5, 7, 10], "pay in k": [0, 10, 25]}  # codes at which groups begin
    for _ in range(count):
        names = rng.choice(["age", "pay in k", "grade", "smoker"], rng.integers(1, 4), False)
        conditions = []
        for name in map(str, names):
            places = ends.get(name, range(schema[name].size + 1))
            if rng.random() < 0.3:
                places = range(schema[name].size + 1)
            low, high = sorted(int(place) for place in rng.choice(places, 2, replace=False))
            conditions.append(th.Condition(name, range(low, high)))
        yield th.Query(conditions, int(rng.integers(1, len(conditions) + 1)))


@pytest.mark.parametrize("name", ["tables", "gaussian_joint"])
def test_shares_among_some_people_are_those_of_tables_for_people(name, tmp_path):
    data = people()
    release = MECHANISMS[name].fit(
        data, workload(data.schema), randomness=th.InsecureSeededRandomness(5)
    )
    asked = [
        (th.Query([th.Condition(part, [i])]), th.Query([th.Condition(whole, range(j, j + 2))]))
        for part, whole in permutations(("grade", "age", "smoker", "pay in k"), 2)
        for i in range(2)
        for j in range(1 if whole == "smoker" else 3)
    ]
    pages = [
        {**as_page(part, data.schema), "among": as_page(whole, data.schema)["conditions"]}
        for part, whole in asked
    ]
    for (part, whole), (share, margin, estimated, _) in zip(
        asked, by_page(release, pages, tmp_path), strict=True
    ):
        if release.source.answerable(all_of(part, whole).threshold.features) is None:
            assert share is None
            continue
        both, among = (
            release.answer(complete(release, conditions))
            for conditions in (all_of(part, whole).conditions, whole.conditions)
        )
        wanted = ratio(both, among)
        assert (share, margin) == pytest.approx((wanted, wanted.error_bar), abs=1e-6)
        assert estimated == wanted.is_estimated


@pytest.mark.parametrize("name", ["tables", "gaussian_joint", "residual", "all0"])
def test_means_sums_and_quantiles_are_those_of_the_command(name, tmp_path):
    data = people()
    release = MECHANISMS[name].fit(
        data, workload(data.schema), randomness=th.InsecureSeededRandomness(5)
    )
    among = [
        None,
        th.Query([th.Condition("smoker", [0])]),
        th.Query([th.Condition("age", range(3, 8)), th.Condition("grade", [0, 1])]),
    ]
    asked = [(feature, where) for feature in ("age", "pay in k") for where in among]
    pages = [
        {
            "numbers": data.schema.index(feature),
            "conditions": as_page(where, data.schema)["conditions"] if where else [],
        }
        for feature, where in asked
    ]
    answered = 0
    for (feature, where), told in zip(asked, by_page(release, pages, tmp_path), strict=True):
        try:
            numbers = release.numbers(feature, where=where)
        except th.QueryError:
            assert told is None
            continue
        answered += 1
        wanted = [numbers.mean(), numbers.sum()]
        wanted += [numbers.quantile(part) for part in (0, 0.1, 0.25, 0.5, 0.9, 1)]
        found = [told["mean"], told["sum"], *told["quantiles"]]
        for estimate, by_script in zip(wanted, found, strict=True):
            ends = [by_script[key] for key in ("value", "low", "high")]
            assert ends == pytest.approx([estimate, estimate.low, estimate.high], rel=1e-6)
            assert by_script["estimated"] == estimate.is_estimated
    assert answered == {"tables": 6, "all0": 0}.get(name, answered)


def by_page(release: th.Release, queries: list[dict], folder: Path) -> list[list]:
    """What the page's engine answers, in node."""
    payload = folder / "payload"
    payload.write_text(packed(facts_of(release)))
    told = subprocess.run(
        ["node", str(EXPLORER / "test" / "answers.js"), str(payload)],
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(told.stdout)


def test_labels_groups_findings_and_links():
    tests = EXPLORER / "test" / "page.test.js"
    told = subprocess.run(["node", "--test", str(tests)], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout


def test_the_bundle_is_built_from_these_sources():
    told = subprocess.run(
        ["node", str(EXPLORER / "build.js"), "hash"], capture_output=True, text=True, check=True
    )
    bundle = EXPLORER.parent / "src" / "thresher" / "report" / "bundle" / "explorer.js"
    assert told.stdout.strip() in bundle.read_text("utf-8")[:200], "run `make explorer`"
