"""Ranges and comparisons of a query, as codes of a feature."""

from thresher.errors import QueryError
from thresher.queries.naming import value_named
from thresher.schema import Bins, Categorical
from thresher.schema.feature import Between
from thresher.schema.features import Feature
from thresher.wording import plain


def range_in(feature: Feature, word: str) -> Between | None:
    """The codes of a range `low..high`; None if the word is none of the feature.

    A number may end in a point and begin with one, so that the dots of `1...5` and `...5` can be
    told apart in two ways: by their end and by their beginning.
    """
    if ".." not in word:
        return None
    if isinstance(feature, Categorical) and feature.code_of(word) is not None:
        return None  # it is a category with two points in its name
    for place in (word.rfind(".."), word.find("..")):
        low, high = (value_named(feature, end.strip()) for end in (word[:place], word[place + 2 :]))
        found = feature.between(low or None, high or None)
        if found is not None:
            return found
    return None


def compared(feature: Feature, sign: str, word: str) -> Between:
    """The codes of a comparison such as `>= 65`.

    Numbers in bins cannot tell `>` from `>=`, nor `<=` from `<`: such a reading is not exact.

    Example:
        >>> from thresher.schema import IntegerRange
        >>> compared(IntegerRange(name="age", low=0, high=9, nulls=0), "<", "3")
        Between(codes=range(0, 3), is_exact=True)
    """
    if not feature.has_order:
        raise QueryError(
            f"feature {feature.name!r} has no order, so {sign} says nothing; use = or in {{…}}"
        )
    value = value_named(feature, word)
    low, high = (value, None) if sign[0] == ">" else (None, value)
    found = feature.between(low, high, after=sign == ">", before=sign == "<")
    if found is None:
        kind = "category" if isinstance(feature, Categorical) else "number or date"
        raise QueryError(f"{plain(word)!r} is no {kind} that {feature.name!r} can be compared with")
    same = isinstance(feature, Bins) and sign in (">", "<=")
    return Between(found.codes, found.is_exact and not same)


def edges_in_words(feature: Feature) -> str:
    """Where the bins of a feature begin, for a message."""
    return plain(", ".join(feature.labels[:12])) + (", …" if feature.size > 12 else "")
