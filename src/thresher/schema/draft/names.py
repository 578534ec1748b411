"""What the name of a column says about it: a survey weight, an identifier."""

import re

_WEIGHT = re.compile(
    r"(?:p|f|a|i|hh|per|person|fnl|fin|final|samp|sampling|sample|survey|design|asec|base)?"
    r"(?:wt|wts|wgt|wgts|weight|weights|weighting)(?:p|f|finl|final)?[0-9]*"
)
_OF_A_SURVEY = {
    "survey", "sample", "sampling", "final", "person", "household", "hh", "design", "base", "rep",
    "replicate", "post", "strat", "analysis", "population", "pop", "adjusted", "trimmed",
    "normalized", "normalised", "calibrated", "raking", "full", "year",
}  # fmt: skip
_IDENTIFIER = {"id", "ids", "uid", "uuid", "guid", "pid", "hhid", "identifier", "idno", "seqn"}
_HOLDER = (
    "person|patient|case|user|customer|client|household|hh|respondent|record|row|subject|member|"
    "employee|student|pupil|account|policy|claim|encounter|visit|citizen|resident|taxpayer|serial"
)
_NUMBERED = re.compile(rf"(?:{_HOLDER})(?:id|nr|no|num|number|key)")
_DIRECT = {"ssn", "nino", "cpr", "email", "phone", "telephone", "mobile", "iban", "passport",
           "personnummer"}  # fmt: skip


def words_in(name: str) -> list[str]:
    """The words of a name, in small letters.

    Example:
        >>> words_in("patientID"), words_in("final_wgt.2")
        (['patient', 'id'], ['final', 'wgt', '2'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[^\W_]+", spaced.lower())


def says_weight(name: str) -> bool:
    """Whether a column of numbers is a survey weight by its name.

    Example:
        >>> [says_weight(name) for name in ("fnlwgt", "PWEIGHT", "weight", "weight_kg", "width")]
        [True, True, True, False, False]
    """
    words = [word for word in words_in(name) if not word.isdigit()]
    rest = [word for word in words if not _WEIGHT.fullmatch(word)]
    weight = len(rest) < len(words) and set(rest) <= _OF_A_SURVEY
    return weight or bool(_WEIGHT.fullmatch("".join(words)))


def says_identifier(name: str) -> bool:
    """Whether a column is an identifier by its name, if it has many values.

    Example:
        >>> [says_identifier(name) for name in ("ID", "patient_id", "caseno", "idea")]
        [True, True, True, False]
    """
    words = words_in(name)
    return bool(words) and (
        words[-1] in _IDENTIFIER or bool(_NUMBERED.fullmatch("".join(words))) or says_person(name)
    )


def says_person(name: str) -> bool:
    """Whether a column names a person by its name, such as an e-mail address.

    Example:
        >>> [says_person(name) for name in ("SSN", "home_phone", "phone_owner_age")]
        [True, True, False]
    """
    words = words_in(name)
    return bool(words) and (words[-1] in _DIRECT or (words[0] in _DIRECT and len(words) == 1))
