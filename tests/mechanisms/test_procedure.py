"""Procedures: made from public facts, and run through budgeted access alone."""

import json
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from thresher.mechanisms import MECHANISMS, RAP, AdaptiveTables
from thresher.mechanisms.procedure import is_late
from thresher.privacy import Budget, Curator, InsecureSeededRandomness

RHO = Fraction(3, 7)


class OnlyVerbs:
    """Access and nothing more: whatever else a procedure would ask of a Curator is missing."""

    def __init__(self, curator):
        self._curator = curator
        for name in (
            "select",
            "select_table",
            "measure",
            "measure_residuals",
            "choose",
            "drawn_for",
            "n",
            "schema",
        ):
            setattr(self, name, getattr(curator, name))

    spent = property(lambda self: self._curator.spent)
    remaining = property(lambda self: self._curator.remaining)


def access_to(records):
    curator = Curator(records, Budget.from_rho(RHO), randomness=InsecureSeededRandomness(0))
    return OnlyVerbs(curator)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_procedure_spends_its_cost_through_the_verbs(name, records, workload):
    procedure = MECHANISMS[name]().resolve(records.n, RHO, workload)
    json.dumps(procedure.settings)
    assert procedure.estimate(1000).memory >= 0
    access = access_to(records)
    outcome = procedure.run(access, lambda *_: None)
    assert access.spent == procedure.cost
    assert procedure.cost == (0 if name == "all0" else RHO)
    assert isinstance(outcome.measurements, tuple)
    json.dumps(outcome.diagnostics)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_resolving_twice_gives_the_same(name, records, workload):
    one, same = (MECHANISMS[name]().resolve(records.n, RHO, workload) for _ in range(2))
    assert one == same


@pytest.mark.parametrize("kind", [RAP, partial(AdaptiveTables, workload_tables=False)])
def test_a_journal_that_lost_the_rest_ends_the_measuring(kind, records, workload):
    """A journal whose last payments were lost answers further calls with no measurements."""
    procedure = kind(rounds=4, synthetic_rows=10).resolve(records.n, RHO, workload)
    access = access_to(records)
    measure = access.measure
    done = []

    def lost_after_three(targets, **paid):
        done.append(targets)
        return measure(targets, **paid) if len(done) <= 3 else []

    access.measure = lost_after_three
    outcome = procedure.run(access, lambda *_: None)
    assert 0 < len(outcome.measurements) == sum(map(len, done[:3]))
    assert all(np.isfinite(a) for a in outcome.source.queries([workload.query(0)]))


@pytest.mark.parametrize(("rounds", "late"), [(1, {1}), (3, {3}), (4, {4}), (9, {8, 9})])
def test_the_last_quarter_of_the_rounds_is_late(rounds, late):
    assert {number for number in range(1, rounds + 1) if is_late(number, rounds)} == late
