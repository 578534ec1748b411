"""Categories with an order, and spellings that stand for a category."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from thresher import Categorical, Query, Schema, SchemaError
from thresher.queries import ParseError

GRADE = Categorical(
    name="grade", categories=("A", "B.", "C", "D"), ordered=True, extra=("unknown",),
    nulls="unknown", outside="unknown", synonyms={"fail": "D", "1.50": "A", "a..b": "C"},
)  # fmt: skip


def test_synonyms_are_read_as_their_category():
    cells = ["A", "fail", " fail ", "Fail", "1.50", None, "a..b"]
    assert [GRADE.labels[code] for code in GRADE.encode(pa.array(cells))] == [
        "A", "D", "D", "unknown", "A", "unknown", "C",
    ]  # fmt: skip
    assert GRADE.encode(pa.array([1.5, 2.5])).tolist() == [0, 4]
    assert (GRADE.code_of("fail"), GRADE.code_of(1.5), GRADE.code_of("Fail")) == (3, 0, None)


def test_the_text_of_a_synonym_comes_before_the_value_of_a_category():
    feature = Categorical(
        name="x", categories=("1.0", "one"), synonyms={"1": "one"}, nulls="one", outside="one"
    )
    assert feature.encode(pa.array(["1.0", "1"])).tolist() == [0, 1]
    assert feature.encode(pa.array([1])).tolist() == [1]


@pytest.mark.parametrize(
    ("synonyms", "words"),
    [
        ({"B": "A"}, "'B' is one of its values itself"),
        ({"A": "A"}, "'A' is one of its values itself"),
        ({"c": "C"}, "'c' stands for 'C', which is none of its categories"),
        ({"c": ["A"]}, "none of its categories"),
        ({" c": "A"}, "the synonym ' c' must be text"),
        ({1: "A"}, "the synonym 1 must be text"),
        (["A"], "'synonyms' must give a category for each spelling"),
        ("A", "'synonyms' must give"),
    ],
)
def test_a_wrong_synonym_is_refused(synonyms, words):
    with pytest.raises(SchemaError, match="feature 'x'.*" + words):
        Categorical(name="x", categories=("A", "B"), nulls="A", outside="A", synonyms=synonyms)


def test_synonyms_are_copied_and_a_feature_has_a_hash():
    given = {"b": "B"}
    feature = Categorical(
        name="x", categories=("A", "B"), nulls="A", outside="A", synonyms=given
    )  # fmt: skip
    given["a"] = "A"
    assert feature.synonyms == {"b": "B"}
    assert hash(feature) == hash(feature)
    plain = Categorical(name="x", categories=("A", "B"), nulls="A", outside="A")
    assert feature != plain
    assert Schema([feature]).fingerprint != Schema([plain]).fingerprint
    assert "synonyms" not in plain.as_json()


def test_order():
    assert GRADE.has_order
    assert GRADE.between("A", "C") == (range(3), True)
    assert GRADE.between("A", "C", after=True, before=True) == (range(1, 2), True)
    assert GRADE.between(None, "fail") == (range(4), True)
    assert GRADE.between("C", None) == (range(2, 4), True)
    assert not GRADE.between("C", "A").codes
    assert GRADE.between("A", "unknown") is None
    assert GRADE.between("A", "Z") is None
    with pytest.raises(SchemaError, match="'ordered' must be true or false"):
        Categorical(name="x", categories=("A",), nulls="A", outside="A", ordered="yes")
    with pytest.raises(SchemaError, match="list extra values among its categories"):
        Categorical(name="x", categories=("A",), nulls="A", outside="A", extra=("u",))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("grade=A..C", ["A", "B.", "C"]), ("grade=A..B.", ["A", "B."]),
        ("grade=B...C", ["B.", "C"]), ("grade=C..", ["C", "D"]), ("grade=..A", ["A"]),
        ("grade=A .. fail", ["A", "B.", "C", "D"]), ("grade=a..b", ["C"]),
        ("grade != ..C", ["D", "unknown"]), ("grade in {A, C..D}", ["A", "C", "D"]),
    ],
)  # fmt: skip
def test_ranges_of_categories_in_the_query_language(text, labels):
    schema = Schema([GRADE])
    query = Query.parse(text, schema)
    assert [GRADE.labels[code] for code in query.conditions[0].codes] == labels
    assert Query.parse(query.text(schema), schema) == query


def test_a_range_is_written_where_it_can_be_read_back():
    schema = Schema([GRADE])
    assert Query.parse("grade=A..C", schema).text(schema) == "all of: grade=A..C"
    assert Query.parse("grade=B...C", schema).text(schema) == "all of: grade in {B.,C}"
    dotted = Categorical(
        name="x", categories=("a..b", "c", "d"), ordered=True, nulls="c", outside="c"
    )
    assert Query.parse("x=..c", Schema([dotted])).text(Schema([dotted])) == (
        'all of: x in {"a..b",c}'
    )


@pytest.mark.parametrize("text", ["grade=C..A", "grade=A..Z", "grade=A..unknown"])
def test_what_is_no_range_is_a_fault(text):
    with pytest.raises(ParseError, match="at character 7"):
        Query.parse(text, Schema([GRADE]))


def test_a_sample_keeps_the_order():
    column = GRADE.column(np.array([3, 0, 4]), np.random.default_rng(0))
    assert column.dtype == pd.CategoricalDtype(["A", "B.", "C", "D"], ordered=True)
    assert column.isna().tolist() == [False, False, True]
    assert column.min() == "A"
    assert (column.dropna() >= "C").tolist() == [True, False]
    assert GRADE.encode(pa.array(column)).tolist() == [3, 0, 4]
    named = GRADE.column(np.array([3, 0, 4]), np.random.default_rng(0), labels=True)
    assert named.tolist() == ["D", "A", "unknown"]
