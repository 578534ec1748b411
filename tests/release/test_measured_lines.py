"""measurements.csv: every noisy count with its labels, in a file that stays of a bounded size."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import thresher as th
from thresher.privacy import QueryMeasurement
from thresher.privacy.measurements import measured_tables
from thresher.privacy.randomness import InsecureSeededRandomness
from thresher.release import measured_lines
from thresher.schema import Categorical, IntegerRange, Schema

AGE = IntegerRange(name="age", low=20, high=22, nulls=20)
TOWN = Categorical(name="to,wn", categories=("=1+1", 'q"', "line\nbreak"), outside='q"', nulls='q"')
SCHEMA = Schema((AGE, TOWN))
WORK = th.Workload(
    SCHEMA,
    [th.Threshold(("age", "to,wn")), th.Threshold(("age", "to,wn"), r=1), th.Threshold(("age",))],
)


def fitted(mechanism, unit=None):
    people = pd.DataFrame({"who": range(60), "age": [20, 21] * 30, "to,wn": ["=1+1", 'q"'] * 30})
    records = th.read(people, SCHEMA, person="who" if unit else None)
    return mechanism.fit(records, WORK, unit=unit, randomness=InsecureSeededRandomness(1))


@pytest.fixture(scope="module")
def release():
    return fitted(th.GaussianPerQuery(rho=1))


def lines_of(folder):
    with (folder / "measurements.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_cell_of_every_table_is_a_query_with_its_count(release, tmp_path):
    release.save(tmp_path / "release")
    lines = iter(lines_of(tmp_path / "release"))
    for m in release.measurements:
        if isinstance(m, QueryMeasurement):
            assert th.Query.parse(next(lines)["query"], SCHEMA) == m.query
            continue
        for codes in np.ndindex(m.counts.shape):
            line = next(lines)
            conditions = zip(m.threshold.features, codes, strict=True)
            asked = th.Query([th.Condition(f, [c]) for f, c in conditions], m.threshold.r)
            assert th.Query.parse(line["query"], SCHEMA) == asked
            assert int(line["noisy_count"]) == m.counts[codes]
            assert float(line["sigma"]) == m.sigma
            assert float(line["noisy_share"]) == pytest.approx(m.answers[codes], rel=1e-5)
            assert line["value_1"] == str(20 + codes[0])
    assert next(lines, None) is None


def test_a_spreadsheet_runs_no_value(release, tmp_path):
    release.save(tmp_path / "release")
    values = {line["value_2"] for line in lines_of(tmp_path / "release")}
    assert values >= {"'=1+1", 'q"', "line\nbreak"}
    assert "=1+1" not in values


def test_large_tables_are_left_out_and_named(release, tmp_path):
    tables = measured_tables(release.measurements)
    assert [t.counts.size for t in tables] == [9, 9, 3]
    assert measured_lines.tables_listed(tables, 15) == [True, False, True]
    measured_lines.write_measurements(tmp_path / "measurements.csv", release, most=15)
    named = {line["table"] for line in lines_of(tmp_path)}
    assert named == {"age × to,wn", "age"}


def test_the_readme_tells_people_what_they_have(release, tmp_path, monkeypatch):
    monkeypatch.setattr("thresher.release.readme.tables_listed", lambda tables: [True, False, True])
    release.save(tmp_path / "release")
    page = (tmp_path / "release" / "README.md").read_text()
    for file in (tmp_path / "release").iterdir():
        assert f"| `{file.name}` |" in page
    assert "rows.npz" not in page
    assert "- `table1`: 1 of: age, to,wn (9 cells)" in page
    assert "**Not private.**" in page
    assert "thresher answer FOLDER 'all of: age=20'" in page
    assert "learns almost the same about you" in page


REGISTRY = {
    "basic": {"description": str, "data_product_type": str, "publication_date": str},
    "dp_variant": {"variant_name": str, "data_domain": str, "unprotected_quantities": str},
    "privacy_loss": {"privacy_unit": str, "privacy_unit_details": str, "privacy_parameters": dict,
                     "privacy_parameters_details": str},
    "deployment_model": {"model_name": str, "release_type": str, "data_source_type": str,
                         "access_type": str, "access_type_details": str},
    "accounting": {"composition": str, "post_processing": str},
    "implementation": {"preprocessing_and_hyperparameter_tuning": str, "mechanisms": str},
}  # fmt: skip
"""Fields of the registry's schema of July 2026, each of which may be missing there."""


def test_the_statement_has_the_fields_of_the_registry_and_exact_numbers(tmp_path):
    unit = th.Unit("add-remove", person="who", rows_per_person=2)
    release = fitted(th.GaussianJoint(epsilon=1, delta=1e-6), unit)
    release.save(tmp_path / "release")
    stated = json.loads((tmp_path / "release" / "statement.json").read_text())
    deployment = stated["deployment"]
    assert set(deployment) == set(REGISTRY)
    for part, fields in REGISTRY.items():
        assert {name: type(value) for name, value in deployment[part].items()} == fields
    loss = deployment["privacy_loss"]
    assert loss["privacy_unit"] == "Person-level"
    assert loss["privacy_parameters"] == {
        "epsilon": 1.0, "delta": 1e-6, "rho": float(release.budget.rho)
    }  # fmt: skip
    assert "is added or removed" in loss["privacy_unit_details"]
    exact = stated["thresher"]
    assert exact["rho"] == str(release.budget.rho)
    assert exact["unit"] == unit.as_json()
    [table, *_] = measured_tables(release.measurements)
    assert exact["noise"]["tables"]["smallest_sigma"] <= table.sigma / unit.parts
    assert exact["noise"]["secure_randomness"] is False
    assert exact["n"]["sigma"] == release.n_sigma > 0


def test_tables_from_residuals_are_listed(tmp_path):
    people = th.datasets.adult()
    work = th.Workload(people.schema, [th.Threshold(("race", "sex")), th.Threshold(("sex", "age"))])
    release = th.Auto(epsilon=1.0, synthetic_rows=20).fit(people, work)
    release.save(tmp_path / "release")
    with (tmp_path / "release" / "measurements.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    cells = {"race × sex": 10, "age × sex": 170, "sex": 2, "race": 5, "age": 85}
    for table, count in cells.items():
        assert sum(line["table"] == table for line in lines) == count
    assert "residuals" in (tmp_path / "release" / "README.md").read_text("utf-8")
