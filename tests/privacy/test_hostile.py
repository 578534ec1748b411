"""Whoever holds a Curator tries to learn more than was paid for.

Each test is an attack that once worked, or that a careless change would let through.
"""

import json
import os
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from thresher.data import read
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.errors import (
    BudgetError,
    DataError,
    LedgerError,
    ParameterError,
    QueryError,
    ResourceError,
)
from thresher.privacy import Budget, Curator, Ledger, Unit
from thresher.privacy.callbacks import guarded
from thresher.privacy.counted import CountedTables
from thresher.privacy.fingerprint import KEY_BYTES, fingerprint
from thresher.privacy.journal import Journal, JournaledCurator
from thresher.privacy.persons import kept_rows
from thresher.privacy.scores import _numbers
from thresher.privacy.searching import public_list
from thresher.queries import Condition, Query, Threshold, Workload
from thresher.schema import IntegerRange, Schema
from thresher.tables import SparseTable
from thresher.tables.listing import ListedAnswers

RHO = Fraction(1, 4)


class Spoiled:
    """Private data that fail, or change, when they are counted."""

    def __init__(self, records, spoil):
        self.schema, self.n, self._records, self._spoil = (
            records.schema, records.n, records, spoil,
        )  # fmt: skip

    def counts(self, feature_sets, progress=None):
        return self._spoil(self._records.counts(feature_sets))


def female(schema):
    return Query.where(schema, {"sex": "F"})


def frames_of(fault):
    """The frames behind an exception, without that of the test, as the language keeps them."""
    trace = vars(BaseException)["__traceback__"].__get__(fault)
    while trace is not None:
        if trace.tb_frame.f_globals is not globals():
            yield trace.tb_frame
        trace = trace.tb_next


def private_in(frames):
    values = [value for frame in frames for value in frame.f_locals.values()]
    return [v for v in values if isinstance(v, CountedTables | SparseTable | np.ndarray | Records)]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, DataError, MemoryError])
def test_no_frame_of_any_module_is_left_behind(kind, records, schema):
    def inside_numpy(tables):
        def refuse(_):
            raise kind

        secret = np.arange(5)
        return np.apply_along_axis(refuse, 0, secret)  # frames of numpy, with the array in them

    curator = Curator(Spoiled(records, inside_numpy), Budget.from_rho(1))
    with pytest.raises(kind) as caught:
        curator.measure([female(schema)], rho=RHO)
    frames = list(frames_of(caught.value))
    assert any(frame.f_globals["__name__"].startswith("numpy") for frame in frames)
    assert private_in(frames) == []


@pytest.mark.parametrize("lack", [MemoryError, ResourceError])
def test_a_lack_of_room_may_depend_on_the_records_so_it_stays_paid(lack, records, schema, tmp_path):
    """Whoever can say how much room there is could ask how many cells hold records, for nothing."""

    def full(tables):
        raise lack

    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    curator = Curator(Spoiled(records, full), Budget.from_rho(1), ledger)
    with pytest.raises(lack):
        curator.measure([female(schema)], rho=RHO)
    assert curator.spent == ledger.spent == RHO


def test_the_frames_of_what_the_caller_was_handling_stay(records, schema):
    def outer():
        mine = "kept"
        raise ValueError(mine)

    def broken(tables):
        raise DataError("lost")

    curator = Curator(Spoiled(records, broken), Budget.from_rho(1))
    kept = []
    try:
        outer()
    except ValueError as handled:
        with pytest.raises(DataError):
            curator.measure([female(schema)], rho=RHO)
        kept.append(handled.__traceback__.tb_next.tb_frame.f_locals)
    assert kept[0]["mine"] == "kept"


class LiarError(Exception):
    """Denies that it has a traceback, and is its own cause."""

    @property
    def __traceback__(self):
        return None

    @__traceback__.setter
    def __traceback__(self, value):
        pass


def test_an_exception_that_denies_its_traceback_leaves_no_frames(records, workload):
    raised = []

    def answers_of(threshold):
        raised.append(LiarError())
        raise raised[0]

    curator = Curator(records, Budget.from_rho(1))
    with pytest.raises(LiarError):
        curator.select(workload, answers_of, 1, rho=RHO)
    frames = list(frames_of(raised[0]))
    assert any(frame.f_globals["__name__"].startswith("thresher") for frame in frames)
    assert private_in(frames) == []


class Number(int):
    """A whole number that keeps what it is compared with."""

    seen: list = []  # noqa: RUF012
    __array_ufunc__ = None

    def __le__(self, other):
        self.seen.append(other)
        return np.zeros(len(other), dtype=bool)

    __ge__ = __gt__ = __lt__ = __le__


def test_a_number_does_not_get_to_see_what_it_is_compared_with(records, schema):
    conditions = (Condition("sex", [0]), Condition("job", [1]))
    query = Query.trusted(conditions, Number(1))
    [measured] = Curator(records, Budget.from_rho(10**9)).measure([query], rho=10**8)
    assert Number.seen == []
    assert measured.count == Curator(records, Budget.from_rho(10**9)).measure(
        [Query(conditions, 1)], rho=10**8
    )[0].count  # fmt: skip


def test_a_workload_that_changes_between_two_looks_changes_nothing(records, schema):
    honest = Workload(schema, [Threshold(("town", "job"))])
    hostile = Workload(schema, [Threshold(("town", "job"))])
    asked = []

    def answers_of(threshold):
        asked.append(threshold)
        object.__setattr__(hostile, "thresholds", (Threshold(("sex", "age")),))
        return lambda slab: np.zeros(slab.size)

    Curator(records, Budget.from_rho(1)).select(hostile, answers_of, 1, rho=RHO)
    assert set(asked) == {honest.thresholds[0]}


def test_excluded_ids_are_read_before_the_payment_and_never_again(records, schema):
    workload = Workload(schema, [Threshold(("sex",))])
    excluding = [Number(0)]

    def answers_of(threshold):
        excluding[:] = range(workload.query_count)
        return lambda slab: np.zeros(slab.size)

    chosen = Curator(records, Budget.from_rho(1)).select(
        workload, answers_of, workload.query_count, excluding, rho=RHO
    )
    assert sorted(map(workload.id_of, chosen)) == [*range(1, workload.query_count)]
    assert Number.seen == []


class Name(str):
    """A name that is another feature's whenever it is looked up again."""

    __slots__ = ("looks",)

    def __hash__(self):
        return hash(self._now())

    def __eq__(self, other):
        return self._now() == other

    def _now(self):
        self.looks = getattr(self, "looks", 0) + 1
        return "sex" if self.looks < 6 else "town"


@pytest.mark.parametrize("jointly", [True, False])
def test_a_name_that_changes_is_read_once(jointly, records, schema):
    """Whatever it is taken for, the table has that feature's shape, and is paid for by it."""
    curator = Curator(records, Budget.from_rho(1))
    [measured] = curator.measure([Threshold((Name("sex"),))], rho=RHO, jointly=jointly)
    [name] = measured.threshold.features
    assert type(name) is str
    assert measured.counts.shape == (schema[name].size,)
    cells = 2 if jointly else schema[name].size
    assert measured.sigma**2 == pytest.approx(cells / (2 * RHO))


@pytest.mark.parametrize("wrong", [[Threshold(("sex",))], "sex", None, object()])
def test_only_a_workload_can_be_announced(wrong, records):
    with pytest.raises(ParameterError, match="must be a Workload"):
        Curator(records, Budget.from_rho(1)).will_ask(wrong)


def test_a_workload_of_another_schema_cannot_be_announced(records, schema):
    other = type(schema)([feature for feature in schema if feature.name != "age"])
    with pytest.raises(QueryError, match="another schema"):
        Curator(records, Budget.from_rho(1)).will_ask(Workload(other, [Threshold(("sex",))]))


def test_a_call_within_a_call_is_refused_by_a_journal(records, schema, workload, tmp_path):
    with Journal(tmp_path / "journal", {}) as journal:
        curator = Curator(records, Budget.from_rho(1), journal=journal)
        wall = JournaledCurator(curator, journal)

        def answers_of(threshold):
            wall.measure([female(schema)], rho=RHO)

        with pytest.raises(ParameterError, match="one call at a time"):
            wall.select(workload, answers_of, 1, rho=RHO)
    with Journal(tmp_path / "journal", {}) as journal:
        assert journal.spent == curator.spent == RHO  # paid, and lost


def guess_in(folder, guess, ledger):
    """A journal that nobody fitted from, with the fingerprint of guessed records and its key."""
    key = bytes(KEY_BYTES)
    tie = {"key": key.hex(), "ledger": ledger.identity}
    tie["records"] = fingerprint(CountedTables(guess), key)
    lines = [{"format": "thresher-journal", "about": {}}, {"bound": tie}]
    folder.mkdir()
    (folder / "journal.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_guess_in_a_journal_is_neither_confirmed_nor_refused(records, schema, tmp_path):
    """Whoever held a Curator could write guesses of all counts into journals, and try each.

    A wrong guess was refused and its payment taken back, so an exact count was free.
    """
    columns = [np.array(records.codes(name)) for name in schema.names]
    columns[1][0] ^= 1
    others = Records(schema, columns)
    said = []
    for number, (truth, guess) in enumerate([(records, records), (records, others)]):
        folder = tmp_path / f"{number}"
        ledger = Ledger.create(tmp_path / f"{number}.ledger", Fraction(1))
        curator = Curator(truth, Budget.from_rho(1), ledger)
        guess_in(folder, guess, ledger)
        with (
            Journal(folder, {}) as journal,
            pytest.raises(ParameterError, match="not the journal of the Curator") as caught,
        ):
            JournaledCurator(curator, journal).measure([female(schema)], rho="1/1000000000")
        said.append(str(caught.value))
        assert curator.spent == ledger.spent == 0
        curator.measure([female(schema)], rho=RHO)  # no journal stays behind to refuse it
    assert said[0] == said[1]


def test_a_call_that_failed_after_counting_is_lost_even_if_another_was_taken_back(
    records, schema, workload, tmp_path
):
    fails = []

    def sometimes(tables):
        if fails:
            raise DataError("lost")
        return tables

    with Journal(tmp_path / "journal", {}) as journal:
        curator = Curator(Spoiled(records, sometimes), Budget.from_rho(1), journal=journal)
        wall = JournaledCurator(curator, journal)

        def answers_of(threshold):
            fails.append(True)
            with pytest.raises(DataError):
                curator.measure([Query.where(schema, {"age": 20, "town": "A"})], rho=RHO)
            raise RuntimeError

        with pytest.raises(RuntimeError):
            wall.select(Workload(schema, [Threshold(("sex", "job"))]), answers_of, 1, rho=RHO)
        assert curator.spent == journal.lost + RHO == RHO
    with Journal(tmp_path / "journal", {}) as journal:
        assert journal.spent == RHO


# The ledger.


@pytest.mark.parametrize("number", [0, 2, 3, 4, 99, -1])
def test_only_an_earlier_spend_can_be_taken_back_and_only_once(number, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    first = ledger.spend(RHO, release="one")
    ledger.take_back(first)
    third = ledger.spend(RHO, release="two")
    assert (first, third) == (1, 3)
    if number != third:
        with pytest.raises(LedgerError, match="no spend"):
            ledger.take_back(number)
        assert ledger.spent == RHO


def test_a_ledger_forgets_data_whose_first_spend_was_taken_back(records, schema, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    curator = Curator(records, Budget.from_rho(1), ledger)
    curator.measure([female(schema)], rho=RHO)
    assert list(ledger.read().fingerprints) == [None]
    ledger.take_back(1)
    assert ledger.read().fingerprints == {}
    fewer = Records(schema, [column[1:] for column in records.columns])
    Curator(fewer, Budget.from_rho(1), ledger).measure([female(schema)], rho=RHO)
    assert ledger.spent == RHO


def test_every_line_can_be_cut_anywhere(records, schema, tmp_path):
    """A torn last line is ignored, or counted whole; the ledger is never damaged by it."""
    ledger = Ledger.create(tmp_path / "ledger", Fraction(4))
    Curator(records, Budget.from_rho(1), ledger).measure([female(schema)], rho=RHO)
    ledger.take_back(1)
    ledger.spend(RHO, release="next")
    whole = ledger.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 5
    for cut in range(len(lines[0]), len(whole)):
        ledger.path.write_bytes(whole[:cut])
        ledger.read()
        ledger.spend(RHO, release="after")


def test_data_that_change_while_a_fit_runs_are_noticed(records, schema):
    calls = []

    def later(tables):
        calls.append(1)
        if len(calls) == 1:
            return tables
        first, *others = tables
        moved = np.array(first.counts)
        moved[0] -= 1
        moved[-1] += 1
        return [SparseTable(first.shape, first.cells, moved), *others]

    curator = Curator(Spoiled(records, later), Budget.from_rho(1))
    curator.measure([Threshold(("sex", "job"))], rho=RHO)
    with pytest.raises(DataError, match="changed since they were first counted"):
        curator.measure([Threshold(("sex", "job", "town"))], rho=RHO)
    assert curator.spent == RHO
    assert sys.exception() is None


# What the wall hands out.


def test_a_callback_cannot_change_the_threshold_it_is_asked_about(records, schema):
    exact = exact_answers(records, Threshold(("town", "job")))

    def answers_of(threshold):
        shape = threshold.shape(schema)
        vars(threshold)["features"] = ("age", "sex", "job")
        assert len(shape) == 2

        def within(slab):
            vars(slab)["ranges"] = (range(1),)
            return exact.reshape(-1) / records.n

        return within

    workload = Workload(schema, [Threshold(("town", "job"))])
    [chosen] = Curator(records, Budget.from_rho(1)).select(workload, answers_of, 1, rho=RHO)
    assert chosen.threshold == workload.thresholds[0]


def test_a_callback_that_raises_what_is_being_handled_leaves_no_frames(records, workload):
    curator = Curator(records, Budget.from_rho(1))
    caught = []
    try:
        raise ValueError
    except ValueError as handled:

        def answers_of(threshold, again=handled):
            raise again

        try:
            curator.select(workload, answers_of, 1, rho=RHO)
        except ValueError as fault:
            caught.append(fault)
    frames = list(frames_of(caught[0]))
    assert any(frame.f_globals["__name__"].startswith("thresher") for frame in frames)
    assert private_in(frames) == []


def test_no_worker_keeps_scores_when_several_fail(records, monkeypatch):
    monkeypatch.setattr("thresher.privacy.scores.WORTH_SHARING", 0)
    monkeypatch.setenv("THRESHER_CORES", "2")
    raised = []

    def answers_of(threshold):
        raised.append(RuntimeError())
        raise raised[-1]

    work = Workload(records.schema, [Threshold((name,)) for name in records.schema.names])
    with pytest.raises(RuntimeError):
        Curator(records, Budget.from_rho(1)).select(work, answers_of, 1, rho=RHO)
    assert private_in(frame for fault in raised for frame in frames_of(fault)) == []


def test_a_callback_cannot_end_a_loop_of_the_wall(records, workload):
    def answers_of(threshold):
        raise StopIteration

    with pytest.raises(ParameterError, match="StopIteration"):
        Curator(records, Budget.from_rho(1)).select(workload, answers_of, 1, rho=RHO)


def test_what_is_handed_out_cannot_be_turned_against_the_wall(records, schema):
    budget = Budget.from_rho(1)
    curator = Curator(records, budget, unit=Unit("add-remove"))
    curator.measure_total(rho=RHO)
    n = curator.n
    for handed in (budget, curator.budget):
        vars(handed)["rho"] = Fraction(1000)
    vars(curator.unit)["neighbours"] = "replace"
    vars(curator.measured_total)["n"] = 2**60
    assert (curator.budget.rho, curator.unit.neighbours, curator.n) == (1, "add-remove", n)
    with pytest.raises(BudgetError):
        curator.measure([female(schema)], rho=2)


# Processes.


def in_a_child(work):
    """What a forked process says, and nothing else of it."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as fault:
            said = type(fault).__name__
        os.write(write_end, said.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork while there are threads
def test_a_forked_process_does_not_spend_a_copy_of_the_account(records, schema):
    curator = Curator(records, Budget.from_rho(1))
    asked = in_a_child(lambda: repr(curator.measure([female(schema)], rho=1)))
    assert asked == "ParameterError"
    curator.measure([female(schema)], rho=1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_callback_does_not_come_back_with_a_draw(records, schema):
    """It forks after the payment: the child has the scores, too, and would draw once more."""

    def attack():
        curator, parent = Curator(records, Budget.from_rho(1)), os.getpid()

        def answers_of(threshold):
            if os.getpid() == parent and os.fork():
                os.wait()
            return lambda slab: np.zeros(slab.size)

        try:
            curator.select(Workload(schema, [Threshold(("town",))]), answers_of, 1, rho=RHO)
            said = "drawn "
        except ParameterError:
            said = "refused "
        if os.getpid() != parent:
            os.write(write_end, said.encode())
            os._exit(0)
        return said

    read_end, write_end = os.pipe()
    assert in_a_child(attack) == "drawn "
    os.close(write_end)
    with os.fdopen(read_end) as told:
        assert set(told.read().split()) == {"refused"}


# Persons.


VISITS = Schema([IntegerRange(name="value", low=0, high=9, nulls=0)])


def visits_of(rows, **options):
    return read(pd.DataFrame(rows, columns=["who", "value"]), VISITS, person="who", **options)


def test_equal_rows_of_a_person_are_kept_as_often_as_others():
    """Nine rows of 3 and one of 7 for each of 2,000: a tenth of the kept rows is 7.

    A false alarm (four standard deviations) has a chance below 1e-4, had the ids not been fixed.
    """
    data = visits_of([(f"p{i}", 7 if j == 0 else 3) for i in range(2000) for j in range(10)])
    for most in (1, 2, 5):
        kept = kept_rows(data, Unit(person="who", rows_per_person=most))
        [table] = kept.counts([("value",)])
        share = table.counts[list(table.cells).index(7)] / table.total
        assert abs(share - 0.1) < 4 * (0.09 / (2000 * most)) ** 0.5


def test_no_private_number_of_persons_is_refused():
    data = visits_of([(f"p{i}", 1) for i in range(6000)])
    unit = Unit("add-remove", "who", 16)
    assert Curator(data, Budget.from_rho(1), unit=unit).measured_total is None


@pytest.mark.parametrize(
    "ids",
    [
        ("é", "e\u0301"),
        ("a\u200bb", "ab"),
        ("a  b", "a\xa0b"),
        ("007", "7"),
        ("１", "1"),
        ("A", "a"),
    ],
)
def test_ids_that_look_alike_are_refused_unless_told_apart(ids):
    with pytest.raises(DataError, match="differ only in"):
        visits_of([(who, 1) for who in ids])
    assert visits_of([(who, 1) for who in ids], case_sensitive_ids=True).persons == 2


def test_long_decimal_ids_stay_apart():
    long = pa.array(["12345678901234567890", "12345678901234567891"]).cast(pa.decimal128(38, 2))
    assert read(pa.table({"who": long, "value": [1, 1]}), VISITS, person="who").persons == 2


def test_the_fingerprint_knows_whose_rows_are_whose():
    unit = Unit(person="who", rows_per_person=2)
    apart, together = ([("a", 1), (other, 1), ("c", 1)] for other in "ba")
    said = {fingerprint(CountedTables(visits_of(x), unit), b"key") for x in (apart, together)}
    assert len(said) == 2


# Bookkeeping.


@pytest.mark.parametrize("period", [2024, "", b"2024"])
def test_a_period_is_a_name(period, records):
    with pytest.raises(ParameterError, match="period must be a name"):
        Curator(records, Budget.from_rho(1), period=period)


def test_a_fingerprint_that_another_spend_relies_on_stays(records, schema, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", Fraction(1))
    for _ in range(2):
        Curator(records, Budget.from_rho(1), ledger).measure([female(schema)], rho=RHO)
    known = ledger.read().fingerprints
    ledger.take_back(1)
    assert ledger.read().fingerprints == known


def test_refused_calls_do_not_make_later_ones_dearer(records, schema, tmp_path):
    with Journal(tmp_path / "journal", {}) as journal:
        curator = Curator(records, Budget.from_rho(1), journal=journal)
        wall = JournaledCurator(curator, journal)
        for _ in range(3):
            with pytest.raises(ParameterError):
                wall.measure([], rho="1/10")
        wall.measure([female(schema)], rho="1/100")
        assert curator.spent == Fraction(1, 100)


# Lists of answers.


class Shared:
    """Says that it has copied its memory, and has not."""

    def __init__(self, memory):
        self.memory = memory

    def __array__(self, dtype=None, copy=None):
        return self.memory


def test_what_is_read_from_a_caller_shares_no_memory():
    shares, cells = np.full(4, 0.5, dtype=np.float32), np.arange(4)
    assert not np.shares_memory(_numbers("answers", Shared(shares), 4), shares)

    class Source:
        def __call__(self, slab):
            return shares

        def at(self, places):
            return shares

        def listed(self, least):
            return ListedAnswers(Shared(cells), Shared(shares))

    threshold = Threshold(("town",))
    listed = public_list(threshold, guarded(lambda _: Source(), "answers_of")(threshold), 4, 10)
    assert not np.shares_memory(listed.cells, cells)


@pytest.mark.parametrize("cells", [[1.7], [True], "1", [[0]], [np.nan], [2**70], None])
def test_a_list_of_anything_but_cells_is_refused(cells):
    class Source:
        def __call__(self, slab):
            return [0.5]

        def at(self, places):
            return [0.5]

        def listed(self, least):
            return ListedAnswers(cells, [0.5])

    answers = guarded(lambda _: Source(), "answers_of")(Threshold(("town",)))
    with pytest.raises(ParameterError, match="must list whole numbers"):
        answers.listed(0.1)


class Stop:
    @property
    def __class__(self):
        raise StopIteration


def test_an_object_without_a_class_ends_no_loop_and_mixes_no_tables(records, schema):
    workload = Workload(schema, [Threshold(("sex", "job")), Threshold(("town", "job"))])

    def answers_of(threshold):
        is_second = "town" in threshold.features
        return Stop() if is_second else lambda slab: np.zeros(slab.shape)

    with pytest.raises(ParameterError, match="StopIteration"):
        Curator(records, Budget.from_rho(1)).select(workload, answers_of, 1, rho=RHO)


def test_a_schema_that_is_changed_meanwhile_changes_nothing(records, schema):
    mine = Records(Schema(list(schema)), records.columns)
    curator = Curator(mine, Budget.from_rho(1))
    features, asked = mine.schema.features, []

    def answers_of(threshold):
        object.__setattr__(curator.schema, "features", features[:1])

        def within(slab):
            asked.append(slab.size)
            return np.zeros(slab.size)

        return within

    [chosen] = curator.select(
        Workload(mine.schema, [Threshold(("town", "job"))]), answers_of, 1, rho=RHO
    )
    assert set(asked) == {12}
    chosen.check(schema)


class Less(Fraction):
    """A number that is never too large, and leaves any amount behind it."""

    def __gt__(self, other):
        return False

    def __lt__(self, other):
        return False

    def __rsub__(self, other):
        return Fraction(-(10**12))


def test_a_part_is_the_number_that_it_is(records, schema):
    budget = Budget.from_rho("1/100", is_gaussian=True)
    curator, tables = Curator(records, budget), [Threshold(("sex",)), Threshold(("job",))]

    def nothing(threshold):
        return np.zeros(threshold.shape(schema))

    with (
        curator.part(Less(1, 200)),
        pytest.raises(BudgetError, match="must leave some of the budget"),
    ):
        curator.select_table(tables, nothing, [0, 0], rho=Fraction(1, 200))
    with pytest.raises(BudgetError, match="budget exceeded"), curator.part(Less(1)):
        pass
    with pytest.raises(BudgetError, match="must be a finite number"), curator.part(float("nan")):
        pass
    assert curator.spent == 0


@pytest.mark.parametrize("is_gaussian", [False, True])
def test_no_fit_spends_more_than_its_part(is_gaussian, records, schema):
    curator = Curator(records, Budget.from_rho(1, is_gaussian=is_gaussian))
    tables = [Threshold(("sex",))]
    with curator.part(Fraction(1, 4)):
        with pytest.raises(BudgetError, match=r"requested rho=0\.5, remaining 0\.25"):
            curator.measure(tables, rho="1/2")
        curator.measure(tables, rho="1/4")
    with curator.part(Fraction(0)), pytest.raises(BudgetError, match="remaining 0,"):
        curator.measure(tables, rho="1/4")
    curator.measure(tables, rho="3/4")
    assert curator.remaining == 0
