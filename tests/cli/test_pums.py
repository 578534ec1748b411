"""A person file of the ACS PUMS as the Census Bureau ships it: all its columns, in its order.

The people are made up (`docs/tutorials/acs`). The file has the columns of a file of 2019 and later:
keys, some 120 answers, as many flags of what was imputed, and 80 replicate weights. Codes have
leading zeros, and most cells of most columns are blank.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import thresher as th

ACS = Path(__file__).parents[2] / "docs" / "tutorials" / "acs"
N = 400
KEYS = "RT SERIALNO DIVISION SPORDER PUMA REGION ST ADJINC PWGTP"
ANSWERS = """
    AGEP CIT CITWP COW DDRS DEAR DEYE DOUT DPHY DRAT DRATX DREM ENG FER GCL GCM GCR HIMRKS HINS1
    HINS2 HINS3 HINS4 HINS5 HINS6 HINS7 INTP JWMNP JWRIP JWTRNS LANX MAR MARHD MARHM MARHT MARHW
    MARHYP MIG MIL MLPA MLPB MLPCD MLPE MLPFG MLPH MLPIK MLPJ NWAB NWAV NWLA NWLK NWRE OIP PAP
    RELSHIPP RETP SCH SCHG SCHL SEMP SEX SSIP SSP WAGP WKHP WKL WKWN WRK YOEP ANC ANC1P ANC2P
    DECADE DIS DRIVESP ESP ESR FOD1P FOD2P HICOV HISP INDP JWAP JWDP LANP MIGPUMA MIGSP MSP NAICSP
    NATIVITY NOP OC OCCP PAOC PERNP PINCP POBP POVPIP POWPUMA POWSP PRIVCOV PUBCOV QTRBIR RAC1P
    RAC2P RAC3P RACAIAN RACASN RACBLK RACNH RACNUM RACPI RACSOR RACWHT RC SCIENGP SCIENGRLP SFN SFR
    SOCP VPS WAOB
"""
FLAGS = """
    FAGEP FANCP FCITP FCITWP FCOWP FDDRSP FDEARP FDEYEP FDISP FDOUTP FDPHYP FDRATP FDRATXP FDREMP
    FENGP FESRP FFERP FFODP FGCLP FGCMP FGCRP FHICOVP FHIMRKSP FHINS1P FHINS2P FHINS3C FHINS3P
    FHINS4C FHINS4P FHINS5C FHINS5P FHINS6P FHINS7P FHISP FINDP FINTP FJWDP FJWMNP FJWRIP FJWTRNSP
    FLANP FLANXP FMARP FMARHDP FMARHMP FMARHTP FMARHWP FMARHYP FMIGP FMIGSP FMILPP FMILSP FOCCP FOIP
    FPAP FPERNP FPINCP FPOBP FPOWSP FPRIVCOVP FPUBCOVP FRACP FRELSHIPP FRETP FSCHGP FSCHLP FSCHP
    FSEMP FSEXP FSSIP FSSP FWAGP FWKHP FWKLP FWKWNP FWRKP FYOEP
"""
REPLICATES = [f"PWGTP{i}" for i in range(1, 81)]
HEADER = [*KEYS.split(), *ANSWERS.split(), *FLAGS.split(), *REPLICATES]


@pytest.fixture(scope="module")
def made_up():
    spec = importlib.util.spec_from_file_location("made_up_pums", ACS / "made_up_pums.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.people(N, seed=5)


def written(people, header, end="\n"):
    """The text of a file with these columns. Blank cells are empty, and codes are padded."""
    rng = np.random.default_rng(0)
    cells = people.astype("string").fillna("")
    cells["SCHL"] = cells["SCHL"].where(cells["SCHL"] == "", cells["SCHL"].str.zfill(2))
    rows = []
    for place, person in enumerate(cells.to_dict("records")):
        known = {
            "RT": "P", "SERIALNO": f"2021HU{place // 2:07}", "SPORDER": str(1 + place % 2),
            "PUMA": f"{rng.integers(100, 9999):05}", "REGION": "3", "ST": "01",
            "ADJINC": "1029928", "PWGTP": str(rng.integers(1, 200)), "NAICSP": "4MS",
            "SOCP": "4930XX", "OCCP": "0440", **dict.fromkeys(FLAGS.split(), "0"),
            **{name: str(rng.integers(-5, 300)) for name in REPLICATES}, **person,
        }  # fmt: skip
        rows.append(",".join(known.get(name, "") for name in header))
    return end.join([",".join(header), *rows, ""])


@pytest.fixture
def file(made_up, tmp_path):
    path = tmp_path / "psam_p01.csv"
    path.write_text(written(made_up, HEADER))
    return path


def test_the_layout_is_that_of_a_person_file():
    assert len(HEADER) == len(set(HEADER)) > 280
    assert set(th.Schema.load(ACS / "schema.json").names) <= set(HEADER)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_it_is_read_as_the_twelve_columns_alone(made_up, file, end):
    schema = th.Schema.load(ACS / "schema.json")
    file.write_text(written(made_up, HEADER, end), encoding="ascii", newline="")
    expected, read = th.read(made_up, schema), th.read(file, schema)
    assert read.n == N
    for name in schema.names:
        assert read.codes(name).tolist() == expected.codes(name).tolist()
    blank = schema["SCHL"].code_of("Under 3 years old")
    assert 0 < np.count_nonzero(read.codes("SCHL") == blank) < N / 5


def test_a_loss_is_the_lowest_income(made_up, tmp_path):
    schema = th.Schema.load(ACS / "schema.json")
    people = made_up.copy()
    people.loc[0, "PINCP"] = -5300
    (tmp_path / "p.csv").write_text(written(people, HEADER))
    assert th.read(tmp_path / "p.csv", schema).codes("PINCP")[0] == 0


def test_from_a_download_to_an_answer(file, tmp_path, monkeypatch, thresher):
    """The tutorial's commands on such a file, with a mechanism that takes no time."""
    monkeypatch.chdir(tmp_path)
    logs = [ACS / f"asked-{name}.txt" for name in ("poverty", "health", "migration")]
    options = f"--schema {ACS / 'schema.json'}"
    assert thresher(f"workload from-log --views {options} -o w", *logs).status == 0
    told = thresher(
        f"fit {file} {options} -w w --epsilon 1 --delta 1e-6 --mechanism gaussian_joint -o r"
    )
    assert told.status == 0, told.err
    asked = "3 of: POVPIP=..100, ESR=Unemployed, HICOV=Not insured, PINCP=..20000"
    [answer] = thresher("answer r --json", asked).json["answers"]
    assert 0 < answer["error_bar"] < 1


def test_a_draft_leaves_out_weights_and_keys(file):
    drafted = th.draft_schema(file)
    assert not {"SERIALNO", "PWGTP", *REPLICATES} & set(drafted.schema.names)
    assert {"AGEP", "SEX", "SCHL", "PINCP"} <= set(drafted.schema.names)


def test_an_older_file_lacks_the_division(made_up, tmp_path):
    """Person files of 2012 have no DIVISION: the message says so, and the rest can be read."""
    path = tmp_path / "ss12pal.csv"
    path.write_text(written(made_up, [name for name in HEADER if name != "DIVISION"]))
    schema = th.Schema.load(ACS / "schema.json")
    with pytest.raises(th.DataError, match="DIVISION"):
        th.read(path, schema)
    without = th.Schema([feature for feature in schema if feature.name != "DIVISION"])
    assert th.read(path, without).n == N
