"""Views: public groups of a feature's values."""

import pytest

from thresher import Bins, Categorical, Dates, IntegerRange, QueryError, Schema, SchemaError, View
from thresher.data.datasets import adult_schema

AGE = IntegerRange(name="age", low=0, high=9, nulls="?", extra=("?",))
LAND = Categorical(name="land", categories=("US", "CA", "FR"), outside="FR", nulls="FR")
PAY = Bins(name="pay", edges=(0, 10, 20, 30, 40), nulls=0)


def test_cuts_make_groups_that_follow_each_other():
    view = View.at_cuts(AGE, "group", [3, 7])
    assert view.labels == ("..2", "3..6", "7..", "?")
    assert view.codes == (0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3)
    assert view.base_codes([1, 3]) == (3, 4, 5, 6, 10)
    assert view.codes_for((0, 1, 2, 7, 8, 9)) == (0, 2)
    assert view.codes_for((0, 1)) is None
    assert View.at_cuts(PAY, "low", [20]).labels == ("..20", "20..")


def test_a_label_asks_for_the_values_of_its_group():
    from thresher import Query

    schema = Schema(
        [AGE, PAY, LAND], [View.at_cuts(AGE, "a", [3, 7]), View.at_cuts(PAY, "p", [20])]
    )
    for view in schema.views:
        for code, label in enumerate(view.labels):
            [condition] = Query.parse(f'{view.of}="{label}"' if label == "?" else
                                      f"{view.of}={label}", schema).conditions  # fmt: skip
            assert condition.codes == view.base_codes([code])
            [condition] = Query.parse(f"{view.name}={label}", schema).conditions
            assert condition.codes == (code,)


def test_groups_hold_every_value_once():
    view = View.of_groups(LAND, "us", {"US": ["US"], "elsewhere": []})
    assert (view.labels, view.codes) == (("US", "elsewhere"), (0, 1, 1))
    for groups, says in [
        ({"US": ["US"], "CA": ["CA"]}, "every value of 'land' once"),
        ({"a": ["US"], "b": [], "c": []}, "every value of 'land' once"),
        ({"a": ["US", "CA"], "b": ["CA", "FR"]}, "'CA' is in two groups"),
        ({"a": ["UK"], "b": []}, "has no value 'UK'"),
        ({"a": ["US"], "b": ["CA"], "c": ["FR"]}, "fewer than 'land' has values"),
    ]:
        with pytest.raises(SchemaError, match=says):
            View.of_groups(LAND, "v", groups)


@pytest.mark.parametrize(
    ("base", "cuts", "says"),
    [
        (LAND, ["CA"], "has no order"),
        (AGE, [12], "12 is not a value of 'age' that a group can begin at"),
        (AGE, ["?"], "is not a value"),
        (PAY, [15], "15 is not a value of 'pay'"),
        (AGE, [0], "2 or more groups"),
        (Dates(name="day", low="2020-01", high="2020-12", step="month", nulls="2020-01"),
         ["2020-03-15"], "is not a value of 'day'"),
    ],
)  # fmt: skip
def test_a_cut_must_be_where_a_group_can_begin(base, cuts, says):
    with pytest.raises(SchemaError, match=says):
        View.at_cuts(base, "v", cuts)


def test_a_schema_keeps_its_views_and_its_fingerprint():
    adult = adult_schema()
    views = [
        View.at_cuts(adult["age"], "old", [65]),
        View.of_groups(adult["sex"], "s", {"x": ["Male"], "y": []})
        if adult["sex"].size > 2 else View.at_cuts(adult["hours-per-week"], "s", [40]),
    ]  # fmt: skip
    schema = adult.with_views(views)
    assert Schema.from_json(schema.as_json()) == schema
    assert schema.with_views(views) is schema
    assert schema.fingerprint == adult.fingerprint
    assert schema != adult
    assert (len(schema), schema.names, schema.sizes) == (len(adult), adult.names, adult.sizes)
    assert schema.index("old") == len(adult)
    assert schema["old"] == views[0]
    assert schema.bases(("old", "sex")) == ("age", "sex")
    with pytest.raises(QueryError, match="old, age are all about the feature 'age': name one"):
        schema.bases(("old", "sex", "age"))
    with pytest.raises(SchemaError, match="twice: old"):
        schema.with_views([View.at_cuts(adult["age"], "old", [70])])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("old", "looks like"),
        ({"name": "old", "of": "weight", "cuts": [3]}, "'of' must name a feature, not 'weight'"),
        ({"name": "old", "of": "age"}, "either 'cuts' or 'groups'"),
        ({"name": "old", "of": "age", "cuts": [3], "groups": {}}, "either 'cuts' or 'groups'"),
        ({"name": "old", "of": "age", "cuts": [3], "colour": 1}, "colour"),
        ({"name": "old", "of": "age", "cuts": []}, "'cuts' must be a list"),
        ({"name": "old", "of": "age", "groups": {"a": 3}}, "'groups' must have a list"),
    ],
)
def test_a_mistake_in_a_file_is_named(value, says):
    with pytest.raises(SchemaError, match=says):
        Schema([AGE]).views_from_json([value])
