"""Units of privacy: their parts, words and JSON, and what no unit may be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.errors import ParameterError
from thresher.privacy import Unit
from thresher.privacy.unit import MOST_ROWS, MOST_SHARED

NEIGHBOURS = st.sampled_from(["replace", "add-remove"])
UNITS = st.one_of(
    st.builds(Unit, NEIGHBOURS),
    st.builds(
        Unit, NEIGHBOURS, st.text(min_size=1), st.integers(1, MOST_SHARED), st.just("persons")
    ),
    st.builds(Unit, NEIGHBOURS, st.text(min_size=1), st.integers(1, MOST_ROWS), st.just("rows")),
)


@given(UNITS)
def test_a_unit_is_what_its_json_says(unit):
    assert Unit.from_json(unit.as_json()) == unit


def test_files_without_a_unit_replace_one_record():
    assert Unit.from_json(None) == Unit() == Unit("replace")


@given(UNITS)
def test_every_share_of_a_person_is_whole_and_they_add_up(unit):
    if unit.counting == "persons":
        shares = [unit.parts // m * m for m in range(1, unit.rows_per_person + 1)]
        assert set(shares) == {unit.parts} == {unit.scale}
    else:
        assert (unit.parts, unit.scale) == (1, unit.rows_per_person)
    assert unit.parts < 2**28


@given(UNITS, st.integers(1, 10**9))
def test_what_n_is_worth(unit, n):
    expected = n if unit.counted in ("records", "persons") else max(1, n // unit.rows_per_person)
    assert unit.worth(n) == expected


def test_the_number_is_public_only_if_no_neighbour_has_another():
    assert Unit().total_is_public
    assert Unit(person="who", rows_per_person=7).total_is_public
    assert Unit(person="who", counting="rows").total_is_public  # one row of each person
    assert not Unit(person="who", rows_per_person=7, counting="rows").total_is_public
    assert not Unit("add-remove").total_is_public
    assert not Unit("add-remove", "who", 7).total_is_public


def test_budgets_add_up_for_the_same_people_however_they_are_counted():
    persons = Unit(person="who", rows_per_person=3)
    assert persons.protects_as(Unit(person="who", rows_per_person=9, counting="rows"))
    assert not persons.protects_as(Unit())
    assert not persons.protects_as(Unit(person="household", rows_per_person=3))
    assert not persons.protects_as(Unit("add-remove", "who", 3))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"neighbours": "bounded"}, "neighbours must be 'replace' or 'add-remove'"),
        ({"counting": "people", "person": "who"}, "counting must be 'rows' or 'persons'"),
        ({"rows_per_person": 2}, "rows_per_person needs person"),
        ({"person": ""}, "person must be the name of a column"),
        ({"person": "who", "rows_per_person": 0}, "from 1 to 16 where persons"),
        ({"person": "who", "rows_per_person": 17}, "from 1 to 16 where persons"),
        ({"person": "who", "rows_per_person": True}, "from 1 to 16"),
        ({"person": "who", "rows_per_person": 2.0}, "from 1 to 16"),
        ({"person": "who", "rows_per_person": MOST_ROWS + 1, "counting": "rows"}, "where rows"),
    ],
)
def test_what_no_unit_is(wrong, said):
    with pytest.raises(ParameterError, match=said):
        Unit(**wrong)


def test_words_for_people():
    visits = Unit("add-remove", "patient", 5, "rows")
    assert visits.described == (
        "one person ('patient') is added or removed, with all their rows; up to 5 rows of each "
        "person are used, counted as rows"
    )
    assert str(Unit()) == "one record is replaced by another"
    assert [Unit().counted, visits.counted, Unit(person="a").counted] == [
        "records", "rows", "persons",
    ]  # fmt: skip


def test_the_parts_are_a_common_multiple_and_no_larger_than_needed():
    for rows in range(1, MOST_SHARED + 1):
        assert Unit(person="who", rows_per_person=rows).parts == math.lcm(*range(1, rows + 1))
