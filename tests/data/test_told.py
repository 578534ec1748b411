"""A fit of records that are elsewhere says when it counts them."""

import pytest

from thresher.data import read
from thresher.data.told import telling
from thresher.mechanisms import GaussianJoint
from thresher.privacy import InsecureSeededRandomness, Unit
from thresher.progress import COUNTING, Step
from thresher.queries import Threshold, Workload


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_counting_is_a_remark_before_the_first_round(neighbours, records, schema, tmp_path):
    frame = {f.name: [f.labels[c] for c in records.codes(f.name)] for f in schema}
    lines = [",".join(frame), *(",".join(row) for row in zip(*frame.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    data = read(tmp_path / "people.csv", schema, in_memory=False)
    told = []
    release = GaussianJoint(rho=1).fit(
        data, Workload(schema, [Threshold(("sex", "job"))]), unit=Unit(neighbours),
        randomness=InsecureSeededRandomness(0), progress=lambda *said: told.append(said),
    )  # fmt: skip
    assert release.spent == 1
    assert told[0] == (0, 1, "counting the records")
    said = " ".join(remark for _, _, remark in told)
    assert ("400" in said) == (neighbours == "replace")


class Elsewhere:
    """Records that are counted in batches of some sizes."""

    def __init__(self, records, batches):
        self.schema, self.n, self._batches = records.schema, records.n, batches

    def counts(self, feature_sets, progress=None):
        rows = 0
        for size in self._batches:
            rows += size
            progress(rows)
        return []


@pytest.mark.parametrize("batches", [[400], [1] * 400, [399, 1], [123, 77, 200]])
def test_remarks_do_not_show_where_batches_end(batches, records):
    """A database groups equal records: the end of a batch would be a sum of exact counts."""
    told = []
    telling(Elsewhere(records, batches), told.append, n_is_public=True).counts([("sex",)])
    shares = [Step(COUNTING, 4 * share, 400) for share in range(5, 101, 5)]
    assert told == [Step(COUNTING), *shares, Step(COUNTING, 1, 1)]


def test_remarks_do_not_show_how_long_a_record_is(tmp_path, records, schema):
    """Two files that differ in one record: it is longer, and moves the ends of blocks."""
    said = []
    for job in ("a", "x" * 2**20):
        lines = ["sex,age,job,town", *["F,30,a,A"] * 300_000]
        lines[1] = f"F,30,{job},A"
        path = tmp_path / f"{len(job)}.csv"
        path.write_text("\n".join(lines))
        told = []
        data = telling(read(path, schema, in_memory=False), told.append, n_is_public=True)
        data.counts([("sex",)])
        said.append(told)
    assert said[0] == said[1]


def test_data_with_ids_of_persons_stay_what_they_are(records):
    class Visits(Elsewhere):
        person, persons = "who", 3

        def person_rows(self):
            return iter(())

    visits = Visits(records, [400])
    assert telling(visits, print, n_is_public=True) is visits
