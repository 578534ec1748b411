"""What D' answers, against sums over its rows by definition."""

import subprocess
import sys
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher.relaxed.row_answers as module
from thresher.queries import Condition, Query, Threshold
from thresher.relaxed.row_answers import answer_queries, row_table, selected_queries
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.selected import answers
from thresher.schema import Schema
from thresher.schema.features import Categorical
from thresher.tables import slabs_of

SIZES = (2, 3, 4, 1, 2)
SCHEMA = Schema(
    Categorical(
        name=name, categories=tuple(f"{name}{i}" for i in range(size)), outside=f"{name}0",
        nulls=f"{name}0",
    )
    for name, size in zip("abcde", SIZES, strict=True)
)  # fmt: skip


def rows_of(seed: int, count: int = 7) -> RelaxedRows:
    return RelaxedRows.uniform(SIZES, count, np.random.default_rng(seed))


def by_definition(rows: RelaxedRows, query: Query) -> float:
    """The mean over rows of the chance that a record drawn from the row meets the query."""
    total = np.zeros(rows.count)
    blocks = [rows.block(SCHEMA.index(c.feature)).astype(float) for c in query.conditions]
    for codes in product(*(range(len(block)) for block in blocks)):
        met = sum(code in c.codes for code, c in zip(codes, query.conditions, strict=True))
        if met >= query.r:
            total += np.prod([b[code] for b, code in zip(blocks, codes, strict=True)], axis=0)
    return float(total.mean())


@st.composite
def queries(draw):
    names = draw(st.permutations("abcde"))[: draw(st.integers(1, 5))]
    conditions = []
    for name in names:
        codes = st.integers(0, SCHEMA[name].size - 1)
        conditions.append(Condition(name, draw(st.sets(codes))))  # none, some or all of them
    return Query(conditions, draw(st.integers(1, len(names))))


@given(st.lists(queries(), max_size=8), st.integers(0, 100))
def test_sets_ranges_and_negations(asked, seed):
    rows = rows_of(seed)
    found = list(answer_queries(rows, SCHEMA, asked))
    assert found == pytest.approx([by_definition(rows, query) for query in asked], abs=2e-6)
    assert all(0.0 <= answer <= 1.0 for answer in found)


@given(st.lists(queries(), min_size=1, max_size=8), st.sampled_from([1, 7, 600]), st.integers(0, 9))
def test_numpy_and_the_kernel_agree(asked, count, seed):
    """Both ways start from the same float32 columns; the kernel also adds up in float32.

    Over 512 rows (a block) and 5 factors its rounding stays well below 2e-6.
    """
    rows = rows_of(seed, count)
    by_numpy = list(answer_queries(rows, SCHEMA, asked))
    with patch.object(module, "FEW", 0):
        compiled = list(answer_queries(rows, SCHEMA, asked))
    assert by_numpy == pytest.approx(compiled, abs=2e-6)


def test_size_decides_which_way(monkeypatch):
    taken = []
    monkeypatch.setattr(module, "_compiled", lambda met, columns, r: taken.append(r) or np.zeros(1))
    rows, query = rows_of(0, count=10), Query.parse("2 of: a=a0, b=b0, c=c0", SCHEMA)
    for few in (10 * 3 * 2, 10 * 3 * 2 - 1):
        monkeypatch.setattr(module, "FEW", few)
        assert len(list(answer_queries(rows, SCHEMA, [query]))) == 1
    assert taken == [[2]]


LIGHT = """
import sys, types
package = types.ModuleType("thresher")  # without what thresher/__init__.py imports
package.__path__ = [sys.argv[1]]
sys.modules["thresher"] = package
import numpy as np
from thresher.queries import Query, Threshold
from thresher.relaxed.row_answers import answer_queries, row_table
from thresher.relaxed.rows import RelaxedRows
from thresher.schema import IntegerRange, Schema
from thresher.tables import slabs_of
schema = Schema(IntegerRange(name=x, low=0, high=1, nulls=0) for x in "abc")
rows = RelaxedRows.from_codes(schema.sizes, np.zeros((5, 3), int))
[answer] = answer_queries(rows, schema, [Query.parse("2 of: a=0, b=0, c=1", schema)])
[slab] = slabs_of((2, 2))
table = row_table(rows, schema, Threshold(("a", "b")))(slab)
assert answer == 1.0 and table.tolist() == [[1.0, 0.0], [0.0, 0.0]], (answer, table)
print(*({"numba", "pandas"} & {*sys.modules}))
"""


def test_one_answer_and_a_small_table_load_neither_numba_nor_pandas():
    source = Path(module.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, str(source)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_rounding_does_not_lead_out_of_0_to_1():
    # Found by hypothesis: the sum over counts of matches came out as 1 and a few units in the last.
    wide = [Condition("b", (0, 1, 2)), Condition("c", (0, 2, 3)), Condition("d", (0,))]
    found = list(answer_queries(rows_of(0), SCHEMA, [Query(wide, 2)]))
    assert all(0.0 <= answer <= 1.0 for answer in found)


def test_text_with_every_kind_of_condition():
    rows = rows_of(1, count=50)
    texts = ["b!=b1", "c in {c0,c2}", "2 of: a=a1, b not in {b0}, c!=c3", "any of: a=a0, e=e1",
             "all of: a=a0, b=b1, c=c2, d=d0, e=e0", "d=d0"]  # fmt: skip
    asked = [Query.parse(text, SCHEMA) for text in texts]
    found = list(answer_queries(rows, SCHEMA, asked))
    assert found == pytest.approx([by_definition(rows, query) for query in asked], abs=2e-6)
    assert found[-1] == pytest.approx(1.0)


def test_answers_stream_in_batches(monkeypatch):
    monkeypatch.setattr(module, "BATCH", 3)
    rows, taken = rows_of(2), []
    asked = [Query.parse(f"c=c{i % 4}", SCHEMA) for i in range(8)]

    def asking():
        for query in asked:
            taken.append(query)
            yield query

    stream = answer_queries(rows, SCHEMA, asking())
    next(stream)
    assert len(taken) == 3
    rest = list(stream)
    assert len(rest) == 7
    assert rest == pytest.approx([by_definition(rows, query) for query in asked[1:]], abs=1e-6)
    assert list(answer_queries(rows, SCHEMA, [])) == []


def test_an_answer_never_leaves_the_unit_interval():
    # Many small numbers of 32 bits do not add up to 1 exactly.
    schema = Schema(
        [Categorical(name="x", categories=tuple(map(str, range(999))), outside="0", nulls="0")]
    )
    rows = RelaxedRows(np.full((999, 3), 1.00001 / 999, np.float32), (999,))
    everyone = Query([Condition("x", range(999))])
    assert list(answer_queries(rows, schema, [everyone])) == [1.0]


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("features", [("a", "b", "c"), ("c", "a", "b"), ("e", "d", "c")])
@pytest.mark.parametrize("cells", [1, 3, 4, 5, 7, 100])
def test_slabs_of_any_size(features, r, cells):
    rows = rows_of(3)
    threshold = Threshold(features, r)
    table = row_table(rows, SCHEMA, threshold)
    seen = 0
    for slab in slabs_of(threshold.shape(SCHEMA), cells):
        found = table(slab)
        assert found.shape == slab.shape
        seen += found.size
        for codes in product(*slab.ranges):
            query = Query(
                [Condition(f, (code,)) for f, code in zip(features, codes, strict=True)], r
            )
            place = tuple(code - rng.start for code, rng in zip(codes, slab.ranges, strict=True))
            assert found[place] == pytest.approx(by_definition(rows, query), abs=2e-6)
    assert seen == threshold.query_count(SCHEMA)


def test_selected_queries_name_one_hot_columns():
    asked = [Query.parse(text, SCHEMA) for text in ("2 of: c=c1, a=a1, e=e0", "b=b2")]
    selected = selected_queries(asked, SCHEMA)
    assert selected.columns.tolist() == [[6, 1, 10], [4, -1, -1]]
    rows = rows_of(4)
    assert answers(rows, selected) == pytest.approx(list(answer_queries(rows, SCHEMA, asked)))
