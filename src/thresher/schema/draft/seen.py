"""What has been seen of a column so far: its values, and the ways in which they can be read."""

import math
import re
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thresher.errors import DataError
from thresher.schema.cells import UNREADABLE
from thresher.schema.coding import bare, is_text, numbers_of, spellings_of
from thresher.schema.day_coding import days_of
from thresher.schema.days import STEPS
from thresher.schema.draft.distinct import DistinctValues
from thresher.schema.draft.readings import Cells, Places, Reading, Texts
from thresher.schema.draft.sentinels import DAYS
from thresher.schema.labels import is_label

MOST_CATEGORIES = 1000
_EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH
DECIMAL_COMMA = re.compile(r"[-+]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]+)?")
OTHER_DATE = re.compile(
    r"(?:[0-9]{1,2}[./-][0-9]{1,2}[./-](?:[0-9]{4}|[0-9]{2})|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})"
    r"(?:[T ].*)?"
)


class Seen:
    """What has been seen of one column.

    Args:
        name: The column's name.

    Example:
        >>> seen = Seen("age")
        >>> seen.add(pa.array(["17", "", "40"]))
        >>> seen.cells, seen.missing, seen.values.number
        (2, 1, 2)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.cells = self.missing = 0
        self.values = DistinctValues()
        self.labels: set[str] = set()
        self.too_many = False
        self.kinds: set[str] = set()
        self.letters = self.words = 0
        self.lengths: set[int] = set()
        self.leading_zero = self.percent_sign = self.comma = False
        self.plain = Reading(lambda cells: numbers_of(name, cells))
        self.money = Reading(lambda cells: numbers_of(name, cells, "money"))
        self.percent = Reading(lambda cells: numbers_of(name, cells, "percent"))
        self.days = Reading(self._days, DAYS)
        self.decimal_comma = Reading(lambda cells: _matching(name, cells, DECIMAL_COMMA))
        self.other_dates = Reading(lambda cells: _matching(name, cells, OTHER_DATE))
        self.longest_step = 0

    def add(self, column: pa.Array) -> None:
        """Look at some more cells."""
        try:
            cells = self._present(column)
            if not len(cells):
                return
            counted = pc.value_counts(cells)
            texts = Texts(self.name, counted.field("values"))
            texts.first(0).all  # noqa: B018, raises if values of this type have no spelling
        except (DataError, pa.ArrowException):  # of a type that no feature has
            self.kinds.add("other")
            return
        self.cells += len(cells)
        self._look(texts, np.asarray(counted.field("counts")).astype(np.int64))

    def _present(self, column: pa.Array) -> pa.Array:
        """The cells that are neither missing nor blank. The others are counted."""
        cells = bare(self.name, column)
        if pa.types.is_decimal(cells.type):
            cells = pa.array(numbers_of(self.name, cells))
        cells = cells.filter(pc.invert(pc.is_null(cells, nan_is_null=True)))
        if is_text(cells):
            cells = spellings_of(self.name, cells)
            cells = cells.filter(pc.not_equal(cells, ""))
        self.missing += len(column) - len(cells)
        return cells

    def _look(self, texts: Texts, times: Cells) -> None:
        self.kinds.add(_kind(texts.values))
        self.values.add(texts.values, times)
        readings = [self.plain, self.money, self.percent, self.days]
        if is_text(texts.values):
            self._look_at_texts(texts.values, times)
            readings += [self.decimal_comma, self.other_dates]
        for reading in readings:
            reading.add(texts, times)
        # If the first values are too many already, the rest need not be spelled.
        for part in (texts.first(4 * MOST_CATEGORIES), texts):
            if not self.too_many:
                self.labels.update(filter(fits_on_a_line, part.all.to_pylist()))
                self.too_many = len(self.labels) > MOST_CATEGORIES

    def _look_at_texts(self, texts: pa.Array, times: Cells) -> None:
        letters = np.asarray(pc.utf8_length(texts))
        self.letters += int((letters * times).sum())
        self.words += int(((np.asarray(pc.count_substring(texts, " ")) + 1) * times).sum())
        self.lengths.update({int(letters.min()), int(letters.max())})
        self.percent_sign |= bool(pc.any(pc.match_substring(texts, "%")).as_py())
        self.comma |= bool(pc.any(pc.match_substring(texts, ",")).as_py())
        self.leading_zero |= bool(pc.any(pc.match_substring_regex(texts, "^0[0-9]+$")).as_py())

    def _days(self, cells: pa.Array) -> Places:
        """The first day of each time that cells say; the longest kind of time is kept in mind."""
        days = days_of(self.name, cells, STEPS[self.longest_step])
        for place, step in enumerate(STEPS):
            if place > self.longest_step and np.isnan(days).any():
                longer = days_of(self.name, cells, step)
                if np.isfinite(longer).sum() > np.isfinite(days).sum():
                    days, self.longest_step = longer, place
        return np.where((days >= FIRST_DAY) & (days <= LAST_DAY), days, np.nan)


def fits_on_a_line(text: str | None) -> bool:
    r"""Whether a text can be a label, and a person can read it in a list: it breaks no line.

    Example:
        >>> fits_on_a_line("a b"), fits_on_a_line("a\nb"), fits_on_a_line("")
        (True, False, False)
    """
    if text is None or text == UNREADABLE:
        return False
    return is_label(text) and not set(text) & {"\t", "\n", "\r"}


def _matching(name: str, cells: pa.Array, pattern: re.Pattern[str]) -> Places:
    """0 where a text is of a form, and NaN elsewhere."""
    texts = spellings_of(name, cells).to_pylist()
    return np.array([0.0 if pattern.fullmatch(text) else math.nan for text in texts], dtype=float)


def _kind(values: pa.Array) -> str:
    if is_text(values):
        return "text"
    kind = values.type
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "dates"
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return "numbers" if is_number else "times"
