"""What is said about a column is checked where it is said."""

import pytest

from thresher.drafting import Declared
from thresher.errors import ParameterError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("words",), "the kind of a column is one of"),
        (("categories", 0, 1), "only numbers and dates have a range"),
        (("numbers", 0), "two finite ends"),
        (("numbers", 0, float("nan")), "two finite ends"),
        (("numbers", 5, 5), "must rise"),
        (("numbers", 0, 1e300), "between -1e15 and 1e15"),
        (("numbers", 1, 1 + 1e-15), "too narrow to be divided"),
        (("numbers", 0, 5e-324), "too narrow to be divided"),
        (("dates", 1900.5, 2000), "two years"),
        (("dates", 2000, 1900), "two years"),
    ],
)
def test_a_wrong_declaration_is_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        Declared(*given)
