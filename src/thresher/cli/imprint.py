"""What the commands that write pages ask about them: where they go, and who publishes them."""

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.options import output_option
from thresher.report import Imprint

PageFile = Annotated[
    Path,
    output_option("The .html file to write."),
]

PageTitle = Annotated[str, typer.Option("--title", help="The title of the page.")]
PageOwner = Annotated[str, typer.Option("--owner", help="Who publishes the release.")]
PageContact = Annotated[str, typer.Option("--contact", help="Where questions about it go.")]


def imprint_of(release: Path, title: str, owner: str, contact: str) -> Imprint:
    """The imprint of a page. Of the folder's path, it tells the last name only."""
    return Imprint(release.resolve().name, title, owner, contact)
