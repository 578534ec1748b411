"""Records in files that are not kept in memory: the same counts, one pass, no change in between."""

import csv
import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher import (
    Bins,
    Categorical,
    DataError,
    GaussianJoint,
    IntegerRange,
    Ledger,
    Records,
    Schema,
    Threshold,
    Workload,
    exact_answer,
    exact_answers,
    present_error,
    read,
)
from thresher.data import RecordFiles, batches, reading
from thresher.data.batch_coding import BatchCoder
from thresher.privacy.randomness import InsecureSeededRandomness

SCHEMA = Schema(
    [
        Categorical(name="c", categories=("a", "b", "1", "true", "?"), outside="?", nulls="?"),
        IntegerRange(name="i", low=-2, high=5, nulls="none", extra=("none", "a")),
        Bins(name="x", edges=(0, 0.5, 1, 2, 300), nulls="none", extra=("none",), outside="none"),
    ]
)
SETS = [("c", "i", "x"), ("x", "c"), ("i",)]
ODD = ["a", " b ", "1", "1.0", "true", "", " ", "none", "nan", "-1", "4.9", "0.5", "299", "1e9",
       "é", "x,y", 'q"q', "٣", "1_0"]  # fmt: skip
ROWS = st.lists(st.tuples(*[st.sampled_from(ODD)] * 3), min_size=1, max_size=12)
TYPES = [pa.int8(), pa.uint8(), pa.int16(), pa.int64(), pa.uint64(), pa.float64(), pa.string(),
         pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.bool_(), pa.null(),
         pa.dictionary(pa.int32(), pa.int64())]  # fmt: skip
QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["c", "i", "x"])
    writer.writerows(rows)
    return text.getvalue()


def pairs(tables):
    return [(table.shape, table.cells.tolist(), table.counts.tolist()) for table in tables]


def check_alike(source, n):
    kept, streamed = read(source, SCHEMA, in_memory=True), read(source, SCHEMA, in_memory=False)
    assert isinstance(kept, Records)
    assert isinstance(streamed, RecordFiles)
    assert kept.n == streamed.n == len(streamed) == n
    assert pairs(kept.counts(SETS)) == pairs(streamed.counts(SETS))


@QUICK
@given(rows=ROWS)
def test_csv_gives_the_same_counts(tmp_path, rows):
    path = tmp_path / "people.csv"
    path.write_text(as_csv(rows))
    check_alike(path, len(rows))


@QUICK
@given(rows=ROWS, cut=st.integers(0, 12))
def test_several_files_give_the_same_counts(tmp_path, rows, cut):
    (tmp_path / "1.csv").write_text(as_csv(rows))
    (tmp_path / "2.csv").write_text(as_csv([*rows[cut:], rows[0]]))
    check_alike(str(tmp_path / "*.csv"), len(rows) + len(rows[cut:]) + 1)
    check_alike([tmp_path / "2.csv", tmp_path / "1.csv"], len(rows) + len(rows[cut:]) + 1)


@st.composite
def typed_columns(draw):
    """A batch whose columns have types of their own and odd cells, some of them missing."""
    length = draw(st.integers(1, 20))
    columns = {}
    for name in ("c", "i", "x"):
        # A column of truth values has no numbers, and is refused where some are expected.
        kind = draw(st.sampled_from([kind for kind in TYPES if name == "c" or kind != pa.bool_()]))
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_null(kind):
            cell = st.none()
        elif pa.types.is_boolean(values):
            cell = st.booleans()
        elif pa.types.is_integer(values):
            low = 0 if pa.types.is_unsigned_integer(values) else -(2 ** (values.bit_width - 1))
            high = low + 2**values.bit_width - 1
            cell = st.integers(max(low, -3), 120) | st.sampled_from([low, high])
        elif pa.types.is_floating(values):
            cell = st.floats()
        else:
            cell = st.sampled_from(ODD)
        cells = draw(st.lists(st.none() | cell, min_size=length, max_size=length))
        columns[name] = pa.array(cells, kind)
    return pa.record_batch(columns)


@QUICK
@given(batch=typed_columns(), group=st.integers(1, 30))
def test_parquet_gives_the_same_counts(tmp_path, batch, group):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_batches([batch]), path, row_group_size=group)
    check_alike(path, len(batch))


@given(several=st.lists(typed_columns(), min_size=1, max_size=4), start=st.integers(0, 3))
def test_cells_are_coded_as_their_feature_says(several, start):
    """The coder looks distinct cells up, and remembers: no batch may show in another's codes."""
    coder = BatchCoder(SCHEMA)
    for batch in [b.slice(min(start, len(b) - 1)) for b in several] * 2:
        coded = coder.codes(batch)
        for feature in SCHEMA:
            expected = feature.encode(batch.column(feature.name))
            assert coded[feature.name].tolist() == expected.tolist()
            assert coded[feature.name].dtype == expected.dtype


def test_a_range_of_numbers_that_grows_is_coded_right():
    feature = IntegerRange(name="i", low=0, high=50_000, nulls=0)
    coder, rng = BatchCoder(Schema([feature])), np.random.default_rng(0)
    for high in (10, 100, 10**4, 10**5, 10**12, 10**3):
        for kind in (pa.int64(), pa.uint64()):
            batch = pa.record_batch({"i": pa.array(rng.integers(0, high, 3000), kind)})
            assert (coder.codes(batch)["i"] == feature.encode(batch.column("i"))).all()


def people(folder, count=2000):
    rng = np.random.default_rng(1)
    columns = {"c": rng.choice(["a", "b", "?"], count), "i": rng.integers(0, 5, count),
               "x": rng.random(count)}  # fmt: skip
    path = folder / "people.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_small_files_are_kept_and_large_ones_are_not(tmp_path, monkeypatch):
    path = people(tmp_path)
    (tmp_path / "people.csv").write_text(as_csv([("a", "1", "0.2")] * 2000))
    assert isinstance(read(path, SCHEMA), Records)
    monkeypatch.setattr(reading, "IN_MEMORY", 3 * 2000)
    assert isinstance(read(path, SCHEMA), Records)
    monkeypatch.setattr(reading, "IN_MEMORY", 3 * 2000 - 1)
    for name in ("people.parquet", "people.csv"):
        large = read(tmp_path / name, SCHEMA)
        assert repr(large) == (
            "RecordFiles(2000 records in 1 file, 3 features, 20 one-hot columns)"
        )
    assert isinstance(read(path, SCHEMA, in_memory=True), Records)


def test_everything_works_on_files_as_on_records(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "CHUNK_ROWS", 100)
    path = people(tmp_path)
    kept, streamed = read(path, SCHEMA), read(path, SCHEMA, in_memory=False)
    work = Workload(SCHEMA, [Threshold(("c", "x"), r=1), Threshold(("x", "i", "c"))])
    fits = []
    for data in (kept, streamed):
        ledger = Ledger.create(tmp_path / f"{len(fits)}.ledger", rho=1)
        options = {"randomness": InsecureSeededRandomness(0), "ledger": ledger}
        fits.append(GaussianJoint(rho="1/2").fit(data, work, **options))
    for threshold in work:
        assert (exact_answers(kept, threshold) == exact_answers(streamed, threshold)).all()
    # Equal counts, and the same noise: the same release.
    noisy = [[table.counts.tolist() for table in fit.measurements] for fit in fits]
    assert noisy[0] == noisy[1]
    assert present_error(fits[0], kept) == present_error(fits[1], streamed)
    assert present_error(fits[0], streamed) == present_error(fits[1], kept)
    assert exact_answer(kept, "c=a") == exact_answer(streamed, "c=a")
    with pytest.raises(TypeError, match="private"):
        iter(streamed)


def test_files_are_read_once_to_be_compared(tmp_path, monkeypatch):
    streamed = read(people(tmp_path), SCHEMA, in_memory=False)
    work = Workload(SCHEMA, [Threshold(("c", "x")), Threshold(("i", "c")), Threshold(("x",))])
    release = GaussianJoint(rho=1).fit(streamed, work)
    asked = []
    count = RecordFiles.counts
    monkeypatch.setattr(
        RecordFiles, "counts", lambda self, sets, progress=None: asked.append(1) or
        count(self, sets, progress),
    )  # fmt: skip
    present_error(release, streamed)
    assert len(asked) == 1
    from thresher.evaluation.comparison import compare

    compare(release, streamed, work, seed=0)
    assert len(asked) == 2


def test_progress_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "CHUNK_ROWS", 500)
    streamed = read(people(tmp_path), SCHEMA, in_memory=False)
    told = []
    streamed.counts(SETS, told.append)
    assert told == [500, 1000, 1500, 2000]


def test_no_more_columns_are_read_than_needed(tmp_path, monkeypatch):
    streamed = read(people(tmp_path), SCHEMA, in_memory=False)
    read_columns = []
    real = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile, "iter_batches",
        lambda self, **options: read_columns.append(options["columns"]) or real(self, **options),
    )  # fmt: skip
    streamed.counts([("x",)])
    assert read_columns == [["x"]]


def test_a_file_that_changes_is_refused(tmp_path):
    path = people(tmp_path)
    streamed = read(path, SCHEMA, in_memory=False)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match=r"people\.parquet changed after it was opened"):
        streamed.counts(SETS)
    people(tmp_path, count=3000)
    with pytest.raises(DataError, match="changed after it was opened"):
        streamed.counts(SETS)
    path.unlink()
    with pytest.raises(DataError, match=r"people\.parquet cannot be read: No such file"):
        streamed.counts(SETS)


def test_a_file_that_changes_without_a_trace_is_refused_by_its_number_of_records(tmp_path):
    path = people(tmp_path)
    streamed = read(path, SCHEMA, in_memory=False)
    object.__setattr__(streamed, "n", 1999)
    with pytest.raises(DataError, match="changed after it was opened"):
        streamed.counts(SETS)


def test_a_file_without_records_is_refused(tmp_path):
    path = tmp_path / "none.parquet"
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in SCHEMA.names}), path)
    for in_memory in (None, False, True):
        with pytest.raises(DataError, match="holds no records"):
            read(path, SCHEMA, in_memory=in_memory)


def test_a_wrong_shape_is_told_when_files_are_opened(tmp_path):
    columns = {"c": ["a"], "i": [b"1"], "x": [0.5]}
    pq.write_table(pa.table(columns), tmp_path / "bytes.parquet")
    with pytest.raises(DataError, match="column 'i' is of type binary"):
        read(tmp_path / "bytes.parquet", SCHEMA, in_memory=False)
    pq.write_table(pa.table({"c": ["a"], "x": [0.5]}), tmp_path / "lacks.parquet")
    with pytest.raises(DataError, match="lacks the column 'i'"):
        read(tmp_path / "lacks.parquet", SCHEMA, in_memory=False)
    (tmp_path / "bad.csv").write_text("c,i,x\na,1,0.5\na,1\n")
    with pytest.raises(DataError, match="row 3"):
        read(tmp_path / "bad.csv", SCHEMA, in_memory=False)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match="not a Parquet file"):
        read(tmp_path / "bad.parquet", SCHEMA)
