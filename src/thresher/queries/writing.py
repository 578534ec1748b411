"""Writing a query in the language of analysts."""

import re
from collections.abc import Sequence

from thresher.queries.condition import Condition
from thresher.queries.ranges import range_in
from thresher.schema import Bins, Schema
from thresher.schema.features import Feature


def written(
    conditions: Sequence[Condition], r: int, schema: Schema, *, bins_as_ranges: bool = False
) -> str:
    """Write one query, so that parsing it gives the query back.

    Args:
        conditions: The conditions.
        r: How many must hold.
        schema: The features.
        bins_as_ranges: Whether a single bin shows where it ends: `pay=0..25`, not `pay=0`.
    """
    listed = ", ".join(_condition(c, schema[c.feature], bins_as_ranges) for c in conditions)
    if r == len(conditions):
        return f"all of: {listed}"
    return f"any of: {listed}" if r == 1 else f"{r} of: {listed}"


def _condition(condition: Condition, feature: Feature, bins_as_ranges: bool) -> str:
    name, codes = _quoted(feature.name, r"[=!,{}\"\s<>≤≥≠]"), condition.codes
    labels = [_quoted(feature.labels[code], r"[,{}\"]|\.\.|^\s|\s$|(?i:\sand\s)") for code in codes]
    if len(codes) == 1 and not (bins_as_ranges and isinstance(feature, Bins)):
        return f"{name}={labels[0]}"
    span = _range(feature, codes)
    return f"{name}={span}" if span else f"{name} in {{{','.join(labels)}}}"


def _range(feature: Feature, codes: tuple[int, ...]) -> str | None:
    """Codes as a range, if they follow each other and the range can be read back."""
    run = range(codes[0], codes[-1] + 1) if codes else range(0)
    regular = feature.size - len(feature.extra)
    if not feature.has_order or not codes or codes != tuple(run) or codes[-1] >= regular:
        return None
    if not isinstance(feature, Bins):
        high = feature.labels[codes[-1]]
    else:  # numbers in bins are below the upper end
        high = repr(feature.edges[codes[-1] + 1]).removesuffix(".0")
    span = f"{feature.labels[codes[0]]}..{high}"
    if re.search(r'[,{}"]|\.\.\.|(?i:\sand\s)', span) or span.count("..") != 1:
        return None
    found = range_in(feature, span)
    return span if found is not None and found.codes == run else None


def _quoted(word: str, special: str) -> str:
    if not re.search(special, word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
