"""What an analyst does with a release: ask, take tables, and draw records."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import thresher as th
from thresher.errors import ParameterError, QueryError, ReleaseError
from thresher.mechanisms import RAP, GaussianJoint
from thresher.privacy.budget import Budget, epsilon_of
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.queries import Query, Threshold, Workload
from thresher.relaxed.rows import RelaxedRows
from thresher.relaxed.tables import threshold_table
from thresher.release import Release
from thresher.release.sources import SyntheticRows
from thresher.schema import Schema
from thresher.schema.features import Bins, Categorical, IntegerRange

FALSE_ALARM = 1e-7
"""The chance that one test here would fail on correct code, had its seed not been fixed."""

SCHEMA = Schema(
    (
        IntegerRange(name="age", low=20, high=23, nulls="missing", extra=("missing", "refused")),
        Categorical(name="town", categories=("NA", "a, b", "1", "null", "Ü"), outside="NA",
                    nulls="NA"),
        Bins(name="income", edges=(0.0, 1e-9, 10.0, 1e6), nulls="unknown", extra=("unknown",)),
        Bins(name="height", edges=(1.5, 1.75, 2.0), nulls=1.5),
        IntegerRange(name="rooms", low=-1, high=1, nulls=0),
    )
)  # fmt: skip
WORK = Workload(SCHEMA, [Threshold(("age", "town")), Threshold(("income", "rooms"), r=1)])


def release_of(rows, **changes):
    contents = {
        "schema": SCHEMA, "n": 1000, "workload": WORK, "mechanism": "rap", "settings": {},
        "budget": Budget.from_rho("1/10"), "spent": Fraction(1, 10), "measurements": (),
        "source": SyntheticRows(rows, SCHEMA), "is_secure": False,
    }  # fmt: skip
    return Release.now(**{**contents, **changes})


@pytest.fixture(scope="module")
def rows():
    return RelaxedRows.uniform(SCHEMA.sizes, 11, np.random.default_rng(4))


@pytest.fixture(scope="module")
def release(rows):
    return release_of(rows)


def test_the_promise(release, rows):
    assert release.delta == Fraction(1, 1000**2)
    assert release.epsilon == epsilon_of("1/10", "1e-6")
    bought = release_of(rows, budget=Budget.from_epsilon(1, "1e-7"))
    assert (bought.epsilon, bought.delta) == (1.0, Fraction("1e-7"))
    assert repr(bought) == "Release(rap, epsilon=1, delta=1e-07, 0 measurements, answers from rows)"
    assert "thresher" in release.versions


def test_text_and_queries_have_the_same_answers(release):
    texts = ["age=20..22, town!=NA", 'any of: town="a, b", rooms=0..', "income=unknown"]
    asked = [Query.parse(text, SCHEMA) for text in texts]
    answers = [release.answer(text) for text in texts]
    assert answers == [release.answer(query) for query in asked]
    assert answers == list(release.answer_many([texts[0], asked[1], texts[2]]))
    assert all(0 < answer < 1 for answer in answers)


def test_values_are_a_query(release):
    assert release.answer({"age": "20..22", "rooms": [0, 1]}) == release.answer(
        "age=20..22, rooms in {0,1}"
    )
    with pytest.raises(QueryError, match="a query is text"):
        release.answer(7)


def test_a_wrong_query_does_not_lose_the_others(release):
    good, wrong, last = release.answer_many(["age=20", "age=99", {"rooms": 0}])
    assert (good, last) == (release.answer("age=20"), release.answer("rooms=0"))
    assert np.isnan(wrong)
    assert "no value '99'" in wrong.fault
    assert (good.fault, good.count) == (None, 1000 * good)
    [only] = release.answer_many(["age"])
    assert only.fault


def test_an_answer_says_how_a_range_was_read(release):
    assert release.answer("income=1..9").read_as == "all of: income=1e-09..10"
    assert release.answer("income=0..10").read_as is None


@pytest.mark.parametrize("wrong", ["colour=red", "age=99", "3 of: age=20", "", "age"])
def test_wrong_text_is_a_query_error(release, wrong):
    with pytest.raises(QueryError, match="at character"):
        release.answer(wrong)


def test_queries_and_workloads_of_other_schemas_are_refused(release):
    with pytest.raises(QueryError, match="run from 0 to 2"):
        release.answer(Query([th.Condition("rooms", (3,))]))
    other = Schema([Categorical(name="age", categories=("x",), outside="x", nulls="x")])
    with pytest.raises(QueryError, match="another schema"):
        release.answer_all(Workload.all(other, 1))


def test_all_answers_is_a_lazy_sequence(release, rows):
    asked = []

    class Watched(SyntheticRows):
        def table(self, threshold):
            asked.append(threshold)
            return super().table(threshold)

    answers = release_of(rows, source=Watched(rows, SCHEMA)).answer_all()
    assert len(answers) == 2
    assert asked == []
    first = answers[0]
    assert asked == [WORK[0]]
    assert np.array_equal(first, answers[WORK[0]])
    assert [threshold for threshold, _ in answers] == list(WORK)
    assert first.sum() == pytest.approx(1, abs=1e-5)
    assert np.allclose(first, threshold_table(rows, SCHEMA, WORK[0]))


@pytest.fixture(scope="module")
def sample(release):
    return release.sample(40_000, seed=1, labels=True)


def test_values_of_a_sample_are_those_of_the_schema(sample):
    assert list(sample.columns) == list(SCHEMA.names)
    assert set(sample["age"]) == {20, 21, 22, 23, "missing", "refused"}
    assert set(sample["town"]) == set(SCHEMA["town"].labels)
    numbers = [x for x in sample["income"] if x != "unknown"]
    assert all(0 <= x < 1e6 for x in numbers)
    assert 0 < len(numbers) < len(sample)
    assert sample["height"].between(1.5, 2.0, inclusive="left").all()
    assert set(sample["rooms"]) == {-1, 0, 1}


def test_a_sample_encodes_back_to_the_codes_it_was_drawn_from(release, rows, sample, tmp_path):
    records = th.read(sample, SCHEMA)
    for feature in SCHEMA:
        expected = 40_000 * threshold_table(rows, SCHEMA, Threshold((feature.name,))).astype(float)
        seen = np.bincount(records.codes(feature.name), minlength=feature.size)
        # Rows take turns, so counts vary less than in independent draws.
        assert stats.chisquare(seen, expected * 40_000 / expected.sum()).pvalue > FALSE_ALARM
    # Written and read again, every cell is the same code.
    sample.head(500).to_csv(tmp_path / "sample.csv", index=False)
    again = th.read(tmp_path / "sample.csv", SCHEMA)
    for feature in SCHEMA:
        codes = records.codes(feature.name)[:500]
        assert np.array_equal(again.codes(feature.name), codes), feature.name


def test_labels_beyond_the_numbers_are_missing_values(release, sample):
    """So that a column of numbers has a mean, and scikit-learn takes it."""
    plain = release.sample(40_000, seed=1)
    for name, words in (("age", ["missing", "refused"]), ("income", ["unknown"])):
        assert plain[name].dtype == float
        assert np.array_equal(plain[name].isna(), sample[name].isin(words))
        numbers = sample[name][~sample[name].isin(words)].astype(float)
        assert plain[name].mean() == pytest.approx(numbers.mean())
    assert plain[["town", "height", "rooms"]].equals(sample[["town", "height", "rooms"]])
    records = th.read(plain, SCHEMA)
    nulls = records.codes("age")[plain["age"].isna()]
    assert set(nulls.tolist()) == {SCHEMA["age"].code_of(SCHEMA["age"].nulls)}


def test_numbers_are_spread_over_their_bins(sample):
    inside = sample["height"][sample["height"] < 1.75]
    assert stats.kstest(inside, stats.uniform(1.5, 0.25).cdf).pvalue > FALSE_ALARM


def test_the_same_seed_gives_the_same_sample(release):
    assert release.sample(50, seed=3).equals(release.sample(50, seed=3))
    assert not release.sample(50, seed=3).equals(release.sample(50, seed=4))
    assert len(release.sample(7)) == 7


@pytest.mark.parametrize("count", [0, -1, 2.5, "9"])
def test_wrong_numbers_of_rows(release, count):
    with pytest.raises(ParameterError, match="rows must be a whole number of at least 1"):
        release.sample(count)


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_wrong_seeds(release, seed):
    with pytest.raises(ParameterError, match="seed must be a whole number of at least 0"):
        release.sample(3, seed=seed)


def test_noisy_tables_have_no_rows_to_sample_from():
    data = th.datasets.adult()
    work = Workload(data.schema, [Threshold(("sex", "race"))])
    with pytest.raises(ReleaseError, match="gaussian_joint has no synthetic rows"):
        GaussianJoint(rho=1).fit(data, work).sample(5)


def test_adult_from_fit_to_sample():
    data = th.datasets.adult()
    work = Workload(data.schema, [Threshold(("sex", "race")), Threshold(("income", "sex"))])
    rap = RAP(rho=1, rounds=4, queries_per_round=3, synthetic_rows=50)
    release = rap.fit(data, work, randomness=InsecureSeededRandomness(0))
    truth = th.exact_answer(data, "sex=Female")
    assert release.answer("sex=Female") == pytest.approx(truth, abs=0.05)
    records = th.read(release.sample(2000, seed=0), data.schema)
    assert th.exact_answer(records, "sex=Female") == pytest.approx(truth, abs=0.1)
