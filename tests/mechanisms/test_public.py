"""Public records as the start of D'."""

import numpy as np
import pytest

import thresher as th
from thresher.errors import ParameterError
from thresher.mechanisms.public import PublicStart

KINDS = (th.RAP, th.AdaptiveTables, th.Auto)


@pytest.fixture
def public(schema):
    rng = np.random.default_rng(5)
    return th.Records(schema, [rng.integers(0, f.size, 30, dtype=np.uint64) for f in schema])


def cells(rows):
    """Every row as a text, for counting."""
    return [row.tobytes() for row in rows.columns.T]


def test_rows_are_records_none_twice_before_all_were_chosen_once(public):
    few, many = (PublicStart(public).rows(count, seed=0) for count in (30, 75))
    assert set(np.unique(few.columns)) == {0.0, 1.0}
    given = np.stack(public.columns, axis=1)
    offsets = few.offsets[:-1]
    for rows, times in ((few, 1), (many, 2)):
        codes = [
            tuple(int(np.flatnonzero(block)[0]) for block in np.split(row, offsets[1:]))
            for row in rows.columns.T
        ]
        for record in map(tuple, given.tolist()):
            alike = sum(record == tuple(other) for other in given.tolist())
            assert times * alike <= codes.count(record) <= (times + (times > 1)) * alike


def test_the_choice_follows_the_seed(public):
    start = PublicStart(public)
    one, again, other = (cells(start.rows(10, seed)) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_names_the_public_records(kind, records, public, workload):
    release = kind(epsilon=1.0, synthetic_rows=20, public=public).fit(records, workload)
    assert release.settings["public"] == PublicStart(public).settings["public"]
    assert release.settings["public"]["records"] == 30
    alone = kind(epsilon=1.0, synthetic_rows=20).fit(records, workload)
    assert "public" not in alone.settings
    assert release.spent == alone.spent


def test_the_digest_is_of_the_records(public):
    changed = [column.copy() for column in public.columns]
    changed[0][0] = 1 - min(1, changed[0][0])
    other = th.Records(public.schema, changed)
    digests = [PublicStart(r).settings["public"]["sha256"] for r in (public, public, other)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("kind", KINDS)
def test_d_prime_starts_from_them(kind, records, workload):
    """Where the public records are like the private ones, nothing is left to be learned."""
    alike = th.Records(records.schema, records.columns)
    release = kind(rho=100, synthetic_rows=400, rounds=1, public=alike).fit(records, workload)
    assert th.present_error(release, records) < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_public_is_refused_before_paying(kind, records, workload, public):
    with pytest.raises(ParameterError, match="the private records themselves"):
        kind(epsilon=1.0, public=records).fit(records, workload)
    with pytest.raises(ParameterError, match="in_memory=True"):
        kind(epsilon=1.0, public="public.csv").fit(records, workload)
    smaller = th.Records(th.Schema(list(records.schema)[:-1]), public.columns[:-1])
    with pytest.raises(ParameterError, match="another schema"):
        kind(epsilon=1.0, public=smaller).fit(records, workload)


def test_a_search_starts_from_them_too(records, public, workload):
    grid = th.Grid(rounds=(1, 2), queries_per_round=(1, 2))
    rap = th.RAP(epsilon=1.0, synthetic_rows=20, public=public)
    tuned = th.tune(records, workload, rap, grid=grid)
    assert tuned.release.settings["public"]["records"] == 30
    with pytest.raises(ParameterError, match="the private records themselves"):
        th.tune(records, workload, th.RAP(epsilon=1.0, public=records), grid=grid)


def test_softmax_rows_cannot_start_from_zeros(records, public, workload):
    with pytest.raises(ParameterError, match="hardly ever grow"):
        th.RAP(epsilon=1.0, optimizer="softmax", public=public).fit(records, workload)
