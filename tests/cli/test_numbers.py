"""`thresher numbers`, and questions about numbers in `thresher answer`."""

import pandas as pd
import pytest

from thresher.release.folder import load


def test_the_numbers_in_brief(release, thresher):
    done = thresher("numbers release age --bins 3 --where", "town!=A")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0] == "age, where town!=A, with 95 % intervals"
    names = ["people", "mean", "sum", "25%", "median", "75%", "20", "22", "24"]
    assert [line.split()[0] for line in lines[1:]] == names


def test_json_has_all_digits(release, thresher):
    told = thresher("numbers release pay --bins 2 --json").json
    numbers = load(release).numbers("pay")
    mean = numbers.mean()
    assert told["mean"]["value"] == mean
    assert (told["mean"]["low"], told["mean"]["high"]) == (mean.low, mean.high)
    assert [q["value"] for q in told["quantiles"]] == [
        numbers.quantile(part) for part in (0.25, 0.5, 0.75)
    ]
    assert [bar["share"] for bar in told["histogram"]] == numbers.histogram(2)["share"].tolist()


def test_the_histogram_in_a_file(release, thresher, folder):
    assert thresher("numbers release age -o ages.csv").status == 0
    found = pd.read_csv(folder / "ages.csv")
    assert [*found.columns] == ["from", "to", "share", "margin", "count", "count_margin"]
    assert found["share"].sum() == pytest.approx(1.0, abs=1e-6)
    assert thresher("numbers release age -o ages.txt").status == 2


def test_what_has_no_numbers_is_refused(release, thresher):
    done = thresher("numbers release town")
    assert (done.status, done.out) == (2, "")
    assert "'town' has no numbers" in done.err


def test_answer_takes_questions_about_numbers(release, thresher, folder):
    (folder / "asked.txt").write_text(
        "# ages\ntown=A\nmean of age among town=A\nmedian of age\nmean of shoe\nshoe=1\nage=21\n"
    )
    done = thresher("answer release --queries asked.txt")
    assert done.status == 2
    assert [line.split("\t")[1] for line in done.out.splitlines()] == [
        "town=A", "mean of age among town=A", "median of age", "age=21",
    ]  # fmt: skip
    assert "line 5: there is no feature 'shoe'" in done.err
    assert "line 6: " in done.err
    mean = load(release).number("mean of age among town=A")
    line = done.out.splitlines()[1].split("\t")
    assert line[0] == f"{mean:.6g}"
    assert line[2].lstrip("±~") == f"{mean.error_bar:.6g}"
    assert line[3] == f"{mean.low:.6g} to {mean.high:.6g}"


def test_answer_as_json(release, thresher):
    told = thresher("answer release --json", "sum of age", "town=A").json["answers"]
    total = load(release).number("sum of age")
    assert told[0]["answer"] == total
    assert (told[0]["low"], told[0]["high"]) == (total.low, total.high)
    assert "count" in told[1]
    assert "low" not in told[1]


def test_a_range_of_whose_numbers_says_how_it_was_read(release, thresher):
    done = thresher("answer release", "mean of age among pay=30..40")
    assert "was read as all of: pay=25..50: bins end there" in done.err
