"""A draft flags every guess, says that it is not private, and reads the data it came from."""

import json

import jsonschema
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher import (
    Bins,
    Boolean,
    Categorical,
    DataError,
    Dates,
    IntegerRange,
    Schema,
    draft_schema,
    read,
)
from thresher.data import delimited
from thresher.schema import draft

FRAME = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(1200)],
        "age": [20 + i % 50 for i in range(1200)],
        "sex": ["F", "M", None] * 400,
        "income": [i * 100.5 for i in range(1200)],
        "empty": [None] * 1200,
        "flag": [True, False] * 600,
        "code": ["1", " 2 ", ""] * 400,
    }
)


def test_every_guess_is_flagged():
    drafted = draft_schema(FRAME)
    guessed, left_out = drafted.schema, list(drafted.left_out)
    assert left_out == ["name", "empty"]
    assert guessed.unreviewed == guessed.names == ("age", "sex", "income", "flag", "code")
    assert all(feature.review.startswith("guessed") for feature in guessed)
    assert isinstance(guessed["age"], IntegerRange)
    assert (guessed["age"].low, guessed["age"].high) == (20, 69)
    assert isinstance(guessed["income"], Bins)
    assert guessed["income"].size == 100
    assert isinstance(guessed["sex"], Categorical)
    assert guessed["sex"].labels == ("F", "M", "unknown", "(other)")
    assert isinstance(guessed["code"], IntegerRange)
    assert isinstance(guessed["flag"], Boolean)


def test_a_draft_reads_the_data_it_came_from():
    guessed = draft_schema(FRAME).schema
    records = read(FRAME, guessed)
    flags = [guessed["flag"].labels[code] for code in records.codes("flag")[:2]]
    assert [flag.lower() for flag in flags] == ["true", "false"]
    sexes = [guessed["sex"].labels[code] for code in records.codes("sex")[:3]]
    assert sexes == ["F", "M", "unknown"]
    assert read(pa.Table.from_pandas(FRAME), guessed).n == 1200


def test_the_warning_is_in_the_file(tmp_path):
    guessed = draft_schema(FRAME).schema
    guessed.save(tmp_path / "s.json", warning=draft.WARNING)
    content = json.loads((tmp_path / "s.json").read_text("utf-8"))
    assert "not itself private" in content["warning"]
    assert all(feature["review"] for feature in content["features"])
    jsonschema.validate(content, Schema.json_schema())
    assert Schema.load(tmp_path / "s.json") == guessed


def test_chunks_do_not_matter(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    whole = draft_schema(tmp_path / "x.csv")
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 2048)
    seen = []
    assert draft_schema(tmp_path / "x.csv", seen.append) == whole
    assert len(seen) > 5


def test_a_nameless_index_column_is_left_out(tmp_path):
    FRAME[["age"]].to_csv(tmp_path / "x.csv")
    drafted = draft_schema(tmp_path / "x.csv")
    guessed, left_out = drafted.schema, list(drafted.left_out)
    assert (guessed.names, left_out) == (("age",), [""])


CELL = st.one_of(
    st.floats(allow_nan=True), st.integers(-(2**70), 2**70), st.text(max_size=4), st.none(),
    st.sampled_from([1e308, -1e308, 10**17, 10**17 + 300, "(other)", "clip", "\x1c", "a\x1c"]),
    st.sampled_from([999, -1, 99999, "999", "$5", "(1,200.50)", "9%", "inf", "unknown", "N/A", "?",
                     "2020-03-01", "2020-02", "9999-12-31", "20200301", "0001-01-01", "31.12.2020",
                     "1,5", "yes", "No", "true", "007", "90+", "-0.0", "refused"]),
)  # fmt: skip


@given(
    st.one_of(
        st.lists(CELL, min_size=1, max_size=8),
        st.lists(st.integers(0, 40), min_size=21, unique=True).flatmap(
            lambda many: st.lists(CELL, max_size=3).map(lambda few: [*many, *few])
        ),
    ),
    st.booleans(),
)
def test_any_column_can_be_drafted_and_read(cells, as_text):
    texts = [None if c is None else str(c).encode("utf-8", "replace").decode() for c in cells]
    column = pd.Series(texts if as_text else cells, dtype=object)
    frame = pd.DataFrame({"x": column, "sure": 1})
    for columns in (None, ["x", "sure"]):
        guessed = draft_schema(frame, columns=columns).schema
        assert set(guessed.unreviewed) == set(guessed.names)
        assert read(frame, guessed).n == len(cells)


def test_nothing_to_draft_is_an_error():
    with pytest.raises(DataError, match="no column that could be a feature"):
        draft_schema(FRAME[["name", "empty"]])
    with pytest.raises(DataError, match="holds no records"):
        draft_schema(FRAME[:0])


def one(cells, name="x", asked=False):
    """The draft of one column: the feature, or the reason why there is none."""
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object), "sure": 1})
    drafted = draft_schema(frame, columns=[name, "sure"] if asked else None)
    return drafted.left_out.get(name) or drafted.schema[name]


def codes(feature, *cells):
    return [feature.labels[code] for code in feature.encode(pa.array(cells))]


DAYS = [f"2020-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 28)]


@pytest.mark.parametrize(
    ("cells", "step", "low", "high"),
    [
        (DAYS[:100], "day", "2020-01-01", "2020-04-19"),
        (DAYS, "month", "2020-01-01", "2020-12-31"),
        ([*DAYS[:100], "1990-05-17"], "quarter", "1990-04-01", "2020-06-30"),
        ([*DAYS, "1931-01-01"], "year", "1931-01-01", "2020-12-31"),
        ([*DAYS[:100], "2020-02"], "month", "2020-01-01", "2020-04-30"),
        (["2020-Q1", "2020Q3"], "quarter", "2020-01-01", "2020-09-30"),
        ([f"{day} 23:15:00" for day in DAYS[:30]], "day", "2020-01-01", "2020-02-03"),
        ([day.replace("-", "") for day in DAYS[:100]], "day", "2020-01-01", "2020-04-19"),
        ([int(day.replace("-", "")) for day in DAYS[:100]], "day", "2020-01-01", "2020-04-19"),
        (pd.to_datetime(DAYS[:100]).tolist(), "day", "2020-01-01", "2020-04-19"),
    ],
)
def test_dates(cells, step, low, high):
    feature = one(cells)
    assert isinstance(feature, Dates)
    assert (feature.step, feature.low, feature.high) == (step, low, high)
    assert (feature.extra, feature.nulls) == ((), feature.labels[0])
    with_blanks = one([*cells, None])
    assert (with_blanks.extra, with_blanks.nulls) == (("unknown",), "unknown")
    assert one([*cells, "N/A"] if isinstance(cells[0], str) else [*cells, None]) == with_blanks


def test_a_day_that_stands_for_no_date():
    feature = one([*DAYS[:100], "9999-12-31", "1900-01-01"])
    assert (feature.low, feature.high, feature.outside) == ("2020-01-01", "2020-04-19", "unknown")
    assert "1900-01-01, 9999-12-31 seemed to be a code for no value" in feature.review
    assert codes(feature, "2020-01-05", "9999-12-31", None) == ["2020-01-05", "unknown", "unknown"]


def test_years_and_other_numbers_are_no_dates():
    assert isinstance(one([1931 + i % 90 for i in range(200)]), IntegerRange)
    assert isinstance(one([10_000_000 + 1000 * i for i in range(200)] * 2), Bins)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%d-%m-%y", "%Y/%m/%d %H:%M"])
def test_dates_that_are_not_read_are_left_out(form):
    days = pd.to_datetime(DAYS).strftime(form).tolist()
    assert one(days) == "dates in a form that is not read: write them as 2019-01-31"
    assert one([*days, "unknown"]) == one(days)


def test_money_and_percent():
    pay = one([f"${1000 * i:,}.50" for i in range(50)])
    assert isinstance(pay, Bins)
    assert (pay.written, pay.size) == ("money", 100)
    assert codes(pay, "$2,000.50") == codes(pay, "2000.5")
    rate = one([f"{i}%" for i in range(50)] + ["N/A"])
    assert isinstance(rate, IntegerRange)
    assert (rate.written, rate.high, rate.extra) == ("percent", 49, ("unknown",))
    grouped = one([f"{1000 * i:,}" for i in range(50)])
    assert (grouped.kind, grouped.written) == ("numeric", "money")
    assert one(["1", "2", "3"]).written == "plain"


def test_decimal_commas_are_left_out_with_advice():
    assert "write 1.5, not 1,5" in one([f"{i},5" for i in range(50)])
    assert "write 1.5, not 1,5" in one([f"1.{i:03},25" for i in range(50)] + ["7"])


@pytest.mark.parametrize("pair", [("Yes", "no"), ("T", "F"), ("y", "N"), ("TRUE", "false")])
def test_truth_values(pair):
    feature = one(list(pair) * 30)
    assert isinstance(feature, Boolean)
    assert codes(feature, *pair) == ["true", "false"]
    assert feature.extra == ()
    assert one([*pair, None]).extra == one([*pair, "unknown"]).extra == ("unknown",)


@pytest.mark.parametrize("cells", [["F", "M"], ["F"], ["yes", "F"], ["yes", "no", "maybe"]])
def test_words_that_are_no_pair_are_categories(cells):
    assert isinstance(one(cells * 30), Categorical)


@pytest.mark.parametrize("number", [True, False])
def test_sentinels_are_taken_aside(number):
    ages = [17 + i % 70 for i in range(300)]
    cells = [*ages, *[999] * 9, -1] if number else [*map(str, ages), *["999"] * 9, "-1"]
    feature = one(cells)
    assert (feature.low, feature.high) == (17, 86)
    assert (feature.outside, feature.nulls, feature.extra) == ("unknown", "unknown", ("unknown",))
    assert "-1, 999 seemed to be a code for no value" in feature.review
    assert codes(feature, 999, -1, 17, None) == ["unknown", "unknown", "17", "unknown"]
    plain = one(ages)
    assert (plain.outside, plain.nulls, plain.extra) == ("clip", 17, ())


def test_words_beside_numbers_become_labels():
    cells = [*map(str, range(40)), "refused", "90+", "N/A", ""]
    feature = one(cells)
    assert isinstance(feature, IntegerRange)
    assert feature.extra == ("90+", "refused", "unknown")
    assert codes(feature, "90+", "refused", "N/A", None, "?") == [
        "90+", "refused", "unknown", "unknown", "unknown",
    ]  # fmt: skip
    assert isinstance(one(["1", "2", "A", "B"] * 30), Categorical)


def test_blank_cells_of_categories():
    assert one(["a", "b", None]).nulls == "unknown"
    assert one(["a", "Unknown", None]).labels == ("Unknown", "a", "(other)")
    assert one(["a", "Unknown", None]).nulls == "Unknown"
    assert one(["a", "b"]).nulls == "(other)"
    assert one(["none", "b", None]).labels == ("b", "none", "unknown", "(other)")


def test_codes_with_leading_zeros_are_categories():
    feature = one([f"{i:05}" for i in range(40)] * 2)
    assert isinstance(feature, Categorical)
    assert feature.labels[1] == "00001"
    assert isinstance(one(["07", "8", "112"] * 10), IntegerRange)


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("x", [f"word {i}" for i in range(60)], "nearly every record has a different value"),
        ("x", list(range(60)), "nearly every record has a different value"),
        ("x", [10**8 + 7919 * i for i in range(60)], "nearly every record has a different value"),
        ("ssn", ["a", "b"] * 30, "by its name it tells who a person is"),
        ("PatientID", [i // 2 for i in range(60)], "by its name, and with so many values"),
        ("x", [f"he said that {i} times is fine, too" for i in range(60)], "free text: 34 char"),
        ("x", [f"{'word' * 20}{i}" for i in range(60)], "free text: 82 characters on average"),
        ("x", [f"a{i % 1100}" for i in range(3000)], "more than 1,000 different values"),
        ("fnlwgt", [17.5 * i for i in range(60)], "survey weight: thresher does not use weights"),
        ("x", [None, ""], "it has no values"),
        ("x", [[1], [2]], "its values cannot be labels"),
        ("x", ["a\nb", "\x1b"], "its values cannot be labels"),
        (" x", ["a"], "its name is empty, or has blanks"),
    ],
)
def test_a_column_is_left_out_with_a_reason(name, cells, reason):
    assert reason in one(cells, name)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("region_id", [i % 16 for i in range(500)]),
        ("income", [31 * i * i for i in range(60)]),
        ("height", [150 + i / 7 for i in range(60)]),
        ("weight_kg", [50 + i % 30 for i in range(60)]),
        ("fnlwgt", ["low", "high"] * 30),
        ("x", ["a short answer", "another one that is a bit longer than it was"] * 30),
        ("x", [f"word {i}" for i in range(20)]),
    ],
)
def test_what_only_seems_like_one_of_these_is_a_feature(name, cells):
    assert not isinstance(one(cells, name), str)


def test_columns_that_are_asked_for():
    weight = one([17.5 * i for i in range(60)], "fnlwgt", asked=True)
    assert isinstance(weight, Bins)
    assert "thresher does not use weights" in weight.review
    assert isinstance(one(list(range(60)), asked=True), IntegerRange)
    assert "an identifier" in one(list(range(60)), asked=True).review
    assert "more than 1,000" in one([f"word {i}" for i in range(2000)], asked=True)
    drafted = draft_schema(FRAME, columns=["sex", "age"])
    assert (drafted.schema.names, drafted.left_out) == (("age", "sex"), {})
    with pytest.raises(DataError, match="the DataFrame has no column 'size'"):
        draft_schema(FRAME, columns=["age", "size"])


def test_an_identifier_that_repeats_is_noticed():
    frame = pd.DataFrame({"person": [f"p{i // 3}" for i in range(300)], "age": [40] * 300})
    frame["person_id"] = frame["person"]
    drafted = draft_schema(frame)
    assert list(drafted.left_out) == ["person_id"]
    (note,) = drafted.notes
    assert note.startswith("'person_id' repeats: each of its values has 3.0 rows on average")
    assert "--person person_id --rows-per-person G" in note
    frame["person_id"] = [f"p{i}" for i in range(300)]
    assert draft_schema(frame).notes == ()


def test_the_order_of_the_columns_is_that_of_the_file():
    frame = FRAME[["flag", "income", "age", "name", "sex"]]
    assert draft_schema(frame).schema.names == ("flag", "income", "age", "sex")


def test_the_order_of_the_records_does_not_matter(tmp_path):
    frame = pd.concat([FRAME, FRAME.assign(code="odd", income="refused", sex="?")])
    frame["day"] = [f"20{i % 20:02}-01-01" for i in range(2399)] + ["2019"]
    drafted = draft_schema(frame)
    assert draft_schema(frame[::-1]) == drafted
    assert draft_schema(frame.sample(frac=1, random_state=0)) == drafted
