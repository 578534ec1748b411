"""The built-in data sets: ADULT as in the literature, and the stand-in for LOANS."""

import hashlib
import itertools
import lzma
from pathlib import Path

import numpy as np
import pytest

from thresher import DataError, datasets, exact_answers, read
from thresher.data.exact import exact_count
from thresher.queries import Threshold

CODED = Path(__file__).parents[2].parent / "shared" / "data" / "adult-coded.csv.xz"
SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)


@pytest.fixture(scope="module")
def adult():
    return datasets.adult()


@pytest.fixture(scope="module")
def loans():
    return datasets.loans_like(seed=0)


def test_adult_has_its_shape(adult):
    assert adult.n == 48_842
    assert adult.schema.sizes == SIZES
    assert adult.schema.width == 588
    assert [column.dtype for column in adult.columns] == [np.uint8] * 14


@pytest.mark.parametrize(
    ("query", "count"),
    [
        # From the code book's statistics of the 48,842 records.
        ("income=>50K", 11_687),
        ("sex=Female", 16_192),
        ("race=Black", 4_685),
        ("native-country=United-States", 43_832),
        ("workclass=?", 2_799),
        ("occupation=?", 2_809),
        ("native-country=?", 857),
        ("education-num=16", 594),
        ("age=..16", 0),
        ("age=17", 595),
        ("age=90..", 55),
    ],
)
def test_adult_has_its_public_counts(adult, query, count):
    assert exact_count(adult, query) == count


def test_adult_agrees_with_the_coding_of_the_literature(adult):
    if not CODED.exists():
        pytest.skip("the coded file of the literature is not here")
    with lzma.open(CODED, "rt") as file:
        names = [name.strip() for name in file.readline().split(",")]
        coded = np.loadtxt(file, delimiter=",", dtype=np.int64)
    for name, column in zip(names, coded.T, strict=True):
        match = next(n for n in adult.schema.names if _same(n, name))
        assert np.mean(adult.codes(match) == column) >= 0.9998, name


def _same(ours, theirs):
    letters = [name.lower().replace("-", "").replace("_", "") for name in (ours, theirs)]
    return letters[0].startswith(letters[1]) or letters[1].startswith(letters[0])


def test_loans_like_has_the_shape_of_loans(loans):
    assert loans.n == 42_535
    assert len(loans.schema) == 48
    assert loans.schema.width == 4_427
    assert loans.schema["zip_code"].size == 1001


def test_loans_like_is_made_from_its_seed(loans):
    small, again, other = (datasets.loans_like(seed=seed, n=200) for seed in (1, 1, 2))
    pairs = zip(small.columns, again.columns, strict=True)
    assert all(np.array_equal(one, two) for one, two in pairs)
    assert any(not np.array_equal(*pair) for pair in zip(small.columns, other.columns, strict=True))


def test_loans_like_is_skewed(loans):
    """Most columns have a value far more frequent than an even spread would give it."""
    shares = [np.bincount(column).max() / loans.n for column in loans.columns]
    skew = np.array(shares) * np.array(loans.schema.sizes)
    assert np.median(skew) > 2
    assert sum(share > 0.7 for share in shares) >= 5


def test_loans_like_is_correlated(loans):
    ranks = np.corrcoef([column.astype(float) for column in loans.columns])
    pairs = np.abs(ranks[np.triu_indices(48, 1)])
    assert np.quantile(pairs, 0.9) > 0.3  # independent columns stay below 0.02


def entropy(counts):
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def dependence(records, names):
    """The mutual information of every pair of columns, as a share of the smaller entropy."""
    codes = {name: records.codes(name).astype(np.int64) for name in names}
    found = []
    for one, other in itertools.combinations(names, 2):
        alone = [entropy(np.bincount(codes[name])) for name in (one, other)]
        cells = codes[one] * records.schema[other].size + codes[other]
        joint = np.unique(cells, return_counts=True)[1]
        found.append((sum(alone) - entropy(joint)) / min(alone))
    return found


def test_loans_like_has_the_ties_and_the_skew_of_the_extract(loans):
    names = list(datasets.LENDING_CLUB_SIZES)
    ties = np.quantile(dependence(loans, names), [0.5, 0.95, 1.0])
    # Without allowance for the bias of small cells, the extract has 0.01 to 0.03, 0.24 and 1.
    assert 0.002 < ties[0] < 0.06
    assert 0.12 < ties[1] < 0.5
    assert ties[2] > 0.55
    first = dependence(datasets.loans_like(seed=0, version=1), names)
    assert max(first) < 0.4  # the first stand-in knows no such ties
    for name, share in datasets.LOANS_COMMONEST.items():
        common = np.bincount(loans.codes(name).astype(np.int64)).max() / loans.n
        assert common == pytest.approx(share, abs=0.01), name


def test_the_first_loans_like_is_what_it_was_and_the_second_the_default():
    """Figures are published of both."""
    first, second, usual = (
        b"".join(column.astype(np.int64).tobytes() for column in made.columns)
        for made in (
            datasets.loans_like(seed=1, n=200, version=1),
            datasets.loans_like(seed=1, n=200, version=2),
            datasets.loans_like(seed=1, n=200),
        )
    )
    assert hashlib.sha256(first).hexdigest()[:16] == "c5d91c38f3354c33"
    assert hashlib.sha256(second).hexdigest()[:16] == "b762121ada4efda4"
    assert usual == second


def test_loans_are_read_from_the_file_of_the_literature(tmp_path):
    sizes = datasets.LOANS_SIZES
    lines = [",".join(sizes), ",".join("0" for _ in sizes)]
    lines.append(",".join(str(size - 1) for size in sizes.values()))
    (tmp_path / "loans.csv").write_text("\n".join(lines) + "\n")
    records = datasets.loans(tmp_path / "loans.csv")
    assert [column.tolist() for column in records.columns] == [[0, s - 1] for s in sizes.values()]
    (tmp_path / "short.csv").write_text("loan_amnt\n5\n")
    with pytest.raises(DataError, match="lacks the columns 'funded_amnt'"):
        datasets.loans(tmp_path / "short.csv")


def test_what_is_decoded_reads_back(adult):
    """The labels of every code, read as a file would be, give the codes again."""
    import pandas as pd

    schema = adult.schema
    height = max(schema.sizes)
    frame = pd.DataFrame({f.name: np.resize(np.array(f.labels), height) for f in schema})
    back = read(frame, schema)
    for feature, codes in zip(schema, back.columns, strict=True):
        assert codes.tolist() == np.resize(np.arange(feature.size), height).tolist()


def test_adult_counts_add_up(adult):
    table = exact_answers(adult, Threshold(("race", "sex", "income")))
    assert table.sum() == adult.n
