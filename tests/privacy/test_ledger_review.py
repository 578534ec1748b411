"""What is unusual about a ledger."""

from fractions import Fraction

import pytest

from thresher.privacy import statement
from thresher.privacy.ledger_review import unusual
from thresher.privacy.unit import Unit


def told(*entries, **changes):
    facts = {
        "total": Fraction(1), "epsilon": 1.0, "delta": 1e-9, "accounting": "tight", "data": "",
        "created": "2026-01-01T00:00:00+00:00", "entries": entries, "corrections": (),
        "identity": "", "unit": Unit(), "fingerprints": {None: "x"}, "lines": len(entries),
    }  # fmt: skip
    return list(unusual(statement.Statement(**{**facts, **changes})))


def spend(day, who="ada", rho=Fraction(1, 10)):
    return statement.Entry(1, rho, f"2026-01-{day:02}T12:00:00+00:00", who, "census")


def test_a_usual_ledger_is_not_remarked_upon():
    assert told() == []
    assert told(spend(2), spend(2)) == []


@pytest.mark.parametrize(
    ("entries", "changes", "remark"),
    [
        ([spend(2), spend(5)], {}, "census was paid for on 2 days, 2026-01-02 to 2026-01-05"),
        ([spend(2), spend(2, "eve")], {}, "census was paid for by ada and eve"),
        ([spend(2, rho=Fraction(99, 100))], {}, "1 % of the budget is left"),
        ([spend(2)], {"fingerprints": {}}, "no records are bound"),
        ([spend(2)], {"created": "2026-02-01T00:00:00+00:00"}, "not in order"),
        ([], {"epsilon": 20.0}, "epsilon 20 in total promises little"),
        ([], {"delta": 0.01}, "delta 0.01 is a weak promise"),
        ([], {"corrections": (statement.Correction(1, "2026-01-03T", "ada", "typo"),)}, "typo"),
    ],
)
def test_what_is_unusual(entries, changes, remark):
    [found] = told(*entries, **changes)
    assert remark in found
