"""Every figure at scale smoke, and the paper's parameters at scale paper."""

import dataclasses
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from thresher.cli import app
from thresher.data import datasets
from thresher.errors import DataError, ParameterError
from thresher.evaluation import FutureError
from thresher.reproduction import (
    data,
    drift_effect,
    filtering,
    future_error,
    overfitting,
    paper_numbers,
    plots,
    printed_osas,
    thresholds,
)
from thresher.reproduction.adaptivity import map_of
from thresher.reproduction.claims import CLAIMS
from thresher.reproduction.figures import (
    FIGURES,
    STORE,
    Workforce,
    figures_named,
    planned,
    reproduce,
)
from thresher.reproduction.page import fill
from thresher.reproduction.paper_figure import best_pairs, least_per_repetition, optional_line
from thresher.reproduction.practice import TEXT, practice_named
from thresher.reproduction.reference import ReferenceFit
from thresher.reproduction.scales import PAPER, QUICK, SCALES, SMOKE, scale_named
from thresher.reproduction.stored import largest_stored
from thresher.reproduction.tasks import FutureFit, PresentFit, sizes_within
from thresher.reproduction.training import TrainingRun
from thresher.reproduction.workforce import Share, Skipped, run_alone

pytestmark = pytest.mark.xdist_group("figures")  # they share the runs of one fixture

ALONE = Workforce(processes=1)


@pytest.fixture(scope="module", autouse=True)
def quick_drawing():
    """Coarse pixels, and fonts embedded without subsetting: two thirds of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(plots.SETTINGS, "savefig.dpi", 50)
        patch.setitem(plots.SETTINGS, "pdf.fonttype", 3)
        yield


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """All figures, once."""
    folder = tmp_path_factory.mktemp("smoke")
    done = reproduce(["all"], SMOKE, folder, sources={}, workforce=ALONE)
    assert done.unfinished == []
    return folder, done.written, done.skipped


def test_every_figure_is_drawn_in_vectors_and_pixels_with_a_table(smoke):
    folder, written, _ = smoke
    assert all(path.stat().st_size > 0 for path in written)
    kinds = Counter(path.suffix for path in written)
    assert kinds[".pdf"] == kinds[".png"] >= len(FIGURES) - 1
    for name in FIGURES:
        assert (folder / f"{name}.csv").exists()
        if name != "claims":
            assert list(folder.glob(f"{name}*.png")), name
    assert "present_err" in (folder / "filtering-regressions.txt").read_text()


def test_a_stand_in_is_called_one_in_every_table(smoke):
    _, written, _ = smoke
    told = set()
    for path in written:
        if path.suffix == ".csv":
            table = pd.read_csv(path)
            told |= set(table.get("data set", []))
    assert told == {
        "ADULT, 2000 records, 8 features",
        "LOANS stand-in (made-up records, 2000 records, 8 features)",
    }


def test_only_the_reference_may_be_skipped(smoke):
    assert {one.task.kind for one in smoke[2]} <= {"reference"}


def test_a_rerun_runs_nothing_and_draws_the_same(smoke, monkeypatch):
    folder, written, _ = smoke
    before = {path: path.read_bytes() for path in [*written, folder / STORE]}
    for kind in (PresentFit, FutureFit, TrainingRun):
        monkeypatch.setattr(kind, "run", lambda self, sources: pytest.fail("it ran again"))
    names = ["adaptivity-epsilon", "drift-effect"]
    again = reproduce(names, SMOKE, folder, sources={}, workforce=ALONE)
    assert again.written
    assert {path: path.read_bytes() for path in before} == before


def test_the_marginals_of_the_paper():
    grid = PAPER.marginals
    assert grid.epsilons == (0.01, 0.1, 1)
    assert grid.sizes[:5] == (1, 4, 16, 64, 256)
    # The regressions' numbers of observations tell the rest: all of ADULT, and 1,024 of LOANS.
    assert sizes_within("adult", 3, grid.sizes)[-1] == 364
    assert sizes_within("loans-like-2", 3, grid.sizes)[-1] == 1024
    assert grid.repetitions == paper_numbers.REPETITIONS == 4
    assert grid.synthetic_rows == 10**3
    assert {t for t, _ in grid.pairs} == {1, 4, 16, 64}
    assert {k for _, k in grid.pairs} == {4, 16, 64, 256}
    assert len(grid.pairs) == 16
    assert (grid.k, grid.map_epsilon, grid.map_size) == (3, 0.1, 256)


def test_the_thresholds_of_the_paper():
    grid = PAPER.thresholds
    assert grid.epsilons == (0.1, 1)
    assert grid.sizes == (1, 4, 16, 64, 256)
    assert grid.rows == (500, 1000, 2000)
    assert grid.r == (1, 2, 3, 4)
    assert grid.pairs == grid.map_pairs == grid.rows_pairs == PAPER.marginals.pairs
    assert (grid.k, grid.map_epsilon, grid.map_size) == (4, 0.1, 64)
    assert not grid.filtered


def test_the_future_of_the_paper():
    grid = PAPER.future
    assert grid.epsilon == 0.1
    assert grid.sizes == (1, 4, 16, 64, 256, 1024)
    assert grid.synthetic_rows == 1000
    assert grid.pairs == grid.drift_pairs == PAPER.marginals.pairs
    assert (grid.r, grid.k) == (1, 3)
    assert grid.shapes == ("uniform", "zipf", "geometric")
    assert grid.drifts == (0, 0.05, 0.1, 0.2, 0.5, 1)
    assert grid.drift_sizes == (4, 16)
    assert grid.training_size == 4
    drifting = drift_effect.tasks(PAPER)
    assert {(t.data, t.size) for t in drifting} == {("adult", 4), ("loans-like-2", 16)}


def test_the_paper_s_budget_and_data():
    assert PAPER.data == ("adult", "loans-like-2")
    assert PAPER.runtime.pair == (16, 4)
    task = next(t for t in FIGURES["present-error"].tasks(PAPER) if t.mechanism == "rap")
    records = data.records_of("adult", {})
    mechanism = task.mechanism_for(task.workload(records))
    assert mechanism.accounting == "paper"
    assert mechanism.delta is None  # 1/n², the default
    tasks = {t for figure in FIGURES.values() for t in figure.tasks(PAPER)}
    assert len({t.key for t in tasks}) == len(tasks)


@pytest.mark.parametrize("scale", SCALES.values(), ids=lambda scale: scale.name)
def test_rows_are_compared_on_pairs_that_are_run(scale):
    assert set(scale.thresholds.rows_pairs) <= set(scale.thresholds.map_pairs)
    assert scale.marginals.map_epsilon in scale.marginals.epsilons
    assert scale.marginals.map_size in scale.marginals.sizes
    assert scale.thresholds.map_size in scale.thresholds.sizes


def test_the_whole_of_a_schema_stands_for_larger_workloads():
    assert sizes_within("adult", 3, (256, 1024, 4096)) == (256, 364)
    assert sizes_within("loans-like-2", 3, (1024,)) == (1024,)


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="no figure 'fig9'"):
        figures_named(["fig9"])
    with pytest.raises(ParameterError, match="smoke, quick, paper"):
        scale_named("huge")
    assert [figure.name for figure in figures_named(["forms", "forms"])] == ["forms"]


def loans_file(path, records):
    """A made-up file in the format of LOANS."""
    rng = np.random.default_rng(0)
    sizes = datasets.LOANS_SIZES
    columns = {name: rng.integers(0, size, records) for name, size in sizes.items()}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_loans_from_a_file_has_its_own_name(tmp_path):
    path = loans_file(tmp_path / "loans.csv", 3)
    name, sources = data.source_of(path, data.LOANS, "--loans")
    assert data.title_of(name) == "LOANS (from the file)"
    assert data.records_of(name, sources).n == 3
    assert PAPER.with_loans(name).data == ("adult", name)
    assert QUICK.with_loans(name).data == ("adult", name)
    loans_file(path, 4)
    assert data.source_of(path, data.LOANS, "--loans")[0] != name
    with pytest.raises(DataError, match="--loans"):
        data.records_of("loans-000000000000", {})
    with pytest.raises(DataError, match="--lending-club"):
        data.records_of("lending-club-000000000000", {})
    with pytest.raises(DataError, match="cannot be read"):
        data.source_of(tmp_path / "none.csv", data.LOANS, "--loans")


def test_the_extract_has_its_own_name_and_its_24_columns(tmp_path):
    sizes = datasets.LENDING_CLUB_SIZES
    path = tmp_path / "extract.csv"
    pd.DataFrame({name: [0, size - 1] for name, size in sizes.items()}).to_csv(path, index=False)
    name, sources = data.source_of(path, data.EXTRACT, "--lending-club")
    assert data.title_of(name) == "Lending Club extract, 24 columns"
    assert data.schema_of(name) == data.records_of(name, sources).schema
    assert len(data.schema_of(name)) == 24
    assert QUICK.on(name).data == (name,)


def test_machines_without_all_results_draw_nothing_half_done(tmp_path):
    half = Workforce(processes=1, share=Share(1, 2))
    done = reproduce(["forms"], SMOKE, tmp_path, sources={}, workforce=half)
    missing = sum(not Share(1, 2).has(task) for task in FIGURES["forms"].tasks(SMOKE))
    assert 0 < missing < 4
    assert [(one.figure, one.missing) for one in done.unfinished] == [("forms", missing)]
    assert done.written == []
    [plan] = planned(["forms"], SMOKE, tmp_path, ALONE)
    assert (plan.runs, plan.missing) == (4, missing)
    other = Workforce(processes=1, share=Share(2, 2))
    reproduce(["forms"], SMOKE, tmp_path / "other", sources={}, workforce=other)
    nobody = Workforce(processes=1, minutes=-1.0)
    merged = [tmp_path / "other" / STORE]
    done = reproduce(["forms"], SMOKE, tmp_path, sources={}, workforce=nobody, merged=merged)
    assert done.unfinished == []
    assert done.written


def test_a_scale_can_leave_out_what_is_large():
    smaller = PAPER.up_to(64)
    assert smaller.thresholds.sizes == smaller.future.sizes == (1, 4, 16, 64)
    assert smaller.marginals.map_size == 64
    assert smaller.name == "paper, |W| ≤ 64"
    assert set(FIGURES["present-error"].tasks(smaller)) < set(FIGURES["present-error"].tasks(PAPER))
    with pytest.raises(ParameterError, match="--largest"):
        PAPER.up_to(0)


def test_fits_follow_the_authors_code_unless_the_text_is_asked_for():
    by_code = FIGURES["future-error"].tasks(SMOKE)
    by_text = FIGURES["future-error"].tasks(dataclasses.replace(SMOKE, practice=TEXT))
    assert {(t.replacement, t.geometric_p) for t in by_code} == {(False, 0.25)}
    assert {(t.replacement, t.geometric_p) for t in by_text} == {(True, 0.5)}
    assert {t.clipped for t in by_code if t.mechanism == "rap"} == {True}
    assert not set(by_code) & set(by_text)
    with pytest.raises(ParameterError, match="--practice"):
        practice_named("mine")


def test_histories_without_replacement_are_distinct_and_augmented_ones_are_larger():
    schema = data.schema_of("adult-small")
    task = next(t for t in future_error.fits(SMOKE) if t.distribution == "geometric")
    past = dataclasses.replace(task, size=40)
    assert len(past.history(schema)[1]) == 40
    drawn_again = dataclasses.replace(past, replacement=True)
    assert len(drawn_again.history(schema)[1]) < 40
    assert len(dataclasses.replace(past, size=9999).history(schema)[1]) == 56
    more = dataclasses.replace(past, augmented=5).history(schema)[1]
    assert len(more) == 45
    assert more[:40] == past.history(schema)[1]
    assert len(dataclasses.replace(past, augmented=99).history(schema)[1]) == 56


def test_the_page_gets_the_tables_of_the_results(smoke, tmp_path):
    folder = smoke[0]
    page = tmp_path / "page.md"
    frame = "# Page\n\n<!-- table: {} -->\n{}<!-- end of table -->\n\nText.\n"
    page.write_text(frame.format("claims", "old\n"))
    assert fill(page, folder) == ["claims"]
    table = (folder / "claims-table.txt").read_text()
    assert page.read_text() == frame.format("claims", table)
    assert fill(page, folder) == ["claims"]
    page.write_text(frame.format("nothing", "old\n"))
    assert fill(page, folder) == []
    assert "old" in page.read_text()
    with pytest.raises(ParameterError, match="no such page"):
        fill(tmp_path / "none.md", folder)
    page.write_text("no place")
    with pytest.raises(ParameterError, match="no place for a table"):
        fill(page, folder)


def test_the_page_is_rebuilt_from_what_is_stored_alone(smoke, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("nothing is run")

    monkeypatch.setattr("thresher.reproduction.workforce.run_alone", never)
    folder, page = tmp_path / "results", tmp_path / "page.md"
    (folder / "extract").mkdir(parents=True)
    shutil.copy(smoke[0] / STORE, folder)
    lines = (smoke[0] / STORE).read_text().splitlines(keepends=True)
    some = [line for line in lines if line.split(",")[1] in ("kind", "future")]
    (folder / "extract" / STORE).write_text("".join(some))
    places = ["scales", "claims", "present-error", "extract/future-error", "printed-osas"]
    page.write_text(
        "".join(f"<!-- table: {name} -->\nstale\n<!-- end of table -->\n" for name in places)
    )
    words = ["reproduce", "all", "--stored", "-o", str(folder), "--page", str(page)]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    # The same files as from the runs themselves; what needs no runs is of the paper's scale.
    without_runs = ("claims", "drift-histograms", "drift-variation")
    for path in smoke[1]:
        again = folder / path.name
        if path.suffix in (".csv", ".txt") and not path.name.startswith(without_runs):
            assert again.read_bytes() == path.read_bytes()
        assert again.exists()
    told = page.read_text()
    assert "stale" not in told
    for name in FIGURES.keys() - {*without_runs}:
        assert f"[{name}](results/" in told
        of_histories = name in ("future-error", "drift-effect", "augmenting")
        assert (f"[{name}](results/extract/" in told) == of_histories


class Kept(set):
    """Runs that a store has, without their results."""

    def data_sets(self):
        return {task.data for task in self}


CUT = (
    "filtering", "future-error", "runtime", "printed-osas", "present-error", "adaptivity-epsilon",
    "thresholds-error",
)  # fmt: skip


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("size", [64, 4])
def test_the_paper_s_scale_is_cut_where_its_runs_end_before_older_runs_are_drawn(name, size):
    figure, cut = FIGURES[name], PAPER.only("adult").up_to(size)
    paper_s = [task for task in figure.tasks(cut) if task.kind != "reference"]
    needed = [task for task in paper_s if getattr(task, "mechanism", "") != "auto"]
    store = Kept(needed)
    found = largest_stored(figure, store)
    assert (found.name, found.data) == (cut.name, ("adult",))
    store.remove(next(task for task in needed if task.size == size and task.clipped))
    found = largest_stored(figure, store)
    assert found is None or found.name != cut.name


def test_loans_is_drawn_beside_adult_without_what_stands_in_for_it():
    loans, cut = "loans-0123456789ab", PAPER.up_to(4)
    both = dataclasses.replace(cut, data=("adult", loans))
    figure = FIGURES["present-error"]
    needed = [task for task in figure.tasks(both) if not optional_line(task)]
    store = Kept([*needed, *FIGURES["memory"].tasks(cut)])
    found = largest_stored(figure, store)
    assert (found.name, found.data) == (cut.name, both.data)
    assert largest_stored(FIGURES["memory"], store).data == ("loans-like-2",)
    assert largest_stored(FIGURES["claims"], store).data == both.data
    store.remove(next(task for task in needed if task.data == loans))
    assert largest_stored(figure, store).data == ("adult",)


def test_repetitions_of_all_marginals_are_one_workload():
    given = {"data": "adult", "k": 3, "queries": 9, "error": 0.1, "epsilon": 0.1}
    settings = [(364, 364, False), (364, 278, True), (256, 256, True), (1, 1, False)]
    frame = pd.DataFrame(
        {**given, "size": size, "thresholds": left, "filtered": filtered, "seed": seed}
        for size, left, filtered in settings
        for seed in range(4)
    )
    least = filtering.least_errors(frame)
    assert len(least) == 16
    assert len({one.workload for one in filtering.observations(least, "size")}) == 1 + 1 + 4 + 4


def test_what_the_authors_code_changes_needs_no_workload_of_more_than_64():
    practice = FIGURES["practice"]
    assert set(practice.tasks(PAPER)) == set(practice.tasks(PAPER.up_to(64)))


def test_every_claim_has_a_verdict_and_a_figure(smoke, tmp_path):
    found = pd.read_csv(smoke[0] / "claims.csv").set_index("claim")
    assert set(found["verdict"]) <= {"confirmed", "refuted", "undecided", "not tested"}
    assert set(found["figure"]) <= set(FIGURES)
    tested = found[found["verdict"] != "not tested"]
    assert len(tested) >= len(found) - 7  # one repetition, and the paper's line is ADULT's
    assert (tested["low"] <= tested["value"]).all()
    assert (tested["value"] <= tested["high"]).all()
    # Nothing stored, nothing claimed, but for what needs no run.
    reproduce(["claims"], SMOKE, tmp_path, sources={}, workforce=ALONE)
    empty = pd.read_csv(tmp_path / "claims.csv")
    without_runs = empty["claim"].str.contains("50 times more queries")
    assert ((empty["verdict"] == "not tested") != without_runs).all()


def test_a_claim_is_judged_where_all_its_runs_are(smoke, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(smoke[0], folder)
    # More repetitions than are stored: figures are not whole.
    reproduce(["claims"], SMOKE.repeated(9), folder, sources={}, workforce=ALONE)
    found = pd.read_csv(folder / "claims.csv")
    future = found[found["figure"] == "future-error"]
    assert set(future["verdict"]) == {"not tested"}
    told = pd.read_csv(smoke[0] / "claims.csv")
    assert set(told["scale"].dropna()) == {"smoke"}


def test_the_paper_s_lines_are_drawn_while_ours_is_missing(smoke, tmp_path):
    stored = (smoke[0] / STORE).read_text().splitlines(keepends=True)
    kept = [line for line in stored if '""mechanism"": ""auto""' not in line]
    (tmp_path / STORE).write_text("".join(kept))
    names = [name for name in FIGURES if name not in ("runtime", "memory")]
    nobody = Workforce(processes=1, minutes=-1.0)
    done = reproduce(names, SMOKE, tmp_path, sources={}, workforce=nobody)
    assert done.unfinished == []
    ours = {
        "present-error": "mechanism", "thresholds-error": "mechanism", "drift-effect": "line",
        "future-error": "line", "filtering": "line", "augmenting": "line",
    }  # fmt: skip
    for name, column in ours.items():
        lines, all_lines = (
            set(pd.read_csv(folder / f"{name}.csv")[column]) for folder in (tmp_path, smoke[0])
        )
        assert all_lines - lines == {"auto (ours)"}


def test_printed_noise_is_a_line_of_its_own(smoke):
    found = pd.read_csv(smoke[0] / "printed-osas.csv")
    assert set(found["line"]) == {
        "RAP, correct scale", "RAP, printed-osas (not private at this ε)", "auto (ours)",
    }  # fmt: skip
    assert found["paper"].isna().all()  # the small data sets are not the paper's
    table = (smoke[0] / "printed-osas-table.txt").read_text().splitlines()
    rows = [line for line in table if line.startswith("| ")]
    assert len(rows) == 2 * (1 + 3 * 2)  # for each data set a head, and a line for each ε and size
    assert printed_osas.paper_line("adult", 0.1, 64) == pytest.approx(0.0799, abs=1e-4)
    assert np.isnan(printed_osas.paper_line("loans-like-2", 0.1, 64))
    assert np.isnan(printed_osas.paper_line("lending-club-0", 0.1, 64))


def fit(**changes):
    given = {
        "data": "adult-small", "epsilon": 1.0, "k": 3, "r": 3, "size": 3, "rounds": 2,
        "queries_per_round": 3, "synthetic_rows": 30, "seed": 0, **changes,
    }  # fmt: skip
    return PresentFit(**given)


def test_runs_are_compared_on_the_same_thresholds():
    records = data.records_of("adult-small", {})
    base = fit().workload(records)
    assert fit(epsilon=0.1, rounds=1).workload(records) == base
    same = [threshold.features for threshold in fit(r=1).workload(records)]
    assert same == [threshold.features for threshold in base]
    assert fit(seed=1).workload(records) != base
    assert fit(epsilon=0.1).noise_seed != fit().noise_seed


def test_a_filtered_workload_has_no_threshold_with_more_queries_than_records():
    records = data.records_of("adult-small", {})
    workload = fit(size=20, filtered=True).workload(records)
    assert max(threshold.query_count(records.schema) for threshold in workload) <= records.n


def test_a_run_can_be_repeated():
    first, second = fit(clipped=True).run({}), fit(clipped=True).run({})
    assert {**first, "seconds": 0} == {**second, "seconds": 0}
    assert fit(mechanism="all0").run({})["measured"] == 0


def test_overfitting_is_future_error_up_and_present_error_down():
    def fits(present, future):
        return pd.DataFrame(
            {
                "data": "a", "way": "b", "distribution": "uniform", "since": 0.5,
                "present change": present, "future change": future, "above its least": 0.0,
                "loss left by a round": 0.5, "loss at the end": 0.1,
            }
        )  # fmt: skip

    up, down, level = [0.1, 0.12, 0.11], [-0.1, -0.12, -0.11], [0.1, -0.2, 0.1]
    assert overfitting.summarised(fits(down, up))["overfits"].item()
    assert not overfitting.summarised(fits(down, down))["overfits"].item()
    assert not overfitting.summarised(fits(up, up))["overfits"].item()
    told = overfitting.summarised(fits(down, level))
    assert not told["overfits"].item()
    assert told["of these with present falling"].item() == 2


def test_repetitions_are_added_to_those_there():
    more = QUICK.repeated(QUICK.marginals.repetitions + 1)
    for name in ("present-error", "filtering", "drift-effect"):
        fewer = QUICK.repeated(2)
        assert set(FIGURES[name].tasks(fewer)) < set(FIGURES[name].tasks(more))
    assert dataclasses.replace(more, name="") != dataclasses.replace(QUICK, name="")


def test_titles_break_evenly_and_never_within_a_quantity():
    assert plots.balanced("short", 40) == "short"
    told = plots.balanced("mean of all the errors, with ε = 0.1; bands: 95 % intervals", 50)
    first, second = told.replace("\N{NO-BREAK SPACE}", " ").split("\n")
    assert abs(len(first) - len(second)) < 12
    assert "ε = 0.1" in told.replace("\N{NO-BREAK SPACE}", " ")


def test_a_future_fit_has_its_drifts_and_their_distance():
    task = next(t for t in future_error.fits(SMOKE) if t.distribution == "geometric")
    task = dataclasses.replace(task, drifts=(0.0, 1.0), geometric_p=0.5)
    found = task.run({})
    assert set(found["future"]) == {"0", "1"}
    assert len(found["future"]["0"]) == task.future
    assert found["variation"]["0"] == 0.0
    assert found["variation"]["1"] > 0.8


def test_a_rise_is_paired_within_repetitions():
    def estimate(*means):
        errors = FutureError(tuple((mean, mean) for mean in means), shared=False)
        return future_error.Estimate(4, 4, 0.1, errors, 0.0)

    rise, margin = drift_effect.paired_rise(estimate(0.1, 0.5, 0.9), estimate(0.2, 0.6, 1.0))
    assert (rise, margin) == pytest.approx((0.1, 0.0))
    rise, margin = drift_effect.paired_rise(estimate(0.0, 0.0), estimate(0.1, 0.3))
    assert (rise, margin) == pytest.approx((0.2, 12.706 * 0.1), rel=1e-3)


def test_without_jax_the_reference_is_skipped_and_says_so(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("thresher.reproduction.reference.importlib.import_module", missing)
    task = ReferenceFit(**fit().parameters, iterations=1)
    found = run_alone(task, {})[1]
    assert isinstance(found, Skipped)
    assert "pip install jax optax" in found.reason


def test_the_best_pair_is_the_least_mean():
    frame = pd.DataFrame(
        {
            "data": ["a"] * 4, "rounds": [1, 1, 4, 4], "queries_per_round": [4] * 4,
            "error": [0.1, 0.5, 0.2, 0.3],
        }
    )  # fmt: skip
    best = best_pairs(frame, ["data"])
    assert (best["rounds"].item(), best["error"].item()) == (4, 0.25)
    by_repetition = least_per_repetition(frame.assign(seed=[0, 1, 0, 1]), ["data"])
    assert by_repetition["least per repetition"].item() == pytest.approx((0.1 + 0.3) / 2)
    assert by_repetition["repetitions"].item() == 2
    found = map_of(frame, [1, 4, 16], [4])
    assert found[:2, 0] == pytest.approx([0.3, 0.25])
    assert np.isnan(found[2, 0])


def test_the_palette_is_okabe_and_ito_s_and_lines_differ_in_more_than_colour():
    okabe_ito = {
        "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
    }  # fmt: skip
    assert set(plots.COLOURS) <= okabe_ito
    assert len(set(plots.COLOURS)) == len(set(plots.MARKERS)) == len(plots.COLOURS)


def test_lines_and_maps_share_their_runs():
    lines = set(thresholds.fits(QUICK))
    assert lines & set(thresholds.mapped(QUICK))


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["reproduction.md", "reproduction-appendix.md"])
def test_the_pages_show_the_tables_that_are_stored(name, tmp_path):
    page = tmp_path / name
    shutil.copy(DOCS / name, page)
    assert fill(page, DOCS / "reproduction")
    assert page.read_text() == (DOCS / name).read_text()


def test_the_page_s_claims_are_those_of_the_code():
    told = pd.read_csv(DOCS / "reproduction" / "claims.csv")
    rows = dict.fromkeys(zip(told["claim"], told["measured"], strict=True))
    assert list(rows) == list(dict.fromkeys((claim.words, claim.number) for claim in CLAIMS))
