"""Checks of the parameters that several mechanisms share."""

from thresher.errors import ParameterError


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse anything but a whole number that is large enough.

    Example:
        >>> check_whole("rounds", 0, least=1)
        Traceback (most recent call last):
        thresher.errors.ParameterError: rounds must be a whole number of at least 1, not 0
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}")
