"""Shares among some people: how they are written, and what they ask for."""

import pytest

from thresher import Categorical, Query, QueryError, Schema
from thresher.data.datasets import adult_schema
from thresher.queries.conditional import ConditionalQuery, all_of, parse_query

ADULT = adult_schema()


def test_both_parts_are_joined():
    asked = parse_query("Share of income=>50K and age<30 among sex=Female, age>=25", ADULT)
    assert asked == ConditionalQuery(
        Query.parse("sex=Female, age>=25", ADULT),
        Query.parse("sex=Female, age=25..29, income=>50K", ADULT),
    )
    assert asked.threshold.features == ("sex", "age", "income")
    assert asked.read_as is None


def test_a_query_without_among_is_plain():
    assert parse_query("sex=Female", ADULT) == Query.parse("sex=Female", ADULT)


def test_a_value_may_hold_the_word():
    schema = Schema(
        [
            Categorical(name="a", categories=("one among many", "x"), nulls="x", outside="x"),
            Categorical(name="b", categories=("y", "z"), nulls="y", outside="y"),
        ]
    )
    asked = ConditionalQuery.parse("share of a=one among many among b=z", schema)
    assert asked.both == Query.parse("b=z, a=one among many", schema)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("share of any of: sex=Female, race=Black among age>=25", "all their conditions"),
        ("share of sex=Female among 1 of: age>=25, race=Black", "all their conditions"),
        ("share of sex=Femal among age>=25", "no value 'Femal'"),
        ("share of sex=Female among nothing", "expected ="),
        ("share of sex=Female", "no feature"),
    ],
)
def test_mistakes(text, words):
    with pytest.raises(QueryError, match=words):
        parse_query(text, ADULT)


def test_a_range_inside_of_a_bin_says_how_it_was_read():
    asked = parse_query("share of capital-loss=120 among sex=Female", ADULT)
    assert asked.read_as == "share of all of: capital-loss=100..150 among all of: sex=Female"
    assert parse_query(asked.read_as, ADULT) == asked


def test_all_of_needs_all():
    joined = all_of(Query.parse("age>=25", ADULT), Query.parse("age<30, sex=Female", ADULT))
    assert joined == Query.parse("age=25..29, sex=Female", ADULT)
