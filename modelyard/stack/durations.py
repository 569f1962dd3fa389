"""Lengths of time as stack files write them: seconds, or text such as ``6h5m``."""

from modelyard.patterns import regex

LONGEST = 31 * 24 * 3600
"""Seconds in 31 days. No duration here is longer: a larger number was meant as milliseconds."""
_FORM = regex(r"(?=.)(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?")


def seconds(value: int | float | str) -> int:
    """Returns the duration in whole seconds.

    Raises:
        ValueError: the value is neither a whole number nor a text such as ``6h5m``.
    """
    if not isinstance(value, str):
        if value != int(value):
            raise ValueError(f"{value} is not a whole number of seconds")
        return int(value)
    if value.isascii() and value.isdecimal() and len(value) < 10:
        return int(value)
    found = _FORM.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r} is not a duration such as 6h5m, 90m or 21900")
    hours, minutes, rest = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + rest


def text(length: int) -> str:
    """Returns seconds as the shortest text: ``6h5m``, ``90s``."""
    hours, rest = divmod(length, 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def in_words(length: int) -> str:
    """Returns seconds as people read them: ``6 h 30 min``, ``5 min``, ``90 s``."""
    hours, minutes = length // 3600, length % 3600 // 60
    if not hours:
        return f"{minutes} min" if minutes and not length % 60 else f"{length} s"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
