"""`thresher explore`: a release as a page that answers questions in the browser."""

from pathlib import Path

from thresher.cli.console import print_json, show, working
from thresher.cli.imprint import PageContact, PageFile, PageOwner, PageTitle, imprint_of
from thresher.cli.options import AsJson, ReleaseFolder
from thresher.files import write_text
from thresher.release import load
from thresher.report import release_page


def explore(
    release: ReleaseFolder,
    output: PageFile = Path("explore.html"),
    title: PageTitle = "",
    owner: PageOwner = "",
    contact: PageContact = "",
    as_json: AsJson = False,
) -> None:
    """Write a page that answers questions about a release in the browser, without a server.

    One file that works offline, from a disk, by mail or on any web host: build a question, a
    table, a distribution or a comparison by clicking. Its answers and margins of error are those
    of `thresher answer`. It costs no privacy.

    Example:
        thresher explore people-release --output people.html --title "People"
    """
    published = load(release)
    with working("packing the release"):
        page = release_page(published, imprint_of(release, title, owner, contact))
        write_text(output, page)
    if as_json:
        print_json({"page": str(output), "bytes": len(page.encode())})
    else:
        show(f"wrote {output} ({len(page.encode()) / 1e6:.1f} MB): open it in a browser")
