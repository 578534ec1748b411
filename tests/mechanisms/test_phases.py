"""The phases that fits tell of: those that were expected, in order, and nothing private."""

import pytest

from thresher.data import read
from thresher.mechanisms import RAP, AdaptiveTables, Auto, GaussianJoint
from thresher.mechanisms.tuning import Grid, tune
from thresher.privacy import InsecureSeededRandomness, Unit
from thresher.progress import COUNTING, ROUNDS, Follower
from thresher.progress.timeline import Timeline
from thresher.queries import Threshold, Workload


class Recorded(Follower):
    def __init__(self):
        self.phases, self.steps, self.notes = [], [], []

    def expect(self, phases):
        self.phases.append(phases)

    def __call__(self, step):
        self.steps.append(step)

    def note(self, words):
        self.notes.append(words)

    @property
    def named(self):
        return list(dict.fromkeys(step.phase for step in self.steps))


@pytest.fixture
def pairs(schema):
    return Workload(schema, [Threshold(("age", "sex", "job")), Threshold(("sex", "town", "age"))])


@pytest.fixture
def in_files(records, schema, tmp_path):
    frame = {f.name: [f.labels[c] for c in records.codes(f.name)] for f in schema}
    lines = [",".join(frame), *(",".join(row) for row in zip(*frame.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    return read(tmp_path / "people.csv", schema, in_memory=False)


MECHANISMS = {
    "tables": AdaptiveTables(rho=1, rounds=3, synthetic_rows=20, workload_tables=True),
    "only rounds": AdaptiveTables(rho=1, rounds=3, synthetic_rows=20, workload_tables=False),
    "no rounds": AdaptiveTables(rho=1, rounds=0, synthetic_rows=20, workload_tables=True),
    "rap": RAP(rho=1, rounds=3, queries_per_round=2, synthetic_rows=20),
    "auto": Auto(rho=1, rounds=2, synthetic_rows=20),
    "gaussian": GaussianJoint(rho=1),
}


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_told_was_expected_and_is_public(name, neighbours, in_files, pairs):
    told = Recorded()
    MECHANISMS[name].fit(
        in_files, pairs, unit=Unit(neighbours), progress=told,
        randomness=InsecureSeededRandomness(0),
    )  # fmt: skip
    expected = [phase.name for phase in told.phases[-1]]
    assert expected[0] == COUNTING
    assert all(phase.seconds > 0 for phase in told.phases[-1])
    seen = [name for name in told.named if name in expected]
    assert seen == expected[: len(seen)]
    assert len(seen) == len(expected) or name == "gaussian"
    assert told.steps[0].phase == COUNTING
    numbers = {step.done for step in told.steps} | {step.of for step in told.steps}
    assert (in_files.n in numbers) == (neighbours == "replace")
    if neighbours == "add-remove":
        assert not any("400" in step.remark for step in told.steps)


def test_the_phases_add_up_to_the_estimate(records, pairs):
    for name, mechanism in MECHANISMS.items():
        procedure = mechanism.resolve(10**6, mechanism.budget_for(records).rho, pairs)
        whole = sum(phase.seconds for phase in procedure.phases(10**6))
        assert whole == pytest.approx(procedure.estimate(10**6).seconds, rel=0.01), name


def test_records_in_memory_are_counted_in_no_time(records, pairs):
    told = Recorded()
    MECHANISMS["rap"].fit(records, pairs, progress=told)
    assert [phase.name for phase in told.phases[-1]] == [ROUNDS]
    assert told.named == [ROUNDS]


def test_trials_are_phases(records, pairs):
    told = Recorded()
    grid = Grid((1, 2), (2, 4))
    tune(records, pairs, RAP(rho=1, synthetic_rows=20), grid=grid, progress=told)
    expected = [phase.name for phase in told.phases[-1]]
    assert expected[0] == "trial 1"
    assert expected[-1] == ROUNDS
    assert set(told.named) <= set(expected)
    timeline = Timeline()
    timeline.expect(told.phases[-1])
    for step in told.steps:
        timeline.take(step)
        assert timeline.remaining > 0
    assert timeline.phase == ROUNDS
