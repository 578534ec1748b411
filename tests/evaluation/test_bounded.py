"""The largest error of r-of-k tables, found by bounds, against looking at all cells."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher.evaluation.bounded as module
import thresher.relaxed.slab_marginals as slab_marginals
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.evaluation import errors_of
from thresher.evaluation.bounded import largest_bounded_error, rows_behind
from thresher.evaluation.errors import _largest_gap
from thresher.queries import Threshold, Workload
from thresher.relaxed.heavy_cells import SparseRows
from thresher.relaxed.row_answers import row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import threshold_table
from thresher.release.sources import SyntheticRows
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable


def schema_of(sizes):
    return Schema(
        IntegerRange(name=name, low=0, high=size - 1, nulls=0)
        for name, size in zip("abcdef", sizes, strict=False)
    )


def records_of(schema, codes):
    return Records(schema, [np.ascontiguousarray(column.astype(np.uint8)) for column in codes.T])


def skewed(source, sizes, n):
    """Records in which the first values are common, and values go together."""
    drawn = source.beta(0.5, 2.0, (n, 1)) * source.random((n, len(sizes)))
    return (drawn * np.array(sizes)).astype(np.int64)


def by_walking(codes, rows, schema, threshold):
    truth = exact_answers(records_of(schema, codes), threshold) / len(codes)
    return float(np.abs(truth - threshold_table(rows, schema, threshold)).max())


def by_bounds(codes, rows, schema, threshold):
    table = SparseTable.of_counts(
        exact_answers(records_of(schema, codes), Threshold(threshold.features))
    )
    return largest_bounded_error(
        table, threshold, SparseRows(rows), schema, len(codes), _largest_gap
    )


@st.composite
def compared(draw):
    """Records, a D' that is a sample of them, a mixture, or at random, and a threshold."""
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=2, max_size=5)))
    source = np.random.default_rng(draw(st.integers(0, 10**6)))
    schema, codes = schema_of(sizes), skewed(source, sizes, draw(st.integers(1, 30)))
    count = draw(st.integers(1, 8))
    rows = RelaxedRows.uniform(sizes, count, source)
    kind = draw(st.sampled_from(["random", "sample", "mixture"]))
    if kind != "random":
        sample = RelaxedRows.from_codes(sizes, codes[source.integers(0, len(codes), count)])
        share = np.float32(1.0 if kind == "sample" else 0.875)
        rows = RelaxedRows(share * sample.columns + (1 - share) * rows.columns, sizes)
    k = draw(st.integers(2, len(sizes)))
    names = draw(st.permutations(schema.names))[:k]
    return codes, rows, schema, Threshold(names, draw(st.integers(1, k - 1)))


@given(compared(), st.sampled_from([0.0, 1.0, 1e9]))
def test_it_is_the_largest_gap_of_all_cells(drawn, walked):
    """Rows that the bounds leave open are walked always, sometimes or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WALKED", walked)
        assert by_bounds(*drawn) == pytest.approx(by_walking(*drawn), abs=3e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("r", [1, 2, 3])
def test_in_a_larger_table_few_cells_are_looked_at(r, seed, monkeypatch):
    sizes = (20, 15, 3, 25)
    source = np.random.default_rng(seed)
    schema, codes = schema_of(sizes), skewed(source, sizes, 2000)
    rows = RelaxedRows.from_codes(sizes, codes[source.integers(0, 2000, 200)])
    seen, computed = [], module._Search._computed

    def counting(self, value, places):
        seen.append(len(places) * sizes[3])
        return computed(self, value, places)

    def never(self, value):
        raise AssertionError("there are few rows to compute")

    monkeypatch.setattr(module._Search, "_computed", counting)
    monkeypatch.setattr(module._Search, "_walked", never)
    monkeypatch.setattr(module, "WALKED", 1e9)
    threshold = Threshold(("d", "c", "a", "b"), r)
    expected = by_walking(codes, rows, schema, threshold)
    assert by_bounds(codes, rows, schema, threshold) == pytest.approx(expected, abs=3e-6)
    assert sum(seen) < 0.5 * math.prod(sizes)


def test_errors_are_the_same_with_and_without_bounds(monkeypatch):
    sizes = (30, 40, 2, 50)
    source = np.random.default_rng(0)
    schema, codes = schema_of(sizes), skewed(source, sizes, 3000)
    rows = RelaxedRows.from_codes(sizes, codes[:300])
    work = Workload(
        schema, [Threshold([*"abcd"], 1), Threshold([*"dbca"], 2), Threshold([*"bad"], 2)]
    )
    data, source = records_of(schema, codes), SyntheticRows(rows, schema)
    walked = errors_of(source.table, data, work).by_threshold
    monkeypatch.setattr(module, "SMALLEST_BOUNDED", 1000)
    monkeypatch.setattr(slab_marginals, "SMALLEST_FILLED", 1000)
    assert errors_of(source.table, data, work).by_threshold == pytest.approx(walked, abs=3e-6)


def test_only_shares_have_bounds():
    schema = schema_of((4, 5, 6))
    rows = RelaxedRows(np.full((15, 3), -0.25, np.float32), (4, 5, 6))
    threshold = Threshold([*"abc"], 2)
    sparse = rows_behind(row_table(rows, schema, threshold))
    assert sparse is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALLEST_BOUNDED", 1)
        assert not module.can_be_bounded(threshold, schema, sparse)
        shares = SparseRows(RelaxedRows.from_codes((4, 5, 6), np.zeros((3, 3), dtype=int)))
        assert module.can_be_bounded(threshold, schema, shares)
    assert not module.can_be_bounded(threshold, schema, shares)
    assert rows_behind(lambda slab: 0) is None
    walked = rows_behind(row_table(rows, schema, Threshold([*"abc"], 1)))
    assert walked is not None
    assert walked.rows is rows
