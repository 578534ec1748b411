"""Variants of RAP that only `reproduce` has: what they spend, clip and stop at."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher
from thresher import RAP, Workload
from thresher.errors import ParameterError
from thresher.privacy.curator import Curator
from thresher.privacy.measurements import QueryMeasurement, TableMeasurement
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Condition, Query, Threshold
from thresher.relaxed.standardised import Residuals
from thresher.reproduction import data
from thresher.reproduction.variants import (
    AUTHORS_ADAM,
    PRINTED,
    LossChange,
    PaperRAP,
    PrintedProcedure,
    clip,
)

GIVEN = {"rounds": 2, "queries_per_round": 3, "synthetic_rows": 30}


@pytest.fixture(scope="module")
def records():
    return data.records_of("adult-small", {})


@pytest.fixture(scope="module")
def workload(records):
    return Workload.random(records.schema, k=2, size=3, seed=0)


def fitted(mechanism, records, workload):
    return mechanism.fit(records, workload, randomness=InsecureSeededRandomness(1))


def test_printed_noise_spends_half_as_much_again_and_says_so(records, workload):
    release = fitted(PaperRAP(rho="1/10", printed_osas=True, **GIVEN), records, workload)
    stated = RAP(rho="1/10", **GIVEN).budget_for(records).rho
    assert release.spent == release.budget.rho == stated * 3 / 2
    assert "not private" in release.mechanism
    promised = PaperRAP(epsilon=1.0, printed_osas=True, **GIVEN)
    assert fitted(promised, records, workload).budget.epsilon is None


def test_printed_noise_is_the_gumbel_scale_of_algorithm_4(records, workload, monkeypatch):
    # K selections with Gumbel noise of scale b in counts cost K/(2b²) of zCDP.
    paid = []
    select = Curator.select
    monkeypatch.setattr(
        Curator,
        "select",
        lambda self, *words, rho: (paid.append(rho), select(self, *words, rho=rho))[1],
    )
    rho, rounds, count = 0.1, GIVEN["rounds"], GIVEN["queries_per_round"]
    for printed, factor in ((True, 2.0), (False, 1.0)):
        paid.clear()
        fitted(PaperRAP(rho=rho, printed_osas=printed, **GIVEN), records, workload)
        scales = [math.sqrt(count / (2 * float(one))) for one in paid]
        per_round = rho / rounds
        assert scales == pytest.approx([math.sqrt(count / (factor * per_round))] * rounds)


def test_measurements_are_those_of_the_stated_budget(records, workload):
    plain = fitted(RAP(rho=0.1, **GIVEN), records, workload)
    printed = fitted(PaperRAP(rho=0.1, printed_osas=True, **GIVEN), records, workload)
    assert {m.sigma for m in printed.measurements} == {m.sigma for m in plain.measurements}


def test_nobody_comes_by_a_variant_outside_the_reproduction(records):
    assert not any("printed" in name.lower() for name in thresher.__all__)
    with pytest.raises(ParameterError, match="selection must be"):
        RAP(rho=1, selection=PRINTED).resolve(records.n, 1, Workload.all(records.schema, 1))
    with pytest.raises(TypeError):
        RAP(rho=1, printed_osas=True)
    with pytest.raises(ParameterError, match="one-shot"):
        PaperRAP(rho=1, printed_osas=True, selection="iterative").resolve(
            records.n, 1, Workload.all(records.schema, 1)
        )
    assert not issubclass(PrintedProcedure, RAP)


def test_without_variants_it_is_rap(records, workload):
    one = fitted(RAP(rho=1, **GIVEN), records, workload)
    other = fitted(PaperRAP(rho=1, **GIVEN), records, workload)
    assert np.array_equal(one.source.rows.columns, other.source.rows.columns)
    assert one.mechanism == other.mechanism


@given(count=st.integers(-500, 500))
def test_a_clipped_answer_is_the_nearest_possible_one(count):
    noisy = QueryMeasurement(Query([Condition("a", [0])]), count=count, sigma=9.0, n=100)
    told = clip(noisy)
    assert told.answer == min(max(noisy.answer, 0.0), 1.0)
    assert told.noise == noisy.noise
    table = TableMeasurement(Threshold(("a",)), np.array([count, 50]), sigma=9.0, n=100)
    assert clip(table).answers.tolist() == [told.answer, 0.5]


def test_clipping_changes_the_fit_and_not_what_is_measured(records, workload):
    clipped, plain = (
        fitted(PaperRAP(rho="1/100000", clipped=clipped, **GIVEN), records, workload)
        for clipped in (True, False)
    )
    first = [m.count for m in plain.measurements[:3]]
    assert [m.count for m in clipped.measurements[:3]] == first
    assert min(first) < 0 or max(first) > records.n  # or there is nothing to clip
    assert not np.array_equal(clipped.source.rows.columns, plain.source.rows.columns)


def test_the_authors_rule_stops_at_a_small_change_of_the_loss():
    rule = LossChange(noise=0.01, change=1e-9)
    near = Residuals(16, 2.0, largest=9.0)
    step = 1e-9 / (16 * 0.01**2)  # the change of the misfit that is one of 1e-9 in the loss
    assert rule.reason([2.0 + 0.9 * step, 2.0], near) == "progress"
    assert rule.reason([2.0 + 1.1 * step, 2.0], near) is None
    assert rule.reason([2.0 - 0.9 * step, 2.0], near) == "progress"
    assert rule.reason([9.0] + [1.0, 3.0] * 2500, near) == "iterations"
    assert rule.reason([0.1], near) is None  # a good fit alone is no reason


def test_authors_adam_is_adam_with_that_rule(records, workload):
    procedure = PaperRAP(rho=1, optimizer=AUTHORS_ADAM, **GIVEN).resolve(records.n, 1, workload)
    assert procedure.projector.optimizer == "adam"
    assert procedure.projector.by_loss_change
    assert (
        not PaperRAP(rho=1, optimizer="adam", **GIVEN)
        .resolve(records.n, 1, workload)
        .projector.by_loss_change
    )
