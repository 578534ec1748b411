"""The estimate of a fit's time and memory: by public facts, monotone, and the same every time."""

from fractions import Fraction

import pytest

from thresher import RAP, AdaptiveTables, Auto, GaussianJoint, Workload
from thresher.data.datasets import adult_schema
from thresher.mechanisms import estimate
from thresher.mechanisms.estimate import Work, counting_memory

SCHEMA = adult_schema()
WORK = Workload.random(SCHEMA, k=3, size=16, seed=0)
RHO = Fraction(1, 50)
N = 48842
SLOWNESS = estimate.slowness
KINDS = (RAP(), RAP(rounds=1, queries_per_round=WORK.query_count), Auto(), GaussianJoint())


@pytest.fixture(autouse=True)
def pinned(monkeypatch):
    """The speed of the machine that the constants were measured on."""
    monkeypatch.setattr(estimate, "slowness", lambda: 1.0)


def of(mechanism, n=N, workload=WORK):
    return mechanism.resolve(n, RHO, workload).estimate(n)


@pytest.mark.parametrize("mechanism", KINDS)
def test_the_same_fit_has_the_same_estimate(mechanism):
    assert of(mechanism) == of(mechanism)


@pytest.mark.parametrize("mechanism", KINDS)
def test_a_slower_machine_takes_longer_in_proportion(mechanism, monkeypatch):
    usual = of(mechanism).seconds
    monkeypatch.setattr(estimate, "slowness", lambda: 3.0)
    assert of(mechanism).seconds == pytest.approx(3 * usual)


@pytest.mark.parametrize("mechanism", KINDS)
def test_more_records_take_longer_for_the_same_procedure(mechanism):
    procedure = mechanism.resolve(N, RHO, WORK)
    seconds = [procedure.estimate(n).seconds for n in (N, 10 * N, 1000 * N, 10**9)]
    assert seconds == sorted(seconds)
    assert seconds[-1] > seconds[0] + 60  # reading 10^9 records takes minutes
    memory = [procedure.estimate(n).memory for n in (1, N, 10**9)]
    assert memory == sorted(memory)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (RAP(rounds=4, queries_per_round=4), RAP(rounds=8, queries_per_round=4)),
        (RAP(synthetic_rows=500), RAP(synthetic_rows=1000)),
        (RAP(rounds=4, queries_per_round=8),
         RAP(rounds=4, queries_per_round=8, selection="iterative")),
        (AdaptiveTables(rounds=4), AdaptiveTables(rounds=5)),
        (AdaptiveTables(synthetic_rows=500), AdaptiveTables(synthetic_rows=1000)),
    ],
)  # fmt: skip
def test_more_work_takes_longer(less, more):
    assert of(less).seconds < of(more).seconds


@pytest.mark.parametrize("mechanism", [RAP(), Auto(), GaussianJoint()])
def test_a_larger_workload_takes_longer(mechanism):
    larger = Workload(SCHEMA, [*WORK, *Workload.random(SCHEMA, k=2, size=16, seed=1)])
    procedure = mechanism.resolve(N, RHO, larger)
    assert procedure.estimate(N).seconds >= of(mechanism).seconds
    assert procedure.estimate(N).memory >= of(mechanism).memory


def test_what_counting_costs():
    """Arrays for tables of at most 8n cells, runs for larger ones; memory has a limit."""
    one = Workload(SCHEMA, [WORK[0]])
    cells = one.query_count
    array, run = Work.counting(cells, one).seconds / cells, Work.counting(10, one).seconds / 10
    assert run > array
    assert counting_memory(10, one) == 2 * 160
    assert counting_memory(10**12, WORK) <= 16 * WORK.query_count + estimate.BATCH_BYTES
    everything = Workload.random(SCHEMA, k=5, size=64, seed=0)
    most = estimate.ARRAY_BYTES + estimate.RUN_BYTES + estimate.BATCH_BYTES
    assert counting_memory(10**12, everything) == most


def test_the_trial_of_this_machine_is_made_once():
    assert 0 < SLOWNESS() == SLOWNESS()


def test_a_large_table_with_r_below_k_takes_as_long_as_walking_it():
    """Measured for each query: 11 to 13 ns, in every round."""
    work = Workload.random(SCHEMA, k=5, r=2, size=64, seed=0)
    once, twice = (of(RAP(rounds=t, queries_per_round=1), workload=work).seconds for t in (1, 2))
    assert 8e-9 < once / work.query_count < 20e-9
    assert 8e-9 < (twice - once) / work.query_count < 20e-9
