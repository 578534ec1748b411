"""Schema: files round-trip exactly, obey the published JSON Schema, and explain what is wrong."""

import dataclasses
import datetime as dt
import hashlib
import itertools
import json
import math

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher import Bins, Boolean, Categorical, Dates, IntegerRange, Schema, SchemaError
from thresher.data.datasets import adult_schema, loans_schema
from thresher.schema.amounts import STYLES, amount_of
from thresher.schema.boolean import truth_of
from thresher.schema.days import period_of
from thresher.schema.labels import is_label

WORD = st.text(
    st.one_of(st.sampled_from("ab,=\"'{}!. in…é\n\\"), st.characters(exclude_categories=["Cs"])),
    min_size=1,
    max_size=6,
).filter(is_label)
LABEL = WORD.filter(lambda word: not _says_value(word))


def _says_value(word: str) -> bool:
    """Whether a word is a number, an amount, a date or a truth value, so that it is no label."""
    amounts = [amount_of(word, written) for written in STYLES]
    return (
        period_of(word) is not None
        or truth_of(word) is not None
        or not all(map(math.isnan, amounts))
    )


@st.composite
def features(draw, name: str):
    """Any feature of a given name."""
    kind = draw(st.sampled_from([Categorical, Boolean, IntegerRange, Bins, Dates]))
    review = draw(st.sampled_from(["", "guessed"]))
    if kind is Categorical:
        categories = tuple(draw(st.lists(WORD, min_size=2, max_size=4, unique=True)))
        other = draw(st.sampled_from([c for c in categories if c != "clip"]))
        ordered = draw(st.booleans())
        said = draw(st.dictionaries(WORD, st.sampled_from(categories), max_size=2))
        spare = draw(st.lists(WORD, max_size=2, unique=True)) if ordered else []
        extra = tuple(w for w in spare if w not in categories and w not in said)
        synonyms = {word: label for word, label in said.items() if word not in categories}
        return Categorical(
            name=name, categories=categories, nulls=categories[0], outside=other, review=review,
            ordered=ordered, synonyms=synonyms, extra=extra,
        )  # fmt: skip
    extra = tuple(draw(st.lists(LABEL, max_size=2, unique=True)))
    policies = {
        "name": name, "extra": extra, "review": review,
        "outside": draw(st.sampled_from(("clip", *extra))),
    }  # fmt: skip
    if kind is Boolean:
        policies["outside"] = draw(st.sampled_from(("", "true", *extra)))
        return Boolean(nulls=draw(st.sampled_from(("false", True, *extra))), **policies)
    if kind is Dates:
        low, high = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2)))
        high = min(high, low + dt.timedelta(days=500)) if low.year < 9990 else low
        nulls = draw(st.sampled_from([str(low), *extra]))
        step = draw(st.sampled_from(["day", "month", "quarter", "year"]))
        return Dates(low=str(low), high=str(high), step=step, nulls=nulls, **policies)
    policies["written"] = draw(st.sampled_from(["plain", "money", "percent"]))
    if kind is IntegerRange:
        low = draw(st.integers(-(2**52), 2**52))
        high = low + draw(st.integers(0, 20))
        nulls = draw(st.sampled_from([low, str(high), *extra]))
        return IntegerRange(low=low, high=high, nulls=nulls, **policies)
    if draw(st.booleans()):
        low, bins = draw(st.integers(-100, 100)), draw(st.integers(1, 9))
        return Bins(low=low, high=low + bins / 2, bins=bins, nulls=low, **policies)
    number = st.floats(allow_nan=False, allow_infinity=False)
    edges = tuple(sorted(draw(st.lists(number, min_size=2, max_size=5, unique=True))))
    return Bins(edges=edges, nulls=draw(st.sampled_from([edges[0], *extra])), **policies)


@st.composite
def schemas(draw):
    names = draw(st.lists(WORD, min_size=1, max_size=4, unique=True))
    return Schema([draw(features(name)) for name in names])


@given(schemas())
def test_json_round_trip_is_exact(schema):
    text = json.dumps(schema.as_json())
    back = Schema.from_json(json.loads(text))
    assert back == schema
    assert json.dumps(back.as_json()) == text
    assert back.fingerprint == schema.fingerprint
    jsonschema.validate(json.loads(text), Schema.json_schema())


@given(schemas())
def test_the_fingerprint_tells_what_codes_mean_and_nothing_else(schema):
    reviewed = Schema(dataclasses.replace(feature, review="seen") for feature in schema)
    assert reviewed.fingerprint == schema.fingerprint
    renamed = Schema(dataclasses.replace(feature, name=f"{feature.name}x") for feature in schema)
    assert renamed.fingerprint != schema.fingerprint


def test_fingerprints_and_json_of_the_first_build_stay():
    """A schema that is described as before has the JSON and the fingerprint that it had."""
    mixed = Schema((
        IntegerRange(name="age", low=18, high=90, nulls=18),
        IntegerRange(
            name="visits", low=0, high=20, nulls="unknown", extra=("unknown",), review="guessed"
        ),
        Categorical(name="smoker", categories=("no", "yes"), nulls="no", outside="yes"),
        Bins(name="gain", edges=(0, 0.5, 10), nulls=0, outside="far", extra=("far",)),
        Bins(name="income", edges=tuple(range(0, 200_001, 5_000)), nulls=0),
    ))  # fmt: skip
    for schema, fingerprint, text in (
        (adult_schema(), "12137658a940ef28", "b87fb05a9599a04d"),
        (loans_schema(), "d89b8ca1d13ea31a", "ce2d52e3aa069c83"),
        (mixed, "75f0de718300ec27", "4a9415e8a7aa8cc2"),
    ):
        assert schema.fingerprint.startswith(fingerprint)
        written = json.dumps(schema.as_json()).encode()
        assert hashlib.sha256(written).hexdigest().startswith(text)


def test_bins_in_short_are_the_same_description():
    short = Bins(name="x", low=0, high=1, bins=10, nulls=0)
    long = Bins(name="x", edges=[i / 10 for i in range(11)], nulls=0)
    assert short == long == Bins.equal("x", low=0, high=1.0, bins=10, nulls=0)
    assert hash(short) == hash(long)
    assert Schema([short]).fingerprint == Schema([long]).fingerprint
    assert short.as_json() == {
        "name": "x", "kind": "numeric", "nulls": 0, "outside": "clip", "low": 0, "high": 1,
        "bins": 10,
    }  # fmt: skip
    assert "bins" not in long.as_json()
    assert dataclasses.replace(short, name="y").as_json()["bins"] == 10
    with pytest.raises(SchemaError, match="but not both"):
        dataclasses.replace(short, edges=(0, 1))


@given(st.floats(-1e15, 1e15), st.floats(1e-6, 1e15), st.integers(1, 50))
def test_the_edges_of_bins_in_short_follow_the_formula(low, width, bins):
    high = low + width
    edges = [low + ((high - low) * i) / bins for i in range(bins)] + [high]
    if any(a >= b for a, b in itertools.pairwise(edges)):
        return
    assert list(Bins(name="x", low=low, high=high, bins=bins, nulls=low).edges) == edges


def test_files_round_trip(tmp_path):
    schema = Schema([Categorical(name="ß", categories=("é", "x\u2028x"), nulls="é", outside="é")])
    schema.save(tmp_path / "s.json", warning="mind")
    assert Schema.load(tmp_path / "s.json") == schema
    assert json.loads((tmp_path / "s.json").read_text("utf-8"))["warning"] == "mind"
    (tmp_path / "bom.json").write_text((tmp_path / "s.json").read_text("utf-8"), "utf-8-sig")
    assert Schema.load(tmp_path / "bom.json") == schema


@pytest.mark.parametrize("schema", [adult_schema(), loans_schema()], ids=["adult", "loans"])
def test_the_built_in_schemas_obey_the_published_one(schema):
    jsonschema.validate(schema.as_json(), Schema.json_schema())
    jsonschema.Draft202012Validator.check_schema(Schema.json_schema())
    assert schema.unreviewed == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "not a schema"),
        ({"features": []}, "not a schema"),
        ({"format": "other", "version": 1, "features": []}, "not a schema"),
        ({"format": "thresher-schema", "features": []}, "version None"),
        ({"format": "thresher-schema", "version": 2, "features": []}, "version 2"),
        ({"format": "thresher-schema", "version": 1}, "'features' must be a list"),
        ({"format": "thresher-schema", "version": 1, "features": []}, "at least one feature"),
        ({"format": "thresher-schema", "version": 1, "features": [5]}, "JSON object"),
    ],
)
def test_what_is_not_a_schema_says_why(value, words, tmp_path):
    with pytest.raises(SchemaError, match=words):
        Schema.from_json(value)
    (tmp_path / "s.json").write_text(json.dumps(value), "utf-8")
    with pytest.raises(SchemaError, match=r"s\.json: .*" + words):
        Schema.load(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        ({"kind": "integer", "low": 0, "high": 1, "nulls": 0}, r"feature '\?' lacks: name"),
        ({"name": "age"}, "feature 'age': 'kind' must be one of"),
        ({"name": "age", "kind": []}, "feature 'age': 'kind' must be one of"),
        ({"name": "age", "kind": "text"}, "feature 'age': 'kind' must be one of"),
        ({"name": "age", "kind": "integer"}, "feature 'age' lacks: high, low, nulls"),
        ({"name": "age", "kind": "integer", "lo": 0}, "feature 'age' has unknown entries: lo"),
        ({"name": " age", "kind": "integer", "low": 0, "high": 1, "nulls": 0}, "name.*' age'"),
        ({"name": 5, "kind": "integer", "low": 0, "high": 1, "nulls": 0}, "name.*5"),
        (
            {"name": "sex", "kind": "categorical", "categories": ["F"], "nulls": "F"},
            "feature 'sex': categories cannot be clipped",
        ),
    ],
)
def test_a_feature_that_cannot_be_read_is_named(feature, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_json({"format": "thresher-schema", "version": 1, "features": [feature]})


def test_a_name_twice_is_an_error():
    age = IntegerRange(name="age", low=0, high=1, nulls=0)
    with pytest.raises(SchemaError, match="twice: age"):
        Schema([age, age])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "line 1, column 2"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" * 200_000, "nested|JSON"),
    ],
    ids=["cut", "bytes", "deep"],
)
def test_a_damaged_file_says_where(tmp_path, content, words):
    (tmp_path / "s.json").write_bytes(content)
    with pytest.raises(SchemaError, match=rf"s\.json: .*({words})"):
        Schema.load(tmp_path / "s.json")
    with pytest.raises(SchemaError, match="No such file"):
        Schema.load(tmp_path / "none.json")
    with pytest.raises(SchemaError, match="directory"):
        Schema.load(tmp_path)


def test_a_schema_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "no such folder" / "s.json"
    with pytest.raises(th.ThresherError, match=r"s\.json cannot be written"):
        adult_schema().save(target)
    adult_schema().save(tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_an_unknown_feature_lists_what_there_is():
    with pytest.raises(th.QueryError, match=r"'Age'.*; the schema has: age, workclass"):
        adult_schema()["Age"]


def test_every_public_name_is_documented():
    for name in th.__all__:
        assert (getattr(th, name).__doc__ or "").strip(), name


def test_a_small_file_cannot_describe_values_without_end(tmp_path):
    """Each feature of 80 bytes took 80 MB of memory, so that a file of 8 KB took 8 GB."""
    feature = {"kind": "integer", "low": 0, "high": 999_999, "nulls": 0}
    features = [{**feature, "name": f"f{i}"} for i in range(100)]
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"format": "thresher-schema", "version": 1, "features": features}))
    with pytest.raises(SchemaError, match="more than 4,000,000 values together"):
        Schema.load(path)
