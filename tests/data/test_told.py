"""A fit of records that are elsewhere says when it counts them."""

import pytest

from thresher.data import read
from thresher.mechanisms import GaussianJoint
from thresher.privacy import InsecureSeededRandomness, Unit
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
