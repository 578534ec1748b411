"""A fit that is killed anywhere goes on: paid once, shown once, and drawn as if nothing had been.

The processes are forks of this one, which die by SIGKILL before, after or in the middle of what
they ask of the operating system. THRESHER_FUZZ=7 in the environment tries 7 times as many points.
"""

import io
import json
import os
import random
import signal
import warnings
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from thresher.data.exact import exact_count
from thresher.errors import BudgetError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness, Ledger
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.requests import Measure
from thresher.queries import Query, Threshold, Workload

POINTS = 32 * int(os.environ.get("THRESHER_FUZZ", "1"))
RHO = Fraction(5, 7)
PART = RHO / 6
FALSE_ALARM = 1e-7


def zeros(_):
    return lambda slab: np.zeros(slab.shape)


def procedure(wall, schema):
    """Every verb, with tables and without; it says what it was told, call by call."""
    town, both = Threshold(("town",)), Threshold(("sex", "job"))
    work = Workload(schema, [town, both])
    yield [query.text(schema) for query in wall.select(work, zeros, 2, rho=PART)]
    yield plain(wall.measure([town, Query.where(schema, {"sex": "F"})], rho=PART))
    yield wall.select_table([town, both], zeros, [0, 5], rho=PART).features
    yield plain(wall.measure([both], rho=PART))
    yield wall.choose(work, [zeros, zeros], rho=PART)
    yield plain(wall.measure([Query.where(schema, {"sex": "M"})], rho=PART))


def plain(measured):
    return [getattr(m, "counts", np.array(getattr(m, "count", 0))).tolist() for m in measured]


def fit(records, folder, show=lambda result: None):
    """Go through the procedure, from the journal as far as it has it; what it was told."""
    told = []
    with Journal(folder / "journal", {"procedure": 1}) as journal:
        ledger = Ledger.open(folder / "ledger")
        curator = Curator(
            records, Budget.from_rho(RHO), ledger, spent=journal.spent, journal=journal
        )
        for result in procedure(JournaledCurator(curator, journal), records.schema):
            show(result)
            told.append(json.loads(json.dumps(result)))
        assert curator.spent == RHO
    return told


class Death:
    """Counts what is asked of the operating system, and dies at one such request."""

    CALLS = ("pwrite", "write", "fsync", "ftruncate", "posix_fallocate", "open", "mkdir")

    def __init__(self, patch, at, when="before", share=0.5):
        self.at, self.when, self.share, self.calls = at, when, share, 0
        for name in self.CALLS:
            patch.setattr(os, name, self.around(name, getattr(os, name)))
        patch.setattr(np, "save", self.around("save", np.save))

    def around(self, name, honest):
        def watched(*args, **named):
            mine, self.calls = self.calls, self.calls + 1
            if mine != self.at:
                return honest(*args, **named)
            if self.when == "within" and name in ("write", "pwrite"):
                content = args[1][: int(self.share * len(args[1]))]
                honest(args[0], content, *args[2:])
            elif self.when == "within" and name == "save":
                content = io.BytesIO()
                honest(content, args[1])
                args[0].write(content.getvalue()[: int(self.share * len(content.getvalue()))])
                args[0].flush()
            elif self.when == "after":
                honest(*args, **named)
            return self.die()

        return watched

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)


def killed(records, folder, at, when, share):
    """Fit in another process, which dies; what the procedure was told before."""
    outlet, inlet = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no other thread holds what we need
        child = os.fork()
    if child == 0:
        status = 1
        try:
            tell = os.fdopen(inlet, "w", closefd=False)
            write, flushed = tell.write, tell.flush

            def show(result):
                write(json.dumps(result) + "\n")
                flushed()

            with pytest.MonkeyPatch.context() as patch:
                Death(patch, at, when, share)
                fit(records, folder, show)
            status = 0
        finally:
            os._exit(status)
    os.close(inlet)
    with os.fdopen(outlet) as said:
        # The last call says nothing, [], where its payment has been lost: there is no more to pay.
        told = [json.loads(line) for line in said if line != "[]\n"]
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return told, os.WIFSIGNALED(status)


def state(folder):
    """What the journal announced and has results of, and what the ledger was paid."""
    path = folder / "journal" / "journal.jsonl"
    text = path.read_bytes().rstrip(b"\0") if path.exists() else b""
    lines = [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
    announced = [Fraction(line["paying"]) for line in lines if "paying" in line]
    results = [Fraction(line["rho"]) for line in lines if "verb" in line]
    return announced, results, [entry.rho for entry in Ledger.open(folder / "ledger").entries]


def is_within(part, whole):
    """Whether a list is another with some items left out."""
    rest = iter(whole)
    return all(item in rest for item in part)


@pytest.fixture(scope="module")
def requests_of_a_fit(records, tmp_path_factory):
    """How much a fit that nobody kills asks of the operating system; it also compiles kernels."""
    folder = tmp_path_factory.mktemp("whole")
    Ledger.create(folder / "ledger", Fraction(1))
    with pytest.MonkeyPatch.context() as patch:
        death = Death(patch, at=-1)
        told = fit(records, folder)
    assert len(told) == 6
    return death.calls


def test_a_fit_that_is_killed_at_random_points(records, requests_of_a_fit, tmp_path_factory):
    chance = random.Random(11)
    losses = 0
    for point in range(POINTS):
        folder = tmp_path_factory.mktemp("killed")
        ledger = Ledger.create(folder / "ledger", Fraction(1))
        shown, deaths = [], 0
        # Killed up to three times over, then left alone.
        for _ in range(chance.choice([1, 1, 2, 3])):
            where = (
                chance.randrange(requests_of_a_fit),
                chance.choice(["before", "within", "after"]),
            )
            told, died = killed(records, folder, *where, chance.random())
            deaths += died
            announced, results, paid = state(folder)
            # What was shown before is shown again, and nothing is shown that is not kept.
            assert told[: len(shown)] == shown[: len(told)], point
            shown = max(shown, told, key=len)
            assert len(shown) <= len(results), point
            # Each payment was announced, each result was paid for, and nothing twice.
            assert is_within(paid, announced), point
            assert is_within(results, paid), point
            assert len(paid) - len(results) <= deaths, point
            assert sum(announced) <= RHO, point
        whole = fit(records, folder)
        announced, results, paid = state(folder)
        assert whole[: len(shown)] == shown, point
        assert sum(announced) == RHO, point
        assert is_within(results, paid), point
        assert sum(results) <= sum(paid) == ledger.spent <= RHO, point
        assert len(announced) - len(results) <= deaths, point
        losses += len(announced) > len(results)
        assert fit(records, folder) == whole, point
        assert ledger.spent == sum(paid), point
    assert 0 < losses < POINTS  # some of the points lose a payment, and some do not


# The distribution of what a fit that went on was told.


class Killed(BaseException):
    """Stands in for SIGKILL: nothing catches it, and nothing is cleaned up."""


class CheapDeath(Death):
    def die(self):
        raise Killed


FEMALE = {"sex": "F"}


def two_counts(records, folder, randomness):
    """Measure one count twice, for half of the budget each; the noise, and its variance."""
    journal = Journal(folder, {"procedure": 2})
    try:
        curator = Curator(
            records, Budget.from_rho(1), spent=journal.spent, randomness=randomness, journal=journal
        )
        wall = JournaledCurator(curator, journal)
        query = Query.where(records.schema, FEMALE)
        measured = [m for _ in range(2) for m in wall.measure([query], rho="1/2")]
        return [(round(m.sigma**2, 6), m.count - exact_count(records, query)) for m in measured]
    finally:
        os.close(journal._descriptor)


def noise_of_killed_fits(records, tmp_path_factory, runs, seed):
    """The noise of fits that are killed once, go on to the end, and are then read again."""
    chance, randomness = random.Random(seed), InsecureSeededRandomness(seed)
    folder, gathered = tmp_path_factory.mktemp("noise"), []
    for run in range(runs):
        with pytest.MonkeyPatch.context() as patch:
            for cheap in ("fsync", "posix_fallocate"):
                patch.setattr(os, cheap, lambda *_: None)
            at, when = chance.randrange(9, 20), chance.choice(["before", "within", "after"])
            with pytest.MonkeyPatch.context() as inner, suppress(Killed):
                CheapDeath(inner, at, when)
                two_counts(records, folder / str(run), randomness)
            try:
                two_counts(records, folder / str(run), randomness)
                gathered.append(two_counts(records, folder / str(run), randomness))
            except BudgetError:
                gathered.append([])
    return gathered


def chances(variance, edge):
    """The discrete Gaussian, with its tails in the outermost cells."""
    values = np.arange(-60, 61)
    weights = np.exp(-(values**2) / (2 * variance))
    return np.bincount(np.clip(values, -edge, edge) + edge, weights / weights.sum())


def surprise(pairs, variance, edge=1):
    """How likely such pairs are, at most, as independent draws of the discrete Gaussian."""
    seen = Counter(tuple(np.clip(pair, -edge, edge).tolist()) for pair in pairs)
    one = chances(variance, edge)
    expected = np.outer(one, one).ravel() * len(pairs)
    assert expected.min() > 15
    cells = product(range(-edge, edge + 1), repeat=2)
    return stats.chisquare([seen[cell] for cell in cells], expected).pvalue


def by_variance(gathered):
    whole = [[x for _, x in pair] for pair in gathered if [v for v, _ in pair] == [1, 1]]
    shrunk = [[x for _, x in pair] for pair in gathered if [v for v, _ in pair] == [2, 2]]
    return whole, shrunk


def test_what_a_killed_fit_is_told_has_the_distribution_that_was_paid_for(
    records, tmp_path_factory
):
    """A correct journal fails with a chance below 2e-7, had the seed not been fixed."""
    gathered = noise_of_killed_fits(records, tmp_path_factory, 1500, seed=1)
    whole, shrunk = by_variance(gathered)
    # Nothing lost; the first payment lost, so that the two of the second run share the other half.
    assert len(whole) > 700
    assert len(shrunk) > 200
    assert surprise(whole, 1) > FALSE_ALARM
    assert surprise(shrunk, 2) > FALSE_ALARM


def test_a_journal_that_replays_a_result_twice_is_caught(records, tmp_path_factory, monkeypatch):
    honest_start, honest, first = Journal.__init__, Measure.restored, []

    def begun(self, *args):
        first.clear()
        honest_start(self, *args)

    def same(self, saved, terms):
        first.append(saved)
        return honest(self, first[0], terms)

    monkeypatch.setattr(Journal, "__init__", begun)
    monkeypatch.setattr(Measure, "restored", same)
    whole, _ = by_variance(noise_of_killed_fits(records, tmp_path_factory, 400, seed=2))
    assert surprise(whole, 1) < FALSE_ALARM


def test_a_journal_that_keeps_only_what_it_likes_is_caught(records, tmp_path_factory, monkeypatch):
    """Results that are too small are called refused, and so drawn again for nothing."""
    truth = exact_count(records, Query.where(records.schema, FEMALE))
    honest = Journal.record

    def choosy(self, result):
        if result["counts"][0] < truth:
            self.refuse(Fraction(result["rho"]))
            raise Killed
        honest(self, result)

    def again(self):
        return sum((Fraction(result["rho"]) for result in self.results), Fraction(0))

    for cheap in ("fsync", "posix_fallocate"):
        monkeypatch.setattr(os, cheap, lambda *_: None)
    monkeypatch.setattr(Journal, "record", choosy)
    monkeypatch.setattr(Journal, "spent", property(again))
    pairs = []
    folder, randomness = tmp_path_factory.mktemp("choosy"), InsecureSeededRandomness(3)
    for run in range(250):
        while True:
            try:
                pairs.append([x for _, x in two_counts(records, folder / str(run), randomness)])
                break
            except Killed:
                continue
    assert surprise(pairs, 1) < FALSE_ALARM
