"""`thresher numbers`: the mean, sum, quartiles and histogram of a feature of numbers."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.console import plain, print_json, say, show
from thresher.cli.kept import Where, kept_by, writing
from thresher.cli.options import AsJson, ReleaseFolder, output_option
from thresher.errors import ParameterError
from thresher.release import load
from thresher.release.number_summary import summary_of
from thresher.release.spreadsheet import write_csv


def numbers(
    release: ReleaseFolder,
    feature: Annotated[str, typer.Argument(metavar="FEATURE", help="Whole numbers, or bins.")],
    where: Where = None,
    bins: Annotated[int, typer.Option(help="The most bins of the histogram.", min=1)] = 20,
    output: Annotated[
        Path | None,
        output_option("A .csv file for the histogram."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the mean, sum, quartiles and histogram of numbers. This costs no privacy.

    Each number stands with its 95 % interval, which allows for the noise and for the bins: inside
    of a bin, numbers are taken to be spread evenly. Labels such as `unknown` are left out. Marked
    with ~, an interval is an estimate. A single one of these numbers has its words in `thresher
    answer`: "mean of age among sex=Female".

    Example:
        thresher numbers people-release age --where "sex=Female"
        thresher numbers people-release hours-per-week --bins 10 -o hours.csv
    """
    if output is not None and output.suffix != ".csv":
        raise ParameterError(f"{output}: the file of a histogram ends in .csv")
    published = load(release)
    found = published.numbers(feature, where=kept_by(where, published.schema))
    told = summary_of(found, bins)
    if output is not None:
        with writing(output):
            write_csv(found.histogram(bins).reset_index(), output)
        say(f"thresher: wrote {output}")
    if as_json:
        print_json(_without_nan(told))
        return
    about = plain(told["feature"]) + (f", where {plain(where)}" if where else "")
    show(f"{about}, with 95 % intervals")
    show(f"people   {told['people']:,.0f}{_bar(told['people_margin'])}")
    show(_line("mean", told["mean"]))
    show(_line("sum", told["sum"]))
    for quantile in told["quantiles"]:
        name = "median" if quantile["part"] == 0.5 else f"{quantile['part']:.0%}"
        show(_line(name, quantile))
    for row in told["histogram"]:
        span = f"{row['from']:,.15g} to {row['to']:,.15g}"
        margin = "" if math.isnan(row["margin"]) else f" ±{100 * row['margin']:.1f}"
        show(f"  {span:<24} {100 * row['share']:6.1f} %{margin}")


def _line(name: str, told: Mapping[str, Any]) -> str:
    sign = "~" if told["is_estimated"] else ""
    low, high = _short(told["low"]), _short(told["high"])
    return f"{name:<8} {_short(told['value'])} ({sign}{low} to {high})"


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.5g}"


def _bar(margin: float | None) -> str:
    return "" if margin is None else f" ±{margin:,.0f}"


def _without_nan(value: Any) -> Any:
    """The same, with null where a margin is not known."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, Mapping):
        return {key: _without_nan(entry) for key, entry in value.items()}
    return [_without_nan(entry) for entry in value] if isinstance(value, list) else value
