"""An answer: a float with a margin of error."""

import copy
import json
import pickle

from thresher.release import Answer


def test_an_answer_is_a_number():
    answer = Answer(0.25, 0.125)
    assert isinstance(answer, float)
    assert answer == 0.25
    assert (answer + 1, f"{answer:.3f}", str(answer), repr(answer)) == (
        1.25,
        "0.250",
        "0.25",
        "0.25",
    )
    assert json.dumps([answer]) == "[0.25]"
    assert Answer(0.25).error_bar is None
    for same in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
        assert (same, same.error_bar) == (0.25, 0.125)
