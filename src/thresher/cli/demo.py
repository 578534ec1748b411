"""`thresher demo`: built-in ADULT, end to end."""

import time
from pathlib import Path

from thresher.cli.console import phases_of, show, working
from thresher.data import datasets
from thresher.data.exact import exact_answer
from thresher.evaluation.comparison import BASELINES
from thresher.evaluation.errors import errors_of
from thresher.files import write_text
from thresher.mechanisms import Auto
from thresher.queries.workload import Workload
from thresher.release import Answer
from thresher.report import Imprint, release_page

PAGE = Path("thresher-demo.html")
"""Where the page of the demo's release goes, in the folder where it is run."""

QUESTIONS = {
    "women with a bachelor's degree or more who earn over 50K": (
        "all of: education-num=13.., sex=Female, income=>50K"
    ),
    "Black women who earn over 50K": "all of: race=Black, sex=Female, income=>50K",
    "people with at least two of: Black, a woman, over 50K": (
        "2 of: race=Black, sex=Female, income=>50K"
    ),
    "never married, aged 25 to 34, earning up to 50K": (
        "all of: age=25..34, marital-status=Never-married, income=<=50K"
    ),
}


def demo() -> None:
    """Fit the built-in ADULT data and ask the release a few questions.

    The workload is 64 random 3-way marginals, some four million queries, at ε = 1. Truth and errors
    are shown beside the private answers, so the output is not private. The page of the release,
    which it writes into the current folder, has nothing but private answers.

    Example:
        thresher demo
    """
    with working("reading the built-in data"):
        records = datasets.adult()
    work = Workload.random(records.schema, k=3, size=64, seed=253)
    show(f"ADULT: {records.n:,} people, {len(records.schema)} features.")
    show(f"The workload: {len(work)} random 3-way marginals, {work.query_count:,} queries.")
    show("Fitting: the workload's tables are measured with noise, and D' is fitted to them …")
    began = time.perf_counter()
    with phases_of("fitting") as progress:
        # Fewer rows than by default, for the sake of those who wait.
        auto = Auto(epsilon=1.0, synthetic_rows=400)
        release = auto.fit(records, work, progress=progress)
    seconds = time.perf_counter() - began
    show(f"Fitted in {seconds:.1f} s, to {len(release.measurements)} noisy measurements.")
    show(
        f"Spent: rho = {float(release.spent):.5f} of zCDP, that is epsilon = {release.epsilon:g} "
        f"at delta = {float(release.delta):.1e}. Asking the release costs nothing more."
    )
    show()
    show("Fitting the baselines at the same budget: all 0, and Gaussian noise in three ways …")
    with working("fitting the baselines"):
        baselines = {kind.name: kind(epsilon=1.0).fit(records, work) for kind in BASELINES}
    published = {"thresher": release, **baselines}
    show()
    show("What share of people are …")
    for words, query in QUESTIONS.items():
        show(f"  {words}?   ({query})")
        answers = ", ".join(f"{n} {_said(p.answer(query))}" for n, p in published.items())
        show(f"      truth {exact_answer(records, query):.4f};   {answers}")
    show()
    show("The largest error over all queries of the workload:")
    with working("comparing all answers with the truth"):
        worst = {n: errors_of(p.source.table, records, work).max for n, p in published.items()}
    for name, error in worst.items():
        show(f"  {name:20} {error:.4f}")
    show()
    show("Truth and errors were computed from the records: not private, not for publication.")
    show()
    imprint = Imprint(name="adult-release", title="ADULT, a release of the demo")
    write_text(PAGE, release_page(release, imprint))
    show(f"The release as a page that answers in the browser: {PAGE.resolve()}")


def _said(answer: Answer) -> str:
    bar = "" if answer.error_bar is None else f" ± {answer.error_bar:.4f}"
    return f"{answer:.4f}{bar}"
