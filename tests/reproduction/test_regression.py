"""The appendix's regressions against closed forms."""

import numpy as np
import pytest
from scipy import stats

from thresher.errors import ParameterError
from thresher.reproduction.regression import (
    Observation,
    compare_models,
    holm_bonferroni,
)

EPSILONS, SIZES = (0.01, 0.1, 1.0), (1, 4, 16, 64)
BETAS = (0.3, -0.1, -0.2, 0.06, -0.04, -0.05, 0.03, -0.02, -0.01, 0.004, 0.002, -0.003)


def model(epsilon, size, filtered):
    """The full model as the appendix prints it."""
    x1, x2 = epsilon == 0.1, epsilon == 1.0
    x3, x4 = np.log(size), filtered
    b = BETAS
    return (
        b[0] + b[1] * x1 + b[2] * x2 + (b[3] + b[4] * x1 + b[5] * x2) * x3
        + (b[6] + b[7] * x1 + b[8] * x2 + (b[9] + b[10] * x1 + b[11] * x2) * x3) * x4
    )  # fmt: skip


def observations(noise, repetitions=3, seed=0, truth=model):
    rng = np.random.default_rng(seed)
    return [
        Observation(e, s, f, truth(e, s, f) + rng.normal(0, noise))
        for e in EPSILONS
        for s in SIZES
        for f in (False, True)
        for _ in range(repetitions)
    ]


def residual_squares(seen, terms):
    rows = []
    for one in seen:
        x1, x2, x3 = one.epsilon == 0.1, one.epsilon == 1.0, np.log(one.size)
        half = np.array([1, x1, x2, x3, x1 * x3, x2 * x3], dtype=float)
        rows.append(np.concatenate([half, half * one.filtered]))
    design = np.array(rows)[:, :terms]
    errors = np.array([one.error for one in seen])
    solution, *_ = np.linalg.lstsq(design, errors, rcond=None)
    return float(((errors - design @ solution) ** 2).sum())


def test_the_coefficients_of_the_appendix_come_back():
    found = compare_models(observations(noise=1e-9))
    assert found.coefficients == pytest.approx(BETAS, abs=1e-7)
    for epsilon in EPSILONS:
        for filtered in (False, True):
            wanted = [model(epsilon, size, filtered) for size in SIZES]
            predicted = found.predicted(epsilon, np.log(SIZES), filtered)
            assert predicted == pytest.approx(wanted, abs=1e-7)


def test_the_likelihood_ratio_by_hand():
    seen = observations(noise=0.02)
    found = compare_models(seen)
    chi2 = len(seen) * np.log(residual_squares(seen, 6) / residual_squares(seen, 12))
    assert found.chi2 == pytest.approx(chi2)
    assert found.p_value == pytest.approx(stats.chi2.sf(chi2, 6))


def test_the_effect_of_the_filter_has_the_interval_of_its_coefficient():
    seen = observations(noise=0.02)
    found = compare_models(seen)
    added, low, high = found.effect(0.01, 0.0)
    assert added == pytest.approx(found.coefficients[6])
    degrees = len(seen) - 12
    error = abs(added) / stats.t.isf(found.coefficient_p_values[6] / 2, degrees)
    margin = stats.t.isf(0.025, degrees) * error
    assert (low, high) == pytest.approx((added - margin, added + margin))
    exact = compare_models(observations(noise=1e-9))
    wanted = model(1.0, 16, True) - model(1.0, 16, False)
    assert exact.effect(1.0, np.log(16)) == pytest.approx([wanted] * 3, abs=1e-7)


def test_a_filter_without_effect_is_not_seen():
    seen = observations(noise=0.02, truth=lambda e, s, f: model(e, s, False))
    assert compare_models(seen).p_value > 0.01


def test_the_table_has_the_form_of_the_appendix():
    summary = compare_models(observations(noise=0.02)).summary
    for words in (
        "present_err", "OLS", "Adj. R-squared", "Prob (F-statistic)", "No. Observations",
        "Prob(Omnibus)", "Durbin-Watson", "Jarque-Bera", "Cond. No.", "[0.025", "β0", "β11",
    ):  # fmt: skip
        assert words in summary
    assert "Date:" not in summary
    assert "Time:" not in summary
    assert compare_models(observations(noise=0.02)).summary == summary


def test_holm_bonferroni_by_hand():
    adjusted, rejected = holm_bonferroni([0.04, 0.001, 0.012, 0.9])
    # Sorted: 0.001·4, 0.012·3, 0.04·2, 0.9·1.
    assert adjusted == pytest.approx([0.08, 0.004, 0.036, 0.9])
    assert rejected == [False, True, True, False]


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(ParameterError, match="three values"):
        compare_models([one for one in observations(0.1) if one.epsilon != 1.0])
    with pytest.raises(ParameterError, match="more than 12"):
        compare_models(observations(0.1)[::6])


def shared(seed, spread, added):
    """Errors of 24 workloads, each at every ε with the same deviation of its own."""
    rng = np.random.default_rng(seed)
    seen = []
    for size in SIZES:
        for filtered in (False, True):
            for number in range(3):
                deviation = rng.normal(0, spread)
                name = f"{size} {filtered} {number}"
                seen += [
                    Observation(
                        e, size, filtered,
                        0.3 + added * filtered + deviation + rng.normal(0, 1e-3), name,
                    )
                    for e in EPSILONS
                ]  # fmt: skip
    return seen


def test_the_robust_covariance_is_the_sandwich_of_workloads():
    seen = shared(0, spread=0.02, added=0.05)
    found = compare_models(seen)
    assert (found.observations, found.clusters) == (72, 24)
    rows = []
    for one in seen:
        x1, x2, x3 = one.epsilon == 0.1, one.epsilon == 1.0, np.log(one.size)
        half = np.array([1, x1, x2, x3, x1 * x3, x2 * x3], dtype=float)
        rows.append(np.concatenate([half, half * one.filtered]))
    design = np.array(rows)
    left = np.array([one.error for one in seen]) - design @ found.coefficients
    bread = np.linalg.inv(design.T @ design)
    names = np.array([one.workload for one in seen])
    meat = np.zeros((12, 12))
    for name in set(names):
        score = design[names == name].T @ left[names == name]
        meat += np.outer(score, score)
    n, g = len(seen), 24
    by_hand = bread @ meat @ bread * (g / (g - 1)) * ((n - 1) / (n - 12))
    assert found.robust_covariance == pytest.approx(by_hand, rel=1e-6, abs=1e-12)
    contrast = np.eye(12)[6:]
    inner = contrast @ by_hand @ contrast.T
    value = contrast @ found.coefficients
    assert found.robust_f == pytest.approx(float(value @ np.linalg.solve(inner, value)) / 6)


def test_without_names_every_observation_stands_alone():
    found = compare_models(observations(noise=0.02))
    assert found.clusters == found.observations
