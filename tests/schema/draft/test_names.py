"""Survey weights and identifiers, told by the names that statistics offices give them."""

import pytest

from thresher.schema.draft.names import says_identifier, says_person, says_weight


@pytest.mark.parametrize(
    "name",
    [
        "weight", "WGT", "wt", "pweight", "fnlwgt", "finalwt", "final_weight", "PERWT", "HHWT",
        "pwgtp", "PWGTP12", "WTFINL", "ASECWT", "survey weight", "samplingWeight", "hh_weight",
        "weight_2",
    ],
)  # fmt: skip
def test_weights(name):
    assert says_weight(name)
    assert not says_identifier(name)


@pytest.mark.parametrize(
    "name",
    ["weight_kg", "birth_weight", "body weight", "height", "width", "awt_time", "car_weight"],
)
def test_other_weights(name):
    assert not says_weight(name)


@pytest.mark.parametrize(
    "name", ["id", "ID", "person_id", "patientID", "PatientId", "hhid", "uuid", "caseno", "SEQN",
             "customer.number", "ssn", "home_phone", "E-Mail email"]
)  # fmt: skip
def test_identifiers(name):
    assert says_identifier(name)


@pytest.mark.parametrize("name", ["idea", "paid", "", "age", "number_of_rooms", "candid"])
def test_other_names(name):
    assert not says_identifier(name)
    assert not says_person(name)
