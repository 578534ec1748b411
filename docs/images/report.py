"""Take the README's picture of a report: `python docs/images/report.py` (a minute; needs Chromium).

Fits ADULT at ε = 1, writes the page that `thresher report` writes, hides all of it but a few
pictures, and photographs what is left into `report.png` beside this file.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

import thresher as th
from thresher.report import report_page

PICTURE = Path(__file__).with_suffix(".png")
WIDTH, HEIGHT = 1000, 915
ONLY_SOME = """<style>
section:not(:nth-of-type(5)):not(:nth-of-type(6)) { display: none; }
details, section > p:first-of-type { display: none; }
section:nth-of-type(5) figure:not(:nth-of-type(6)):not(:nth-of-type(4)) { display: none; }
section:nth-of-type(6) figure:not(:nth-of-type(3)):not(:nth-of-type(6)) { display: none; }
</style></head>"""


def main() -> None:
    """Fit, write the page, and photograph it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium is not installed")
    data = th.datasets.adult()
    work = th.Workload.random(data.schema, k=3, size=16, seed=0)
    release = th.Auto(epsilon=1.0).fit(data, work)
    with tempfile.TemporaryDirectory() as folder:
        page, photo = Path(folder, "report.html"), Path(folder, "report.png")
        page.write_text(str(report_page(release)).replace("</head>", ONLY_SOME), "utf-8")
        options = ["--no-sandbox", "--headless", "--disable-gpu", "--hide-scrollbars"]
        size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={photo}"]
        subprocess.run([browser, *options, *size, page.as_uri()], check=True, capture_output=True)
        # 256 colours are enough for bars and letters, and make the file a third as large.
        Image.open(photo).convert("RGB").quantize(256).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
