"""The appendix: does filtering large marginals change present error? Nested regressions.

The full model accounts for ε, for a size (the logarithm of the workload size, or of the number of
queries), and for whether marginals were filtered, with all interactions:

    err = β0 + β1·x1 + β2·x2 + (β3 + β4·x1 + β5·x2)·x3
          + (β6 + β7·x1 + β8·x2 + (β9 + β10·x1 + β11·x2)·x3)·x4 + ζ

x1 and x2 tell the second and the third ε from the first, x3 is the size, x4 the filter. The
restricted model ends before β6. A likelihood-ratio test compares the two (χ², 6 degrees of
freedom), and Holm–Bonferroni keeps the family-wise error rate of all such tests.

The paper's test takes all errors for independent, but one workload is fitted at every ε. So a Wald
test with cluster-robust standard errors, one cluster a workload, stands beside it.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from thresher.errors import ParameterError
from thresher.evaluation.future import student_t

Array = npt.NDArray[np.float64]

TERMS = 12
RESTRICTED = 6
FAMILY_WISE = 0.05


@dataclass(frozen=True)
class Observation:
    """RAP's least present error over all (T, K) in one repetition of one setting."""

    epsilon: float
    size: float
    filtered: bool
    error: float
    workload: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The full model beside the restricted one.

    Attributes:
        coefficients: β0 to β11 of the full model.
        coefficient_p_values: Of the hypotheses that each of them is 0.
        adjusted_r2: Of the full model.
        chi2: The likelihood-ratio statistic.
        p_value: Its p-value.
        summary: The full model's table, in the form of the appendix.
        epsilons: The values of ε, from the smallest.
        covariance: Of the coefficients.
        degrees: Of freedom that are left to the errors.
        observations: How many errors there are.
        clusters: How many workloads they come from.
        robust_covariance: Of the coefficients, if errors of one workload are not independent.
        robust_f: The Wald statistic of the hypothesis that β6 to β11 are 0, by that covariance.
        robust_p_value: Its p-value.
    """

    coefficients: Array
    coefficient_p_values: Array
    adjusted_r2: float
    chi2: float
    p_value: float
    summary: str
    epsilons: tuple[float, ...]
    covariance: Array
    degrees: int
    observations: int
    clusters: int
    robust_covariance: Array
    robust_f: float
    robust_p_value: float

    def predicted(self, epsilon: float, log_size: Array, filtered: bool) -> Array:
        """The full model's present error."""
        level = np.full(log_size.shape, self.epsilons.index(epsilon))
        on = np.full(log_size.shape, float(filtered))
        predicted: Array = _design(level, log_size, on) @ self.coefficients
        return predicted

    def effect(
        self, epsilon: float, log_size: float, *, robust: bool = False
    ) -> tuple[float, float, float]:
        """What the filter adds to present error at one size, and the ends of its 95 % interval.

        Args:
            epsilon: One of the three.
            log_size: The logarithm of the size.
            robust: Whether the interval allows for errors of one workload that depend on each
                other.
        """
        level, at = np.array([self.epsilons.index(epsilon)]), np.array([log_size])
        contrast = _design(level, at, np.ones(1))[0] - _design(level, at, np.zeros(1))[0]
        added = float(contrast @ self.coefficients)
        covariance = self.robust_covariance if robust else self.covariance
        spread = float(np.sqrt(contrast @ covariance @ contrast))
        margin = student_t(self.clusters - 1 if robust else self.degrees) * spread
        return added, added - margin, added + margin


def compare_models(observations: Sequence[Observation]) -> Comparison:
    """Fit the full and the restricted model and test one against the other.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> observed = [
        ...     Observation(epsilon, size, filtered, 0.1 + 0.2 * filtered + rng.normal(0, 0.01))
        ...     for epsilon in (0.01, 0.1, 1.0) for size in (1, 4, 16, 64)
        ...     for filtered in (False, True) for _ in range(3)
        ... ]
        >>> compare_models(observed).p_value < 1e-6
        True
    """
    epsilons = tuple(sorted({seen.epsilon for seen in observations}))
    if len(epsilons) != 3:
        raise ParameterError(f"the appendix's regression has three values of ε, not {epsilons}")
    if len(observations) <= TERMS:
        raise ParameterError(f"{TERMS} coefficients need more than {len(observations)} runs")
    places = np.array([epsilons.index(seen.epsilon) for seen in observations])
    log_sizes = np.log([seen.size for seen in observations])
    filtered = np.array([float(seen.filtered) for seen in observations])
    errors = np.array([seen.error for seen in observations])
    design = _design(places, log_sizes, filtered)
    full = sm.OLS(errors, design).fit()
    restricted = sm.OLS(errors, design[:, :RESTRICTED]).fit()
    chi2, p_value, _ = full.compare_lr_test(restricted)
    # An observation that names no workload is one of its own.
    groups = [seen.workload or f"observation {i}" for i, seen in enumerate(observations)]
    _, codes = np.unique(groups, return_inverse=True)
    robust = full.get_robustcov_results(cov_type="cluster", groups=codes)
    clusters = int(codes.max()) + 1
    robust_f, robust_p_value = float("nan"), float("nan")
    if clusters > TERMS:  # with fewer, their covariance does not have full rank
        wald = robust.f_test(np.eye(TERMS)[RESTRICTED:])
        robust_f, robust_p_value = float(np.squeeze(wald.fvalue)), float(wald.pvalue)
    names = [f"β{i}" for i in range(TERMS)]
    with warnings.catch_warnings():
        # Tests of normality warn when there are few runs; the table shows their values all the same
        warnings.simplefilter("ignore")
        summary = str(full.summary(yname="present_err", xname=names))
    return Comparison(
        coefficients=np.asarray(full.params),
        coefficient_p_values=np.asarray(full.pvalues),
        adjusted_r2=float(full.rsquared_adj),
        chi2=float(chi2),
        p_value=float(p_value),
        summary=_undated(summary),
        epsilons=epsilons,
        covariance=np.asarray(full.cov_params()),
        degrees=int(full.df_resid),
        observations=len(observations),
        clusters=clusters,
        robust_covariance=np.asarray(robust.cov_params()),
        robust_f=robust_f,
        robust_p_value=robust_p_value,
    )


def holm_bonferroni(p_values: Sequence[float]) -> tuple[list[float], list[bool]]:
    """Adjusted p-values, and which hypotheses are rejected at a family-wise rate of 5 %.

    Example:
        >>> adjusted, rejected = holm_bonferroni([0.01, 0.04, 0.03])
        >>> [round(p, 3) for p in adjusted], rejected
        ([0.03, 0.06, 0.06], [True, False, False])
    """
    rejected, adjusted, _, _ = multipletests(p_values, alpha=FAMILY_WISE, method="holm")
    return [float(p) for p in adjusted], [bool(r) for r in rejected]


def _design(places: npt.NDArray[np.int_], log_sizes: Array, filtered: Array) -> Array:
    """The columns of β0 to β11."""
    x1, x2 = (places == 1).astype(float), (places == 2).astype(float)
    one = np.ones_like(x1)
    half = [one, x1, x2, log_sizes, x1 * log_sizes, x2 * log_sizes]
    return np.column_stack(half + [column * filtered for column in half])


def _undated(summary: str) -> str:
    """Without the date and time of the run, so that equal results print equal tables."""
    blanks = {"Date:": "", "Time:": ""}
    lines = []
    for line in summary.splitlines():
        start = next((name for name in blanks if line.startswith(name)), None)
        lines.append(line if start is None else " " * 39 + line[39:])
    return "\n".join(line.rstrip() for line in lines) + "\n"
