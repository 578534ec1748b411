"""Any bytes and any table: what comes back is records, or an error of ours."""

import datetime as dt
import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thresher import Bins, Categorical, IntegerRange, Schema, ThresherError, draft_schema, read
from thresher.data import delimited
from thresher.data.drafting import DraftedSchema

FUZZ = settings(
    max_examples=100 * int(os.environ.get("THRESHER_FUZZ", "1")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
SCHEMA = Schema(
    [
        IntegerRange(name="a", low=0, high=9, nulls=0, extra=("none",)),
        Categorical(name="b", categories=("x", "?"), outside="?", nulls="?"),
        Bins.equal("c", low=0, high=1, bins=4, nulls=0),
    ]
)
PIECE = st.one_of(
    st.sampled_from(
        [b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"\t", b"\0", b"\xef\xbb\xbf", b"a,b,c\n", b"1",
         b"x", b"none", b"1e999", b";", b"|", b'{"a":', b"}", b'{"a": 1, "b": "x", "c": 0.5}\n',
         b"\xff\xfe", b"\x80", "é".encode(),
         "é".encode("utf-16"), b"\x1b[2J"]
    ),
    st.binary(max_size=6),
)  # fmt: skip
CONTENT = st.one_of(
    st.lists(PIECE, max_size=30).map(b"".join),
    st.lists(PIECE, max_size=30).map(lambda pieces: b"a,b,c\n1,x,0.5\n" + b"".join(pieces)),
    st.text(max_size=60).map(lambda text: text.encode("utf-16", "surrogatepass")),
)
NAMES = ["x.csv", "x.tsv", "x.csv.gz", "x.csv.bz2", "x.csv.xz", "x.csv.zst", "x.parquet", "x.jsonl"]


def check_words(fault):
    assert "\n" not in str(fault)
    assert "\x1b" not in str(fault)


def attempt(source, **options):
    """Read and draft; only our errors may come out, each on one line."""
    for act in (lambda: read(source, SCHEMA, **options), lambda: draft_schema(source, **options)):
        try:
            result = act()
        except ThresherError as fault:
            check_words(fault)
        else:
            if isinstance(result, DraftedSchema):
                assert read(source, result.schema, **options).n > 0


@FUZZ
@given(CONTENT, st.sampled_from(NAMES), st.booleans(), st.sampled_from([64, 1 << 21]))
def test_any_bytes(tmp_path_factory, content, name, line_breaks, size):
    path = tmp_path_factory.mktemp("fuzz") / name
    packed = gzip.compress(content) if name.endswith("gz") else content
    path.write_bytes(packed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "CHUNK_BYTES", size)
        attempt(path, line_breaks_in_cells=line_breaks)


LEAVES = st.sampled_from(
    [
        pa.null(), pa.bool_(), pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
        pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(),
        pa.large_binary(), pa.binary_view(), pa.binary(2), pa.date32(), pa.date64(),
        pa.time32("s"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ns"),
        pa.timestamp("us", "Asia/Tokyo"), pa.duration("us"), pa.month_day_nano_interval(),
        pa.decimal32(5, 2), pa.decimal128(38, 10), pa.decimal256(60, -5), pa.uuid(),
        pa.json_(), pa.bool8(), pa.opaque(pa.binary(), "a", "b"),
    ]
)  # fmt: skip
TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(pa.list_), inner.map(pa.large_list), inner.map(pa.list_view),
        inner.map(lambda kind: pa.struct([("a", kind)])),
        inner.map(lambda kind: pa.dictionary(pa.int8(), kind)),
        inner.map(lambda kind: pa.run_end_encoded(pa.int32(), kind)),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        inner.map(lambda kind: pa.dense_union([pa.field("a", kind)])),
    ),
    max_leaves=2,
)  # fmt: skip
RAW = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4)


def any_column(kind, numbers):
    """A column of some type, filled with the given bits where that is possible."""
    try:
        if kind.bit_width == 64:
            return pa.array(numbers, pa.int64()).view(kind)
        if kind.bit_width == 32:
            return pa.array(np.array(numbers).astype(np.int32)).view(kind)
    except (ValueError, pa.ArrowException):
        pass
    try:
        return pa.nulls(len(numbers), kind)
    except pa.ArrowException:
        return pa.array([None] * len(numbers), kind)


@FUZZ
@given(TYPES, RAW, st.sampled_from("abc"))
def test_any_arrow_type(kind, numbers, name):
    sound = {"a": [1] * len(numbers), "b": ["x"] * len(numbers), "c": [0.5] * len(numbers)}
    try:
        table = pa.table({**sound, name: any_column(kind, numbers)})
        table.validate()
    except (pa.ArrowException, KeyError):
        return  # Arrow cannot make such a column
    attempt(table)


@FUZZ
@given(
    st.lists(
        st.one_of(st.text(max_size=3), st.just("\ud800"), st.integers(), st.none()), max_size=4
    )
)
def test_any_names_of_columns(names):
    attempt(
        pd.DataFrame([[dt.date(2020, 1, 1)] * len(names)], columns=pd.Index(names, dtype=object))
    )


def test_twenty_thousand_columns_are_compared_by_hash():
    """The check for equal names counted 2·10⁸ pairs in the first build."""

    class Counted(str):
        compared = 0

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    from thresher.data.batches import among, refuse_duplicates

    names = [Counted(f"c{number}") for number in range(20_000)]
    refuse_duplicates("x", names, names)
    assert among(names, names) == names
    assert Counted.compared < 10 * len(names)
