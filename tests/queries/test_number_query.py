"""Questions about numbers, in words."""

import pytest

import thresher as th
from thresher.queries.number_query import NumberQuery, asks_for_a_number

SCHEMA = th.datasets.adult_schema()


@pytest.mark.parametrize(
    ("text", "statistic", "part"),
    [
        ("mean of age", "mean", None),
        ("Average of  Age ", "mean", None),
        ("sum of age", "sum", None),
        ("total of age", "sum", None),
        ("median of age", "quantile", 0.5),
        ("quantile 0.9 of age", "quantile", 0.9),
        ('mean of "age"', "mean", None),
    ],
)
def test_statistics(text, statistic, part):
    assert asks_for_a_number(text)
    assert NumberQuery.parse(text, SCHEMA) == NumberQuery(statistic, part, "age")


def test_among_some_people():
    asked = NumberQuery.parse("mean of hours per week AMONG sex=Female, age>=65", SCHEMA)
    assert asked.feature == "hours-per-week"
    assert asked.among == th.Query.parse("sex=Female, age>=65", SCHEMA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mean of shoe", "no feature 'shoe'"),
        ("quantile 9 of age", "from 0 to 1"),
        ("quantile x of age", "from 0 to 1"),
        ("mean of age among shoe=1", "shoe"),
        ("age", "mean of age"),
    ],
)
def test_mistakes_are_explained(text, said):
    with pytest.raises(th.QueryError, match=said):
        NumberQuery.parse(text, SCHEMA)


@pytest.mark.parametrize(
    "text", ["sex=Female", "share of sex=Female among age=20", "mean of x=3", "meaning of age", ""]
)
def test_other_queries_are_left_alone(text):
    assert not asks_for_a_number(text)
