"""Counting tables batch by batch, against brute force."""

import errno
import os
import threading
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.data.counting import TableCounter, counted
from thresher.data.runs import SpillFile, spill_folder
from thresher.errors import DataError, ParameterError, ResourceError
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable

Pairs = list[tuple[int, int]]


def schema_of(*sizes: int) -> Schema:
    return Schema(
        IntegerRange(name=f"f{i}", low=0, high=size - 1, nulls=0) for i, size in enumerate(sizes)
    )


def pairs_of(table: SparseTable) -> Pairs:
    return list(zip(table.cells.tolist(), table.counts.tolist(), strict=True))


def by_hand(schema: Schema, features: Sequence[str], rows: Sequence[tuple[int, ...]],
            weights: Sequence[int]) -> Pairs:  # fmt: skip
    shape = [schema[name].size for name in features]
    count: Counter[int] = Counter()
    for row, weight in zip(rows, weights, strict=True):
        cell = 0
        for name, size in zip(features, shape, strict=True):
            cell = cell * size + row[schema.index(name)]
        count[cell] += weight
    return sorted((cell, times) for cell, times in count.items() if times)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Schema, list[tuple[str, ...]], list[list[tuple[int, ...]]]]:
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 7, 300, 70_000]), min_size=1, max_size=4))
    schema = schema_of(*sizes)
    sets = draw(
        st.lists(st.permutations(schema.names).flatmap(
            lambda names: st.integers(1, len(names)).map(lambda k: tuple(names[:k]))
        ), max_size=4)
    )  # fmt: skip
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    batches = draw(st.lists(st.lists(row, max_size=12), max_size=6))
    return schema, sets, batches


def add_all(counter: TableCounter, schema: Schema, batches: Sequence[Sequence[tuple[int, ...]]],
            weights: Sequence[Sequence[int]] | None = None) -> None:  # fmt: skip
    for i, rows in enumerate(batches):
        codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(schema))
        columns = dict(zip(schema.names, codes.T, strict=True))
        counter.add(columns, None if weights is None else np.array(weights[i], dtype=np.int64))


@given(
    problem=problems(),
    batch_rows=st.sampled_from([1, 2, 5, 1000]),
    array_bytes=st.sampled_from([0, 8 * 21, 1 << 20]),
    run_bytes=st.sampled_from([0, 100, 1 << 20]),
    weighed=st.booleans(),
    data=st.data(),
)
def test_batches_are_counted_as_by_hand(problem, batch_rows, array_bytes, run_bytes, weighed, data):
    schema, sets, batches = problem
    weights = [
        data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
        if weighed else [1] * len(rows)
        for rows in batches
    ]  # fmt: skip
    counter = TableCounter(
        schema, sets, batch_rows=batch_rows, array_bytes=array_bytes, run_bytes=run_bytes
    )
    add_all(counter, schema, batches, weights if weighed else None)
    flat = [row for rows in batches for row in rows]
    each = [weight for of_batch in weights for weight in of_batch]
    tables = counter.tables()
    assert counter.total == sum(each)
    for features, table in zip(sets, tables, strict=True):
        assert table.shape == tuple(schema[name].size for name in features)
        assert table.cells.dtype == table.counts.dtype == np.int64
        assert pairs_of(table) == by_hand(schema, features, flat, each)


@given(
    problem=problems(),
    cut=st.integers(0, 6),
    turned=st.booleans(),
    array_bytes=st.sampled_from([0, 1 << 20]),
    run_bytes=st.sampled_from([0, 1 << 20]),
)
def test_counters_can_be_merged_in_any_order(problem, cut, turned, array_bytes, run_bytes):
    schema, sets, batches = problem
    # They need not count in the same way.
    first = TableCounter(schema, sets, batch_rows=3, run_bytes=run_bytes)
    second = TableCounter(schema, sets, array_bytes=array_bytes, run_bytes=run_bytes, batch_rows=1)
    add_all(first, schema, batches[:cut])
    add_all(second, schema, batches[cut:])
    if turned:
        first, second = second, first
    first.merge(second)
    flat = [row for rows in batches for row in rows]
    assert first.total == len(flat)
    for features, table in zip(sets, first.tables(), strict=True):
        assert pairs_of(table) == by_hand(schema, features, flat, [1] * len(flat))


@pytest.mark.parametrize("run_bytes", [0, 4000, 1 << 20])
def test_threads_give_the_same_tables(run_bytes: int) -> None:
    schema = schema_of(50, 60, 70)
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 50, 20_000) for name in schema.names}
    sets = [("f0", "f1", "f2"), ("f2", "f1"), ("f0",)]
    expected = [pairs_of(table) for table in counted(schema, list(columns.values()), sets)]
    counter = TableCounter(schema, sets, batch_rows=500, array_bytes=8 * 5000, run_bytes=run_bytes)

    def add(start: int) -> None:
        for first in range(start, 20_000, 4 * 250):
            counter.add({name: c[first : first + 250] for name, c in columns.items()})

    threads = [threading.Thread(target=add, args=(250 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pairs_of(table) for table in counter.tables()] == expected
    assert counter.total == 20_000


def test_counts_of_more_than_32_bits() -> None:
    schema = schema_of(2, 70_000)
    for array_bytes in (0, 1 << 22):
        counter = TableCounter(schema, [("f0", "f1")], array_bytes=array_bytes)
        for _ in range(4):
            counter.add({"f0": np.array([1]), "f1": np.array([5])}, np.array([2**40 // 4 + 1]))
        [table] = counter.tables()
        assert pairs_of(table) == [(70_005, 2**40 + 4)]


def test_no_records_give_empty_tables() -> None:
    schema = schema_of(2, 3)
    for array_bytes in (0, 1 << 20):
        [table] = TableCounter(schema, [("f0", "f1")], array_bytes=array_bytes).tables()
        assert (table.shape, len(table), table.total) == ((2, 3), 0, 0)
    assert TableCounter(schema, []).tables() == []


def test_what_is_no_code_is_refused() -> None:
    """A code beyond its table would write into other memory."""
    schema = schema_of(2, 3)
    counter = TableCounter(schema, [("f0", "f1")])
    good = np.array([0, 1])
    for wrong in (np.array([0, 3]), np.array([-1, 0]), np.array([0]), np.array([0.0, 1.0])):
        with pytest.raises(DataError, match="'f1'"):
            counter.add({"f0": good, "f1": wrong})
    with pytest.raises(DataError, match="lacks the column 'f1'"):
        counter.add({"f0": good})
    for weights in (np.array([1, -1]), np.array([0.5, 1]), np.array([2**62, 2**62])):
        with pytest.raises(DataError, match="weights"):
            counter.add({"f0": good, "f1": good}, weights)
    counter.add({"f0": good, "f1": good}, np.array([2**61 - 1, 2**61]))
    with pytest.raises(ResourceError, match=r"2\^62"):
        counter.add({"f0": good, "f1": good}, np.array([1, 1]))


def test_a_table_of_too_many_cells_is_refused_before_anything_is_counted() -> None:
    schema = schema_of(*[10**6] * 4)
    with pytest.raises(ResourceError, match=r"over f0, f1, f2, f3 has more than 2\^63 cells"):
        TableCounter(schema, [schema.names])


def test_other_tables_are_not_merged() -> None:
    schema = schema_of(2, 3)
    with pytest.raises(ParameterError, match="same tables"):
        TableCounter(schema, [("f0",)]).merge(TableCounter(schema, [("f1",)]))


def spilling_counter(folder: object) -> TableCounter:
    counter = TableCounter(
        schema_of(1000, 1000), [("f0", "f1")], array_bytes=0, run_bytes=1000, batch_rows=100,
        folder=str(folder),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(5):
        counter.add({"f0": rng.integers(0, 1000, 300), "f1": rng.integers(0, 1000, 300)})
    return counter


def test_spilled_counts_have_no_name_in_any_folder(tmp_path) -> None:
    counter = spilling_counter(tmp_path)
    assert list(tmp_path.iterdir()) == []
    [table] = counter.tables()
    assert list(tmp_path.iterdir()) == []
    assert table.total == 1500
    assert not table.cells.flags.writeable


def test_a_full_disk_is_a_clear_error(tmp_path, monkeypatch) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(ResourceError, match="set TMPDIR") as raised:
            spilling_counter(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(tmp_path) in str(raised.value)
    assert os.strerror(errno.EFBIG) in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_a_clear_error(tmp_path) -> None:
    with pytest.raises(ResourceError, match="No such file"):
        SpillFile(tmp_path / "none").append(np.arange(3))


def test_the_folder_for_spilled_counts_can_be_set(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert spill_folder() == str(tmp_path)
