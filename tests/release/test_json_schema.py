"""Our validator of release.json against the library jsonschema, on documents true and mutated."""

import copy
import json
import math
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.release.document import json_schema
from thresher.release.json_schema import fault_of

DOCUMENTS = [
    json.loads(path.read_text())
    for path in sorted((Path(__file__).parent / "first_build").glob("*/release.json"))
]
REFERENCE = jsonschema.Draft202012Validator(json_schema())

NAMES = st.text(max_size=5)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "1/2", "tight", "rows", "0" * 64, "\x1b[31m", "1e-9", 1.0, 0, 10**400])
    | NAMES
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


def places(value):
    """All containers in a document with each of their keys."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield value, key
        if isinstance(entry, dict | list):
            yield from places(entry)


def test_the_published_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_real_documents_are_valid(document):
    assert fault_of(document, json_schema()) is None
    assert REFERENCE.is_valid(document)


@given(st.data())
def test_both_agree_on_mutated_documents(data):
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        container, key = data.draw(st.sampled_from(list(places(document))))
        what = data.draw(st.sampled_from(["replaced", "removed", "added"]))
        if what == "replaced":
            container[key] = data.draw(VALUES)
        elif what == "removed":
            del container[key]
        elif isinstance(container, dict):
            container[data.draw(st.text(max_size=5))] = data.draw(VALUES)
    assert (fault_of(document, json_schema()) is None) == REFERENCE.is_valid(document)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have(value):
    assert fault_of({**DOCUMENTS[0], "miss": value}, json_schema()) is not None


def test_a_fault_names_its_place():
    document = copy.deepcopy(DOCUMENTS[0])
    document["measured_tables"] = [{"features": ["a"], "r": 1, "sigma": 0}]
    fault = "'measured_tables': entry 0: 'sigma': must be above 0"
    assert fault_of(document, json_schema()) == fault
