"""The page as people use it: clicked through in a real browser, on a desk and on a phone."""

import csv
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from thresher.evaluation.comparison import compare
from thresher.report import Comparison, Imprint, release_page

from .releases import HOSTILE, MECHANISMS, as_page, by_python, people, random_queries, workload

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
QUERIES = 2_000
NAME_IN_FOCUS = """(element => (
  element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent
).trim())(document.activeElement)"""

pytestmark = [
    pytest.mark.skipif(
        not CHROMIUM and not os.environ.get("CI"), reason="needs the browser chromium"
    ),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "CI must install Chromium: see .ci/run"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def release() -> th.Release:
    data = people(HOSTILE)
    return MECHANISMS["tables"].fit(
        data, workload(data.schema), randomness=th.InsecureSeededRandomness(5)
    )


@pytest.fixture(scope="module")
def page_file(release, tmp_path_factory) -> Path:
    """A page whose names and values are as hostile as they can be."""
    data = people(HOSTILE)
    compared = Comparison(release.workload, compare(release, data, release.workload, seed=0))
    path = tmp_path_factory.mktemp("page") / "explore.html"
    imprint = Imprint("it's mine", title=HOSTILE[0])
    path.write_text(release_page(release, imprint, comparison=compared), "utf-8")
    return path


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, page_file, request) -> Iterator[object]:
    """The page on a screen; whatever goes wrong in it fails the test."""
    context = browser.new_context(
        viewport=request.param, permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("request", lambda asked: asked.url.startswith("file:") or faults.append(asked.url))
    page.goto(page_file.as_uri())
    page.wait_for_selector("body.ready")
    yield page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults == []
    context.close()


def move(page, address: str) -> None:
    """Move the page to another address, and wait until it has followed."""
    page.evaluate(
        "address => new Promise(done => {"
        " addEventListener('hashchange', () => setTimeout(done), { once: true });"
        " location.hash = address; })",
        address,
    )


def follow(page, name: str, view: str) -> None:
    """Click on a link of the page, and wait until the page shows that view."""
    page.get_by_role("link", name=name, exact=True).click()
    page.locator(f"body[data-view={view}]").wait_for()


def shown(page, place: str = "output .share") -> list[float | None]:
    """The share and the margin that stand at a place of the page."""
    found = page.locator(place).first
    margin = found.get_attribute("data-margin")
    return [float(found.get_attribute("data-share")), None if margin is None else float(margin)]


def test_a_question_is_built_by_clicking_and_answered_as_python_does(page, release):
    name = release.schema.names[0]
    page.get_by_label("Feature of condition 1").select_option(name)
    page.get_by_label(HOSTILE[0], exact=True).uncheck()
    page.get_by_label(HOSTILE[4], exact=True).check()
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Feature of condition 2").select_option("age")
    page.get_by_label("from").select_option("22")
    page.get_by_label("to", exact=True).select_option("25")
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Feature of condition 3").select_option("smoker")
    page.get_by_label("How many of the conditions must hold?").select_option("at least 2 of 3")
    wanted = by_python(
        release,
        th.Query(
            [th.Condition(name, [4]), th.Condition("age", range(2, 6)),
             th.Condition("smoker", [0])], 2),
    )  # fmt: skip
    assert shown(page) == pytest.approx(wanted[:2], abs=1e-6)
    assert f"of {release.n} records" in page.locator("output").inner_text()


def test_the_question_can_be_taken_along(page, release):
    move(page, "#ask?if=1:2-5&if=5:0&r=1")
    page.locator("summary", has_text="Ask the same elsewhere").evaluate(
        "summary => summary.parentElement.open = true"
    )
    page.get_by_role("button", name="Copy: Question").click()
    text = page.evaluate("navigator.clipboard.readText()")
    assert th.Query.parse(text, release.schema).r == 1
    code = page.locator(".copy code").all_inner_texts()
    assert code[1] == f"thresher answer 'it'\\''s mine' '{text}'"
    assert code[2] == f'th.load("it\'s mine").answer("{text}")'
    before = shown(page)
    page.get_by_role("button", name="Copy a link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("body.ready")
    assert shown(page) == before


def test_a_table_of_three_features_with_row_percentages(page, release, tmp_path):
    follow(page, "Tables", "table")
    page.get_by_label("Rows").select_option("grade")
    page.get_by_label("Columns").select_option("age")
    page.get_by_label("One table for each").select_option("smoker")
    page.get_by_label("Percentages").select_option("of each row")
    assert page.locator("table.cross").count() == 2
    heads = page.locator("table.cross").first.locator("thead tr").nth(1).inner_text()
    assert re.split(r"\s*\t\s*", heads)[:2] == ["20", "21"]
    layer = page.locator("table.cross caption").first.inner_text()
    answer = release.answer(f"grade=A, age=20, smoker={layer}")
    share, margin = shown(page, "table.cross tbody td")
    assert share == pytest.approx(answer / release.answer(f"grade=A, smoker={layer}"), abs=1e-6)
    assert margin is not None
    page.get_by_label("One table for each").select_option("–")
    wanted = release.table("grade", "age", percent="row")
    found = page.locator("table.cross tbody td").evaluate_all(
        "cells => cells.map(({ dataset }) => [100 * dataset.share, 100 * dataset.margin])"
    )
    assert np.array(found) == pytest.approx(
        wanted[["percent", "percent_margin"]].to_numpy(), abs=1e-4
    )
    spoken = page.locator(".copy code").nth(1).text_content()
    assert spoken == 'th.load("it\'s mine").table("grade", "age", percent="row")'
    page.get_by_label("One table for each").select_option("smoker")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    lines = [*csv.reader(Path(download.value.path()).read_text("utf-8-sig").splitlines())]
    assert lines[0][:4] == ["smoker", "grade", "age", "share"]
    assert len(lines) == 1 + 2 * 6 * 12
    assert float(lines[1][3]) == pytest.approx(share)


def test_distributions_and_comparisons_show_pictures_and_numbers(page, release):
    follow(page, "Distributions", "distribution")
    page.get_by_label("Feature", exact=True).select_option("pay in k")
    rows = page.locator("#app .scroll tbody th").all_inner_texts()
    assert rows[:2] == ["0–4,000", "4,000–8,000"]
    assert rows[-2:] == ["≥\xa096,000", "?"]
    wanted = by_python(release, th.Query.parse('"pay in k"=0', release.schema))
    assert shown(page, "#app .scroll tbody td") == pytest.approx(wanted[:2], abs=1e-6)
    assert page.locator(".picture svg[role=img][aria-label]").count() == 1
    follow(page, "Compare", "compare")
    page.get_by_label("Groups").select_option("grade")
    page.get_by_label("Feature", exact=True).first.select_option("smoker")
    questions = page.locator(".copy code").first.text_content().split("\n")
    assert questions[0] == "share of all of: smoker=false among all of: grade=A"
    wanted = release.answer(questions[0])
    assert shown(page, "#app tbody td") == pytest.approx([wanted, wanted.error_bar], abs=1e-6)


def test_numbers_have_their_mean_sum_and_quartiles(page, release):
    follow(page, "Distributions", "distribution")
    page.get_by_label("Feature", exact=True).select_option("age")
    brief = page.get_by_role("table", name="Mean, sum and quartiles of age")
    shown = [
        float(cell.get_attribute("data-value")) for cell in brief.locator("td[data-value]").all()
    ]
    numbers = release.numbers("age")
    quartiles = [numbers.quantile(part) for part in (0.25, 0.5, 0.75)]
    assert shown == pytest.approx([numbers.mean(), numbers.sum(), *quartiles], rel=1e-6)
    page.get_by_text("Ask the same elsewhere").click()
    page.get_by_text("thresher numbers").first.wait_for()
    page.get_by_label("Feature", exact=True).select_option("grade")
    assert brief.count() == 0


def test_the_report_begins_with_findings_and_is_stamped(page):
    follow(page, "Report", "report")
    heads = page.locator("h2:visible").all_inner_texts()
    order = ["Findings", "One feature at a time", "Errors beside the baselines: not private",
             "What was measured, and how noisy it is", "The promise"]  # fmt: skip
    assert [head for head in heads if head in order] == order
    assert page.locator("#agreement svg").count() == 1
    assert page.locator("#errors svg").count() >= 1
    assert page.locator("[role=alert]").inner_text().startswith("NOT PRIVATE")
    assert page.pdf().startswith(b"%PDF")
    follow(page, "What is promised?", "promise")
    assert page.get_by_text("Whoever studies this release").is_visible()


def test_everything_works_from_the_keyboard(browser, page_file):
    page = browser.new_page(viewport=DESK)
    page.goto(page_file.as_uri())
    page.wait_for_selector("body.ready")
    seen = []
    for _ in range(24):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(NAME_IN_FOCUS))
    assert seen[:6] == ["Ask", "Tables", "Distributions", "Compare", "Report", "What is promised?"]
    assert "Feature of condition 1" in seen
    assert "+ Add a condition" in seen
    assert "Copy: Command" in seen
    unnamed = page.evaluate(
        "[...document.querySelectorAll('select, input, button, a')].filter(e => !(e.labels?.length"
        " || e.getAttribute('aria-label') || e.textContent.trim())).length"
    )
    assert unnamed == 0
    page.close()


CONTRASTS = """() => {
  const channel = x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map(x => x / 255);
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = paint(getComputedStyle(e).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return paint("#fff");
  };
  const isText = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  return [...document.body.querySelectorAll("*")].filter(e => isText(e) && e.checkVisibility()
      && !e.closest("svg")).map(e => {
    const [a, b] = [paint(getComputedStyle(e).color), behind(e)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [ratio, e.tagName, e.textContent.slice(0, 30)];
  }).sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_by_day_and_by_night(scheme, browser, page_file):
    """Every text has the contrast of 4.5 that WCAG asks for (AA), on every view."""
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_selector("body.ready")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    for address in ("#ask", "#table?rows=3&columns=1", "#distribution?of=1", "#compare", "#report"):
        move(page, address)
        least, *place = page.evaluate(CONTRASTS)
        assert least >= 4.5, (address, place)
    context.close()


def test_thousands_of_answers_of_the_page_are_those_of_python(browser, page_file, release):
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_selector("body.ready")
    queries = [*random_queries(release, QUERIES, seed=11)]
    told = page.evaluate(
        "queries => queries.map(q => window.thresher.release.answer(q))"
        ".map(({ share, margin, estimated }) => [share, margin, estimated])",
        [as_page(query, release.schema) for query in queries],
    )
    for query, found in zip(queries, told, strict=True):
        assert found == pytest.approx(by_python(release, query), abs=1e-6)
    page.close()


@pytest.mark.parametrize("name", ["rap", "gaussian_joint", "gaussian_per_query", "all0"])
def test_every_view_of_every_kind_of_release_opens(name, browser, tmp_path):
    data = people()
    file = tmp_path / "page.html"
    file.write_text(release_page(MECHANISMS[name].fit(data, workload(data.schema))), "utf-8")
    page = browser.new_page(viewport=PHONE)
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.goto(file.as_uri())
    page.wait_for_selector("body.ready")
    for address in ("#ask", "#table", "#table?rows=0&columns=1&layers=5&percent=column&only=3:0",
                    "#distribution?of=2&only=5:1", "#compare", "#report", "#promise",
                    "#ask?if=99:1",
                    "#table?rows=-1&percent=x&only=3:9-2", "#nonsense"):  # fmt: skip
        move(page, address)
    assert faults == []
    assert page.locator("h2:visible").count() > 0
    page.close()


def test_a_release_of_4427_columns_can_be_used(browser, tmp_path):
    """The shape of LOANS: features of up to 1,001 values, on a desk."""
    data = th.datasets.loans_like(seed=0, n=2_000)
    work = th.Workload.random(data.schema, k=2, size=8, seed=0, max_queries=20_000)
    release = th.Auto(epsilon=1.0, synthetic_rows=30).fit(data, work)
    file = tmp_path / "page.html"
    file.write_text(release_page(release), "utf-8")
    page = browser.new_page(viewport=DESK)
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.goto(file.as_uri())
    page.wait_for_selector("body.ready")
    widest = max(release.schema, key=lambda feature: feature.size)
    page.get_by_label("Feature of condition 1").select_option(widest.name)
    for name, view in (("Tables", "table"), ("Distributions", "distribution"),
                       ("Compare", "compare"), ("Report", "report")):  # fmt: skip
        follow(page, name, view)
    move(page, f"#ask?if={release.schema.index(widest.name)}:0-4")
    answer = release.answer(th.Query([th.Condition(widest.name, range(5))]))
    assert shown(page) == pytest.approx([answer, answer.error_bar], abs=1e-6)
    assert faults == []
    page.close()
