"""Many queries in a file: read at speed, and exactly as the parser reads each of them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thresher.data.datasets import adult_schema
from thresher.errors import QueryError
from thresher.queries import Condition, Query
from thresher.queries.query_lines import read_queries
from thresher.schema import Schema
from thresher.schema.features import Bins, Categorical, IntegerRange

ODD = Schema(
    (
        Categorical(name="a", categories=("x", "y", "y, z", 'q"u', "{", "..", "in"), outside="x",
                    nulls="x"),
        Categorical(name="all of: a", categories=("x", "y"), outside="x", nulls="x"),
        IntegerRange(name="b", low=-3, high=9, nulls="gone", extra=("gone",)),
        Bins(name="c d", edges=(0.0, 0.5, 2.0, 10.0), nulls=0),
        Categorical(name="2 of", categories=("x", "y"), outside="x", nulls="x"),
    )
)  # fmt: skip


@st.composite
def queries(draw, schema=ODD):
    names = draw(st.permutations(schema.names))[: draw(st.integers(1, len(schema)))]
    conditions = [
        Condition(name, draw(st.sets(st.integers(0, schema[name].size - 1), min_size=1)))
        for name in names
    ]
    return Query(conditions, draw(st.integers(1, len(names))))


@given(st.lists(queries(), max_size=10))
def test_queries_come_back_from_their_text(asked):
    texts = [query.text(ODD) for query in asked]
    assert list(read_queries(texts, ODD)) == list(zip(texts, asked, strict=True))


PIECES = ["a=x", "a=y", " a = x ", "b=1..3", "b!=2", "b=..", "b=gone", "c d=0.7", "c d=0.5..1",
          "a in {x,in}", "b not in {1,2}", '"c d"=0', "2 of=x", "all of: a=y", "any of: a=x",
          "1 of: b=4", "ALL OF : b=4", "a", "=", "", " ", "a=", "a=nobody", "zz=1", "b=5..1",
          "a=..", "in {x}", "b=1e0", "b=+1", '"a"=x', "a!=x", 'a="y, z"', "{", '"',
          "a==x"]  # fmt: skip
OPENINGS = ["", "all of: ", "any of:", "1 of: ", "2 of: ", "3 of:", "0 of: ", " 2  OF : ", "of: "]


@given(st.sampled_from(OPENINGS), st.lists(st.sampled_from(PIECES), min_size=1, max_size=4))
@example("", ["a=x", "all of: b=4"])
@example("all of: ", ["any of: a=x"])
@example("", ["b=1", "all of: a=y"])
def test_both_paths_agree_on_good_lines_and_bad(opening, pieces):
    text = opening + ",".join(pieces)
    if not text.strip() or text.strip().startswith("#"):
        return
    try:
        expected, words = Query.parse(text.strip(), ODD), ""
    except QueryError as fault:
        expected, words = None, str(fault)
    # The second time, conditions that were good are remembered.
    for lines in ([text], ["a=x", "b=4", "all of: a=y", "a=y", text]):
        if expected is None:
            with pytest.raises(QueryError) as caught:
                list(read_queries(lines, ODD))
            assert str(caught.value) == f"line {len(lines)}: {words}"
        else:
            found = [query for _, query in read_queries(lines, ODD)]
            assert found[-1] == expected
            assert hash(found[-1]) == hash(expected)


def test_plain_lines_take_the_fast_path(monkeypatch):
    schema, parsed, parse = adult_schema(), [], Query.parse

    def counting(text, schema):
        parsed.append(text)
        return parse(text, schema)

    monkeypatch.setattr(Query, "parse", counting)
    lines = ["2 of: race=Black, sex=Female, age=20..29", "race=Black, sex=Female"] * 50
    assert len(list(read_queries(lines, schema))) == 100
    # Each text of a condition once: "race=Black" and " race=Black" are two.
    assert len(parsed) == 4


def test_blank_lines_and_comments_are_passed_over():
    lines = ["\n", "# all women\n", "  sex=Female  \n", "   # more\n", "\t\n", "age=20\n"]
    assert [text for text, _ in read_queries(lines, adult_schema())] == ["sex=Female", "age=20"]


@pytest.mark.parametrize("wrong", ["sex=Femal", "2 of: sex=Female", "sex=Female, sex=Male", "{"])
def test_errors_name_the_line(wrong):
    lines = ["# a comment", "", "sex=Female", wrong, "sex=Male"]
    read = read_queries(lines, adult_schema())
    assert next(read)[0] == "sex=Female"
    with pytest.raises(QueryError, match=r"^line 4: at character"):
        next(read)


def test_commas_and_quotes_inside_quotes_are_read_as_the_parser_reads_them():
    values = ("plain", "a, b", 'say "x, y"', "b=plain")
    schema = Schema(
        [Categorical(name=n, categories=values, outside="plain", nulls="plain") for n in ("f", "b")]
    )
    lines = [
        'any of: f="a, b", b=plain',
        'f="say \\"x, y\\"", b="a, b"',
        'f="plain", b="b=plain"',
        '2 of: b="plain", f="a, b"',
    ]
    assert [q for _, q in read_queries(lines, schema)] == [
        Query.parse(line, schema) for line in lines
    ]
