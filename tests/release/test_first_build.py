"""Files that earlier builds wrote, kept as they were: they must load, and say what they said."""

from fractions import Fraction
from pathlib import Path

import pytest

import thresher as th

OLD = Path(__file__).parent / "first_build"

SAID = {
    ("rap", "age=21, town=B"): (0.0817963033914566, 0.20422498936492217),
    ("rap", "any of: town=C, pay=none"): (0.39120912551879883, 0.15765374776119406),
    ("rap", "town=A"): (0.32866330941518146, 0.6713366930683453),
    ("tables", "age=21, town=B"): (0.0736926297346751, 0.04789965659826806),
    ("tables", "any of: town=C, pay=none"): (0.35537588596343994, 0.0975352930101667),
    ("tables", "town=A"): (0.34002459049224854, 0.05857637896122137),
    ("gaussian_joint", "age=21, town=B"): (0.07333333333333333, 0.013066666666666667),
    ("gaussian_joint", "any of: town=C, pay=none"): (0.34, 0.032006665972366864),
    ("gaussian_per_query", "age=21, town=B"): (0.06333333333333334, 0.03394819582834999),
    ("gaussian_per_query", "any of: town=C, pay=none"): (0.32666666666666666, 0.03394819582834999),
    ("all0", "town=A"): (0.0, None),
}
"""What the first build answered, and the margin of error by the present model."""


@pytest.mark.parametrize(("folder", "query"), SAID)
def test_a_release_of_the_first_build_says_what_it_said(folder, query):
    answer, bar = SAID[folder, query]
    again = th.load(OLD / folder).answer(query)
    assert again == pytest.approx(answer, rel=1e-6)
    assert again.error_bar == (bar if bar is None else pytest.approx(bar, rel=1e-6))


@pytest.mark.parametrize(
    "folder", ["rap", "tables", "gaussian_joint", "gaussian_per_query", "all0"]
)
def test_a_release_of_the_first_build_can_be_saved_and_used(folder, tmp_path):
    release = th.load(OLD / folder)
    release.save(tmp_path / "again")
    again = th.load(tmp_path / "again")
    assert again.spent == release.spent
    assert len(again.measurements) == len(release.measurements)
    assert len(list(again.answer_all())) == 2


def test_a_release_of_version_2_says_what_it_said(tmp_path):
    """Version 2 came with units: here a person with up to 2 rows, added or removed."""
    release = th.load(OLD.parent / "version_2")
    assert release.unit == th.Unit("add-remove", person="who", rows_per_person=2)
    assert (release.n, round(release.n_sigma, 6)) == (141, 10.6508)
    assert release.answer("age=21, town=B") == pytest.approx(0.08351957799515855, rel=1e-6)
    release.save(tmp_path / "again")
    assert th.load(tmp_path / "again").unit == release.unit


LATER = {
    # Before version 5, a noisy cell limited an answer of D', and tables need not add up to 1.
    "version_4": {
        "age=21, rooms=2": 0.08632695294,
        "age=23, rooms=3": 0,
        "age=20": 0.57175057055,
    },
    # Before version 6, residuals corrected no answers to r-of-k thresholds.
    "version_5": {
        "any of: age=21, rooms=2": 0.50539562828,
        "any of: age=23, rooms=1": 0.52010576340,
        "age=21, rooms=2": 0.08082784135,
    },
    # Before version 7, one tolerance was for cells of tables and r-of-k answers.
    "version_6": {
        "any of: age=21, rooms=2": 0.43476613703,
        "any of: age=22, rooms=2": 0.42615978889,
        "age=21, rooms=2": 0.06280330895,
    },
}


@pytest.mark.parametrize("folder", LATER)
def test_a_release_of_a_later_version_answers_as_it_did(folder, tmp_path):
    release = th.load(OLD.parent / folder)
    release.save(tmp_path / "again")
    for again in (release, th.load(tmp_path / "again")):
        found = {query: float(again.answer(query)) for query in LATER[folder]}
        assert found == pytest.approx(LATER[folder], rel=1e-6)


def test_a_ledger_of_the_first_build_goes_on(tmp_path):
    copy = tmp_path / "people.ledger"
    copy.write_bytes((OLD / "people.ledger").read_bytes())
    ledger = th.Ledger.open(copy)
    assert (ledger.spent, ledger.remaining) == (Fraction(1, 4), Fraction(1, 4))
    ledger.spend(Fraction(1, 4), release="third", who="ada")
    assert th.Ledger.open(copy).remaining == 0
