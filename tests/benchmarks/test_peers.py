"""The benchmark of peers: the same promise for all, rows that are stored, and an honest table."""

import math

import numpy as np
import pytest

import thresher as th
from benchmarks.peers import __main__ as command
from benchmarks.peers import one as process
from benchmarks.peers import running
from benchmarks.peers.beside import beside, predictions
from benchmarks.peers.budgets import added_or_removed, replaced, replaced_by_noise_alone
from benchmarks.peers.cells import HISTORY, PREDICTION, Cell, together, workloads_of
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.fitted import Task, answers_from, records_as_fitted
from benchmarks.peers.measures import total_variation
from benchmarks.peers.page import section
from benchmarks.peers.prediction import predicted, split
from benchmarks.peers.results import Results
from benchmarks.peers.running import Caps, run_one
from benchmarks.peers.summary import Mean, ratios, worse_than
from benchmarks.tables import HELD_OUT, LATE, TUNING
from thresher.data.exact import exact_answers
from thresher.evaluation.errors import errors_of


def test_half_of_the_tables_were_set_aside_and_stay_so():
    assert HELD_OUT[: -len(LATE)] == (
        "abortion", "attrition", "caravan", "diamonds", "flights", "hotels", "insurance",
        "made_up_independent", "military", "personality", "stackoverflow", "youth",
    )  # fmt: skip
    assert HELD_OUT[-len(LATE) :] == LATE
    assert {"adult", "lending_club"} <= {*TUNING}
    assert not {*HELD_OUT} & {*TUNING}


def test_a_peer_that_protects_added_records_pays_rho_when_one_is_replaced(records):
    dp = pytest.importorskip("opendp.prelude")
    rho = replaced(records, epsilon=1.0)
    scale = math.sqrt(1 / (2 * added_or_removed(rho)))  # what the peer adds, for L2 distance 1
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    noise = dp.m.make_gaussian(*space, scale=scale)
    assert noise.map(math.sqrt(2)) == pytest.approx(rho, rel=1e-9)
    # Our table of one threshold has the same noise.
    one = th.Workload(records.schema, [th.Threshold(("age", "sex"))])
    [table] = th.GaussianJoint(rho=rho).fit(records, one).measurements
    assert table.sigma == pytest.approx(scale, rel=1e-6)


def _task(records, workload, **changed):
    return Task(**{"data": records, "work": workload, "asked": workload, "epsilon": 1.0,
                   "seed": 0, **changed})  # fmt: skip


def test_the_true_marginals_have_no_error_whatever_a_peer_adds_for_the_unknown(records, workload):
    def project(names):
        counts = exact_answers(records, th.Threshold(names))
        return np.pad(2.0 * counts, [(0, 1)] * counts.ndim)

    answers = answers_from(project, records.schema)
    assert errors_of(answers, records, workload).max < 1e-12


def test_records_as_a_model_are_answered_exactly_and_drawn_from(records, workload):
    columns = dict(zip(records.schema.names, records.columns, strict=True))
    fitted = records_as_fitted(columns, records.schema)
    task = _task(records, workload)
    assert errors_of(fitted.answers, records, workload).max == 0
    assert total_variation(fitted, task) == 0
    drawn = fitted.sample(50, 1)
    assert {name: len(codes) for name, codes in drawn.items()} == dict.fromkeys(columns, 50)


@pytest.mark.parametrize("name", ["gaussian_joint", "rap"])
def test_two_mechanisms_on_tiny_data(name, records, workload):
    task = _task(records, workload)
    fitted = CONTESTANTS[name].fit(task)
    assert 0 < errors_of(fitted.answers, records, workload).max < 1
    assert 0 < total_variation(fitted, task) < 3
    assert (fitted.sample is None) == (name == "gaussian_joint")


def test_gaussian_noise_alone_may_spend_more_than_zcdp_allows(records):
    assert 1 < replaced_by_noise_alone(records, 1.0) / replaced(records, 1.0) < 1.3


def test_a_classifier_is_tested_on_records_that_were_left_out(records):
    pytest.importorskip("sklearn")
    fit, test = split(records, 0)
    assert (fit.n, test.n) == (records.n - round(records.n / 5), round(records.n / 5))
    both = [np.concatenate(pair) for pair in zip(fit.columns, test.columns, strict=True)]
    assert sorted(zip(*both, strict=True)) == sorted(zip(*records.columns, strict=True))
    columns = dict(zip(fit.schema.names, fit.columns, strict=True))
    fitted = records_as_fitted(columns, fit.schema)
    found = predicted(fitted, fit, test, "job")
    assert found["accuracy"] == found["real_accuracy"] > found["majority"] + 0.1  # by age
    without = records_as_fitted({"age": columns["age"]}, fit.schema)
    assert predicted(without, fit, test, "job")["accuracy"] is None


def test_the_workload_of_a_target_has_all_its_3_way_marginals(schema):
    work, asked = workloads_of(PREDICTION, schema, "job")(schema, 100, 0)
    assert work is asked
    others = len(schema) - 1
    assert len(work) == others * (others - 1) // 2
    assert all("job" in threshold.features for threshold in work)


def test_a_history_is_fitted_and_the_future_is_asked():
    data = th.datasets.adult()
    past, future = workloads_of(HISTORY, data.schema, "income")(data.schema, data.n, 0)
    assert len(past) == 64
    assert {*future} - {*past}
    # Any feature may be asked for, so a model must have them all.
    assert _task(data, past[:1], asked=future).names == list(data.schema.names)


def test_one_fit_serves_the_workloads_that_a_mechanism_is_not_told():
    cells = [
        Cell("churn", workload, 1.0, mechanism, 0)
        for workload in ("3-way x 16", "pairs x 64", PREDICTION)
        for mechanism in ("opendp_mst", "opendp_aim")
    ]
    served = [[cell.workload for cell in group] for group in together(cells)]
    assert served == [
        ["3-way x 16", "pairs x 64"], ["3-way x 16"], ["pairs x 64"], [PREDICTION], [PREDICTION],
    ]  # fmt: skip


def test_a_process_measures_every_cell_of_a_fit(records, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(process, "load", lambda name: records)
    monkeypatch.setitem(process.TARGETS, "tiny", "job")
    names = ("pairs x 64", "3-way x 16")  # all of both: there are few features
    rows = process.run([Cell("tiny", name, 1.0, "gaussian_joint", 0) for name in names])
    assert [row["status"] for row in rows] == ["ok", "no answers"]
    [row] = process.run([Cell("tiny", PREDICTION, 1.0, "rap", 0)])
    assert row["status"] == "ok"
    assert {"accuracy", "real_accuracy", "majority", "peak_megabytes"} <= row.keys()


@pytest.mark.parametrize(
    "name", ["opendp_mst", "opendp_aim", "mbi_mixture", "dpsynth_aim", "dpsynth_swift"]
)
def test_a_peer_where_it_is_installed(name, records, workload):
    if not CONTESTANTS[name].is_here():
        pytest.skip(CONTESTANTS[name].install)
    fitted = CONTESTANTS[name].fit(_task(records, workload, epsilon=10.0))
    assert errors_of(fitted.answers, records, workload).max < 0.2
    assert {len(codes) for codes in fitted.sample(30, 0).values()} == {30}


def test_a_run_that_fails_or_takes_too_long_is_a_row_that_says_so():
    unknown = Cell("no such table", "3-way x 16", 1.0, "auto", 0)
    assert run_one([unknown], Caps(60, 4000)) == [{"status": "failed: KeyError: 'no such table'"}]
    cell = Cell("made_up_independent", "3-way x 64", 1.0, "rap", 0)
    assert run_one([cell, cell], Caps(1, 4000)) == [{"status": "over 1 s"}] * 2
    assert run_one([cell], Caps(60, 1)) == [{"status": "over 1 MB"}]


def test_results_are_stored_resumed_and_rerun_at_another_commit(tmp_path, monkeypatch, capsys):
    ran = []

    def run(cells, caps):
        ran.extend(cells)
        return [{"status": "ok", "max": 0.5}] * len(cells)

    monkeypatch.setattr(running, "run_one", run)
    path = tmp_path / "peers.csv"
    options = ["--results", str(path), "--quick", "--only", "mechanism=auto,rap",
               "--only", "data=churn"]  # fmt: skip
    command.main(options)
    assert [cell.mechanism for cell in ran] == ["rap", "auto"]
    assert Results(path).rows[ran[0]]["max"] == "0.5"
    command.main(options)
    assert len(ran) == 2
    for module in (running, command):
        monkeypatch.setattr(module, "present_commit", lambda: "another")
    command.main([*options, "--rerun", "auto"])
    command.main([*options, "--rerun", "auto"])
    assert [cell.mechanism for cell in ran[2:]] == ["auto"]
    with pytest.raises(SystemExit):
        command.main(["--only", "mechanisms=auto"])
    assert "--only mechanisms=auto" in capsys.readouterr().err


def test_the_table_marks_the_best_and_says_where_auto_loses(tmp_path):
    results = Results(tmp_path / "peers.csv")
    for seed, error in enumerate((0.03, 0.05)):
        results.add(Cell("churn", "3-way x 16", 1.0, "auto", seed), _row(error), "c")
        results.add(Cell("churn", "3-way x 16", 1.0, "gaussian_joint", seed), _row(0.02), "c")
    results.add(Cell("churn", "3-way x 16", 1.0, "opendp_aim", 0), {"status": "over 9 s"}, "c")
    page = section(Results(results.path))
    assert "| churn | 3-way x 16 | 1 | **0.02 ± 0** | 0.04 ± 0.01 | – | 2.00 |" in page
    assert "in 1 cells: churn, 3-way x 16, ε = 1." in page
    assert "| `opendp_aim` | 0 | 1 |" in page
    assert "total variation | cells" not in page, "auto_mean was not run"


def test_total_variation_is_that_of_the_mechanism_for_mean_errors(tmp_path):
    results = Results(tmp_path / "peers.csv")
    for data, variation in (("youth", 0.05), ("diamonds", 0.2), ("caravan", 0.105)):
        mean = {**_row(0.1), "total_variation": variation}
        results.add(Cell(data, "3-way x 16", 1.0, "auto_mean", 0), mean, "c")
        results.add(Cell(data, "3-way x 16", 1.0, "opendp_mst", 0), _row(0.02), "c")
    page = section(Results(results.path))
    assert "| `auto_mean`, total variation | cells |" in page
    assert "| tables set aside | 3 | 33% | 67% | 1.28 | 2.00 (diamonds, 3-way x 16" in page


def test_peers_are_compared_where_both_were_measured(tmp_path):
    results = Results(tmp_path / "peers.csv")
    for data, error, other in (("churn", 0.02, 0.04), ("youth", 0.04, 0.02), ("vote", 0.1, None)):
        results.add(Cell(data, "3-way x 16", 1.0, "auto", 0), _row(error), "c")
        if other:
            results.add(Cell(data, "3-way x 16", 1.0, "opendp_mst", 0), _row(other), "c")
    results.add(Cell("vote", "3-way x 16", 1.0, "opendp_mst", 0), {"status": "over 9 s"}, "c")
    lines = list(beside(results, ["auto", "opendp_mst"]))
    row = "| `opendp_mst` | 2 | 1 | 1 | 1.00 | – | 1.00 | 0.50 (youth, 3-way x 16, ε = 1) |"
    assert lines[2:] == [row]


def test_mechanisms_are_compared_over_the_seeds_that_both_have():
    place = ("churn", "3-way x 16", 1.0)
    found = {place: {"auto": Mean({0: 2.0, 1: 9.0}), "rap": Mean({0: 4.0}), "aim": Mean({2: 1.0})}}
    assert ratios(found, "auto") == {place: 1.0}
    assert ratios(found, "rap") == {place: 2.0}
    assert ratios(found, "aim") == {}


def test_worse_is_by_more_than_a_standard_error_over_common_seeds():
    place = ("churn", "pairs x 64", 1.0)

    def is_worse(auto, rap):
        return bool(worse_than({place: {"auto": Mean(auto), "rap": Mean(rap)}}, "auto", "rap"))

    assert is_worse({0: 5.0, 1: 3.0}, {0: 4.0, 1: 2.1})  # workloads differ more than mechanisms
    assert not is_worse({0: 5.0, 1: 3.0}, {0: 4.0, 1: 3.5})
    assert is_worse({0: 5.0}, {0: 4.0})
    assert not is_worse({0: 5.0}, {0: 6.0, 1: 1.0})
    assert not is_worse({0: 5.0}, {1: 1.0})


def test_accuracies_are_shown_beside_those_of_real_records(tmp_path):
    results = Results(tmp_path / "peers.csv")
    shown = {"accuracy": 0.7, "real_accuracy": 0.8, "majority": 0.6}
    results.add(Cell("youth", PREDICTION, 1.0, "auto", 0), {**_row(0.1), **shown}, "c")
    results.add(Cell("churn", "3-way x 16", 1.0, "auto", 0), {**_row(0.1), "accuracy": 0.9}, "c")
    lines = list(predictions(results, ["auto", "rap"]))
    assert lines[0] == "| table | ε | most frequent | real records | `auto` |"
    assert lines[2:] == ["| youth * | 1 | 0.600 | 0.800 | 0.700 |"]


def _row(error):
    return {"status": "ok", "max": error, "total_variation": 0.1, "cpu_seconds": 1.0}
