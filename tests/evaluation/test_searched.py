"""The largest error by search is that of a walk over all cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.evaluation import errors_of
from thresher.evaluation.searched import largest_error
from thresher.privacy.measurements import TableMeasurement
from thresher.queries import Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.release.sources import RowsAndTables, SyntheticRows, Zeros
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable, slabs_of

SIZES = (4, 6, 3)
SCHEMA = Schema(
    IntegerRange(name=name, low=0, high=size - 1, nulls=0)
    for name, size in zip("abc", SIZES, strict=True)
)
TABLE = Threshold(("c", "a", "b"))


def records_of(codes):
    return Records(SCHEMA, [column.astype(np.uint8) for column in codes.T])


def some_codes(n, source):
    return np.stack([source.integers(0, size, n) for size in SIZES], axis=1)


def clamped_source(rows, codes, source):
    """D' with a noisy table of the same marginal, in another order of features."""
    counts = np.zeros(SIZES, dtype=np.int64)
    np.add.at(counts, tuple(codes.T), 1)
    noisy = counts + source.integers(-2, 3, SIZES)
    measured = TableMeasurement(Threshold(("a", "b", "c")), noisy, 1.5, len(codes))
    return RowsAndTables.of(rows, SCHEMA, None, [measured], tolerance=0.5)


@given(
    st.sampled_from(["uniform", "records", "the records themselves", "zeros", "clamped"]),
    st.integers(1, 300),
    st.integers(0, 2**32 - 1),
)
def test_it_is_the_largest_gap_of_all_cells(kind, n, seed):
    source = np.random.default_rng(seed)
    codes = some_codes(n, source)
    rows = {
        "records": lambda: RelaxedRows.from_codes(SIZES, some_codes(40, source)),
        "the records themselves": lambda: RelaxedRows.from_codes(SIZES, codes),
    }.get(kind, lambda: RelaxedRows.uniform(SIZES, 30, source))()
    answering = SyntheticRows(rows, SCHEMA)
    if kind == "clamped":
        answering = clamped_source(rows, codes, source)
    answers = Zeros().table(TABLE) if kind == "zeros" else answering.table(TABLE)
    [slab] = slabs_of(TABLE.shape(SCHEMA))
    truth = exact_answers(records_of(codes), TABLE) / n
    expected = np.abs(truth - answers(slab)).max()
    table = SparseTable.of_counts(exact_answers(records_of(codes), TABLE))
    assert largest_error(table, answers, n) == pytest.approx(expected, abs=1e-6)
    whole = np.zeros(slab.size)
    listed = answers.listed(1e-9)
    whole[listed.cells] = listed.answers
    assert whole == pytest.approx(answers(slab).reshape(-1), abs=1e-6)
    every = np.arange(slab.size)
    assert answers.at(every) == pytest.approx(answers(slab).reshape(-1), abs=1e-6)


def test_a_small_error_that_no_record_shows_is_found():
    """D' puts less than half a record where nobody is, and is right everywhere else."""
    n, count = 100, 1000
    codes = np.zeros((count, 3), dtype=np.int64)
    codes[: count // 2, 0] = 1
    columns = RelaxedRows.from_codes(SIZES, codes).columns.copy()
    columns[0, -1], columns[2, -1] = 0.875, 0.125  # of one row of a thousand
    rows = RelaxedRows(columns, SIZES)
    people = np.zeros((n, 3), dtype=np.int64)
    people[: n // 2, 0] = 1
    work = Workload(SCHEMA, [TABLE])
    found = errors_of(SyntheticRows(rows, SCHEMA).table, records_of(people), work).max
    assert found == pytest.approx(0.125 / count, rel=1e-6)


def test_a_workload_of_any_size_has_a_present_error():
    wide = Schema(IntegerRange(name=f"f{i}", low=0, high=99, nulls=0) for i in range(8))
    source = np.random.default_rng(0)
    codes = source.integers(0, 100, (200, 8))
    data = Records(wide, [column.astype(np.uint8) for column in codes.T])
    work = Workload(wide, [Threshold(wide.names)])
    release = th.All0(epsilon=1.0).fit(data, work)
    assert th.present_error(release, data) == 1 / 200
    same = SyntheticRows(RelaxedRows.from_codes(wide.sizes, codes), wide)
    assert errors_of(same.table, data, work).max < 1e-9
    half = SyntheticRows(RelaxedRows.from_codes(wide.sizes, codes[:100]), wide)
    assert errors_of(half.table, data, work).max == pytest.approx(1 / 200)
