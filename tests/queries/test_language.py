"""The query language: what is written parses back, and a fault points at its character."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import Bins, Categorical, Condition, Dates, IntegerRange, Query, QueryError, Schema
from thresher.data.datasets import adult_schema
from thresher.queries import ParseError
from thresher.schema.days import period_of
from thresher.schema.labels import is_label

ADULT = adult_schema()
NASTY = [
    "a", "not", "in", "x-not", "is.in", "in {", "not in {a}", "a,b", "a=b", "=", "!=", "!", '"',
    '"a"', "\\", '\\"', "{", "}", "{}", "..", "1..5", "2 of: x", "all of:", "any", "a b", "é…", "١",
    "a\nb", "a\\", "-", "'", ":", "in", "of",
]  # fmt: skip
LETTER = st.one_of(
    st.sampled_from('ab,="\\{}!. :in…'), st.characters(exclude_categories=["Cs", "Cc"])
)
WORD = st.one_of(
    st.sampled_from(NASTY),
    st.text(LETTER, min_size=1, max_size=6).filter(is_label),
)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


@st.composite
def questions(draw):
    names = draw(st.lists(WORD, min_size=1, max_size=4, unique=True))
    features = []
    for name in names:
        kind = draw(st.sampled_from(["categories", "ordered", "integers", "bins", "dates"]))
        labels = tuple(draw(st.lists(WORD, min_size=2, max_size=4, unique=True)))
        extra = tuple(label for label in labels if not _is_number(label))
        if kind == "categories":
            other = next(label for label in labels if label != "clip")
            feature = Categorical(name=name, categories=labels, nulls=other, outside=other)
        elif kind == "ordered":
            last = labels[-1:] if len(labels) > 2 else ()
            first = labels[: len(labels) - len(last)]
            other = next(label for label in labels if label != "clip")
            feature = Categorical(
                name=name, categories=first, extra=last, nulls=other, outside=other, ordered=True
            )
        elif kind == "dates":
            step = draw(st.sampled_from(["day", "month", "quarter", "year"]))
            feature = Dates(
                name=name, low="2019-11-30", high="2020-02-02", step=step, nulls="2019-12-31",
                extra=tuple(word for word in extra if period_of(word) is None),
            )  # fmt: skip
        elif kind == "integers":
            low = draw(st.integers(-20, 20))
            feature = IntegerRange(name=name, low=low, high=low + 4, nulls=low, extra=extra)
        else:
            edge = st.floats(allow_nan=False, allow_infinity=False)
            edges = sorted(draw(st.lists(edge, min_size=2, max_size=6, unique=True)))
            feature = Bins(name=name, edges=tuple(edges), nulls=edges[0], extra=extra)
        features.append(feature)
    codes = [draw(st.sets(st.integers(0, feature.size - 1))) for feature in features]
    conditions = [Condition(*pair) for pair in zip(names, codes, strict=True)]
    return Schema(features), Query(conditions, draw(st.integers(1, len(names))))


@settings(max_examples=400)
@given(questions())
def test_what_is_written_parses_back(question):
    schema, query = question
    assert Query.parse(query.text(schema), schema) == query


@given(st.text(LETTER, max_size=30))
def test_any_text_is_a_query_or_a_parse_error(text):
    position = 0
    try:
        Query.parse(text, ADULT)
    except ParseError as fault:
        position = fault.position
    assert 0 <= position <= len(text)


@pytest.mark.parametrize(
    ("text", "r", "conditions"),
    [
        ("2 of: race=Black, sex=Female, income=>50K", 2,
         {"race": {"Black"}, "sex": {"Female"}, "income": {">50K"}}),
        ("ALL OF : race = Black,sex=Female", 2, {"race": {"Black"}, "sex": {"Female"}}),
        ("any of: race=Black, sex=Female", 1, {"race": {"Black"}, "sex": {"Female"}}),
        ("race=Black", 1, {"race": {"Black"}}),
        ("education-num in {13,14, 15 ,16}", 1, {"education-num": {"13", "14", "15", "16"}}),
        ("age=65..67", 1, {"age": {"65", "66", "67"}}),
        ("age=..17", 1, {"age": {"16", "17"}}),
        ("age=99..", 1, {"age": {"99", "100"}}),
        ("age in {20, 30..31}", 1, {"age": {"20", "30", "31"}}),
        ("age != 17..", 1, {"age": {"16"}}),
        ('"sex" = "Male"', 1, {"sex": {"Male"}}),
        ("sex!=Male", 1, {"sex": {"Female"}}),
        ("sex not in {Male}", 1, {"sex": {"Female"}}),
        ("sex not  in{ Male , Female }", 1, {"sex": set()}),
        ("sex in {}", 1, {"sex": set()}),
        ("capital-loss=120", 1, {"capital-loss": {"100"}}),
        ("age=16...17", 1, {"age": {"16", "17"}}),
        ("age=16. .. 17.0", 1, {"age": {"16", "17"}}),
        ("capital-loss=.5...7", 1, {"capital-loss": {"0"}}),
        ("capital-loss=...5e2", 1, {"capital-loss": {"0"}}),
        ("capital-loss=120..260", 1, {"capital-loss": {"100", "150", "200"}}),
        ("age>=99", 1, {"age": {"99", "100"}}),
        ("age > 98", 1, {"age": {"99", "100"}}),
        ("age<18", 1, {"age": {"16", "17"}}),
        ("age ≤ 17 and sex=Male", 2, {"age": {"16", "17"}, "sex": {"Male"}}),
        ("age>=16 and age<18", 1, {"age": {"16", "17"}}),
        ("2 of: age<17, and race=Black AND sex=Male", 2,
         {"age": {"16"}, "race": {"Black"}, "sex": {"Male"}}),
        ("SEX=male, Education_Num = 13", 2, {"sex": {"Male"}, "education-num": {"13"}}),
        ('sex="Male" and race IN {white, black} and income=>50K', 3,
         {"sex": {"Male"}, "race": {"White", "Black"}, "income": {">50K"}}),
        ("capital-loss<100", 1, {"capital-loss": {"0", "50"}}),
    ],
)  # fmt: skip
def test_the_language(text, r, conditions):
    query = Query.parse(text, ADULT)
    named = {
        c.feature: {ADULT[c.feature].labels[code] for code in c.codes} for c in query.conditions
    }
    assert (query.r, named) == (r, conditions)
    assert Query.parse(query.text(ADULT), ADULT) == query


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "expected a condition"),
        ("2 of:", 5, "expected a condition"),
        ("race=Black,", 11, "expected a condition"),
        ("race", 4, "expected =, !="),
        ("=Black", 0, "expected the name"),
        ("race=", 5, "expected a value of 'race'"),
        ("rase=Black", 0, "there is no feature 'rase'"),
        ("sex=Male, rase=Black", 10, "there is no feature 'rase'"),
        ("race=Purple", 5, "feature 'race' has no value 'Purple'; its values: White"),
        ("age=15", 4, "no value '15'"),
        ("age=20.5", 4, "no value '20.5'"),
        ("age=1..5", 4, "the range 1..5 holds no value of 'age'"),
        ("race=White, race=Black", 11, "stands twice"),
        ("any of: age>20, age<18", 15, "stands twice"),
        ("rase=Black", 0, "did you mean race?"),
        ("sex=Femal", 4, "did you mean 'Female'?"),
        ("race>White", 5, "feature 'race' has no order"),
        ("age>old", 4, "'old' is no number"),
        ("age>", 4, "expected a value of 'age'"),
        ("age<16", 4, "the range < 16 holds no value of 'age'"),
        ("capital-loss=..20", 13, "holds no value of 'capital-loss'; its bins begin at 0, 50"),
        ("4 of: race=White, sex=Male", 0, "4 of 2 conditions is not possible"),
        ("  0 of: race=White", 2, "0 of 1 conditions is not possible"),
        ("sex in {Male", 7, "never closed"),
        ("sex in {Male} x", 14, "expected a comma or the end"),
        ('sex="Male', 4, "quote is never closed"),
        ('sex="Male" x', 11, "expected a comma"),
        ("9" * 5000 + " of: race=White", 0, "no feature"),
    ],
)
def test_a_fault_points_at_its_character(text, position, words):
    with pytest.raises(ParseError) as caught:
        Query.parse(text, ADULT)
    assert caught.value.position == position
    assert f"at character {position + 1} (" in str(caught.value)
    assert words in str(caught.value)
    pointer = str(caught.value).splitlines()[-1]
    assert pointer == " " * (position + 2) + "^"


ODD = Schema(
    [
        Categorical(name="a", categories=("salt and pepper", "x", "X"), nulls="x", outside="x"),
        Categorical(name="b and c", categories=("y", "z"), nulls="y", outside="y"),
        Categorical(name="d>", categories=("1", "=1"), nulls="1", outside="1"),
        Categorical(name="grade", categories=("A", "B", "C"), nulls="A", outside="A", ordered=True),
    ]
)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a=salt and pepper", {"a": (0,)}),
        ("a=salt and pepper and b and c=z", {"a": (0,), "b and c": (1,)}),
        ("a=x and grade=A..b", {"a": (1,), "grade": (0, 1)}),
        ("a=X, grade>a", {"a": (2,), "grade": (1, 2)}),
        ("d>=1", {"d>": (0,)}),
        ("grade<=b and d>==1", {"grade": (0, 1), "d>": (1,)}),
    ],
)
def test_names_and_values_that_look_like_the_language(text, codes):
    query = Query.parse(text, ODD)
    assert {c.feature: c.codes for c in query.conditions} == codes
    assert Query.parse(query.text(ODD), ODD) == query


def test_what_could_mean_two_values_is_not_forgiven():
    schema = Schema([Categorical(name="a", categories=("yes", "YES"), nulls="yes", outside="yes")])
    with pytest.raises(QueryError, match="no value 'Yes'"):
        Query.parse("a=Yes", schema)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("capital-loss=100..250", None),
        ("capital-loss=100", None),
        ("capital-loss>=100", None),
        ("capital-loss=102.5..107.5", "all of: capital-loss=100..150"),
        ("any of: sex=Male, capital-loss=120", "any of: sex=Male, capital-loss=100..150"),
        ("capital-loss>100", "all of: capital-loss=100..5000"),
        ("capital-loss<=100", "all of: capital-loss=0..100"),
        ("capital-loss!=..120", "all of: capital-loss=100..5000"),
        ("age>20.5", None),
    ],
)
def test_a_range_that_does_not_end_with_a_bin_says_how_it_was_read(text, read_as):
    query = Query.parse(text, ADULT)
    assert query.read_as == read_as
    assert Query.parse(read_as or text, ADULT) == query


@pytest.mark.parametrize("end", ["100", "120", "149.99", "4950"])
def test_below_and_above_count_everybody_once(end):
    """Wherever a bin ends, `..x` and `x..` share no bin, and leave none out."""
    below, above = (
        Query.parse(text, ADULT).conditions[0].codes
        for text in (f"capital-loss=..{end}", f"capital-loss={end}..")
    )
    assert sorted([*below, *above]) == [*range(ADULT["capital-loss"].size)]


def test_queries_from_values():
    query = Query.where(ADULT, {"race": ["Black", "White"], "age": range(65, 67), "sex": "Male"}, 2)
    assert query.text(ADULT) == "2 of: race in {White,Black}, age=65..66, sex=Male"
    assert Query.where(ADULT, {"Race": "black", "age": "99.."}) == Query.parse(
        "race=Black, age>=99", ADULT
    )
    with pytest.raises(QueryError, match="no value 'Purple'"):
        Query.where(ADULT, {"race": "Purple"})
    with pytest.raises(QueryError, match="no feature 'rase'"):
        Query.where(ADULT, {"rase": "Purple"})


def test_conditions_hold_whole_codes():
    assert Condition("age", [3, 1, 1]).codes == (1, 3)
    with pytest.raises(TypeError):
        Condition("age", [1.5])
