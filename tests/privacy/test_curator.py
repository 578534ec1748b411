"""The front door: it pays before it looks, tells what was paid for, and nothing else."""

import copy
import gc
import math
import pickle
import traceback
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import thresher as th
import thresher.privacy.scores
from thresher.data.exact import exact_answers
from thresher.data.records import Records
from thresher.errors import (
    BudgetError,
    LedgerError,
    ParameterError,
    QueryError,
    ResourceError,
    ThresherError,
)
from thresher.privacy import (
    Budget,
    Curator,
    InsecureSeededRandomness,
    Ledger,
    QueryMeasurement,
    SystemRandomness,
)
from thresher.queries import Condition, Query, Threshold, Workload
from thresher.schema import Schema
from thresher.schema.features import Categorical, IntegerRange

FALSE_ALARM = 1e-7
"""The chance that a correct wall would fail one statistical test, had its seed not been fixed."""

SCHEMA = Schema(
    (
        Categorical(name="sex", categories=("F", "M"), outside="M", nulls="M"),
        Categorical(name="race", categories=("A", "B", "C"), outside="C", nulls="C"),
        IntegerRange(name="age", low=0, high=4999, nulls=0),
        IntegerRange(name="income", low=0, high=4999, nulls=0),
        IntegerRange(name="rent", low=0, high=4999, nulls=0),
    )
)
N = 7919
FEMALES = 4409  # a count that no message may show
SMALL = Workload(SCHEMA, [Threshold(("sex",)), Threshold(("sex", "race"), 1)])
TABLE = Threshold(("sex", "race"))
FEMALE = Query.where(SCHEMA, {"sex": "F"})
HUGE = Threshold(("age", "income", "rent"))


def columns() -> list[np.ndarray]:
    source = np.random.default_rng(0)
    sex = (np.arange(N) >= FEMALES).astype(np.uint8)
    race = source.integers(0, 3, N).astype(np.uint8)
    return [sex, race, *(source.integers(0, 5000, N).astype(np.uint16) for _ in range(3))]


RECORDS = Records(SCHEMA, columns())


class Watched(Records):
    """Records that note every look at them, and what `on_look` says at that moment."""

    def __init__(self) -> None:
        super().__init__(SCHEMA, columns())
        object.__setattr__(self, "looks", [])
        object.__setattr__(self, "on_look", lambda: None)

    @property
    def n(self) -> int:
        return N

    def __getattribute__(self, name: str) -> object:
        if name in ("codes", "columns") and "on_look" in object.__getattribute__(self, "__dict__"):
            self.looks.append(self.on_look())
        return super().__getattribute__(name)


def curator_of(records=RECORDS, rho="1", seed=0, **options) -> Curator:
    randomness = InsecureSeededRandomness(seed)
    curator = Curator(records, Budget.from_rho(rho), randomness=randomness, **options)
    if isinstance(records, Watched):
        records.looks.clear()  # for the fingerprint, which the ledger keeps and nobody sees
    return curator


def zeros(_):
    return lambda slab: np.zeros(slab.shape)


def verbs(curator, rho):
    """Every way to spend."""
    return [
        lambda: curator.select(SMALL, zeros, 2, rho=rho),
        lambda: curator.measure([FEMALE], rho=rho),
        lambda: curator.measure([TABLE], rho=rho),
        lambda: curator.measure([SMALL[1]], rho=rho, jointly=False),
    ]


# What it spends.


@given(parts=st.lists(st.fractions(Fraction(1, 997), Fraction(3, 7)), min_size=1, max_size=5))
def test_it_spends_what_it_was_asked_to_spend(parts):
    curator = curator_of(rho=sum(parts))
    for i, part in enumerate(parts):
        verbs(curator, part)[i % 4]()
    assert curator.spent == sum(parts)
    assert curator.remaining == 0
    with pytest.raises(BudgetError, match="requested"):
        curator.measure([FEMALE], rho=Fraction(1, 10**20))


def test_the_ledger_says_the_same_as_the_account(tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(3))
    curator = curator_of(rho="10/11", ledger=ledger, release="spring")
    asked = [Fraction(1, 11), "3/11", 0.1, Fraction(1, 7)]
    for verb, rho in enumerate(asked):
        verbs(curator, rho)[verb]()
    assert curator.spent == ledger.spent == Fraction(4, 11) + Fraction(0.1) + Fraction(1, 7)
    assert [entry.rho for entry in ledger.entries] == [Fraction(rho) for rho in asked]
    assert {entry.release for entry in ledger.entries} == {"spring"}


def test_an_eleventh_can_be_spent_eleven_times_and_not_twelve():
    curator = curator_of(rho=1)
    for _ in range(11):
        curator.measure([FEMALE], rho="1/11")
    with pytest.raises(BudgetError):
        curator.measure([FEMALE], rho="1/11")


# It pays before it looks.


@pytest.mark.parametrize("verb", range(4))
def test_a_refused_payment_leaves_the_records_untouched(verb, tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(1, 2))
    for options, rho in (({}, 2), ({"ledger": ledger}, Fraction(3, 4)), ({"ledger": ledger}, 2)):
        records = Watched()
        curator = curator_of(records, **options)
        with pytest.raises(BudgetError):
            verbs(curator, rho)[verb]()
        assert records.looks == []
        assert curator.spent == 0
    assert ledger.spent == 0


@pytest.mark.parametrize("verb", range(4))
def test_a_broken_ledger_leaves_the_records_untouched(verb, tmp_path):
    (tmp_path / "l").write_text("not a ledger\n")
    with pytest.raises(LedgerError):
        curator_of(ledger=Ledger(tmp_path / "l"))
    (tmp_path / "l").unlink()
    records = Watched()
    curator = curator_of(records, ledger=Ledger.create(tmp_path / "l", Fraction(1)))
    (tmp_path / "l").write_text("not a ledger any more\n")
    with pytest.raises(LedgerError):
        verbs(curator, "1/2")[verb]()
    assert records.looks == []
    assert curator.spent == 0


@pytest.mark.parametrize("verb", range(4))
def test_the_ledger_has_it_on_disk_before_the_records_are_touched(verb, tmp_path):
    path = tmp_path / "l"
    Ledger.create(path, Fraction(1))
    records = Watched()
    object.__setattr__(records, "on_look", lambda: Ledger.open(path).spent)
    curator = curator_of(records, ledger=Ledger.open(path))
    verbs(curator, "1/3")[verb]()
    assert records.looks
    assert set(records.looks) == {Fraction(1, 3)}


def test_what_was_paid_stays_paid_when_the_work_fails():
    def broken(_):
        raise RuntimeError("no answers today")

    curator = curator_of()
    with pytest.raises(RuntimeError):
        curator.select(SMALL, broken, 1, rho="1/4")
    assert curator.spent == Fraction(1, 4)


OTHER = Schema((Categorical(name="sex", categories=("M", "F"), outside="M", nulls="M"),))
WRONG = {
    "no rho": (lambda c: c.measure([FEMALE], rho=0), BudgetError),
    "negative rho": (lambda c: c.select(SMALL, zeros, 1, rho=-1), BudgetError),
    "rho not a number": (lambda c: c.measure([TABLE], rho=math.nan), BudgetError),
    "rho not a number, selecting": (lambda c: c.select(SMALL, zeros, 1, rho=math.nan), BudgetError),
    "endless rho": (lambda c: c.measure([FEMALE], rho=math.inf), BudgetError),
    "too much noise": (lambda c: c.measure([FEMALE], rho=Fraction(1, 2**90)), ParameterError),
    "nothing": (lambda c: c.measure([], rho=1), ParameterError),
    "no query": (lambda c: c.measure(["sex=F"], rho=1), ParameterError),
    "unknown feature": (lambda c: c.measure([Threshold(("shoe",))], rho=1), QueryError),
    "unknown feature in a query": (
        lambda c: c.measure([Query((Condition("shoe", (0,)),))], rho=1),
        QueryError,
    ),
    "unknown value": (lambda c: c.measure([Query((Condition("sex", (2,)),))], rho=1), QueryError),
    "a right and a wrong": (
        lambda c: c.measure([FEMALE, Query((Condition("sex", (2,)),))], rho=1),
        QueryError,
    ),
    "r of k as one table": (lambda c: c.measure([SMALL[1]], rho=1), QueryError),
    "too large a table": (lambda c: c.measure([HUGE], rho=1), ResourceError),
    "too large a table, cell by cell": (
        lambda c: c.measure([HUGE], rho=1, jointly=False),
        ResourceError,
    ),
    "another schema": (
        lambda c: c.select(Workload(OTHER, [Threshold(("sex",))]), zeros, 1, rho=1),
        QueryError,
    ),
    "choose none": (lambda c: c.select(SMALL, zeros, 0, rho=1), ParameterError),
    "choose a half": (lambda c: c.select(SMALL, zeros, 1.5, rho=1), ParameterError),
    "excluding an id below all": (lambda c: c.select(SMALL, zeros, 1, [-1], rho=1), QueryError),
    "excluding an id above all": (
        lambda c: c.select(SMALL, zeros, 1, [SMALL.query_count], rho=1),
        QueryError,
    ),
    "excluding a text": (lambda c: c.select(SMALL, zeros, 1, ["0"], rho=1), ParameterError),
    "excluding a truth": (lambda c: c.select(SMALL, zeros, 1, [True], rho=1), ParameterError),
    "excluding a fraction": (lambda c: c.select(SMALL, zeros, 1, [0.0], rho=1), ParameterError),
    "excluding a stranger": (
        lambda c: c.select(SMALL, zeros, 1, [Query.where(SCHEMA, {"race": "A"})], rho=1),
        QueryError,
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_request_is_refused_before_it_is_paid(wrong, tmp_path):
    request, error = WRONG[wrong]
    ledger = Ledger.create(tmp_path / "l", Fraction(1))
    records = Watched()
    curator = curator_of(records, ledger=ledger)
    with pytest.raises(error):
        request(curator)
    assert curator.spent == ledger.spent == 0
    assert records.looks == []


# Nothing but the two verbs tells about the records.


def test_it_shows_n_and_the_schema_and_no_counts():
    curator = curator_of()
    curator.measure([TABLE], rho="1/2")
    assert curator.n == N
    assert curator.schema == SCHEMA
    shown = "Curator(7919 records, rho 0.5 of 1 spent)"
    assert repr(curator) == str(curator) == shown


def test_it_is_neither_copied_nor_pickled():
    curator = curator_of()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="private records"):
            attempt(curator)
    with pytest.raises(TypeError):
        vars(curator)


def reachable(root: object, depth: int = 4) -> list[object]:
    """Everything that plain attributes lead to, private ones included."""
    found, frontier = [root], [root]
    for _ in range(depth):
        following = []
        for item in frontier:
            names = [name for name in dir(item) if not name.startswith("__")]
            for name in names:
                value = getattr(item, name, None)
                if type(value).__module__.startswith("thresher") and not any(
                    value is seen for seen in found
                ):
                    following.append(value)
                found.append(value)
        frontier = following
    return found


def test_no_attribute_hands_out_records_or_counts(tmp_path):
    curator = curator_of(ledger=Ledger.create(tmp_path / "l", Fraction(1)))
    for verb in verbs(curator, "1/8"):
        verb()
    values = reachable(curator)
    assert len(values) > 50
    for value in values:
        assert not isinstance(value, Records)
        # The one array there is describes the schema.
        assert not isinstance(value, np.ndarray) or value is SCHEMA.offsets
    assert not [name for name in dir(curator) if "record" in name.lower()]


def test_records_are_let_go_with_their_curator():
    records = Records(SCHEMA, columns())
    gone = weakref.ref(records)
    curator = curator_of(records)
    curator.measure([FEMALE], rho="1/2")
    del records, curator
    gc.collect()
    assert gone() is None


def faults():
    """Calls that fail after the payment, while the records are being looked at."""

    def short(_):
        return lambda slab: np.zeros(1)

    def not_numbers(_):
        return lambda slab: np.full(slab.shape, np.nan)

    def raising(_):
        def answers(slab):
            raise ArithmeticError("no answers")

        return answers

    changing = iter(np.linspace(0, 1, 100).tolist())

    class Dry(InsecureSeededRandomness):
        def words(self, count):
            raise OSError("no randomness left")

    for answers in (
        short,
        not_numbers,
        raising,
        lambda _: lambda s: np.full(s.shape, next(changing)),
    ):
        yield lambda a=answers: curator_of().select(SMALL, a, 1, rho="1/2")
    for verb in range(4):
        dry = Curator(RECORDS, Budget.from_rho(1), randomness=Dry(0))
        yield lambda v=verb, c=dry: verbs(c, "1/2")[v]()


def test_no_message_holds_a_private_value(tmp_path):
    ledger = Ledger.create(tmp_path / "l", Fraction(1, 10))
    calls = [lambda request=request: request(curator_of()) for request, _ in WRONG.values()]
    calls += verbs(curator_of(ledger=ledger), 1)
    calls += [lambda: pickle.dumps(curator_of()), *faults()]
    for call in calls:
        with pytest.raises((ThresherError, TypeError, OSError, ArithmeticError)) as caught:
            call()
        text = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        for canary in (FEMALES, N - FEMALES):
            assert str(canary) not in text


@pytest.mark.parametrize("females", [0, 1, 2])
def test_public_answers_that_are_no_answers_fail_alike_whatever_the_records(females):
    # Had not-a-number become a score, an empty cell would have been dropped without a word and
    # any other would have raised: one bit about the records, without noise.
    records = Records(
        SCHEMA,
        [np.array([0] * females + [1] * (2 - females), dtype=np.uint8)]
        + [np.zeros(2, dtype=np.uint16) for _ in range(4)],
    )
    workload = Workload(SCHEMA, [Threshold(("sex",))])
    for answers in (np.array([np.nan, 0.5]), np.array([0.5]), np.zeros(3)):
        with pytest.raises(ParameterError, match="must give a number for each query"):
            curator_of(records).select(workload, lambda _, a=answers: lambda slab: a, 1, rho=1)


def test_public_answers_that_change_between_looks_are_refused():
    values = iter(np.linspace(0, 1, 100).tolist())
    with pytest.raises(ParameterError, match="the same answers every time"):
        curator_of().select(SMALL, lambda _: lambda s: np.full(s.shape, next(values)), 1, rho=1)


# Selecting.


def test_what_is_excluded_is_never_chosen_again():
    curator, chosen = curator_of(rho=100), []
    for _ in range(SMALL.query_count):
        chosen += curator.select(SMALL, zeros, 1, chosen, rho="1/100")
    assert sorted(SMALL.id_of(query) for query in chosen) == list(range(SMALL.query_count))
    spent = curator.spent
    with pytest.raises(ParameterError, match="no query left"):
        curator.select(SMALL, zeros, 1, chosen, rho="1/100")
    assert curator.spent == spent


@pytest.mark.parametrize("kind", [int, np.int64, np.uint16])
def test_a_query_is_excluded_by_its_id_as_by_itself(kind):
    for excluded in ([], [3], [5, 0, 5], range(SMALL.query_count - 1)):
        by_query = curator_of(seed=4).select(
            SMALL, zeros, 3, [SMALL.query(i) for i in excluded], rho="1/100"
        )
        by_id = curator_of(seed=4).select(SMALL, zeros, 3, [*map(kind, excluded)], rho="1/100")
        assert by_id == by_query
        assert not {*map(SMALL.id_of, by_id)} & {*excluded}


def test_a_workload_too_large_to_look_at_is_refused_before_it_is_paid():
    features = [IntegerRange(name=f"f{i}", low=0, high=999, nulls=0) for i in range(6)]
    schema = Schema(features)
    records = Records(schema, [np.zeros(3, dtype=np.uint16)] * 6)
    curator = curator_of(records)
    with pytest.raises(ResourceError, match="max_queries"):
        curator.select(Workload.all(schema, 6), zeros, 1, rho="1/100")
    assert curator.spent == 0


def test_more_than_are_left_means_all_that_are_left():
    every = [SMALL.query(i) for i in range(SMALL.query_count)]
    for excluded in (0, 3, SMALL.query_count - 1):
        chosen = curator_of().select(SMALL, zeros, 10**6, every[:excluded], rho="1/2")
        assert sorted(map(SMALL.id_of, chosen)) == list(range(excluded, SMALL.query_count))


def test_a_workload_of_one_query():
    schema = Schema((Categorical(name="only", categories=("x",), outside="x", nulls="x"),))
    records = Records(schema, [np.zeros(3, dtype=np.uint8)])
    workload = Workload(schema, [Threshold(("only",))])
    assert curator_of(records).select(workload, zeros, 1, rho="1/9") == [workload.query(0)]


def test_with_a_large_budget_the_worst_answered_query_is_chosen():
    # Only "sex=F" is answered wrongly: the truth, but for 200 people too many.
    truth = {t: exact_answers(RECORDS, t) / N for t in SMALL}
    truth[SMALL[0]][0] += 200 / N
    chosen = curator_of().select(
        SMALL, lambda t: lambda slab: truth[t].reshape(slab.shape), 1, rho=1
    )
    assert chosen == [FEMALE]


def test_selecting_across_slabs_is_the_same(monkeypatch):
    honest = thresher.privacy.scores.slabs_of
    whole = curator_of(seed=3).select(SMALL, zeros, 5, rho="1/1000")
    monkeypatch.setattr(thresher.privacy.scores, "slabs_of", lambda shape: honest(shape, 1))
    assert curator_of(seed=3).select(SMALL, zeros, 5, rho="1/1000") == whole


# Measuring.


def sixes(count: int) -> list[Query]:
    return [Query.where(SCHEMA, {"age": range(i, i + 6)}) for i in range(count)]


@pytest.mark.parametrize("rho", [Fraction(1, 3), Fraction(7), Fraction(1, 10**4)])
def test_the_noise_is_as_large_as_the_budget_says(rho):
    curator = curator_of(rho=10 * rho)
    for count in (1, 2, 17):
        for measured in curator.measure(sixes(count), rho=rho):
            assert measured.sigma == pytest.approx(math.sqrt(count / (2 * rho)), rel=1e-12)
    tables = [Threshold(("sex",)), TABLE, Threshold(("race", "sex", "age"))]
    for measured in curator.measure(tables, rho=rho):
        assert measured.sigma == pytest.approx(math.sqrt(2 * len(tables) / (2 * rho)), rel=1e-12)
    [alone] = curator.measure([SMALL[1]], rho=rho, jointly=False)
    assert alone.sigma == pytest.approx(math.sqrt(6 / (2 * rho)), rel=1e-12)
    for measured in curator.measure([FEMALE, TABLE], rho=rho):
        assert measured.sigma == pytest.approx(math.sqrt(3 / (2 * rho)), rel=1e-12)


def test_an_iterator_is_measured_as_the_list_it_stands_for():
    measured = curator_of(seed=5).measure(iter([FEMALE, *sixes(2)]), rho=1)
    listed = curator_of(seed=5).measure([FEMALE, *sixes(2)], rho=1)
    assert measured == listed


def test_measurements_have_the_shape_of_what_was_asked():
    query, table = curator_of().measure([FEMALE, TABLE], rho=1)
    assert isinstance(query, QueryMeasurement)
    assert (query.query, type(query.count), query.n) == (FEMALE, int, N)
    assert (table.threshold, table.counts.shape) == (TABLE, (2, 3))
    assert table.counts.dtype == np.int64
    assert np.array_equal(table.answers, table.counts / N)


def check_noise(noise: np.ndarray, sigma: float) -> None:
    """Chi-square against the discrete Gaussian, with cells of at least 20 expected draws."""
    reach = math.ceil(8 * sigma)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    chances = weights / weights.sum()
    edge = reach - int(np.flatnonzero(chances * noise.size >= 20)[0])
    seen = np.bincount(np.clip(noise, -edge, edge) + edge, minlength=2 * edge + 1)
    expected = chances[reach - edge : reach + edge + 1].copy()
    expected[0] += chances[: reach - edge].sum()
    expected[-1] += chances[reach + edge + 1 :].sum()
    assert stats.chisquare(seen, expected * noise.size).pvalue > FALSE_ALARM


def test_noisy_counts_lie_around_the_truth_as_they_should():
    threshold = Threshold(("age", "sex", "race"))
    truth = exact_answers(RECORDS, threshold)
    joint, sole = Fraction(1, 4), Fraction(truth.size, 8)
    [table] = curator_of(rho=joint).measure([threshold], rho=joint)
    assert table.sigma == 2
    check_noise((table.counts - truth).ravel(), 2.0)
    [cells] = curator_of(rho=sole).measure([threshold], rho=sole, jointly=False)
    assert cells.sigma == 2
    check_noise((cells.counts - truth).ravel(), 2.0)
    # The test can fail: the same noise is not that of another σ, nor around another truth.
    for wrong, sigma in ((table.counts - truth, 1.9), (table.counts - truth + 1, 2.0)):
        with pytest.raises(AssertionError):
            check_noise(wrong.ravel(), sigma)


def test_noisy_answers_to_queries_lie_around_the_truth_as_they_should():
    queries = sixes(3000)
    measured = curator_of(rho=1000, seed=4).measure(queries, rho=Fraction(3000, 18))
    ages = np.bincount(RECORDS.codes("age"), minlength=5000)
    truth = np.convolve(ages, np.ones(6, dtype=np.int64), "valid")[:3000]
    assert measured[0].sigma == 3
    check_noise(np.array([m.count for m in measured]) - truth, 3.0)


def test_every_cell_and_every_call_has_noise_of_its_own():
    # 2·10⁴ pairs of independent draws: the correlation's standard deviation is 0.007.
    threshold = Threshold(("age", "sex", "race"))
    truth = exact_answers(RECORDS, threshold)
    curator = curator_of(rho=10)
    first, second = (
        (curator.measure([threshold], rho="1/100")[0].counts - truth).ravel() for _ in range(2)
    )
    limit = stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(first.size - 1)
    assert abs(np.corrcoef(first, second)[0, 1]) < limit
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < limit


# Randomness.


def test_noise_comes_from_the_operating_system_unless_told_otherwise(monkeypatch):
    asked = []
    honest = SystemRandomness.words
    monkeypatch.setattr(
        SystemRandomness, "words", lambda self, count: asked.append(count) or honest(self, count)
    )
    curator = Curator(RECORDS, Budget.from_rho(1))
    assert curator.is_secure
    assert asked == []
    for verb in verbs(curator, "1/4"):
        before = len(asked)
        verb()
        assert len(asked) > before
    assert not curator_of().is_secure


def test_two_curators_do_not_share_their_noise():
    first, second = (
        Curator(RECORDS, Budget.from_rho(1)).measure([Threshold(("age",))], rho="1/1000")
        for _ in range(2)
    )
    # 5,000 cells of σ ≈ 32: all alike would be a chance below 10⁻⁹⁰⁰⁰.
    assert not np.array_equal(first[0].counts, second[0].counts)


def test_views_of_columns_that_are_too_large_to_count_together_cost_no_other_call():
    """Such a set failed in every pass, after every payment."""
    wide = th.Schema(th.IntegerRange(name=f"f{i}", low=0, high=9999, nulls=0) for i in range(6))
    wide = wide.with_views(th.View.at_cuts(wide[f"f{i}"], f"v{i}", [5000]) for i in range(6))
    data = Records(wide, [np.arange(50, dtype=np.uint16)] * 6)
    curator = th.Curator(data, th.Budget.from_rho(1))
    curator.will_ask(th.Workload(wide, [th.Threshold([f"v{i}" for i in range(6)])]))
    [one] = curator.measure([th.Threshold(("f0",))], rho="1/2")
    assert one.counts.shape == (10_000,)


def test_a_view_of_the_same_name_with_other_groups_is_refused(records):
    """The schemas' fingerprints are equal, and the answer was about other people."""
    plain = records.schema
    name = plain.names[0]
    ours, theirs = (
        plain.with_views([th.View.at_cuts(plain[name], "group", [plain[name].labels[i]])])
        for i in (1, 2)
    )
    curator = th.Curator(records, th.Budget.from_rho(1), views=ours.views)
    curator.will_ask(th.Workload(ours, [th.Threshold(("group",))]))
    with pytest.raises(th.QueryError, match="another view 'group' than the records"):
        curator.will_ask(th.Workload(theirs, [th.Threshold(("group",))]))
