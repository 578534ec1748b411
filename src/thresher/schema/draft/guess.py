"""From what has been seen of a column to a feature, or to the reason why it is none."""

import math
from dataclasses import dataclass, replace

from thresher.schema.cells import number_of
from thresher.schema.days import STEPS
from thresher.schema.draft.names import says_identifier, says_person, says_weight
from thresher.schema.draft.readings import BLANK_WORDS, Reading
from thresher.schema.draft.scales import UNKNOWN, dates_feature, numbers_feature
from thresher.schema.draft.seen import MOST_CATEGORIES, Seen, fits_on_a_line
from thresher.schema.feature import CLIP
from thresher.schema.features import Boolean, Categorical, Feature

FEW = 20
"""Records or values from which nothing is concluded."""
OTHER = "(other)"
UNKNOWN_WORDS = BLANK_WORDS - {"none", "nil", "na", "-", "."}
"""Those that can only mean this in a column of categories."""
PAIRS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"})
"""Words for truth values that belong together."""
WEIGHT = (
    "by its name it is a survey weight: thresher does not use weights, and would treat it as a "
    "feature like any other"
)


@dataclass(frozen=True)
class LeftOut:
    """Why a column is no feature. The reason tells no cell.

    Attributes:
        reason: The reason.
        identifies: Whether the column seems to name persons, households or records.

    Example:
        >>> LeftOut("it has no values").identifies
        False
    """

    reason: str
    identifies: bool = False


def guess(seen: Seen, *, asked: bool = False) -> Feature | LeftOut:
    """A feature for a column, with a note for review, or why there is none.

    Args:
        seen: What has been seen of the column.
        asked: Whether a person asked for this column by name. Then it is a feature if that is
            possible at all, although it seems to be a weight or an identifier.

    Example:
        >>> import pyarrow as pa
        >>> seen = Seen("age")
        >>> seen.add(pa.array([17, 90, None, 999]))
        >>> feature = guess(seen)
        >>> feature.low, feature.high, feature.extra, feature.outside
        (17, 90, ('unknown',), 'unknown')
    """
    unusable = _unusable(seen)
    if unusable is not None:
        return LeftOut(unusable)
    doubt = _doubt(seen)
    if doubt is not None and not asked:
        return doubt
    drafted = _feature(seen)
    if doubt is not None and isinstance(drafted, Feature):
        return replace(drafted, review=f"{drafted.review}; {doubt.reason}")
    return drafted


def _unusable(seen: Seen) -> str | None:
    if not fits_on_a_line(seen.name):
        return "its name is empty, or has blanks at its ends, line breaks or control characters"
    if "other" in seen.kinds:
        return "its cells are lists, records, bytes or of another type that has no labels"
    if not seen.cells:
        return "it has no values"
    if not seen.labels:
        return "its values cannot be labels: lists, records, line breaks or control characters"
    return None


def _doubt(seen: Seen) -> LeftOut | None:
    """Why a column should be no feature although it could be one."""
    different, scale = seen.values.number, _scale(seen)
    if scale is not None and scale[0] != "dates" and says_weight(seen.name):
        return LeftOut(WEIGHT)
    if says_person(seen.name):
        return LeftOut("by its name it tells who a person is", identifies=True)
    if says_identifier(seen.name) and different > max(FEW, seen.cells / 50):
        return LeftOut("by its name, and with so many values, it is an identifier", True)
    if min(different, seen.cells) <= FEW or (scale is None and _foreign(seen)):
        return None
    if scale is None and seen.kinds == {"text"} and _is_long(seen) and different > seen.cells / 2:
        return LeftOut(f"free text: {seen.letters / seen.cells:.0f} characters on average")
    if _seems_identifier(seen, "text" if scale is None else scale[0]):
        return LeftOut("nearly every record has a different value (an identifier)", True)
    return None


def _is_long(seen: Seen) -> bool:
    return seen.letters > 40 * seen.cells or seen.words > 5 * seen.cells


def _seems_identifier(seen: Seen, written: str) -> bool:
    """Whether nearly all cells differ, and are texts or numbers as identifiers are."""
    if written == "text":
        return seen.kinds == {"text"} and seen.values.number > 0.9 * seen.cells
    whole = written == "plain" and seen.plain.complete and seen.plain.whole
    if not whole or seen.values.number < 0.99 * seen.cells:
        return False
    span = seen.plain.range()
    dense = span.high - span.low < 3 * seen.cells  # such as the numbers of rows
    digits = {len(f"{abs(end):.0f}") for end in (span.low, span.high)}
    return dense or (len(digits) == 1 and digits.pop() >= 7)


def _feature(seen: Seen) -> Feature | LeftOut:
    if _is_truth(seen):
        return _boolean(seen)
    scale = _scale(seen)
    if scale is not None:
        written, reading = scale
        if written == "dates":
            return dates_feature(seen)
        numbers = numbers_feature(seen, written, reading)
        if numbers is not None:
            return numbers
    foreign = _foreign(seen)
    if foreign is not None:
        return foreign
    if seen.too_many:
        return LeftOut(
            f"more than {MOST_CATEGORIES:,} different values, and neither numbers nor dates: group "
            "them first"
        )
    return _categories(seen)


def _foreign(seen: Seen) -> LeftOut | None:
    """Numbers and dates in a form that is not read."""
    if seen.other_dates.complete:
        return LeftOut("dates in a form that is not read: write them as 2019-01-31")
    if seen.decimal_comma.complete and seen.comma and seen.values.number > FEW:
        return LeftOut("numbers with a decimal comma, which count as text: write 1.5, not 1,5")
    return None


def _scale(seen: Seen) -> tuple[str, Reading] | None:
    """How a column is written that consists of numbers or dates, and what was read of it."""
    amounts = [("plain", seen.plain), ("money", seen.money)]
    if seen.percent_sign:
        amounts.insert(1, ("percent", seen.percent))
    is_code = seen.leading_zero and len(seen.lengths) == 1
    if seen.plain.complete:
        if _are_compact_days(seen):
            return "dates", seen.days
        return None if is_code else ("plain", seen.plain)
    if seen.days.complete:
        return "dates", seen.days
    for written, reading in amounts:
        if reading.complete:
            return written, reading
    for written, reading in amounts:
        if _has_labels_beside(seen, reading):
            return written, reading
    return None


def _are_compact_days(seen: Seen) -> bool:
    """Whether all numbers are days such as 20190131."""
    span = seen.plain.range()
    return (
        seen.days.complete
        and STEPS[seen.longest_step] == "day"
        and 19000101 <= span.low <= span.high <= 21001231
    )


def _has_labels_beside(seen: Seen, reading: Reading) -> bool:
    """Whether cells are numbers but for a few words, such as `refused` or `90+`."""
    if reading.given_up or seen.values.number - len(reading.odd) <= FEW:
        return False
    beside = reading.odd - reading.blank
    return len(beside) <= 5 and all(map(_is_word, beside))


def _is_word(text: str) -> bool:
    """Whether a text among numbers can be a label: a word, or a number and more, as in `90+`."""
    if not fits_on_a_line(text) or text == CLIP or not math.isnan(number_of(text)):
        return False
    return text.endswith("+") or not any(map(str.isdigit, text))


def _is_truth(seen: Seen) -> bool:
    if seen.kinds == {"truth"}:
        return True
    words = {label.casefold() for label in seen.labels} - BLANK_WORDS
    return not seen.too_many and words in PAIRS


def _boolean(seen: Seen) -> Feature:
    blanks = seen.missing > 0 or any(label.casefold() in BLANK_WORDS for label in seen.labels)
    if not blanks:
        return Boolean(
            name=seen.name, nulls="false",
            review="guessed: truth values; other cells count as false",
        )  # fmt: skip
    return Boolean(
        name=seen.name, nulls=UNKNOWN, extra=(UNKNOWN,),
        review=f"guessed: truth values; blank and other cells count as {UNKNOWN}",
    )  # fmt: skip


def _categories(seen: Seen) -> Feature:
    labels = sorted(seen.labels - {OTHER})
    unknown = [label for label in labels if label.casefold() in UNKNOWN_WORDS]
    nulls = OTHER
    if seen.missing:
        nulls = unknown[0] if unknown else UNKNOWN
        labels += [] if unknown else [UNKNOWN]
    return Categorical(
        name=seen.name, categories=(*labels, OTHER), outside=OTHER, nulls=nulls,
        review=f"guessed: the categories are those of the data; blank cells count as {nulls}",
    )  # fmt: skip
