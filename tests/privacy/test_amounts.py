"""Amounts of budget of any size are read or refused, at once."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.errors import BudgetError
from thresher.privacy import Budget, epsilon_of, rho_of
from thresher.privacy.amounts import exact

ENDLESS = ["1e-30000000", "1e30000000", "1e-3_0000_000 ", "9" * 10**6, "1e" + "9" * 5000]
HUGE = ["1e400", "1e-4000", 10**400, Fraction(1, 10**4000), Fraction(10**5000), -(10**5000)]


@pytest.mark.parametrize("amount", [*ENDLESS, *HUGE], ids=range(len(ENDLESS) + len(HUGE)))
def test_what_would_take_for_ever_is_refused_by_name(amount):
    """`--rho 1e-30000000` used to hang, and 1e400 to end in an OverflowError."""
    for read in (Budget.from_rho, lambda a: rho_of(a, 0.1), lambda a: epsilon_of(a, 0.1)):
        with pytest.raises(BudgetError, match=r"(rho|epsilon) must be") as caught:
            read(amount)
        assert len(str(caught.value)) < 300
    with pytest.raises(BudgetError, match="delta must be"):
        rho_of(1, amount)


@given(
    st.one_of(
        st.text(max_size=20),
        st.from_regex(r"\A[0-9]{0,5}(\.[0-9]{0,9})?([eE][-+]?[0-9]{1,9})?\Z"),
        st.integers(),
        st.floats(),
        st.fractions(),
        st.none(),
    )
)
def test_any_amount_is_a_fraction_that_floats_can_tell_of_or_a_budget_error(amount):
    try:
        fraction = exact(amount, "rho")
    except BudgetError:
        return
    assert fraction > 0
    assert float(fraction) < float("inf")
