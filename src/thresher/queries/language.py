"""The query language of analysts.

    2 of: race=Black, sex=Female, income=>50K
    all of: education-num in {13,14,15,16}, age=65..84
    any of: race!=White, hours-per-week=60..

A query is `N of:`, `all of:` or `any of:` and conditions set apart by commas; without such an
opening, all conditions must hold. A condition is `feature=value`, `feature!=value`,
`feature in {a, b}`, `feature not in {a, b}`, or for numbers, dates and ordered categories a range
`feature=low..high`, both ends included and either one optional; a set may hold ranges. A number or
a date stands for the bin that holds it. At the ends of a range, a year, a quarter or a month stands
for all of its days. Names and values with commas or braces go in double quotes; a backslash escapes
a quote.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thresher.errors import QueryError
from thresher.queries.condition import Condition, code_of
from thresher.schema import Schema
from thresher.schema.features import Categorical, Feature
from thresher.wording import plain

OPENING = re.compile(r"\s*(?:(all)|(any)|(\d{1,9}))\s+of\s*:", re.IGNORECASE)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_OPERATOR = re.compile(r"\s*(!=|=|not\s+in\s*(?=\{)|in\s*(?=\{))\s*")
# Written so that every run of blanks or digits is scanned once, however long it is.
_NAME_END = re.compile(r"!=|=|,|$|(?<!\s)\s+(?:!=|=|,|$|(?:not\s+)?in\s*\{)")
MOST_AROUND = 200
"""Characters of the text that a message shows on each side of the faulty one."""


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


def parse(text: str, schema: Schema) -> tuple[list[Condition], int]:
    """Read one query: its conditions, and how many of them must hold.

    Example:
        >>> from thresher.schema import Categorical
        >>> sex = Categorical(name="sex", categories=("F", "M"), outside="F", nulls="F")
        >>> parse("any of: sex=F", Schema([sex]))
        ([Condition(feature='sex', codes=(0,))], 1)
    """
    return _Parser(text, schema).query()


def written(conditions: Sequence[Condition], r: int, schema: Schema) -> str:
    """Write one query, so that parsing it gives the query back."""
    listed = ", ".join(_condition_text(c, schema[c.feature]) for c in conditions)
    if r == len(conditions):
        return f"all of: {listed}"
    return f"any of: {listed}" if r == 1 else f"{r} of: {listed}"


def _condition_text(condition: Condition, feature: Feature) -> str:
    name, codes = _quoted(feature.name, r"[=!,{}\"\s]"), condition.codes
    labels = [_quoted(feature.labels[code], r"[,{}\"]|\.\.|^\s|\s$") for code in codes]
    if len(codes) == 1:
        return f"{name}={labels[0]}"
    if feature.has_order and codes and _is_range(feature, codes):
        return f"{name}={labels[0]}..{labels[-1]}"
    return f"{name} in {{{','.join(labels)}}}"


def _is_range(feature: Feature, codes: tuple[int, ...]) -> bool:
    """Whether codes follow each other, and the range that they are can be read back."""
    run = range(codes[0], codes[-1] + 1)
    if codes != tuple(run) or codes[-1] >= feature.size - len(feature.extra):
        return False
    span = f"{feature.labels[codes[0]]}..{feature.labels[codes[-1]]}"
    plain_text = not re.search(r'[,{}"]|\.\.\.', span) and span.count("..") == 1
    return plain_text and _range_codes(feature, span) == run


def _range_codes(feature: Feature, word: str) -> range | None:
    """The codes of a range `low..high`; None if the word is none of the feature.

    A number may end in a point and begin with one, so that the dots of `1...5` and `...5` can be
    told apart in two ways: by their end and by their beginning.
    """
    if ".." not in word:
        return None
    if isinstance(feature, Categorical) and feature.code_of(word) is not None:
        return None  # it is a category with two points in its name
    for place in (word.rfind(".."), word.find("..")):
        low, high = word[:place].strip(), word[place + 2 :].strip()
        codes = feature.codes_between(low or None, high or None)
        if codes is not None:
            return codes
    return None


def _quoted(word: str, special: str) -> str:
    if not re.search(special, word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass
class _Parser:
    """A cursor over the text; each method reads one part and moves on."""

    text: str
    schema: Schema
    at: int = 0

    def query(self) -> tuple[list[Condition], int]:
        opening = OPENING.match(self.text)
        self.at = opening.end() if opening else 0
        conditions = [self.condition()]
        while self.at < len(self.text):
            self.at += 1  # the comma at which the last condition ended
            before = self.at
            conditions.append(self.condition())
            if conditions[-1].feature in {c.feature for c in conditions[:-1]}:
                raise self.fault(
                    f"the feature {conditions[-1].feature!r} stands twice (use a set: in {{…}})",
                    before,
                )
        k = len(conditions)
        if not opening or opening[1]:
            return conditions, k
        r = 1 if opening[2] else int(opening[3])
        if not 1 <= r <= k:
            raise self.fault(f"{r} of {k} conditions is not possible", opening.start(3))
        return conditions, r

    def condition(self) -> Condition:
        begin = self.skip_blanks()
        name = self.name()
        operator = _OPERATOR.match(self.text, self.at)
        if not operator:
            raise self.fault(f"expected =, != or 'in {{…}}' after {name!r}", self.at)
        try:
            feature = self.schema[name]
        except QueryError as fault:
            raise self.fault(str(fault), begin) from None
        self.at = operator.end()
        word = operator[1]
        braced = self.text.startswith("{", self.at)
        codes = self.set_codes(feature) if braced else self.codes(feature)
        if word.startswith(("!", "n")):
            codes = set(range(feature.size)) - set(codes)
        if self.skip_blanks() < len(self.text) and self.text[self.at] != ",":
            raise self.fault("expected a comma or the end", self.at)
        return Condition(name, codes)

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
        if begin == self.at:
            raise self.fault("expected the name of a feature", begin)
        return self.text[begin : self.at]

    def codes(self, feature: Feature, stops: str = ",") -> Iterable[int]:
        """The codes of one value or one range, up to one of the stops."""
        begin = self.skip_blanks()
        word, quoted = self.value(stops)
        if not word and not quoted:
            raise self.fault(f"expected a value of {feature.name!r}", begin)
        codes = None if quoted else _range_codes(feature, word)
        if codes is not None:
            if not codes:
                raise self.fault(f"the range {word} holds no value of {feature.name!r}", begin)
            return codes
        try:
            return (code_of(self.schema, feature.name, word),)
        except QueryError as fault:
            raise self.fault(str(fault), begin) from None

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

    def value(self, stops: str) -> tuple[str, bool]:
        """A value up to one of the stops, and whether it was quoted; the stop is not consumed."""
        quoted = _QUOTED.match(self.text, self.at)
        if quoted:
            self.at = quoted.end()
            self.skip_blanks()
            if self.at < len(self.text) and self.text[self.at] not in stops:
                raise self.fault("expected a comma after the quoted value", self.at)
            return _unescaped(quoted[1]), True
        begin = self.at
        if self.text[begin : begin + 1] == '"':
            raise self.fault("this quote is never closed", begin)
        while self.at < len(self.text) and self.text[self.at] not in stops:
            self.at += 1
        return self.text[begin : self.at].strip(), False

    def skip_blanks(self) -> int:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at

    def fault(self, words: str, position: int) -> ParseError:
        return ParseError(self.text, position, words)


def _unescaped(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word)
