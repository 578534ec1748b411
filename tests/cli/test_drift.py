"""`thresher drift`: two logs, with and without a release."""

from pathlib import Path

import thresher as th


def logs(tmp_path):
    before = ["sex=Male, race=White", "sex=Female, income=>50K"] * 30
    Path("old.log").write_text("\n".join(before))
    Path("same.log").write_text("\n".join(before[1:]))
    Path("new.log").write_text("\n".join(["age=40, workclass=Private"] * 40))


def test_nothing_moved_and_everything_moved(tmp_path, monkeypatch, thresher):
    monkeypatch.chdir(tmp_path)
    logs(tmp_path)
    same = thresher("drift old.log same.log --schema adult --json").json
    assert same["total_variation"] < same["by_chance"]
    assert (same["covered"], same["worth_a_release"]) == (1.0, False)
    told = thresher("drift old.log new.log --schema adult --json").json
    assert told["total_variation"] == 1.0
    assert (told["covered"], told["worth_a_release"]) == (0.0, True)
    assert (
        "a new release is worth its budget" in thresher("drift old.log new.log --schema adult").out
    )
    assert "--schema is missing" in thresher("drift old.log new.log").err


def test_a_release_is_judged_by_its_own_margins(tmp_path, monkeypatch, thresher):
    monkeypatch.chdir(tmp_path)
    logs(tmp_path)
    data = th.datasets.adult()
    work = th.History.from_log(Path("old.log").read_text().splitlines(), data.schema).workload
    th.GaussianJoint(rho=1).fit(data, work).save("r")
    told = thresher("drift old.log new.log --release r --json").json
    assert told["expected_error"]["old"] > 0
    assert told["expected_error"]["new"] is None
    assert (told["without_margin"], told["worth_a_release"]) == (1.0, True)
    told = thresher("drift old.log same.log --release r --json").json
    assert (told["without_margin"], told["worth_a_release"]) == (0.0, False)
