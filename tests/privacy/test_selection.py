"""AS, OSAS and the level-wise sampler are one mechanism, with exactly the right probabilities.

Statistical tests have a fixed seed and number of draws; the chance that a correct sampler fails one
(had its seed not been fixed) is below FALSE_ALARM, and planted faults show that they can fail.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from thresher.errors import ParameterError
from thresher.privacy.histogram import Draw, Histogram, Place
from thresher.privacy.ladder import Ladder, selection_rate
from thresher.privacy.randomness import InsecureSeededRandomness, Randomness
from thresher.privacy.selection import (
    adaptive_selection,
    levelwise_selection,
    oneshot_adaptive_selection,
    report_noisy_max,
)
from thresher.privacy.tally import EXCLUDED, excluding

FALSE_ALARM = 1e-7
DRAWS = 10_000
SCORES = np.array([0, 3, 1, 3, 0])
COUNT = 2
RHO = Fraction(1, 5)

Selection = Callable[[NDArray[np.int64], int, Fraction, Randomness], Sequence[int]]


def levelwise(
    scores: NDArray[np.int64], count: int, rho: Fraction, randomness: Randomness
) -> list[int]:
    """The production path on scores cut into two slabs."""
    cut = len(scores) // 2
    places = levelwise_selection([scores[:cut], scores[cut:]], count, rho, randomness)
    return [place.position + (cut if place.slab else 0) for place in places]


def levelwise_decided_exactly(
    scores: NDArray[np.int64], count: int, rho: Fraction, randomness: Randomness
) -> list[int]:
    """The same, with a guard band so wide that floating point never decides."""
    histogram = Histogram()
    histogram.add(scores)
    draws = histogram.draw(count, rho, randomness, guard=1.0)
    return [place.position for place in histogram.locate(draws, [scores])]


ALL_FORMS = [
    adaptive_selection,
    oneshot_adaptive_selection,
    levelwise,
    levelwise_decided_exactly,
]


def peeling_probabilities(
    scores: NDArray[np.int64], count: int, rate: float
) -> dict[tuple[int, ...], float]:
    """AS: each ordered outcome is a product of softmax probabilities over what is left."""
    outcomes = {}
    for chosen in permutations(range(len(scores)), count):
        left = np.ones(len(scores), dtype=bool)
        probability = 1.0
        for i in chosen:
            probability *= math.exp(rate * scores[i]) / np.exp(rate * scores[left]).sum()
            left[i] = False
        outcomes[chosen] = probability
    return outcomes


def oneshot_probabilities(
    scores: NDArray[np.int64], count: int, rate: float
) -> dict[tuple[int, ...], float]:
    """OSAS, for one or two queries: from nothing but where the maximum of Gumbel variables lies.

    That i comes first and j second means that j beats all others but i, and does not beat i too.
    """
    weights = np.exp(rate * scores)
    wins = weights / weights.sum()
    if count == 1:
        return {(i,): wins[i] for i in range(len(scores))}
    return {
        (i, j): weights[j] / (weights.sum() - weights[i]) - wins[j]
        for i, j in permutations(range(len(scores)), 2)
    }


def levelwise_probabilities(
    scores: NDArray[np.int64], count: int, rate: Fraction
) -> dict[tuple[int, ...], float]:
    """Walk every branch of the sampler: each level by its weight, then each member left alike."""

    def walk(ladder: Ladder, chosen: tuple[int, ...], probability: float) -> None:
        if len(chosen) == count:
            outcomes[chosen] += probability
            return
        weights = ladder.weights()
        for at, level in enumerate(ladder.levels):
            members = [i for i in np.flatnonzero(scores == level) if i not in chosen]
            assert len(members) == ladder.counts[at]
            for i in members:
                share = weights[at] / weights.sum() / len(members)
                walk(ladder.without_one(at), (*chosen, int(i)), probability * share)

    outcomes: Counter[tuple[int, ...]] = Counter()
    levels, counts = np.unique(scores, return_counts=True)
    walk(Ladder(levels[::-1], counts[::-1], rate), (), 1.0)
    return dict(outcomes)


def p_value(select: Selection, expected: dict[tuple[int, ...], float], draws: int = DRAWS) -> float:
    """Chi-square of the ordered outcomes of many selections against their probabilities."""
    randomness = InsecureSeededRandomness(3)
    seen = Counter(tuple(select(SCORES, COUNT, RHO, randomness)) for _ in range(draws))
    assert seen.keys() <= expected.keys()
    observed = [seen[outcome] for outcome in expected]
    return float(stats.chisquare(observed, [p * draws for p in expected.values()]).pvalue)


# The distribution --------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.integers(-4, 4), min_size=1, max_size=5),
    count=st.integers(1, 3),
    rho=st.fractions(Fraction(1, 1000), 3),
)
def test_as_osas_and_levelwise_have_the_same_distribution(
    scores: list[int], count: int, rho: Fraction
) -> None:
    array, count = np.array(scores), min(count, len(scores))
    rate = selection_rate(rho / count)
    peeled = peeling_probabilities(array, count, float(rate))
    assert math.isclose(sum(peeled.values()), 1)
    if count <= 2:
        assert oneshot_probabilities(array, count, float(rate)) == pytest.approx(peeled, abs=1e-9)
    assert levelwise_probabilities(array, count, rate) == pytest.approx(peeled)


@pytest.mark.parametrize("select", ALL_FORMS)
def test_samples_follow_the_distribution(select: Selection) -> None:
    draws = 4_000 if select is levelwise_decided_exactly else DRAWS
    expected = peeling_probabilities(SCORES, COUNT, float(selection_rate(RHO / COUNT)))
    assert min(expected.values()) * draws > 20
    assert p_value(select, expected, draws) > FALSE_ALARM


@pytest.mark.parametrize("select", [adaptive_selection, oneshot_adaptive_selection, levelwise])
def test_the_same_test_catches_the_printed_scale(select: Selection) -> None:
    """√2 less noise than the right scale, as Algorithm 4 prints it: twice the budget."""
    expected = peeling_probabilities(SCORES, COUNT, float(selection_rate(RHO / COUNT)))
    assert p_value(lambda s, k, rho, r: select(s, k, 2 * rho, r), expected) < FALSE_ALARM


def test_opendp_noisy_top_k_agrees() -> None:
    dp.enable_features("contrib")
    rate = float(selection_rate(RHO / COUNT))
    oracle = dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.linf_distance(T=int),
        dp.zero_concentrated_divergence(),
        k=COUNT,
        scale=1 / rate,
    )
    # The same price for the same scale, and (its randomness cannot be seeded) the same outcomes.
    assert oracle.map(1) == pytest.approx(float(RHO))
    expected = peeling_probabilities(SCORES, COUNT, rate)
    seen = Counter(tuple(oracle(SCORES.tolist())) for _ in range(DRAWS))
    ours = Counter(
        tuple(levelwise(SCORES, COUNT, RHO, randomness))
        for randomness in [InsecureSeededRandomness(8)]
        for _ in range(DRAWS)
    )
    table = [[counter[outcome] for outcome in expected] for counter in (seen, ours)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.dictionaries(st.integers(-40, 40), st.integers(1, 10**15), min_size=2, max_size=6),
    rho=st.fractions(Fraction(1, 10**6), 20),
)
def test_double_precision_stays_within_the_rounding_band(
    sizes: dict[int, int], rho: Fraction
) -> None:
    levels = sorted(sizes, reverse=True)
    ladder = Ladder(
        np.array(levels), np.array([sizes[level] for level in levels]), selection_rate(rho)
    )
    boundaries = np.cumsum(ladder.weights())
    lower, upper = ladder.boundary_bounds(60)
    assert all(low <= high for low, high in zip(lower, upper, strict=True))
    for boundary, low, high in zip(boundaries, lower, upper, strict=True):
        exact = Fraction(low + high, 2) / 10**60
        total = Fraction(lower[-1]) / 10**60
        assert abs(Fraction(float(boundary)) - exact) < ladder.rounding_band() / 2 * total


def test_boundary_bounds_enclose_the_boundaries_at_every_precision() -> None:
    ladder = Ladder(np.array([9, 7, 0]), np.array([1, 10**30, 5], dtype=object), Fraction(10, 3))
    with localcontext(prec=200):
        weights = [
            count * (Decimal(-10) * gap / 3).exp()
            for count, gap in zip([1, 10**30, 5], [0, 2, 9], strict=True)
        ]
        for digits in (1, 5, 12, 14, 40, 80):
            lower, upper = ladder.boundary_bounds(digits)
            for j in range(3):
                assert lower[j] <= sum(weights[: j + 1]).scaleb(digits) <= upper[j]
    # 40 digits more bring the bounds 40 digits closer.
    assert upper[2] - lower[2] <= 4 * (10**30 + 6)


class Scripted(Randomness):
    """Words from a list, then from a seed."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = iter(script)
        self._rest = InsecureSeededRandomness(0)

    def words(self, count: int) -> NDArray[np.uint64]:
        given = [next(self._script, None) for _ in range(count)]
        return np.array(
            [self._rest.words(1)[0] if word is None else word for word in given], dtype=np.uint64
        )


ONES = 2**64 - 1


@pytest.mark.parametrize("low", [-100, -1000, -5000])
def test_a_level_whose_weight_underflows_still_has_its_exact_share(low: int) -> None:
    """With η = 1, U ≥ 1/(1 + exp(low)) picks the low level: the first -low/ln 2 bits are ones."""
    ladder = Ladder(np.array([0, low]), np.array([1, 1]), Fraction(1))
    ones = -low / math.log(2)
    assert ladder.draw(Scripted([ONES] * math.ceil(ones / 64 + 1))) == 1
    assert ladder.draw(Scripted([ONES] * math.floor(ones / 64) + [0])) == 0


def test_the_exact_path_finds_the_boundary_to_the_last_bit() -> None:
    """U one step of 2^-128 on either side of a boundary, far inside the band."""
    ladder = Ladder(np.array([2, 1, 0]), np.array([3, 4, 5]), Fraction(1, 7))
    lower, _ = ladder.boundary_bounds(80)
    for j in (0, 1):
        boundary = lower[j] * 2**128 // lower[2]
        for step, level in ((-1, j), (1, j + 1)):
            numerator = boundary + step
            script = [numerator >> 64, numerator & ONES, ONES // 2]
            assert ladder.draw(Scripted(script)) == level
            assert ladder.draw(Scripted(script), guard=1.0) == level


def test_floating_point_and_the_exact_path_agree_on_the_same_bits() -> None:
    ladder = Ladder(np.arange(50, 0, -1), np.arange(1, 51) ** 5, Fraction(1, 3))
    for seed in range(300):
        fast = ladder.draw(InsecureSeededRandomness(seed))
        assert ladder.draw(InsecureSeededRandomness(seed), guard=1.0) == fast


# The budget --------------------------------------------------------------------------------------


@given(rho=st.fractions(min_value=Fraction(1, 10**30), max_value=10**6), count=st.integers(1, 500))
def test_selections_cost_what_they_may_and_hardly_less(rho: Fraction, count: int) -> None:
    cost = count * selection_rate(rho / count) ** 2 / 2
    assert rho * (1 - Fraction(1, 2**60)) <= cost <= rho


def test_rescaled_scores_cost_the_same() -> None:
    """Scores in quarters: multiplied by 4, with sensitivity 4, nothing changes."""
    coarse, fine = Histogram(), Histogram()
    coarse.add(np.array([5, 3, 0]))
    fine.add(np.array([20, 12, 0]))
    draws = [
        histogram.draw(3, RHO, InsecureSeededRandomness(seed), sensitivity=sensitivity)
        for seed in range(50)
        for histogram, sensitivity in ((coarse, 1), (fine, 4))
    ]
    for one, other in zip(draws[::2], draws[1::2], strict=True):
        assert [4 * draw.level for draw in one] == [draw.level for draw in other]


def test_the_scale_that_algorithm_4_prints_would_spend_half_as_much_again() -> None:
    rho, count = Fraction(1, 10), 16
    printed_rate_squared = 2 * rho / count
    selecting = count * printed_rate_squared / 2
    measuring = count * (rho / (2 * count))
    assert selecting + measuring == Fraction(3, 2) * rho
    right_rate = selection_rate((rho / 2) / count)
    assert float(right_rate) == pytest.approx(1 / math.sqrt(count / rho))
    assert count * right_rate**2 / 2 + measuring <= rho


# The edges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("select", ALL_FORMS)
def test_excluded_queries_are_never_chosen_and_all_others_can_be(select: Selection) -> None:
    scores = excluding(np.array([900, 1, 2, 800, 1]), [0, 3])
    for seed in range(20):
        assert sorted(select(scores, 9, RHO, InsecureSeededRandomness(seed))) == [1, 2, 4]


@pytest.mark.parametrize("select", ALL_FORMS)
def test_one_query_none_and_ties(select: Selection) -> None:
    randomness = InsecureSeededRandomness(5)
    assert list(select(np.array([7]), 1, RHO, randomness)) == [0]
    assert list(select(np.array([7, 8]), 0, RHO, randomness)) == []
    assert list(select(np.array([EXCLUDED]), 3, RHO, randomness)) == []
    ties = {tuple(select(np.array([4, 4, 4]), 2, RHO, randomness)) for _ in range(200)}
    assert ties == set(permutations(range(3), 2))


def test_report_noisy_max_needs_a_query() -> None:
    with pytest.raises(ParameterError, match="no query left"):
        report_noisy_max(np.array([EXCLUDED]), RHO, InsecureSeededRandomness(0))


@pytest.mark.parametrize("implicit", [10**12, 10**15, 10**30])
def test_implicit_queries_cost_nothing_and_are_chosen_uniformly(implicit: int) -> None:
    scores = np.array([0, 40, 0])
    places = levelwise_selection(
        [scores], 400, Fraction(400 * 2), InsecureSeededRandomness(1), implicit=implicit
    )
    # η = 2: the score of 40 outweighs up to 10^34 zeros.
    assert places[0] == Place(0, 1)
    assert {place.slab for place in places[1:]} == {None}
    numbers = [place.position for place in places[1:]]
    assert len(set(numbers)) == 399
    assert stats.kstest([number / implicit for number in numbers], "uniform").pvalue > FALSE_ALARM


def test_a_few_implicit_queries_share_level_0_with_the_listed() -> None:
    places = levelwise_selection(
        [np.array([0, 5]), np.array([0])], 9, RHO, InsecureSeededRandomness(1), implicit=2
    )
    assert set(places) == {Place(0, 0), Place(0, 1), Place(1, 0), Place(None, 0), Place(None, 1)}


def test_listed_and_implicit_members_of_a_level_are_equally_likely() -> None:
    histogram = Histogram()
    histogram.add(np.array([0, 0]))
    histogram.add_implicit(3)
    randomness = InsecureSeededRandomness(2)
    seen = Counter(
        (draw.listed, draw.rank)
        for _ in range(DRAWS)
        for draw in histogram.draw(1, RHO, randomness)
    )
    assert seen.keys() == {(True, 0), (True, 1), (False, 0), (False, 1), (False, 2)}
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.integers(-3, 3) | st.just(EXCLUDED), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=3),
    kind=st.sampled_from([np.int64, np.int32, np.int8]),
)
def test_every_drawn_query_is_found_wherever_the_slabs_are_cut(
    scores: list[int], cuts: list[int], kind: type[np.signedinteger]
) -> None:
    array = np.array(scores, dtype=np.int64)
    if EXCLUDED not in scores:
        array = array.astype(kind)
    edges = [0, *sorted(min(cut, len(scores)) for cut in cuts), len(scores)]
    slabs = [array[start:stop] for start, stop in pairwise(edges)]
    histogram = Histogram()
    for slab in slabs:
        histogram.add(slab)
    draws = histogram.draw(99, RHO, InsecureSeededRandomness(0))
    places = histogram.locate(draws, slabs)
    found = [edges[place.slab or 0] + place.position for place in places]
    assert sorted(found) == [i for i, score in enumerate(scores) if score != EXCLUDED]
    assert [scores[i] for i in found] == [draw.level for draw in draws]
    for level in set(scores) - {EXCLUDED}:
        members = [i for i, score in enumerate(scores) if score == level]
        ranks = {d.rank: i for d, i in zip(draws, found, strict=True) if d.level == level}
        assert ranks == dict(enumerate(members))


def test_scores_far_apart_are_counted_without_a_table_between_them() -> None:
    scores = np.array([2**61, 0, -(2**61)])
    histogram = Histogram()
    histogram.add(scores)
    draws = histogram.draw(4, RHO, InsecureSeededRandomness(0))
    assert [draw.level for draw in draws] == [2**61, 0, -(2**61)]
    assert histogram.locate(draws, [scores]) == [Place(0, 0), Place(0, 1), Place(0, 2)]


def test_tables_of_scores_are_read_in_c_order() -> None:
    table = excluding(np.array([[0, 0, 0], [900, 0, 950]]), [5])
    places = levelwise_selection([table], 1, RHO, InsecureSeededRandomness(0))
    assert places == [Place(0, 3)]


def test_slabs_that_change_between_the_passes_are_noticed() -> None:
    class Changing:
        def __init__(self) -> None:
            self.asked = 0

        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> NDArray[np.int64]:
            self.asked += 1
            return np.array([self.asked])

    with pytest.raises(ParameterError, match="unchanged"):
        levelwise_selection(Changing(), 1, RHO, InsecureSeededRandomness(0))


def test_nothing_that_is_private_shows() -> None:
    histogram = Histogram()
    histogram.add(np.array([123456]))
    assert repr(histogram) == "Histogram(members=1)"
    assert "123456" not in repr(Draw(123456, 0, True))


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (lambda histogram, source: histogram.draw(1, Fraction(0), source), "rho"),
        (lambda histogram, source: histogram.draw(1, RHO, source, sensitivity=0), "sensitivity"),
        (lambda histogram, source: histogram.draw(-1, RHO, source), "count"),
        (lambda histogram, source: histogram.add(np.array([0.5])), "scores"),
        (lambda histogram, source: histogram.add(np.array([1], dtype=np.uint64)), "scores"),
        (lambda histogram, source: histogram.add(np.array([2**62])), "scores"),
        (lambda histogram, source: histogram.add_implicit(-1), "number"),
        (lambda histogram, source: histogram.add_implicit(2**512), "number"),
    ],
)
def test_a_mistake_is_named(call: Callable[[Histogram, Randomness], object], culprit: str) -> None:
    histogram = Histogram()
    histogram.add(np.array([1, 2]))
    with pytest.raises(ParameterError, match=f"^{culprit} must"):
        call(histogram, InsecureSeededRandomness(0))
