"""`thresher serve`: releases over HTTP, as pages and as an API."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.console import print_json, say, show, warn
from thresher.cli.options import AsJson, usable_path
from thresher.errors import ParameterError


def _usable_paths(param: typer.CallbackParam, values: list[Path]) -> list[Path]:
    return [usable_path(param, value) for value in values]


def serve(
    releases: Annotated[
        list[Path],
        typer.Argument(metavar="RELEASE", help="The folders of releases.", callback=_usable_paths),
    ],
    port: Annotated[
        int, typer.Option(metavar="NUMBER", help="The port; 0 for any.", min=0, max=65535)
    ] = 8000,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    max_queries: Annotated[
        int, typer.Option(metavar="NUMBER", help="The most queries of a request.", min=1)
    ] = 1000,
    max_rows: Annotated[
        int, typer.Option(metavar="NUMBER", help="The most synthetic records of a request.", min=1)
    ] = 10_000,
    seconds: Annotated[
        float, typer.Option(metavar="NUMBER", help="The longest that a request may take.", min=0.1)
    ] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Serve releases on this machine: a page for people, an API for programs.

    Opens release folders only, and costs no privacy. Listens on the loopback address, so that only
    this machine can ask. Ctrl-C or SIGTERM stops it when requests under way are finished.

    Example:
        thresher serve people-release --port 8000
        curl "localhost:8000/v1/releases/people-release/answer?query=sex=Female"
    """
    try:
        from thresher.service import Limits, open_releases
        from thresher.service import serve as run
    except ModuleNotFoundError as fault:
        raise ParameterError(
            f"serve needs {fault.name}: install it with pip install 'thresher[serve]'"
        ) from None
    opened = open_releases(releases)
    for name, release in opened.items():
        if not release.is_secure:
            warn(f"{name} is not private: its noise came from a seed")
    limits = Limits(queries=max_queries, rows=max_rows, seconds=seconds)

    def started(address: str) -> None:
        if as_json:
            print_json({"address": address, "releases": list(opened)})
        else:
            show(f"serving {', '.join(opened)} at {address}")
        sys.stdout.flush()

    run(opened, host=host, port=port, limits=limits, started=started)
    say("stopped")
