"""A feature of numbers in brief, as plain values: for the command and for the service."""

from typing import Any

from thresher.release.numbers import Estimate, Numbers

QUARTILES = (0.25, 0.5, 0.75)


def summary_of(numbers: Numbers, bins: int) -> dict[str, Any]:
    """The mean, sum, quartiles and histogram.

    Args:
        numbers: The numbers.
        bins: The most bins of the histogram.

    Example:
        >>> import thresher as th
        >>> data = th.datasets.adult()
        >>> work = th.Workload(data.schema, [th.Threshold(("age", "sex"))])
        >>> release = th.GaussianJoint(epsilon=1.0).fit(data, work)
        >>> told = summary_of(release.numbers("age", where="sex=Female"), bins=5)
        >>> [*told][:4], len(told["histogram"])
        (['feature', 'read_as', 'people', 'people_margin'], 5)
    """
    histogram = numbers.histogram(bins)
    return {
        "feature": numbers.feature.name,
        "read_as": numbers.read_as,
        "people": numbers.total.count,
        "people_margin": numbers.total.count_error_bar,
        "mean": told(numbers.mean()),
        "sum": told(numbers.sum()),
        "quantiles": [{"part": part, **told(numbers.quantile(part))} for part in QUARTILES],
        "histogram": [
            {**dict(zip(histogram.index.names, ends, strict=True)), **dict(row)}
            for ends, row in zip(histogram.index, histogram.to_dict("records"), strict=True)
        ],
    }


def told(estimate: Estimate) -> dict[str, Any]:
    """A number and its interval."""
    return {
        "value": float(estimate),
        "low": estimate.low,
        "high": estimate.high,
        "is_estimated": estimate.is_estimated,
    }
