"""The lines of a ledger file: JSON that a person can read, each sealed with a checksum.

Every line ends with a checksum of itself and of the line before, so that a changed, lost or
reordered line is noticed. The checksum is not a signature: it guards against accidents, not
against somebody who recomputes it, and whole lines cut off the end leave no trace.
"""

import hashlib
import json
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from thresher.errors import BudgetError
from thresher.privacy.amounts import MOST_BITS


def sealed(content: dict[str, Any], previous: str) -> str:
    """One line of the file, without its newline, ending with its checksum."""
    body = _text(content)
    check = hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()
    return _text({**content, "check": check})


def unsealed(line: bytes, previous: str) -> dict[str, Any] | None:
    """What a line says, or None if it is not exactly what `sealed` would have written."""
    try:
        content = json.loads(line)
        body = {key: value for key, value in content.items() if key != "check"}
        sound = sealed(body, previous).encode() == line.removesuffix(b"\n")
    except (ValueError, AttributeError, RecursionError):
        return None
    return content if sound else None


def is_torn(line: bytes, number: int) -> bool:
    """Whether a last line without its newline is the beginning of a line, and not all of one."""
    starts = ('"rho": "', '"corrected": "', '"fingerprint": "', '"taken_back": ')
    openings = (f'{{"number": {number}, {start}'.encode() for start in starts)
    if not any(line[: len(opening)] == opening[: len(line)] for opening in openings):
        return False
    try:
        json.JSONDecoder().raw_decode(line.decode(errors="replace"))
    except ValueError:
        return True
    return False


def _text(content: dict[str, Any]) -> str:
    """JSON on one line: letters of any script as they are, what does not print escaped."""
    raw = json.dumps(content, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in raw)


def amount(rho: Fraction) -> dict[str, str]:
    """The two forms in which an amount is written."""
    if not isinstance(rho, Fraction | int) or rho <= 0:
        raise BudgetError(f"rho must be a positive Fraction, such as Fraction(1, 10), not {rho!r}.")
    if max(rho.numerator.bit_length(), rho.denominator.bit_length()) > MOST_BITS:
        raise BudgetError(f"rho must be a fraction of numbers below 2^{MOST_BITS}.")
    return {"rho": str(rho), "decimal": decimal(rho)}


def decimal(rho: Fraction) -> str:
    """About six digits of an amount, for the reader."""
    return f"{Decimal(rho.numerator) / Decimal(rho.denominator):.6g}"


def rounded_down(epsilon: float) -> str:
    """About four digits of an ε, rounded down: who asks for so much is not refused.

    Conversions lose one part in 10¹². That is given back first, so that 1 stays 1.

    Example:
        >>> rounded_down(0.12345678), rounded_down(1 - 1e-12)
        ('0.1234', '1')
    """
    digits = Context(prec=4, rounding=ROUND_FLOOR)
    return f"{float(digits.create_decimal_from_float(epsilon * (1 + 5e-12))):g}"
