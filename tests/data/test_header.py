"""What separates the cells of a file is told by its ending and its header line."""

from pathlib import Path

import pytest

from thresher import DataError
from thresher.data.header import names_in, separator_of


@pytest.mark.parametrize(
    ("header", "separator"),
    [
        ("age", ","),
        ("age,sex", ","),
        ("age;sex", ";"),
        ("age\tsex", "\t"),
        ("age|sex", "|"),
        ("age;income, gross;sex", ";"),
        ("age,a;b,sex", ","),
        ("age;a,b", ","),  # as many of each: the first in the list
        ('age,"a;b;c;d"', ","),
        ('"a;b;c",age', ","),
        ('"a ""quoted"" ;;; name",age', ","),
        ('5" pipe;7" pipe', ";"),
    ],
)
def test_the_most_frequent_outside_quotation_marks(header, separator):
    assert separator_of(Path("x.csv"), header) == separator
    assert separator_of(Path("x.csv.gz"), header) == separator


@pytest.mark.parametrize("name", ["x.tsv", "X.TSV", "x.tsv.gz"])
def test_the_ending_of_a_file_with_tabs(name):
    assert separator_of(Path(name), "age\tsex,a,b,c") == "\t"
    assert separator_of(Path(name), "age") == "\t"
    assert separator_of(Path(name), '"age, in years"') == "\t"
    with pytest.raises(DataError, match=r"has semicolons and no tab: rename it to end with \.csv"):
        separator_of(Path(name), "age;sex")


def test_names_over_two_lines():
    assert names_in(b'age;"sex,\nat birth"\n', ";", line_breaks_in_cells=True) == [
        "age", "sex,\nat birth",
    ]  # fmt: skip
