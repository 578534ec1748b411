"""Private selection (RNM, AS and OSAS: Algorithms 2 and 4): which queries D' answers worst.

A score is an integer, |count_i - round(n·q̂_i(D'))|, and replacing one record moves it by at most 1.
One selection is the exponential mechanism: query i with probability proportional to exp(η·score_i).
It is 2η-bounded-range, so η²/2-zCDP (Cesar & Rogers 2021); adding Gumbel noise of scale 1/η and
taking the maximum is the same mechanism, and taking the top K of one noisy vector is the same as K
selections, each without what was chosen before (Durfee & Rogers 2019). K selections that share ρ
therefore have η = √(2ρ/K).

The paper's AS is given ρ and spends half of it here, so its Gumbel scale is √(K/ρ). Algorithm 4
prints √(K/(2ρ)), which would spend ρ on selection and 1.5ρ in all; nothing here uses that scale.

`report_noisy_max`, `adaptive_selection` and `oneshot_adaptive_selection` follow the paper, with
floating-point Gumbel noise for every query: for research and tests. A release uses
`levelwise_selection`, which needs no noise per query and never holds all scores: see `histogram`.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from thresher.errors import ParameterError
from thresher.privacy.histogram import Histogram, Place, Slabs, selections
from thresher.privacy.ladder import selection_rate
from thresher.privacy.randomness import Randomness
from thresher.privacy.tally import EXCLUDED, Scores, Tally, integers, tallied


def report_noisy_max(scores: Scores, rho: Fraction, randomness: Randomness) -> int:
    """RNM: the index of the largest score after Gumbel noise of scale 1/√(2ρ) on each.

    Proof: it is the exponential mechanism of rate √(2ρ), which has range 2√(2ρ) and so is ρ-zCDP
    (Cesar & Rogers 2021); for real numbers, not for floating point.

    The noise is floating point: fine for research, but a release uses `levelwise_selection`.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> report_noisy_max(np.array([0, 900, 3]), Fraction(1), SystemRandomness())
        1
    """
    if not np.any(integers(scores) != EXCLUDED):
        raise ParameterError("scores: there is no query left to choose.")
    return oneshot_adaptive_selection(scores, 1, rho, randomness)[0]


def adaptive_selection(
    scores: Scores, count: int, rho: Fraction, randomness: Randomness
) -> list[int]:
    """The indices that AS (Algorithm 2) selects, in order: `count` times RNM on what is left.

    Proof: that of `report_noisy_max`, `count` times, by composition (Bun & Steinke 2016).

    Args:
        scores: One integer score per query; `EXCLUDED` marks those that cannot be chosen.
        count: The paper's K. If fewer queries are left, all of them are chosen.
        rho: What all selections together spend: half of what the paper gives to AS.
        randomness: The source of the Gumbel noise.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> adaptive_selection(np.array([0, 900, 400]), 2, Fraction(1), SystemRandomness())
        [1, 2]
    """
    left = integers(scores).copy()
    count = selections(count, int(np.count_nonzero(left != EXCLUDED)))
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(report_noisy_max(left, Fraction(rho) / count, randomness))
        left[chosen[-1]] = EXCLUDED
    return chosen


def oneshot_adaptive_selection(
    scores: Scores, count: int, rho: Fraction, randomness: Randomness
) -> list[int]:
    """The indices that OSAS (Algorithm 4) selects, in order: the top `count` of the noisy scores.

    Proof: it has the distribution of `adaptive_selection` (Durfee & Rogers 2019).

    Same arguments, result and output distribution as `adaptive_selection`. The Gumbel scale is
    1/η = √(count/(2·rho)), where `rho` is half of the paper's: √(K/ρ) in its letters, and not the
    √(K/(2ρ)) that it prints.

    Example:
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> oneshot_adaptive_selection(np.array([0, 900, 400]), 2, Fraction(1), SystemRandomness())
        [1, 2]
    """
    scores = integers(scores)
    candidates = np.flatnonzero(scores != EXCLUDED)
    count = selections(count, candidates.size)
    if count == 0:
        return []
    scale = 1 / float(selection_rate(Fraction(rho) / count))
    # Half a step keeps the uniform away from 0 and 1, where the Gumbel quantile is infinite.
    uniform = ((randomness.words(candidates.size) >> np.uint64(11)) + 0.5) * 2.0**-53
    noisy = scores[candidates] - scale * np.log(-np.log(uniform))
    top = np.argpartition(noisy, candidates.size - count)[candidates.size - count :]
    return [int(i) for i in candidates[top[np.argsort(-noisy[top])]]]


def levelwise_selection(
    slabs: Slabs,
    count: int,
    rho: Fraction,
    randomness: Randomness,
    *,
    implicit: int = 0,
    sensitivity: Fraction | int = 1,
    each: Callable[[Callable[[int], Tally], range], Iterable[Tally]] = map,
) -> list[Place]:
    """Choose `count` queries, in order, as AS does, exactly, without keeping the scores of all.

    Proof: each selection is the exponential mechanism, η²/2-zCDP for scores of sensitivity 1 (Cesar
    & Rogers 2021); together they cost `rho` by composition (Bun & Steinke 2016). Exactness:
    `Ladder.draw` for the level, `Randomness.below` for the member.

    Args:
        slabs: The scores; those that hold a chosen query are asked for twice. Queries already
            chosen are marked by `excluding`.
        count: The paper's K. If fewer queries are left, all of them are chosen.
        rho: What all selections together spend: half of what the paper gives to AS.
        randomness: Where the random bits come from.
        implicit: How many more queries have score 0 and are in no slab (excluded ones not counted).
        sensitivity: How far one record can move a score.
        each: How to go through the slabs, in order: `map`, or the same on many cores.

    Example:
        >>> from thresher.privacy.tally import excluding
        >>> from thresher.privacy.randomness import SystemRandomness
        >>> slabs = [np.array([0, 1, 0]), excluding(np.array([2, 950, 970]), [2])]
        >>> levelwise_selection(slabs, 1, Fraction(1), SystemRandomness(), implicit=10**9)
        [Place(slab=1, position=1)]
    """
    histogram = Histogram()
    tallies = each(lambda index: tallied(slabs[index]), range(len(slabs)))
    for _, tally in zip(range(len(slabs)), tallies, strict=True):
        histogram.add(tally)
    histogram.add_implicit(implicit)
    draws = histogram.draw(count, rho, randomness, sensitivity=sensitivity)
    return histogram.locate(draws, slabs)
