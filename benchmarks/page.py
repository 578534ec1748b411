"""How large a release's page is, and how long a browser takes to open it.

Times are the page's own: when the document was loaded, and when the page answers, both since the
navigation began; and the processor time of its main thread, which a busy machine changes less.

    python -m benchmarks.page RELEASE…
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import thresher as th
from thresher.report import release_page

TIMES = 7
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
WHEN_READY = """
const look = () => {
  if (document.body?.classList.contains("ready")) window.readyAt ??= performance.now();
};
new MutationObserver(look).observe(document, { subtree: true, attributes: true, childList: true });
"""
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    """Print one line per release."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for folder in sys.argv[1:]:
            page = Path(place, "page.html")
            page.write_text(release_page(th.load(folder)), "utf-8")
            loaded, ready, processor = np.median(
                [opened(browser, page) for _ in range(TIMES)], axis=0
            )
            print(
                f"{folder}: {page.stat().st_size / 1e6:.2f} MB; medians of {TIMES}: loaded after "
                f"{loaded:.2f} s, answers after {ready:.2f} s, {processor:.2f} s of processor time"
            )
        browser.close()


def opened(browser, file: Path) -> tuple[float, float, float]:
    """The seconds until the page was loaded and answers, and those of its main thread."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.add_init_script(WHEN_READY)
    page.goto(file.as_uri())
    page.wait_for_selector("body.ready")
    metrics = session.send("Performance.getMetrics")["metrics"]
    processor = next(m["value"] for m in metrics if m["name"] == "TaskDuration")
    loaded, ready = (page.evaluate(script) / 1000 for script in (LOADED, "window.readyAt"))
    context.close()
    return loaded, ready, processor


if __name__ == "__main__":
    main()
