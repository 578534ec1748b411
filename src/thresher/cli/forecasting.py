"""A forecast as `plan` and `fit --dry-run` print it."""

from thresher.cli.console import print_json, show
from thresher.planning import Forecast


def tell(forecast: Forecast, as_json: bool) -> None:
    """Print a forecast."""
    if as_json:
        print_json(forecast.as_json())
        return
    for line in str(forecast).splitlines():
        show(line)
