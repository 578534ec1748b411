"""What a resumed fit asks is what its journal says was asked, at the price that was paid."""

import json
from fractions import Fraction

import numpy as np
import pytest

from thresher.errors import QueryError, ReleaseError
from thresher.mechanisms import GaussianJoint
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.unit import Unit
from thresher.queries import Query, Threshold, Workload
from thresher.schema import View


def asked(records, folder, call, unit=None):
    """What a call says through a journal, and what all calls have cost."""
    with Journal(folder / "journal", {}) as journal:
        curator = Curator(
            records, Budget.from_rho(1), spent=journal.spent, journal=journal, unit=unit,
            randomness=InsecureSeededRandomness(1),
        )  # fmt: skip
        return call(JournaledCurator(curator, journal)), curator.spent


def zeros(_):
    return lambda slab: np.zeros(slab.shape)


TABLES = [Threshold(("sex", "age")), Threshold(("town",))]
SAME_RHO = {"rho": "1/4"}
CALLS = {
    "select": [
        lambda wall: wall.select(work(wall), zeros, 2, **SAME_RHO),
        lambda wall: wall.select(work(wall), zeros, 3, **SAME_RHO),
        lambda wall: wall.select(work(wall, [2, 1]), zeros, 2, **SAME_RHO),
        lambda wall: wall.select(work(wall), zeros, 2, [work(wall).query(0)], **SAME_RHO),
    ],
    "select_table": [
        lambda wall: wall.select_table(TABLES, zeros, [0, 3], **SAME_RHO),
        lambda wall: wall.select_table(TABLES, zeros, [0, 4], **SAME_RHO),
        lambda wall: wall.select_table(TABLES[::-1], zeros, [0, 3], **SAME_RHO),
        lambda wall: wall.select_table(TABLES, zeros, [0, 3], weights_of=zeros, **SAME_RHO),
    ],
    "choose": [
        lambda wall: wall.choose(work(wall), [zeros, zeros], **SAME_RHO),
        lambda wall: wall.choose(work(wall), [zeros] * 3, **SAME_RHO),
    ],
    "measure": [
        lambda wall: [m.counts.tolist() for m in wall.measure(TABLES, **SAME_RHO)],
        lambda wall: [m.counts.tolist() for m in wall.measure(TABLES[::-1], **SAME_RHO)],
        lambda wall: wall.measure([Threshold(("age", "sex")), TABLES[1]], **SAME_RHO),
        lambda wall: wall.measure(TABLES, jointly=False, **SAME_RHO),
    ],
    "measure_residuals": [
        lambda wall: [
            m.contrasts.tolist() for m in wall.measure_residuals(TABLES, [1, 2], **SAME_RHO)
        ],
        lambda wall: wall.measure_residuals(TABLES, [2, 1], **SAME_RHO),
    ],
}


def work(wall, weights=None):
    return Workload(wall.schema, TABLES, weights)


@pytest.mark.parametrize("verb", CALLS)
def test_a_result_is_given_for_the_very_call_that_was_paid(verb, records, tmp_path):
    call, *others = CALLS[verb]
    said = asked(records, tmp_path, call)
    assert asked(records, tmp_path, call) == said
    for other in others:
        with pytest.raises(ReleaseError, match="does not fit this run, which makes other calls"):
            asked(records, tmp_path, other)


def test_a_query_may_be_excluded_by_its_id(records, tmp_path):
    by_query = asked(records, tmp_path, CALLS["select"][3])
    by_id = asked(records, tmp_path, lambda w: w.select(work(w), zeros, 2, [0], **SAME_RHO))
    assert by_id == by_query


def test_a_query_may_be_excluded_in_two_spellings(records, tmp_path):
    def call(wall):
        query = work(wall).query(3)
        turned = Query(reversed(query.conditions), query.r)
        return wall.select(work(wall), zeros, 2, [query, turned], **SAME_RHO)

    assert asked(records, tmp_path, call) == asked(records, tmp_path, call)


@pytest.mark.parametrize("rho", ["1/5", Fraction(1, 4) + Fraction(1, 10**30)])
def test_a_result_is_given_at_the_price_that_was_paid(rho, records, tmp_path):
    asked(records, tmp_path, CALLS["measure"][0])
    with pytest.raises(ReleaseError, match="which pays something else for its calls"):
        asked(records, tmp_path, lambda wall: wall.measure(TABLES, rho=rho))


def test_a_lost_payment_explains_a_smaller_price(records, tmp_path):
    def twice(wall, second="1/4"):
        return [
            wall.measure([table], rho=rho)
            for table, rho in zip(TABLES, ("1/4", second), strict=True)
        ]

    asked(records, tmp_path, lambda wall: wall.measure(TABLES[:1], rho="1/4"))
    with Journal(tmp_path / "journal", {}) as journal:
        journal.announce(Fraction(1, 4), room=0)
    _, spent = asked(records, tmp_path, twice)
    assert spent == Fraction(1, 2) + Fraction(1, 4) * Fraction(2, 3)
    assert asked(records, tmp_path, twice)[1] == spent
    with pytest.raises(ReleaseError, match="which pays something else for its calls"):
        asked(records, tmp_path, lambda wall: twice(wall, "1/6"))


def rewritten(folder, change):
    """Change the last line of a journal."""
    path = folder / "journal" / "journal.jsonl"
    *lines, last = path.read_bytes().rstrip(b"\0").decode().splitlines()
    path.write_text("\n".join([*lines, json.dumps({**json.loads(last), **change})]) + "\n")


@pytest.mark.parametrize("verb", ["measure", "measure_residuals"])
@pytest.mark.parametrize("sigmas", [[1.0, 1.0], [0.0, 0.0], [float("nan")] * 2, ["x", "y"], []])
def test_noise_is_as_large_as_was_paid_for(verb, sigmas, records, tmp_path):
    asked(records, tmp_path, CALLS[verb][0])
    rewritten(tmp_path, {"sigmas": sigmas})
    with pytest.raises(ReleaseError, match="damaged"):
        asked(records, tmp_path, CALLS[verb][0])


@pytest.mark.parametrize("begun", [False, True])
def test_noise_of_another_accounting_is_told_apart_even_where_it_is_large(begun, records, tmp_path):
    # A ninth of a count squared is lost among the digits of such a standard deviation.
    def measure(is_gaussian):
        with Journal(tmp_path / "journal", {"settings": {}}) as journal:
            budget = Budget.from_rho(1, is_gaussian=is_gaussian)
            curator = Curator(records, budget, spent=journal.spent, journal=journal)
            access = JournaledCurator(curator, journal)
            return access.measure([Threshold(("sex",))], rho=Fraction(1, 10**10))[0]

    measured = measure(begun)
    with pytest.raises(ReleaseError, match="has another accounting"):
        measure(not begun)
    again = measure(begun)
    assert (again.sigma, again.counts.tolist()) == (measured.sigma, measured.counts.tolist())


@pytest.mark.parametrize("change", [{"sigma": 1.0}, {"n": 0}, {"n": 2.5}, {"n": 2**41}])
def test_a_measured_total_is_checked(change, records, tmp_path):
    unit = Unit("add-remove")
    said = asked(records, tmp_path, lambda wall: wall.measure_total(rho="1/9"), unit)
    assert asked(records, tmp_path, lambda wall: wall.measure_total(rho="1/9"), unit) == said
    rewritten(tmp_path, change)
    with pytest.raises(ReleaseError, match="damaged"):
        asked(records, tmp_path, lambda wall: wall.measure_total(rho="1/9"), unit)


@pytest.mark.parametrize(
    ("verb", "change"),
    [
        ("measure", {"counts": [7]}),
        ("select", {"queries": ["town=A"]}),
        ("select", {"queries": ["town=A", "town=A"]}),
        ("select", {"queries": ["town=A", "job=part"]}),
        ("select_table", {"table": 2}),
        ("select_table", {"table": 0.5}),
        ("choose", {"chosen": -1}),
    ],
)
def test_a_result_is_one_that_the_call_can_have(verb, change, records, tmp_path):
    asked(records, tmp_path, CALLS[verb][0])
    rewritten(tmp_path, change)
    with pytest.raises(ReleaseError, match="damaged"):
        asked(records, tmp_path, CALLS[verb][0])


def test_notes_stand_in_the_journal(records, tmp_path):
    def noting(numbers):
        def call(wall):
            counts = [m.counts.tolist() for m in wall.measure(TABLES, rho="1/4")]
            return counts, wall.noted(lambda: numbers)

        return call

    (said, noted), _ = asked(records, tmp_path, noting([0.1, 1 / 3]))
    assert noted == [0.1, 1 / 3]
    assert asked(records, tmp_path, noting([7.0]))[0] == (said, noted)
    with pytest.raises(ReleaseError, match="which looks at other results"):
        asked(records, tmp_path, lambda wall: wall.noted(lambda: [1.0]))


GROUPS = {"one": ["A", "B"], "other": ["C", "D"]}


def seen(schema, groups):
    return schema.with_views([View.of_groups(schema["town"], "side", groups)])


def test_views_with_their_groups_in_another_order_are_other_views(records, schema, tmp_path):
    first, second = (
        Workload(seen(schema, dict(groups)), [Threshold(("side",))])
        for groups in (GROUPS.items(), reversed(GROUPS.items()))
    )
    assert first.schema["side"].codes != second.schema["side"].codes
    gaussian = GaussianJoint(rho="1/2")
    kept = gaussian.fit(records, first, journal=tmp_path / "journal")
    [measured] = gaussian.fit(records, first, journal=tmp_path / "journal").measurements
    assert measured.counts.tolist() == kept.measurements[0].counts.tolist()
    with pytest.raises(ReleaseError, match="is the journal of another fit"):
        gaussian.fit(records, second, journal=tmp_path / "journal")


def test_a_query_that_was_read_with_another_view_is_refused(records, schema):
    ours, theirs = seen(schema, GROUPS), seen(schema, {"one": ["A"], "other": []})
    curator = Curator(records, Budget.from_rho(1), views=ours.views)
    for query in (Query.parse("side=one", theirs), Query.where(theirs, {"side": "one"})):
        with pytest.raises(QueryError, match="was read with another view 'side'"):
            curator.measure([query], rho="1/4")
        release = GaussianJoint(rho="1/2").fit(records, Workload(ours, [Threshold(("side",))]))
        with pytest.raises(QueryError, match="was read with another view 'side'"):
            release.answer(query)
    with pytest.raises(QueryError, match="was read with another view 'side'"):
        curator.select(Workload(ours, TABLES), zeros, 1, [query], rho="1/4")
    assert curator.spent == 0
    curator.measure([Query.parse("side=one", ours)], rho="1/4")
    assert curator.spent == Fraction(1, 4)
