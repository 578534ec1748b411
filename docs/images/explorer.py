"""Take the README's pictures of the explorer: `python docs/images/explorer.py` (a minute; needs Chromium).

Fits ADULT at ε = 1, writes the page that `thresher explore` writes, and photographs a question and
a table into `explorer-ask.png` and `explorer-table.png` beside this file.
"""  # noqa: E501

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import thresher as th
from thresher.report import Imprint, release_page

HERE = Path(__file__).parent
VIEWS = {
    "explorer-ask": ("#ask?if=8:0&if=3:12-15&if=13:1&r=2", 860),
    "explorer-table": ("#table?rows=4&columns=6&percent=row", 860),
}


def main() -> None:
    """Fit, write the page, and photograph it."""
    data = th.datasets.adult()
    work = th.Workload.random(data.schema, k=3, size=16, seed=0)
    release = th.Auto(epsilon=1.0).fit(data, work)
    imprint = Imprint("adult-release", "Census income, 1994", "Example statistics office")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder, "explore.html")
        page_file.write_text(release_page(release, imprint), "utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, (address, height) in VIEWS.items():
            page = browser.new_page(viewport={"width": 1100, "height": height})
            page.goto(page_file.as_uri() + address)
            page.wait_for_selector("body.ready")
            photo = Image.open(io.BytesIO(page.screenshot()))
            # 64 colours are enough for bars and letters, and make the file a third as large.
            photo.convert("RGB").quantize(64).save(HERE / f"{name}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
