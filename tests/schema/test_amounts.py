"""Money and percent: what a text says depends on the text and the declared style alone."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thresher import Bins, IntegerRange, SchemaError
from thresher.schema.amounts import STYLES, amount_of
from thresher.schema.cells import number_of
from thresher.schema.coding import numbers_of

PAY = Bins(name="pay", edges=(-1000, 0, 1000, 3000), nulls="?", extra=("?",), written="money")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$2,300.00", 2300), ("2,300", 2300), ("€5", 5), ("5 €", 5), ("5\u00a0EUR", 5), (".5", 0.5),
        ("USD 1,234,567.89", 1234567.89), ("US$5", 5), ("$5.00 USD", 5), ("£ .50", 0.5),
        ("-$5", -5), ("$-5", -5), ("\u2212€5", -5), ("+$5", 5), ("($5.00)", -5), ("(5)", -5),
        ("$(5.00)", -5), ("( 1,200 SEK )", -1200), (" $5 ", 5), ("1e3", 1000), ("-7", -7),
        ("€1.200", 1.2), ("inf", math.inf),
    ],
)  # fmt: skip
def test_money(text, number):
    assert amount_of(text, "money") == number
    assert numbers_of("x", pa.array([text, "?"]), "money").tolist()[0] == number


@pytest.mark.parametrize(
    "text",
    ["", "$", "five", "12,34", "1,2345", ",500", "1,200,00", "$1.200,00", "--5", "-$-5", "-(5)",
     "(5", "5)", "5.", "$5.", "$5k", "5 dollars", "usd 5", "$$5", "1 200", "$ 5 5", "$1_000", "9%",
     "$٥", "nan", "NAN"],
)  # fmt: skip
def test_no_money(text):
    expected = number_of(text)  # "5." is a plain number
    np.testing.assert_equal(amount_of(text, "money"), expected)
    np.testing.assert_equal(numbers_of("x", pa.array([text, "$1"]), "money")[0], expected)


@pytest.mark.parametrize(
    ("text", "number"),
    [("9.07%", 9.07), ("9.07 %", 9.07), ("-3%", -3), ("(3%)", -3), ("(3)%", -3), ("1,200%", 1200),
     ("9.07", 9.07), ("0.5", 0.5), ("$9", math.nan), ("%9", math.nan), ("9%%", math.nan)],
)  # fmt: skip
def test_percent(text, number):
    np.testing.assert_equal(amount_of(text, "percent"), number)
    np.testing.assert_equal(numbers_of("x", pa.array([text, "?"]), "percent")[0], number)


def test_another_style_is_not_guessed():
    for text in ("$5", "5%", "1,200", "(5)"):
        assert math.isnan(amount_of(text, "plain"))


ODD = st.one_of(
    st.text("$€ 0159.,-+()%\u2212\u00a0USDe_", max_size=12),
    st.from_regex(r"[-+]?\(?(USD|\$)? ?[-]?[0-9]{1,3}(,[0-9]{3}){0,2}(\.[0-9]{0,3})?%?\)?",
                  fullmatch=True),
    st.floats().map(str),
)  # fmt: skip


@given(st.lists(st.none() | ODD, min_size=1, max_size=5), st.sampled_from(STYLES))
@example(["1", "$2"], "money")
@example(["1", "2"], "percent")
def test_columns_are_read_as_each_text_is(texts, written):
    column = numbers_of("x", pa.array(texts, pa.string()), written)
    np.testing.assert_array_equal(column, [amount_of(text, written) for text in texts])


@given(st.floats(-1e12, 1e12))
def test_a_number_that_is_written_as_money_is_read_back(number):
    text = f"(${-number:,.2f})" if number < 0 else f"${number:,.2f}"
    assert amount_of(text, "money") == float(f"{number:.2f}")


def test_cells_that_are_numbers_are_taken_as_they_are():
    cells = [-5.0, 5.0, 2300.0, None]
    texts = ["-$5", "5.00 USD", "$2,300.00", "no idea"]
    assert PAY.encode(pa.array(cells)).tolist() == PAY.encode(pa.array(texts)).tolist()
    assert PAY.encode(pa.array(texts)).tolist() == [0, 1, 2, 3]
    rate = IntegerRange(name="rate", low=0, high=100, nulls=0, written="percent")
    assert rate.encode(pa.array(["9.07%", "250%", "12"])).tolist() == [9, 100, 12]


def test_values_are_named_in_the_style_too():
    assert PAY.code_of("$2,300.00") == PAY.code_of(2300) == 2
    assert PAY.between("$0", "2,300 USD") == (range(1, 3), False)


def test_the_style_is_in_the_json_only_if_it_is_not_plain():
    assert PAY.as_json()["written"] == "money"
    assert "written" not in Bins(name="x", edges=(0, 1), nulls=0).as_json()


@pytest.mark.parametrize("written", ["Money", "", 5, None, []])
def test_an_unknown_style_is_refused(written):
    with pytest.raises(SchemaError, match="'written' must be one of plain, money, percent"):
        IntegerRange(name="x", low=0, high=1, nulls=0, written=written)


def test_an_amount_cannot_be_an_extra_label():
    with pytest.raises(SchemaError, match="extra label"):
        Bins(name="x", edges=(0, 1), nulls=0, extra=("$5",), written="money")
    assert Bins(name="x", edges=(0, 1), nulls=0, extra=("$5",)).size == 2
