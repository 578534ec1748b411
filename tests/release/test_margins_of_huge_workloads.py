"""Margins of error where a threshold's table has up to 10^17 cells: no walk, and honest."""

import math

import numpy as np
import pytest

import thresher as th

PEOPLE = 60


def adult_5_way():
    data = th.datasets.adult()
    return data, th.Workload.random(data.schema, k=5, size=8, seed=0)


def loans_8_way():
    data = th.datasets.loans_like(seed=0, n=4000)
    return data, th.Workload.random(data.schema, k=8, size=8, seed=0)


KINDS = {
    "auto": th.Auto(epsilon=1.0, synthetic_rows=60, rounds=6),
    "rap": th.RAP(epsilon=1.0, synthetic_rows=60, rounds=6, queries_per_round=4),
}


@pytest.fixture(scope="module", params=[adult_5_way, loans_8_way])
def workload(request):
    data, work = request.param()
    assert max(threshold.query_count(data.schema) for threshold in work) > 10**7
    return data, work


@pytest.fixture(scope="module", params=KINDS)
def release(request, workload):
    data, work = workload
    randomness = th.InsecureSeededRandomness(1)
    return data, KINDS[request.param].fit(data, work, randomness=randomness)


def cells_of_people(data, features, rng):
    """The cells that some people are in: the fuller a cell, the more often it is asked about."""
    return [
        th.Query([th.Condition(name, [int(data.codes(name)[i])]) for name in features])
        for i in rng.integers(0, data.n, PEOPLE)
    ]


def error_and_margins(data, release, size):
    """Over cells of tables of so many features of each threshold."""
    rng = np.random.default_rng(0)
    found = []
    for threshold in release.workload:
        features = rng.choice(threshold.features, min(size, threshold.k), replace=False).tolist()
        queries = cells_of_people(data, features, rng)
        for query, answer in zip(queries, release.answer_many(queries), strict=True):
            error = abs(float(answer) - float(th.exact_answer(data, query)))
            found.append((error, 1.0 if answer.error_bar is None else answer.error_bar))
    return np.array(found)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_margins_cover_the_truth(release, size):
    """At least 19 of 20, as they claim; 0.9 allows for the dependence of cells. Seeds are fixed."""
    data, published = release
    found = error_and_margins(data, published, size)
    assert len(found) == 8 * PEOPLE
    assert np.mean(found[:, 0] <= found[:, 1]) >= 0.9


def test_smaller_margins_would_not_cover_it():
    """What the test above can find: margins of a quarter of these fail on tables of one feature."""
    data, work = adult_5_way()
    published = KINDS["auto"].fit(data, work, randomness=th.InsecureSeededRandomness(1))
    found = error_and_margins(data, published, 1)
    assert np.mean(found[:, 0] <= found[:, 1] / 4) < 0.9


def test_margins_of_single_cells_of_the_workload_are_of_use(release):
    """They come from the prediction error, which is small, and not from 10^17 noisy cells."""
    data, published = release
    found = error_and_margins(data, published, 8)
    assert np.median(found[:, 1]) < 0.5


def test_a_margin_for_every_kind_of_query(release):
    data, published = release
    names = published.workload[0].features
    values = [f"{name}={data.schema[name].labels[0]}" for name in names]
    asked = [
        *(f"{r} of: {', '.join(values)}" for r in range(1, len(values) + 1)),
        *(f"{r} of: {', '.join(values[:4])}" for r in range(1, 5)),
        values[0],
    ]
    for text in asked:
        answer = published.answer(text)
        assert answer.error_bar is None or 0 <= answer.error_bar <= 1
        assert math.isfinite(answer)
