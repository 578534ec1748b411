"""Workload files and query texts, right and wrong: they are read, or a QueryError says why not.

THRESHER_FUZZ=20 runs twenty times as many examples.
"""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import Bins, Categorical, Condition, IntegerRange, Query, QueryError, Schema
from thresher.queries import ParseError, Threshold, Workload
from thresher.queries.query_lines import read_queries

EXAMPLES = 100 * int(os.environ.get("THRESHER_FUZZ", "1"))
fuzzed = settings(max_examples=EXAMPLES, deadline=None)

WORDS = ("a", "b c", "in", "not", "x,y", 'say "hi"', "{}", "..", "2 of: z", "é…", "\\", "=", "7")
SCHEMA = Schema(
    [
        Categorical(name="kind", categories=WORDS, nulls="a", outside="a"),
        Categorical(name='odd, "name"', categories=("1", "2"), nulls="1", outside="1"),
        IntegerRange(name="age in years", low=-2, high=12, nulls=0, extra=("in", "x, y")),
        Bins(name="pay", edges=(-1.5, 0.0, 0.1, 1e3), nulls=0.0, extra=("none",)),
    ]
)

# What mutations put into a text: characters that mean something, and what breaks readers.
SHARDS = st.one_of(
    st.sampled_from(
        ["9" * 5000, "[" * 20_000, "{" * 2000, '"' * 99, " " * 3000, "\\", '"', "'", "{", "}", "]",
         ",", "=", "!=", "..", ":", "-", "1e400", "NaN", "null", "true", "2 of:", "not in {",
         "\\ud800",
         "\ud800", "\x1b[2J", "\x00", "\u202e", "\ufeff", "\n", "\r", "\u2028", '"r"', '"features"',
         "１"]
    ),
    st.text(max_size=3),
)  # fmt: skip


@st.composite
def mutated(draw, texts):
    """A text with a few pieces cut out, doubled, moved or replaced."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 12)))
        piece = draw(st.one_of(st.just(""), st.just(2 * text[begin:end]), SHARDS))
        text = text[:begin] + piece + text[end:]
    return text


def attempt(read):
    """What a reader returns, and None; or None, and the QueryError it raises."""
    try:
        return read(), None
    except QueryError as fault:
        return None, fault


# Workload files.


@st.composite
def workloads(draw):
    def threshold():
        names = draw(st.permutations(SCHEMA.names))[: draw(st.integers(1, len(SCHEMA)))]
        return Threshold(names, draw(st.integers(1, len(names))))

    return Workload(SCHEMA, dict.fromkeys(threshold() for _ in range(draw(st.integers(1, 5)))))


@st.composite
def documents(draw):
    """The text of a workload file: as JSON may write it, with r left out where it is k."""
    entries = draw(workloads()).as_json()["thresholds"]
    for entry in entries:
        if entry["r"] == len(entry["features"]) and draw(st.booleans()):
            del entry["r"]
    return json.dumps(
        {"thresholds": entries, **draw(st.sampled_from([{}, {"note": [1.5, None]}]))},
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
    )


# Any JSON value where a list, a name or a number was expected.
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=4),
        st.sampled_from([-(10**400), "kind", "pay", "\ud800", "\x1b"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["thresholds", "features", "r", "x"]), inner, max_size=4),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "w.json"


def loaded(path, content: bytes) -> Workload | None:
    """The workload in a file, or None if a printable QueryError refuses it."""
    path.write_bytes(content)
    work, fault = attempt(lambda: Workload.load(path, SCHEMA))
    if fault:
        assert str(fault).startswith(f"{path}: ")
        assert str(fault).isprintable()
    return work


@fuzzed
@given(workloads(), st.booleans())
def test_a_saved_workload_is_read_back(path, work, marked):
    work.save(path)
    content = path.read_bytes()
    assert loaded(path, b"\xef\xbb\xbf" + content if marked else content) == work


@fuzzed
@given(documents())
def test_a_document_is_a_workload(path, text):
    work = loaded(path, text.encode())
    assert work is not None
    assert work == Workload.from_json(json.loads(text), SCHEMA)


@fuzzed
@given(mutated(documents()))
def test_a_mutated_document_is_a_workload_or_refused(path, text):
    work = loaded(path, text.encode("utf-8", "surrogatepass"))
    if work is not None:
        assert Workload.from_json(work.as_json(), SCHEMA) == work


@fuzzed
@given(documents(), st.integers(0, 200), st.binary(max_size=6))
def test_any_bytes_are_a_workload_or_refused(path, text, place, junk):
    content = text.encode()
    loaded(path, content[:place] + junk + content[place:])


@fuzzed
@given(VALUES)
def test_any_value_is_a_workload_or_refused(value):
    for document in (
        value,
        {"thresholds": value},
        {"thresholds": [{"features": value, "r": 1}]},
        {"thresholds": [{"features": ["kind"], "r": value}]},
    ):
        work, fault = attempt(lambda document=document: Workload.from_json(document, SCHEMA))
        assert work or str(fault).isprintable()


def nested(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"features": ["kind"] * 200_000}, "'kind' twice"),
        ({"features": [f"f{i}" for i in range(200_000)]}, "no feature 'f0'"),
        ({"features": ["kind"], "r": 10**5000}, "not a number of very many digits"),
        ({"features": ["kind"], "r": nested(100_000)}, "nested too deeply"),
        ({"features": [nested(100_000)]}, "nested too deeply"),
        ({"features": ["\ud800"]}, r"no feature '\\ud800'"),
    ],
)
def test_values_beyond_reason(value, words):
    with pytest.raises(QueryError, match=words) as caught:
        Workload.from_json({"thresholds": [value]}, SCHEMA)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("9" * 5000, "too many digits"),
        ('{"thresholds": [{"features": ["kind"], "r": %s}]}' % ("9" * 5000), "too many digits"),
        ("[" * 100_000, "nested too deeply"),
        ('{"thresholds": [{"features": ["\\ud800"]}]}', r"no feature '\\ud800'"),
    ],
)
def test_files_beyond_reason(path, content, words):
    path.write_text(content, "utf-8")
    with pytest.raises(QueryError, match=words):
        Workload.load(path, SCHEMA)


@pytest.mark.parametrize(
    ("name", "words"), [("w" * 5000, "File name too long"), ("w\0", "NUL character")]
)
def test_paths_beyond_reason(tmp_path, name, words):
    with pytest.raises(QueryError, match=words):
        Workload.load(tmp_path / name, SCHEMA)


# The query language.


def quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@st.composite
def values(draw, feature):
    """One value or range as text, and its codes."""
    kinds = ["label"] if isinstance(feature, Categorical) else ["label", "range"]
    if draw(st.sampled_from(kinds)) == "label":
        code = draw(st.integers(0, feature.size - 1))
        label = feature.labels[code]
        bare = not any(sign in label for sign in ',{}"') and ".." not in label
        return (label if bare and draw(st.booleans()) else quoted(label)), {code}
    numbers = feature.size - len(feature.extra)
    first = draw(st.integers(0, numbers - 1))
    last = draw(st.integers(first, numbers - 1))
    low = feature.labels[first] if first or draw(st.booleans()) else ""
    high = feature.labels[last] if last < numbers - 1 or draw(st.booleans()) else ""
    if high and isinstance(feature, Bins):
        high = str(feature.edges[last + 1])
    return f"{low}{draw(BLANK)}..{draw(BLANK)}{high}", set(range(first, last + 1))


BLANK = st.sampled_from(["", " ", "\t", "  \n"])


@st.composite
def conditions(draw, feature):
    bare = not any(sign in feature.name for sign in ',="{}!') and " in " not in feature.name
    name = feature.name if bare and draw(st.booleans()) else quoted(feature.name)
    operator = draw(st.sampled_from(["=", "!=", "in", "not in"]))
    blank = draw(BLANK)
    if operator in ("=", "!="):
        text, codes = draw(values(feature))
        text = f"{name}{blank}{operator}{draw(BLANK)}{text}"
    else:
        listed = draw(st.lists(values(feature), max_size=3))
        codes = set().union(*(codes for _, codes in listed))
        inside = ",".join(f"{draw(BLANK)}{text}{draw(BLANK)}" for text, _ in listed)
        text = f"{name} {operator}{blank}{{{inside}}}"
    every = set(range(feature.size))
    return text, Condition(feature.name, every - codes if operator[0] in "!n" else codes)


@st.composite
def questions(draw):
    """A text from the grammar, and the query it stands for."""
    chosen = draw(st.permutations(SCHEMA.features))[: draw(st.integers(1, len(SCHEMA)))]
    made = [draw(conditions(feature)) for feature in chosen]
    opening = draw(st.sampled_from(["", "all", "ALL", "any", "Any", "number"]))
    k = len(made)
    r = 1 if opening.lower() == "any" else draw(st.integers(1, k)) if opening == "number" else k
    start = f"{r if opening == 'number' else opening} of{draw(BLANK)}:" if opening else ""
    body = ",".join(f"{draw(BLANK)}{text}{draw(BLANK)}" for text, _ in made)
    return draw(BLANK) + start + body, Query([condition for _, condition in made], r)


def parsed(text: str) -> Query | None:
    """The query of a text, or None if a ParseError fit for a terminal refuses it."""
    query, fault = attempt(lambda: Query.parse(text, SCHEMA))
    if fault:
        lines = str(fault).split("\n")
        assert len(lines) == 3
        assert all(line.isprintable() for line in lines)
        assert 0 <= fault.position <= len(text)
    return query


@fuzzed
@given(questions())
def test_a_text_of_the_grammar_is_its_query(question):
    text, query = question
    assert Query.parse(text, SCHEMA) == query
    assert Query.parse(query.text(SCHEMA), SCHEMA) == query


@fuzzed
@given(mutated(questions().map(lambda question: question[0])))
def test_a_mutated_text_is_a_query_or_a_parse_error(text):
    query = parsed(text)
    if query is not None:
        assert Query.parse(query.text(SCHEMA), SCHEMA) == query


@fuzzed
@given(st.lists(mutated(questions().map(lambda question: question[0])), max_size=3))
def test_mutated_lines_are_read_as_they_are_parsed(lines):
    stripped = [text for line in lines if (text := line.strip()) and not text.startswith("#")]
    expected = [parsed(text) for text in stripped]
    found, fault = attempt(lambda: list(read_queries(lines, SCHEMA)))
    if fault:
        assert None in expected
        assert str(fault).startswith("line ")
    else:
        assert found == list(zip(stripped, expected, strict=True))


@pytest.mark.parametrize(
    "run", [" ", "9", '"', "\\", "{", ",", "a ", "..", "1.", "in ", "and ", "_ "]
)
def test_a_text_of_many_characters_is_read_in_one_pass(run):
    # Patterns that scan a run again from each of its characters would take hours here.
    for text in (run * 200_000, f"kind={run * 200_000}", f"kind{run * 200_000}x=a",
                 f"pay={run * 200_000}..x"):  # fmt: skip
        assert parsed(text) is None


def test_control_characters_do_not_reach_the_terminal():
    with pytest.raises(ParseError) as caught:
        Query.parse("kind=\x1b[2Ja, \u202epay\n=\x9b3", SCHEMA)
    shown = str(caught.value)
    assert "\x1b" not in shown
    assert shown.splitlines()[1] == r"  kind=\x1b[2Ja, \u202epay\n=\x9b3"
    with pytest.raises(ParseError) as caught:
        Query.parse("kind=a, \x1b[2J=1", SCHEMA)
    *_, line, pointer = str(caught.value).splitlines()
    assert line[pointer.index("^") :] == r"\x1b[2J=1"


def test_a_fault_in_a_long_text_is_shown_with_what_is_around_it():
    long = ", ".join(["kind=a"] * 500)
    with pytest.raises(ParseError, match="stands twice") as caught:
        Query.parse(f"any of: pay=none, {long}, {long}", SCHEMA)
    assert len(str(caught.value)) < 1000
    *_, line, pointer = str(caught.value).splitlines()
    assert line[pointer.index("^") :].startswith(" kind=a, kind=a")
