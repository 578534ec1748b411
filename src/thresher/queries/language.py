"""The query language of analysts.

    2 of: race=Black, sex=Female, income=>50K
    education-num in {13,14,15,16} and age>=65
    any of: race!=White, hours-per-week=60..

A query is `N of:`, `all of:` or `any of:` and conditions set apart by commas or `and`; without such
an opening, all conditions must hold. A condition is `feature=value`, `feature!=value`,
`feature in {a, b}`, `feature not in {a, b}`, or for numbers, dates and ordered categories a
comparison `feature>=value` (or `>`, `<`, `<=`) or a range `feature=low..high`, either end of which
is optional; a set may hold ranges. Case, blanks, hyphens and underscores are forgiven where only
one name or value can be meant.

Both ends of a range are included, except that numbers in bins are below the upper end, so that
`..50000` and `50000..` share no bin. An end inside of a bin moves to the nearest edge of a bin. A
number or a date stands for the bin that holds it. At the ends of a range, a year, a quarter or a
month stands for all of its days. Names and values with commas or braces go in double quotes; a
backslash escapes a quote.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from thresher.errors import QueryError
from thresher.queries.condition import Condition
from thresher.queries.naming import code_named, feature_named
from thresher.queries.ranges import compared, edges_in_words, range_in
from thresher.schema import Schema
from thresher.schema.feature import Between
from thresher.schema.features import Feature
from thresher.wording import plain

OPENING = re.compile(r"\s*(?:(all)|(any)|(\d{1,9}))\s+of\s*:", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OPERATOR = re.compile(r"\s*(!=|≠|>=|≥|<=|≤|=|<|>|not\s+in\s*(?=\{)|in\s*(?=\{))\s*", re.IGNORECASE)
_SIGNS = {"≥": ">=", "≤": "<=", "≠": "!="}
# Written so that every run of blanks or digits is scanned once, however long it is.
_NAME_END = re.compile(r"!=|=|,|$|(?<!\s)\s+(?:!=|=|,|$|(?:not\s+)?in\s*\{)", re.IGNORECASE)
_SIGN = re.compile(r"(?<!\s)\s*(?:[<>≤≥≠])")
_AND = re.compile(r"(?<!\s)\s+and\s+", re.IGNORECASE)
_LEADING_AND = re.compile(r"\s*and\s+", re.IGNORECASE)
MOST_AROUND = 200
"""Characters of the text that a message shows on each side of the faulty one."""

MOST_ANDS = 8
"""How many times `and` may stand in a value before the one that ends it."""


class Parsed(NamedTuple):
    """What a text says.

    Attributes:
        conditions: The conditions.
        r: How many of them must hold.
        is_exact: Whether all ends of ranges are where the text has them.
    """

    conditions: list[Condition]
    r: int
    is_exact: bool


class ParseError(QueryError):
    """The text is not a query; the message points at the character."""

    def __init__(self, text: str, position: int, fault: str) -> None:
        self.position = position
        near = repr(text[position : position + 20]) if position < len(text) else "the end"
        before, after = plain(_end_of(text[:position])), plain(_start_of(text[position:]))
        super().__init__(
            f"at character {position + 1} ({near}): {plain(fault)}\n"
            f"  {before}{after}\n"
            f"  {' ' * len(before)}^"
        )


def _end_of(text: str) -> str:
    return text if len(text) <= MOST_AROUND else f"…{text[-MOST_AROUND:]}"


def _start_of(text: str) -> str:
    return text if len(text) <= MOST_AROUND else f"{text[:MOST_AROUND]}…"


def parse(text: str, schema: Schema) -> Parsed:
    """Read one query.

    Example:
        >>> from thresher.schema import Categorical
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="F", nulls="F")
        >>> parse("any of: sex=f", Schema([sex]))
        Parsed(conditions=[Condition(feature='sex', codes=(0,))], r=1, is_exact=True)
    """
    return _Parser(text, schema).query()


def value_codes(feature: Feature, word: str) -> Iterable[int]:
    """The codes of one value or one range that stands alone."""
    found = range_in(feature, word)
    return (code_named(feature, word),) if found is None else found.codes


@dataclass
class _Parser:
    """A cursor over the text; each method reads one part and moves on."""

    text: str
    schema: Schema
    at: int = 0
    is_exact: bool = True

    def query(self) -> Parsed:
        opening = OPENING.match(self.text)
        self.at = opening.end() if opening else 0
        conditions = [self.condition()]
        needs_all = not opening or bool(opening[1])
        while self.separator():
            before = self.at
            self.add(conditions, self.condition(), needs_all, before)
        k = len(conditions)
        if needs_all or opening is None:
            return Parsed(conditions, k, self.is_exact)
        r = 1 if opening[2] else int(opening[3])
        if not 1 <= r <= k:
            raise self.fault(f"{r} of {k} conditions is not possible", opening.start(3))
        return Parsed(conditions, r, self.is_exact)

    def separator(self) -> bool:
        """Pass over the comma or `and` between two conditions; False at the end of the text."""
        if self.skip_blanks() >= len(self.text):
            return False
        word = _LEADING_AND.match(self.text, self.at)
        if self.text[self.at] == ",":
            self.at += 1
            word = _LEADING_AND.match(self.text, self.at)
            if word and self.starts_condition(self.at):
                word = None  # a feature's name begins with it
        elif not word:
            raise self.fault("expected a comma or the end", self.at)
        self.at = word.end() if word else self.at
        return True

    def add(
        self, conditions: list[Condition], new: Condition, needs_all: bool, position: int
    ) -> None:
        """Add a condition, or narrow the one about the same feature if all must hold."""
        for place, present in enumerate(conditions):
            if present.feature == new.feature:
                both = Condition(new.feature, {*present.codes} & {*new.codes})
                if not needs_all or not both.codes:
                    raise self.fault(
                        f"the feature {new.feature!r} stands twice (use a set: in {{…}})", position
                    )
                conditions[place] = both
                return
        conditions.append(new)

    def condition(self) -> Condition:
        feature, sign = self.subject()
        if sign[0] in "<>":
            codes = self.comparison(feature, sign)
        else:
            braced = self.text.startswith("{", self.at)
            codes = self.set_codes(feature) if braced else self.codes(feature)
        if sign.startswith(("!", "n", "N")):
            codes = set(range(feature.size)) - set(codes)
        return Condition(feature.name, codes)

    def subject(self) -> tuple[Feature, str]:
        """The feature that a condition is about, and what stands between it and the value."""
        begin = self.skip_blanks()
        name = self.name()
        operator = _OPERATOR.match(self.text, self.at)
        if not operator:
            raise self.fault(f"expected =, != or 'in {{…}}' after {name!r}", self.at)
        try:
            feature = feature_named(self.schema, name)
        except QueryError as fault:
            raise self.fault(str(fault), begin) from None
        self.at = operator.end()
        return feature, _SIGNS.get(operator[1], operator[1])

    def name(self) -> str:
        if not self.text[self.at :].strip():
            raise self.fault("expected a condition such as race=Black", self.at)
        quoted = _QUOTED.match(self.text, self.at)
        if quoted:
            self.at = quoted.end()
            return _unescaped(quoted[1])
        end = _NAME_END.search(self.text, self.at)
        assert end is not None
        begin, self.at = self.at, end.start()
        if self.text[begin : self.at] not in self.schema.names:
            sign = _SIGN.search(self.text, begin, end.end())
            self.at = min(self.at, sign.start()) if sign else self.at
        if begin == self.at:
            raise self.fault("expected the name of a feature", begin)
        return self.text[begin : self.at]

    def starts_condition(self, at: int) -> bool:
        """Whether the name of a feature and an operator stand at a place."""
        longest = 2 * max(map(len, self.schema.names)) + MOST_AROUND
        try:
            _Parser(self.text[at : at + longest], self.schema).subject()
        except ParseError:
            return False
        return True

    def codes(self, feature: Feature, stops: str = ",") -> Iterable[int]:
        """The codes of one value or one range, up to one of the stops."""
        begin = self.skip_blanks()
        word, quoted = self.value(feature, stops)
        found = None if quoted else range_in(feature, word)
        if found is not None:
            return self.of_range(feature, found, word, begin)
        try:
            code = code_named(feature, word)
        except QueryError as fault:
            raise self.fault(str(fault), begin) from None
        from_there = feature.between(word, None)
        self.is_exact &= from_there is None or from_there.is_exact
        return (code,)

    def comparison(self, feature: Feature, sign: str) -> Iterable[int]:
        begin = self.skip_blanks()
        word, _ = self.value(feature, ",")
        try:
            found = compared(feature, sign, word)
        except QueryError as fault:
            raise self.fault(str(fault), begin) from None
        return self.of_range(feature, found, f"{sign} {word}", begin)

    def of_range(self, feature: Feature, found: Between, word: str, position: int) -> Iterable[int]:
        if not found.codes:
            nearest = "" if found.is_exact else f"; its bins begin at {edges_in_words(feature)}"
            raise self.fault(
                f"the range {word} holds no value of {feature.name!r}{nearest}", position
            )
        self.is_exact &= found.is_exact
        return found.codes

    def set_codes(self, feature: Feature) -> Iterable[int]:
        opened, self.at = self.at, self.at + 1
        codes: list[int] = []
        if self.skip_blanks() < len(self.text) and self.text[self.at] == "}":
            self.at += 1
            return codes
        while True:
            codes.extend(self.codes(feature, stops=",}"))
            if self.at >= len(self.text):
                raise self.fault("this brace is never closed", opened)
            self.at += 1
            if self.text[self.at - 1] == "}":
                return codes

    def value(self, feature: Feature, stops: str) -> tuple[str, bool]:
        """A value up to one of the stops, and whether it was quoted; the stop is not consumed."""
        quoted = _QUOTED.match(self.text, self.at)
        if quoted:
            self.at = quoted.end()
            more = self.skip_blanks() < len(self.text) and self.text[self.at] not in stops
            if more and ("}" in stops or not _LEADING_AND.match(self.text, self.at)):
                raise self.fault("expected a comma after the quoted value", self.at)
            return _unescaped(quoted[1]), True
        begin = self.at
        if self.text[begin : begin + 1] == '"':
            raise self.fault("this quote is never closed", begin)
        while self.at < len(self.text) and self.text[self.at] not in stops:
            self.at += 1
        word = self.text[begin : self.at].strip()
        if "}" not in stops:
            word = self.up_to_and(feature, word, begin)
        if not word:
            raise self.fault(f"expected a value of {feature.name!r}", begin)
        return word, False

    def up_to_and(self, feature: Feature, word: str, begin: int) -> str:
        """A word as far as the `and` that another condition follows, unless it is a value whole."""
        ands = islice(_AND.finditer(self.text, begin, self.at), MOST_ANDS)
        for number, found in enumerate(ands):
            if number == 0 and feature.code_of(word) is not None:
                break
            if self.starts_condition(found.end()):
                self.at = found.start()
                return self.text[begin : self.at].strip()
        return word

    def skip_blanks(self) -> int:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at

    def fault(self, words: str, position: int) -> ParseError:
        return ParseError(self.text, position, words)


def _unescaped(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word)
