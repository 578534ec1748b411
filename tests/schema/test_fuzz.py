"""Any document for a schema: what comes back is a schema, or an error of ours."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher import (
    Bins,
    Boolean,
    Categorical,
    Dates,
    IntegerRange,
    Schema,
    SchemaError,
    ThresherError,
)
from thresher.schema.features import feature_from_json

FUZZ = settings(
    max_examples=100 * int(os.environ.get("THRESHER_FUZZ", "1")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4),
    st.sampled_from([10**400, "\ud800", "\x1b[2J", "a\nb", "clip", "", " ", "nan",
                     "\u202e", [], {}, [[]], 2**53 + 1, 1e308, -1e308, "1e400", "2019-02-03",
                     "0000-01-01", "9999", "month", "money", "true", 10**6, "10000-01-01"]),
)  # fmt: skip
VALUE = st.recursive(
    ODD,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
ENTRIES = (
    "name", "kind", "low", "high", "nulls", "outside", "extra", "review", "categories", "edges",
    "bins", "written", "step", "ordered", "synonyms",
)  # fmt: skip
VALID = [
    {"name": "age", "kind": "integer", "low": 0, "high": 9, "nulls": 0},
    {"name": "sex", "kind": "categorical", "categories": ["F", "M"], "nulls": "F", "outside": "M"},
    {"name": "gain", "kind": "numeric", "edges": [0, 1, 2], "nulls": "none", "extra": ["none"]},
    {"name": "pay", "kind": "numeric", "low": 0, "high": 1, "bins": 3, "nulls": 0,
     "written": "money"},
    {"name": "ill", "kind": "boolean", "nulls": "false", "extra": ["none"]},
    {"name": "born", "kind": "dates", "low": "2019-01-01", "high": "2019-03-01", "step": "month",
     "nulls": "2019-01"},
    {"name": "grade", "kind": "categorical", "categories": ["A", "B"], "nulls": "A",
     "outside": "B", "ordered": True, "synonyms": {"a": "A"}, "extra": ["none"]},
]  # fmt: skip
MUTATED = st.builds(
    lambda base, changes, dropped: {
        key: value for key, value in {**base, **changes}.items() if key not in dropped
    },
    st.sampled_from(VALID),
    st.dictionaries(st.one_of(st.sampled_from(ENTRIES), st.text(max_size=3)), VALUE, max_size=2),
    st.sets(st.sampled_from(ENTRIES), max_size=1),
)
DOCUMENT = st.one_of(
    VALUE,
    st.builds(
        lambda features, version: {
            "format": "thresher-schema", "version": version, "features": features,
        },
        st.one_of(VALUE, st.lists(MUTATED, min_size=1, max_size=3)),
        st.one_of(st.just(1), ODD),
    ),
)  # fmt: skip


def check_words(fault):
    assert str(fault).isprintable()


def _json(value):
    return json.dumps(value).encode()


@FUZZ
@given(DOCUMENT)
def test_any_document(document):
    try:
        schema = Schema.from_json(document)
    except ThresherError as fault:
        check_words(fault)
        return
    again = Schema.from_json(json.loads(json.dumps(schema.as_json())))
    assert again.fingerprint == schema.fingerprint
    for feature in schema:
        assert feature.code_of(feature.nulls) is not None
        json.dumps(feature.as_json(), ensure_ascii=False).encode()


@FUZZ
@given(st.one_of(st.binary(max_size=40), DOCUMENT.map(_json)))
def test_any_file(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "schema.json"
    path.write_bytes(content)
    try:
        schema = Schema.load(path)
    except ThresherError as fault:
        check_words(fault)
    else:
        schema.save(path)
        assert Schema.load(path) == schema


@FUZZ
@given(st.sampled_from([Categorical, Boolean, IntegerRange, Bins, Dates]), st.data())
def test_any_arguments(kind, data):
    entries = {
        "name": st.just("x"), "nulls": ODD, "outside": ODD, "extra": VALUE, "review": ODD,
        **{
            Categorical: {"categories": VALUE, "ordered": ODD, "synonyms": VALUE},
            Boolean: {},
            IntegerRange: {"low": ODD, "high": ODD, "written": ODD},
            Bins: {"edges": VALUE, "low": ODD, "high": ODD, "bins": ODD},
            Dates: {"low": ODD, "high": ODD, "step": ODD},
        }[kind],
    }  # fmt: skip
    arguments = {entry: data.draw(value, label=entry) for entry, value in entries.items()}
    try:
        feature = kind(**arguments)
    except SchemaError as fault:
        check_words(fault)
    else:
        assert feature_from_json(feature.as_json()).labels == feature.labels


def test_a_number_of_5000_digits_is_explained(tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"format": "thresher-schema", "version": ' + "9" * 5000 + "}")
    with pytest.raises(SchemaError, match=r"s\.json: .*too many digits"):
        Schema.load(path)
    with pytest.raises(SchemaError, match=r"feature 'x'.*very many digits"):
        IntegerRange(name="x", low=0, high=10**5000, nulls=0)


@pytest.mark.parametrize(
    "change", [{"review": "\ud800"}, {"outside": "\ud800"}, {"nulls": "\ud800"}, {"name": "\ud800"}]
)
def test_half_a_character_is_refused(change):
    with pytest.raises(SchemaError):
        IntegerRange(**{"name": "x", "low": 0, "high": 1, "nulls": 0, **change})
    with pytest.raises(SchemaError, match="warning"):
        Schema([IntegerRange(name="x", low=0, high=1, nulls=0)]).save("s.json", warning="\ud800")


ACTING = ["\x00", "\x07", "\x08", "\x0b", "\x1b[31m", "\x7f", "\x85", "\x9b", "\u202e", "\u2066"]


@pytest.mark.parametrize("letter", ACTING, ids=ascii)
def test_what_acts_on_a_terminal_is_refused(letter):
    word = f"a{letter}b"
    with pytest.raises(SchemaError, match="control characters") as caught:
        Categorical(name="x", categories=("a", word), nulls="a", outside="a")
    assert str(caught.value).isprintable()
    with pytest.raises(SchemaError, match="control characters"):
        IntegerRange(name=word, low=0, high=1, nulls=0)
    with pytest.raises(SchemaError, match="control characters"):
        IntegerRange(name="x", low=0, high=1, nulls=0, extra=(word,))


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\r\nb", "\u200fא", "a\u2028b"])
def test_line_breaks_and_marks_of_the_first_build_still_load(word):
    assert Categorical(name="x", categories=(word,), nulls=word, outside=word).labels == (word,)


def test_a_draft_lists_no_line_breaks():
    import pandas as pd

    from thresher import draft_schema

    frame = pd.DataFrame({"sex": ["F", "a\nb", "\x1b[2J"], "bad\nname": ["x", "y", "z"]})
    drafted = draft_schema(frame)
    draft, left_out = drafted.schema, list(drafted.left_out)
    assert draft["sex"].labels == ("F", "(other)")
    assert left_out == ["bad\nname"]
