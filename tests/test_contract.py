"""The contract that others rely on, word for word, and the public names that it stands on."""

import numpy as np
import pandas as pd

import thresher as th

CONTRACT = """
import thresher as th
data = th.datasets.adult()                      # Records with their Schema
data = th.read("people.csv", th.Schema.load("schema.json"))   # a path, DataFrame or Arrow table
th.exact_answers(data, th.Threshold(("age", "race", "sex"), r=2))   # integer counts, one axis per feature
th.exact_answer(data, "2 of: race=Black, sex=Female, income=>50K")  # a fraction
work = th.Workload.random(data.schema, k=3, r=3, size=64, seed=0)
fit  = th.RAP(epsilon=1.0, rounds=16, queries_per_round=16, synthetic_rows=1000)
rel  = fit.fit(data, work)                      # a Release
rel.answer("2 of: race=Black, sex=Female, income=>50K")   # 0.1234
rel.answer_all(work)                            # per threshold, a table of answers
rel.sample(10_000)                              # a DataFrame of records
rel.save("adult-release"); th.load("adult-release")
th.present_error(rel, data, work)               # touches private data: not for publication
"""  # noqa: E501


def test_the_contract_word_for_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adult, rng = th.datasets.adult(), np.random.default_rng(0)
    schema = adult.schema
    people = {f.name: f.decode(adult.codes(f.name)[:2000], rng) for f in schema}
    pd.DataFrame(people).to_csv("people.csv", index=False)
    schema.save("schema.json")
    names: dict = {}
    exec(CONTRACT, names)
    release, data, work = names["rel"], names["data"], names["work"]
    assert data.n == 2000
    assert len(release.measurements) == 256
    query = "2 of: race=Black, sex=Female, income=>50K"
    assert th.load("adult-release").answer(query) == release.answer(query)
    assert list(release.sample(10).columns) == list(schema.names)
    assert len(release.answer_all(work)) == 64
    assert 0 < th.present_error(release, data, work) < 1
    assert release.spent == release.budget.rho


def test_every_public_name_exists_once_and_is_explained():
    assert len(set(th.__all__)) == len(th.__all__)
    for name in th.__all__:
        public = getattr(th, name)
        assert public.__doc__, f"{name} has no docstring"
