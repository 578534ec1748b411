"""The prediction error: the differences to measurements, less their noise, and never too small."""

import math
from fractions import Fraction

import numpy as np
import pytest

from thresher.privacy.measurements import QueryMeasurement, TableMeasurement
from thresher.queries import Condition, Query, Threshold
from thresher.release.prediction_error import (
    Prediction,
    detectable_error,
    prediction_error_of,
)
from thresher.release.uncertainty import NORMAL_95

N = 1000


def single(sigma):
    """A measurement of 0.3."""
    return QueryMeasurement(Query([Condition("a", (0,))]), 300, sigma, N)


def test_the_noise_of_measurements_is_taken_off():
    asked = [single(5.0)] * 40  # 0.3 each
    assert prediction_error_of([Prediction.of(m, 0.2) for m in asked], 0.1) == pytest.approx(
        NORMAL_95 * math.sqrt(0.1**2 - 0.005**2)
    )
    assert prediction_error_of([], 0.9) is None


def test_cells_of_a_table_count_by_people():
    noisy = np.array([[110, 90, 0], [0, 0, 0]])
    measured = TableMeasurement(Threshold(("a", "b")), noisy, 1.0, N)
    says = np.array([[0.3, 0.1, 0.0], [0.0, 0.0, 0.0]])
    expected = 0.75 * (0.11 - 0.3) ** 2 + 0.25 * (0.09 - 0.1) ** 2 - 0.001**2
    assert prediction_error_of([Prediction.of(measured, says)], 0.0) == pytest.approx(
        NORMAL_95 * math.sqrt(expected)
    )
    # A table counts as much as a query.
    both = prediction_error_of(
        [Prediction.of(measured, says), Prediction.of(single(1.0), 0.3)], 0.0
    )
    assert both == pytest.approx(NORMAL_95 * math.sqrt((expected - 0.001**2) / 2))


def test_it_is_no_smaller_than_what_noise_or_selection_may_hide():
    asked = [Prediction.of(single(5.0), 0.3)] * 8
    hidden = NORMAL_95 * 0.005 * math.sqrt(1.645 * math.sqrt(2 / 8))
    assert prediction_error_of(asked, 0.0) == pytest.approx(hidden)
    assert prediction_error_of(asked, 0.9) == 0.9
    assert prediction_error_of([Prediction.of(single(5.0), 0.2)] * 8, 0.9) == 0.9


def test_what_selection_detects():
    """At that error, one candidate has the weight exp(η·score) of all others, at score 0."""
    rho = Fraction(1, 50)
    score = detectable_error(1000, rho, n=N) * N
    assert math.exp(math.sqrt(2 * rho) * score) == pytest.approx(1000)
