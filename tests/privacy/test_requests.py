"""Whatever is asked: a call raises before it pays, or returns; never by what is in the records."""

import traceback
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import thresher.privacy.scores
from thresher.data.records import Records
from thresher.errors import BudgetError, ParameterError, ResourceError, ThresherError
from thresher.privacy import Budget, Curator, InsecureSeededRandomness
from thresher.privacy.requests import Measure
from thresher.privacy.residuals import MeasureResiduals
from thresher.privacy.unit import Unit
from thresher.queries import Condition, Query, Threshold, Workload
from thresher.schema import IntegerRange, Schema, View
from thresher.schema.features import Categorical
from thresher.tables import slabs_of
from thresher.tables.listing import Same


def feature(name, size):
    values = tuple(f"{name}{i}" for i in range(size))
    return Categorical(name=name, categories=values, outside=values[0], nulls=values[0])


SCHEMA = Schema((feature("a", 2), feature("b", 3)))
OTHER = Schema((feature("a", 3),))
TABLES = [Threshold(("a",)), Threshold(("b",)), Threshold(("a", "b")), Threshold(("b", "a"), 1)]
QUERIES = [Query.where(SCHEMA, {"a": "a0"}), Query.where(SCHEMA, {"a": "a1", "b": "b2"})]
N = 4
PEOPLE = [
    [(0, 0), (0, 0), (0, 0), (0, 0)],
    [(1, 2), (0, 0), (0, 0), (0, 0)],
    [(0, 1), (1, 0), (1, 2), (0, 2)],
    [(1, 2), (1, 2), (1, 2), (1, 2)],
]


def curator_of(people, rho=1, seed=0):
    columns = [np.array(column, dtype=np.uint8) for column in zip(*people, strict=True)]
    return Curator(
        Records(SCHEMA, columns), Budget.from_rho(rho), randomness=InsecureSeededRandomness(seed)
    )


def always(value):
    return lambda _: lambda slab: np.full(slab.shape, value)


def raising(_):
    raise ArithmeticError("no answers today")


# The fault of the first build, and its class.


@pytest.mark.parametrize("mid", range(-1, N + 1))
def test_a_handicap_does_not_tell_a_count(mid):
    """The scores were added to the handicap and raised beyond 2^61: iff a count was above `mid`."""
    for people in PEOPLE:
        curator = curator_of(people)
        with pytest.raises(ParameterError, match="handicaps must be whole numbers"):
            curator.select_table([TABLES[0]], always(0.0), [-(2**61 - mid)], rho="1/1000")
        assert curator.spent == 0


@pytest.mark.parametrize("handicap", [499, 500, 501, 502, 503, 525, 526, 527, 528])
def test_a_rounding_error_does_not_tell_a_count(handicap):
    """With `np.seterr(under="raise")`, exp(-rate·gap) raised if and only if the gap was wide."""
    for people in PEOPLE:
        with np.errstate(all="raise"):
            curator_of(people).select_table(TABLES[:2], always(0.0), [0, handicap], rho=1)


class Fickle(int):
    """A number that is small when it is looked at first, and large ever after."""

    looks = 0

    def __int__(self):
        self.looks += 1
        return 0 if self.looks == 1 else 2**61

    __index__ = __abs__ = __int__


class Modest(Threshold):
    """A threshold that calls its table smaller than it is, and so would get too little noise."""

    def query_count(self, schema):
        return 1


def test_numbers_are_read_once_and_only_plain_types_are_asked_about():
    for people in PEOPLE:
        curator = curator_of(people)
        assert curator.select_table([TABLES[0]], always(0.0), [Fickle()], rho="1/2") == TABLES[0]
        for call in (
            lambda c: c.measure([Modest(("a", "b"))], rho=1, jointly=False),
            lambda c: c.select_table([Modest(("a", "b"))], always(0.0), [0], rho=1),
        ):
            with pytest.raises(ParameterError, match="thresholds"):
                call(curator)
        assert curator.spent == Fraction(1, 2)


class Later(int):
    """A number that says 0 when it is first asked, and what it is from then on."""

    asked = 0

    def __int__(self):
        self.asked += 1
        return 0 if self.asked == 1 else int.__index__(self)


class Never(int):
    """A number that differs from no other."""

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


class Marginal(Threshold):
    """An r-of-k threshold that passes for a marginal at first."""

    asked = 0

    @property
    def k(self):
        object.__setattr__(self, "asked", self.asked + 1)
        return self.r if self.asked == 1 else len(self.features)


class Free(Fraction):
    """An amount that adds nothing, and is never too much."""

    def __gt__(self, other):
        return False

    def __radd__(self, other):
        return other

    __add__ = __radd__


@pytest.mark.parametrize("mid", range(-1, N + 1))
def test_a_handicap_is_read_once(mid):
    for people in PEOPLE:
        curator = curator_of(people)
        with pytest.raises(ParameterError, match="handicaps must be whole numbers"):
            curator.select_table([TABLES[0]], always(0.0), [Later(mid - 2**61)], rho="1/1000")
        assert curator.spent == 0


@pytest.mark.parametrize(
    "target", [Threshold(("a", "b"), Never(1)), Marginal(("a", "b"), 1)], ids=["r", "threshold"]
)
def test_no_table_passes_for_a_marginal(target):
    curator = curator_of(PEOPLE[0])
    with pytest.raises(ThresherError):
        curator.measure([target], rho="1/2")
    assert curator.spent == 0


def test_only_thresholds_proper_are_walked():
    curator, strange = curator_of(PEOPLE[0]), Marginal(("a", "b"), 1)
    for call in (
        lambda: curator.select(Workload(SCHEMA, [strange]), always(0.0), 1, rho="1/2"),
        lambda: curator.select_table([strange], always(0.0), [0], rho="1/2"),
        lambda: curator.choose(Workload(SCHEMA, [strange]), [always(0.0)], rho="1/2"),
    ):
        with pytest.raises(ParameterError, match="a Threshold, not"):
            call()
    assert curator.spent == 0


def test_an_amount_costs_what_it_is():
    curator = curator_of(PEOPLE[0])
    with pytest.raises(BudgetError):
        curator.measure([TABLES[0]], rho=Free(100))
    curator.measure([TABLES[0]], rho=Free(1, 2))
    assert curator.spent == Fraction(1, 2)


@pytest.mark.parametrize("rho", ["1e-2400", "1e-300"])
def test_noise_of_any_size_that_does_not_fit_is_refused(rho):
    """The message had the variance as a float, and so raised an OverflowError."""
    curator = curator_of(PEOPLE[0])
    with pytest.raises(ParameterError, match="64-bit"):
        curator.measure([TABLES[0]], rho=rho)
    assert curator.spent == 0


def test_the_largest_handicaps_are_served():
    for people in PEOPLE:
        for handicap in (-(2**60), 2**60):
            chosen = curator_of(people).select_table(
                TABLES[:2], always(0.0), [handicap, -handicap], rho=1
            )
            assert chosen == TABLES[handicap > 0]


NUMBERS = st.one_of(
    st.floats(), st.sampled_from([0.0, 0.5, 1.0, float("nan"), float("inf"), 1e300, 2**70])
)
GOOD_ANSWERS = st.floats(allow_nan=False).map(always)
ANSWERS = st.one_of(
    GOOD_ANSWERS,
    st.sampled_from(
        [
            always(float("nan")),
            lambda _: lambda slab: np.zeros(slab.size + 1),
            lambda _: lambda slab: np.zeros(0),
            lambda _: lambda slab: "no",
            lambda _: lambda slab: [["a"], [1, 2]],
            lambda _: lambda slab: None,
            lambda _: 3,
            raising,
            None,
            7,
        ]
    ),
)
PRECISIONS = st.one_of(
    st.integers(0, 9),
    st.sampled_from([2**40, 2**40 + 1, 2**64, -1, 1.5, None, True, np.int64(7), float("nan")]),
)
HANDICAPS = st.one_of(
    st.integers(-5, 5),
    st.builds(
        lambda base, offset: base + offset,
        st.sampled_from([2**60, -(2**60), 2**61, -(2**61), 2**63, -(2**63), 2**64]),
        st.integers(-6, 6),
    ),
    st.sampled_from([1.5, None, True, "3", np.int64(7), np.float64(2), float("nan")]),
)
AMOUNTS = st.one_of(
    st.fractions(Fraction(1, 10**6), Fraction(1)),
    st.sampled_from(
        [0, -1, None, "1/7", "1e-400", "1e400", 0.25, float("nan"), Fraction(1, 2**90), 10**20,
         Fraction(1, 2**8000), True]
    ),
)  # fmt: skip
WORKLOADS = st.one_of(
    st.lists(st.sampled_from(TABLES), min_size=1, max_size=4, unique=True).map(
        lambda tables: Workload(SCHEMA, tables)
    ),
    st.sampled_from([Workload(OTHER, [TABLES[0]]), None, TABLES]),
)
EXCLUDED = st.lists(
    st.sampled_from([*QUERIES, None, "a=a0", Query((Condition("a", (0, 1)),))]), max_size=2
)
COUNTS = st.one_of(
    st.integers(-2, 20), st.sampled_from([10**30, 1.0, None, True, np.int32(2), "1"])
)


def listed(strategy, most=4):
    return st.lists(strategy, max_size=most)


CALLS = st.one_of(
    st.tuples(st.just("select"), st.tuples(WORKLOADS, ANSWERS, COUNTS, EXCLUDED), st.just({})),
    st.tuples(
        st.just("select_table"),
        st.tuples(
            listed(st.sampled_from([*TABLES, None, Threshold(("shoe",))])),
            ANSWERS,
            listed(HANDICAPS),
        ),
        st.fixed_dictionaries({}, optional={"weights_of": ANSWERS}),
    ),
    # The same with as many handicaps as tables, so that not all are refused for their number.
    st.integers(1, 4).flatmap(
        lambda size: st.tuples(
            st.just("select_table"),
            st.tuples(
                st.permutations(TABLES).map(lambda tables: tables[:size]),
                GOOD_ANSWERS,
                st.lists(HANDICAPS, min_size=size, max_size=size),
            ),
            st.fixed_dictionaries({}, optional={"weights_of": GOOD_ANSWERS}),
        )
    ),
    st.tuples(
        st.just("measure"),
        st.tuples(listed(st.sampled_from([*TABLES, *QUERIES, None, "a=a0", Threshold(("shoe",))]))),
        st.fixed_dictionaries({}, optional={"jointly": st.sampled_from([True, False, 0, None])}),
    ),
    st.tuples(
        st.just("measure_residuals"),
        st.tuples(
            listed(st.sampled_from([*TABLES, *QUERIES, None, Threshold(("shoe",))])),
            listed(PRECISIONS),
        ),
        st.just({}),
    ),
    st.integers(1, 3).flatmap(
        lambda size: st.tuples(
            st.just("measure_residuals"),
            st.tuples(
                st.permutations(TABLES[:3]).map(lambda tables: tables[:size]),
                st.lists(PRECISIONS, min_size=size, max_size=size),
            ),
            st.just({}),
        )
    ),
    st.tuples(st.just("choose"), st.tuples(WORKLOADS, listed(ANSWERS, 3)), st.just({})),
)


def outcome(people, verb, arguments, named, rho, strictness):
    """What a caller sees of a call, but for the result: when it failed, and with which words."""
    curator = curator_of(people)
    try:
        with np.errstate(all=strictness):
            getattr(curator, verb)(*arguments, rho=rho, **named)
    except Exception as fault:
        paid = curator.spent > 0
        return ("failed" if paid else "refused"), type(fault), str(fault)
    assert curator.spent == Fraction(rho)
    return "returned", None, ""


@settings(max_examples=400)
@given(call=CALLS, rho=AMOUNTS, strictness=st.sampled_from(["ignore", "raise"]))
@example(("select_table", ([TABLES[0]], always(0.0), [2 - 2**61]), {}), 1, "ignore")
@example(("select_table", ([TABLES[0]], always(0.0), [2**61]), {}), 1, "ignore")
@example(("select_table", (TABLES[:2], always(0.0), [0, 501]), {}), 1, "raise")
def test_whether_a_call_fails_does_not_depend_on_the_records(call, rho, strictness):
    outcomes = {outcome(people, *call, rho, strictness) for people in PEOPLE}
    assert len(outcomes) == 1
    [(end, _, words)] = outcomes
    # Behind the payment, only what the caller's functions do can fail.
    if end == "failed":
        culprits = ("must give a number", "no answers today", "could not convert", "not callable",
                    "inhomogeneous", "sequence", "NoneType")  # fmt: skip
        assert any(culprit in words for culprit in culprits), words


# What the caller's functions see.


class Diary:
    """Public answers that note which slabs they are asked for, and change when all have been."""

    def __init__(self, before=0.25, after=0.25):
        self.before, self.after, self.asked = before, after, []

    def __call__(self, threshold):
        def answers(slab):
            self.asked.append((threshold, slab.first))
            value = self.before if len(self.asked) <= WORK.query_count else self.after
            return np.full(slab.shape, value)

        return answers


@pytest.fixture
def slabs_of_one(monkeypatch):
    """Every cell is a slab of its own, so that most can be told from a second look."""
    monkeypatch.setattr(thresher.privacy.scores, "slabs_of", lambda shape: slabs_of(shape, 1))


WORK = Workload(SCHEMA, TABLES[:3])


@given(seed=st.integers(0, 2**32), count=st.integers(1, 12), people=st.sampled_from(PEOPLE))
@settings(max_examples=60)
def test_the_second_look_is_a_function_of_what_was_chosen(seed, count, people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresher.privacy.scores, "slabs_of", lambda shape: slabs_of(shape, 1))
        diary = Diary()
        chosen = curator_of(people, seed=seed).select(WORK, diary, count, rho="1/100")
    first, second = diary.asked[: WORK.query_count], diary.asked[WORK.query_count :]
    assert len(set(first)) == WORK.query_count
    places = [WORK.locate(query_id) for query_id in sorted(map(WORK.id_of, chosen))]
    assert second == [(WORK[position], cell) for position, cell in places]


def test_answers_that_change_end_the_selection_they_were_given_for(slabs_of_one):
    """It was begun anew up to three times for one payment, and each time showed where it looked."""
    looks = set()
    for seed in range(20):
        diary, curator = Diary(0.0, 1.0), curator_of(PEOPLE[2], seed=seed)
        with pytest.raises(ParameterError, match="the same answers every time"):
            curator.select(WORK, diary, 3, rho="1/100")
        assert curator.spent == Fraction(1, 100)
        looks.add(len(diary.asked) - WORK.query_count)
    assert looks == {1}


TWELVE = Schema((feature("f", 12),))
COLLIDING = [-1, -8, 2, 4, 10, 6, -14, -2, -18, -13, 15, -17]
"""Added to the rounded answers to twelve cells, it leaves the mark of the first build as it was."""


def test_other_answers_cannot_pass_for_those_of_the_first_look():
    """The mark was a polynomial modulo 2^64, and lattice reduction finds answers that share it."""
    n, calls = 100, []
    records = Records(TWELVE, [np.arange(n, dtype=np.uint8) % 12])
    curator = Curator(records, Budget.from_rho(1), randomness=InsecureSeededRandomness(0))

    def answers_of(_):
        def answers(slab):
            calls.append(slab)
            return (50 + np.array(COLLIDING) * (len(calls) > 1)) / n

        return answers

    with pytest.raises(ParameterError, match="the same answers every time"):
        curator.select(Workload(TWELVE, [Threshold(("f",))]), answers_of, 1, rho="1/100")
    assert len(calls) == 2


def test_answers_cannot_be_changed_while_they_are_looked_at():
    """What a function returned is copied; its memory may be used for the next slab at once."""
    memory = np.zeros(12, dtype=np.float32)
    seen = []

    def answers_of(_):
        def answers(slab):
            memory[:] = 0.5
            return memory

        return answers

    def weights_of(_):
        def weights(slab):
            seen.append(memory.copy())
            memory[:] = np.nan  # too late: the answers have been read
            return np.ones(12)

        return weights

    records = Records(TWELVE, [np.arange(24, dtype=np.uint8) % 12])
    curator = Curator(records, Budget.from_rho(1), randomness=InsecureSeededRandomness(0))
    tables = [Threshold(("f",))]
    assert curator.select_table(tables, answers_of, [0], weights_of=weights_of, rho=1) == tables[0]
    assert seen


def test_only_the_four_requests_get_to_see_the_records():
    class Everything(Measure):
        def run(self, records, rho, randomness):
            return records

    curator = curator_of(PEOPLE[0])
    with pytest.raises(ParameterError, match="does not know the request Everything"):
        curator._carry_out(Everything((QUERIES[0],), True), Fraction(1))
    assert curator.spent == 0


def failing_late(_):
    def answers(slab):
        raise ArithmeticError("no answers to this slab")

    return answers


@pytest.mark.parametrize("shared", [0, 10**6], ids=["threads", "one thread"])
@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.select(Workload(SCHEMA, TABLES), failing_late, 1, rho="1/2"),
        lambda c: c.choose(Workload(SCHEMA, TABLES), [failing_late], rho="1/2"),
        lambda c: c.select_table(
            TABLES, always(0.0), [0] * 4, weights_of=failing_late, rho="1/2"
        ),
    ],
    ids=["select", "choose", "select_table"],
)  # fmt: skip
def test_no_frame_behind_an_exception_holds_records_or_scores(call, shared, monkeypatch):
    """A logger that shows local variables would have shown exact scores."""
    monkeypatch.setattr(thresher.privacy.scores, "WORTH_SHARING", shared)
    curator = curator_of(PEOPLE[2])
    with pytest.raises(ArithmeticError) as caught:
        call(curator)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert any(frame.f_code.co_name == "answers" for frame in frames)
    for frame in frames:
        if frame.f_code.co_name not in ("call", "_carry_out", "select", "choose", "select_table"):
            inside = frame.f_globals["__name__"].startswith("thresher.")
            assert not (inside and frame.f_locals), frame.f_code.co_name
        assert not any(
            isinstance(value, Records | np.ndarray | thresher.privacy.scores.WorkloadScores)
            for value in frame.f_locals.values()
        )
    assert curator.spent == Fraction(1, 2)


def test_views_are_checked_before_anything_is_paid():
    wide = [IntegerRange(name=f"f{i}", low=0, high=99_999, nulls=0) for i in range(4)]
    schema = Schema(wide)
    views = [View.at_cuts(feature, f"v{i}", [7]) for i, feature in enumerate(wide)]
    zeros = [np.zeros(5, dtype=np.uint32)] * 4
    curator = Curator(Records(schema, zeros), Budget.from_rho(1), views=views)
    for features, says in [(("v0", "f0"), "all about the feature 'f0'"),
                           (("v0", "v1", "v2", "v3"), "more than 2\\^63 cells")]:  # fmt: skip
        threshold = Threshold(features)
        query = Query([Condition(name, [0]) for name in features])
        for targets in ([threshold], [query]):
            with pytest.raises(ThresherError, match=says):
                curator.measure(targets, rho=1)
        with pytest.raises(ThresherError, match=says):
            curator.select_table([threshold], lambda _: Same(0.0), [0], rho=1)
    assert curator.spent == 0
    [measured] = curator.measure([Threshold(("v0", "v1", "v2"))], rho=1)
    assert measured.counts.shape == (2, 2, 2)


def test_a_view_that_does_not_hold_every_value_once_is_refused_by_the_wall():
    age = IntegerRange(name="age", low=0, high=3, nulls=0)
    data = Records(Schema([age]), [np.zeros(5, dtype=np.uint8)])
    forged = View(name="v", categories=("a", "b"), outside="a", nulls="a", of="age",
                  codes=(0, 1, 1, 7))  # fmt: skip
    with pytest.raises(ThresherError, match="view 'v'"):
        Curator(data, Budget.from_rho(1), views=[forged])


WIDE = Schema(IntegerRange(name=f"f{i}", low=0, high=255, nulls=0) for i in range(9))
"""Three-way tables of 2^24 cells, 128 MiB each."""


@pytest.mark.parametrize(("tables", "served"), [(8, True), (20, False), (84, False)])
def test_a_request_is_bounded_as_a_whole_before_it_is_paid(tables, served):
    """Each table was, but a thousand that fit alone do not fit together."""
    chosen = Workload.all(WIDE, 3).thresholds[:tables]
    residuals = MeasureResiduals(chosen, (1,) * tables)
    measured = Measure(chosen * 2, jointly=True)
    for request in (residuals, measured):
        if served:
            request.check(WIDE, Unit(), Fraction(1))
        else:
            with pytest.raises(ResourceError, match="GiB of memory, and up to 4 GiB are allowed"):
                request.check(WIDE, Unit(), Fraction(1))


def test_no_more_queries_are_chosen_than_can_be_drawn():
    curator = Curator(
        Records(WIDE, [np.zeros(3, dtype=np.uint8)] * 9), Budget.from_rho(1),
    )  # fmt: skip
    work = Workload(WIDE, [Threshold(("f0", "f1", "f2"))])
    with pytest.raises(ResourceError, match="one call chooses up to 1048576 queries"):
        curator.select(work, always(0.0), 2**20 + 1, rho="1/2")
    assert curator.spent == 0
    few = Workload(WIDE, [Threshold(("f0",))])
    assert len(curator.select(few, always(0.0), 2**20 + 1, rho="1/2")) == 256
