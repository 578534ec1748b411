"""Which rows of a person are used, and what each counts."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.data.persons import PersonRows
from thresher.data.records import Records
from thresher.errors import DataError, ParameterError, ResourceError
from thresher.privacy import Budget, Curator, Unit
from thresher.privacy import persons as inside
from thresher.privacy.persons import check_person, kept_rows
from thresher.schema import IntegerRange, Schema

SCHEMA = Schema(IntegerRange(name=name, low=0, high=3, nulls=0) for name in "ab")
ROWS = st.lists(
    st.tuples(st.sampled_from("xyz"), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25
)
SOME = st.builds(
    Unit,
    st.just("replace"),
    st.just("who"),
    st.integers(1, 5),
    st.sampled_from(["rows", "persons"]),
)


def read(rows) -> Records:
    frame = pd.DataFrame(rows, columns=["who", "a", "b"])
    return th.read(frame, SCHEMA, person="who")


def cells(rows, unit) -> Counter:
    """The weight of every row that is used."""
    [table] = kept_rows(read(rows), unit).counts([("a", "b")])
    return Counter(dict(zip(table.cells.tolist(), table.counts.tolist(), strict=True)))


@given(ROWS, SOME, st.randoms())
def test_neither_the_order_of_a_file_nor_other_persons_matter(rows, unit, random):
    shuffled = rows[:]
    random.shuffle(shuffled)
    alone = Counter()
    for who in {row[0] for row in rows}:
        alone.update(cells([row for row in shuffled if row[0] == who], unit))
    assert cells(rows, unit) == alone


@given(ROWS, SOME)
def test_as_many_rows_are_used_as_there_are_up_to_the_most(rows, unit):
    of_person = Counter(row[0] for row in rows)
    used = cells(rows, unit)
    there = Counter(4 * a + b for _, a, b in rows)
    assert set(used) <= set(there)
    if unit.counting == "persons":
        assert sum(used.values()) == len(of_person) * unit.parts
    else:
        assert sum(used.values()) == sum(min(n, unit.rows_per_person) for n in of_person.values())
        assert all(used[cell] <= there[cell] for cell in used)


@given(ROWS, SOME)
def test_all_of_a_persons_rows_are_used_if_they_are_few(rows, unit):
    few = [row for row in rows if Counter(r[0] for r in rows)[row[0]] <= unit.rows_per_person]
    if not few:
        return
    of_person = Counter(row[0] for row in few)
    expected = Counter()
    for who, a, b in few:
        weight = unit.parts // of_person[who] if unit.counting == "persons" else 1
        expected[4 * a + b] += weight
    assert cells(few, unit) == expected


def test_the_choice_is_fair():
    """Of a person with rows 0 to 3, each is kept about as often.

    Over 4,000 persons, each of four rows is kept 1,000 times with a standard deviation of 27. A
    share beyond 6 of these has a probability below 1e-8. A choice by the value would keep one.
    """
    rows = [(f"p{i}", a, 0) for i in range(4000) for a in range(4)]
    used = cells(rows, Unit(person="who"))
    assert all(abs(used[4 * a] - 1000) < 6 * 27.4 for a in range(4))


def test_different_rows_with_one_hash_are_told_apart_by_their_codes(monkeypatch):
    monkeypatch.setattr(
        inside, "row_hashes", lambda rows, key: np.zeros(len(rows.persons), dtype=np.uint64)
    )
    rows = [("x", 2, 1), ("x", 0, 3), ("x", 1, 1)]
    unit = Unit(person="who", rows_per_person=2, counting="rows")
    kept = {frozenset(cells(order, unit)) for order in (rows, rows[::-1], rows[1:] + rows[:1])}
    assert len(kept) == 1


def test_rows_may_come_in_batches():
    rows = read([("x", 1, 2), ("x", 3, 0), ("y", 0, 0), ("x", 2, 2)])

    class Batches:
        schema, n, person, persons = rows.schema, rows.n, "who", rows.persons
        counts = rows.counts

        def person_rows(self):
            for place in range(rows.n):
                here = slice(place, place + 1)
                columns = tuple(column[here] for column in rows.columns)
                yield PersonRows(columns, rows.ids.hashes[here])

    unit = Unit(person="who", rows_per_person=2)
    one, other = (kept_rows(data, unit).counts([("a", "b")])[0] for data in (rows, Batches()))
    assert one.cells.tolist() == other.cells.tolist()
    assert one.counts.tolist() == other.counts.tolist()


def test_data_that_do_not_fit_the_unit_are_refused_before_anything_is_paid(records):
    persons = read([("x", 1, 2)])
    budget = Budget.from_rho(1)
    with pytest.raises(DataError, match="read without the ids of persons in 'who'"):
        Curator(records, budget, unit=Unit(person="who"))
    with pytest.raises(DataError, match="read without the ids of persons in 'ssn'"):
        Curator(persons, budget, unit=Unit(person="ssn"))
    with pytest.raises(ParameterError, match="but the unit is one record"):
        Curator(persons, budget)

    class Elsewhere:
        schema, n = records.schema, records.n

        def counts(self, feature_sets, progress=None):
            raise AssertionError("looked at")

    with pytest.raises(DataError, match="Elsewhere cannot tell whose a row is"):
        check_person(Elsewhere(), Unit(person="who"))


def test_more_than_can_be_counted_is_refused():
    class Many:
        schema, n, person, persons = SCHEMA, 2**40, "who", 2**33

        def counts(self, feature_sets, progress=None):
            raise AssertionError("looked at")

        person_rows = counts

    unit = Unit(person="who", rows_per_person=16)
    check_person(Many(), unit)
    Many.n += 1
    with pytest.raises(ResourceError, match=r"up to 2\^40 records"):
        check_person(Many(), unit)
