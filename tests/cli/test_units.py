"""Units of privacy and periods, on the command line."""

from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from thresher.release import load

FIT = "fit visits.csv --schema s.json --workload w.json --mechanism gaussian_joint "


@pytest.fixture
def visits(folder):
    """The people of the folder, two rows each."""
    frame = pd.read_csv("people.csv")
    frame.insert(0, "patient", [f"p{i // 2}" for i in range(len(frame))])
    frame.to_csv("visits.csv", index=False)
    return frame


def test_a_fit_for_persons_says_so_everywhere(thresher, visits):
    line = "ledger create l --epsilon 2 --delta 1e-9 --person patient --neighbours add-remove"
    assert thresher(line).status == 0
    told = thresher(
        FIT + "--epsilon 1 --delta 1e-9 --neighbours add-remove --person patient "
        "--rows-per-person 2 --ledger l --period 2024 -o out"
    )
    assert told.status == 0, told.err
    assert "one person ('patient') is added or removed" in told.out
    release = load("out")
    assert release.unit.as_json() == {
        "neighbours": "add-remove", "person": "patient", "rows_per_person": 2,
        "counting": "persons",
    }  # fmt: skip
    assert abs(release.n - 150) < 250  # 9 standard deviations
    shown = thresher("ledger show l")
    assert "protects   whether one person ('patient') is added or removed" in shown.out
    assert "in 2024" in shown.out
    assert "for somebody in all periods" in shown.out
    facts = thresher("ledger show l --json").json
    assert facts["unit"] == {"neighbours": "add-remove", "person": "patient"}
    assert facts["periods"]["2024"]["rho"] == pytest.approx(float(release.spent))
    assert thresher("report out -o page.html").status == 0
    page = Path("page.html").read_text()
    assert "as if all your rows were not there" in page
    assert "whether you are in the data" in page
    assert f"about {release.n} persons" in page
    assert thresher("evaluate out visits.csv").status == 0


def test_rows_can_be_counted(thresher, visits):
    words = "--rho 1 --person patient --rows-per-person 3 --count rows -o out --json"
    assert thresher(FIT + words).status == 0
    release = load("out")
    assert release.unit.counted == "rows"
    assert abs(release.n - 300) < 100


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--epsilon 1 --neighbours add-remove", "give --delta"),
        ("--epsilon 1 --person patient", "Give --rows-per-person"),
        ("--epsilon 1 --rows-per-person 2", "--rows-per-person needs --person"),
        ("--epsilon 1 --person patient --rows-per-person 17", "from 1 to 16"),
        ("--epsilon 1 --person who --rows-per-person 2", "lacks the column 'who'"),
        ("--epsilon 1 --person age --rows-per-person 2", "must not be a feature"),
        ("--epsilon 1 --period 2024", "give --ledger too"),
        ("--epsilon 1 --ledger l", "Budgets of different units do not add up"),
    ],
)
def test_mistakes(thresher, visits, words, said):
    assert thresher("ledger create l --epsilon 2 --delta 1e-9 --person patient").status == 0
    told = thresher(FIT + words + " -o out")
    assert told.status == 2
    assert said in told.err
    assert told.err.count("\n") == 1
    assert not Path("out").exists()


def test_ids_that_differ_in_capitals(thresher, visits):
    visits.loc[0, "patient"] = "P7"
    visits.to_csv("visits.csv", index=False)
    words = "--rho 1 --person patient --rows-per-person 2 -o out"
    told = thresher(FIT + words)
    assert told.status == 2
    assert "differ only in capitals" in told.err
    assert "P7" not in told.err
    assert thresher(FIT + words + " --case-sensitive-ids").status == 0
    assert load("out").n == 151


def test_a_private_number_is_in_no_message(thresher, visits):
    """With few records the default delta is warned of; but not if their number is private."""
    assert f"with {len(visits)} records" in thresher(FIT + "--epsilon 1 -o out").err
    told = thresher(FIT + "--epsilon 1 --neighbours add-remove -o other")
    assert (told.status, str(len(visits)) in told.err) == (2, False)


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        ("", True),
        ("--neighbours add-remove", False),
        ("--person patient --rows-per-person 2", False),
    ],
)
def test_reading_does_not_tell_a_private_number_of_rows(
    words, is_told, thresher, visits, monkeypatch
):
    """The number of persons is public where one is replaced; how many rows they have is not."""
    followed = []

    @contextmanager
    def counting(task):
        yield followed.append

    monkeypatch.setattr("thresher.cli.inputs.counting", counting)
    assert thresher(FIT + f"--rho 1 -o out {words}").status == 0
    assert (len(visits) in followed) == is_told
