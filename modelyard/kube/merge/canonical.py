"""Quantities as the API server spells them.

A port of ``ParseQuantity`` and ``CanonicalizeBytes`` of ``k8s.io/apimachinery/pkg/api/resource`` with the odds and ends
that make two spellings of one amount differ or agree: text that is canonical enough is kept to the letter.
"""

from functools import lru_cache

from modelyard.patterns import regex

_FORM = regex(r"([+-]?)0*(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|([eE])([+-]?\d{1,3}))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()}
_LONGEST = 64
"""Characters of the longest text that counts as a quantity, as in ``modelyard.quantity``."""
_NANO = 10**9
_INT64 = 2**63 - 1


def is_quantity(text: str) -> bool:
    """Whether the API server takes the text for a quantity."""
    text = text.strip()
    return len(text) <= _LONGEST and _FORM.fullmatch(text) is not None and any(char.isdigit() for char in text)


@lru_cache(maxsize=4096)
def canonical(text: str, whole_milli: bool = False) -> str:
    """A quantity as the API server gives it back: ``4000m`` as ``4``, ``0.5`` as ``500m``, ``1024Mi`` as ``1Gi``.

    Args:
        text: What was sent. It is returned as it is when it is no quantity.
        whole_milli: Whether it is an amount of a resource (a value of ``limits`` and the like), which the server
            rounds up to thousandths.
    """
    text = text.strip()
    found = _FORM.fullmatch(text)
    if found is None or not is_quantity(text):
        return text
    sign, whole, part, suffix, mark, exponent = found.groups()
    part = part or ""
    digits = whole + part
    amount = int(digits or 0)
    binary = suffix in _BINARY
    power = _BINARY[suffix] if binary else int(exponent) if mark else _DECIMAL[suffix or ""]
    if binary:
        # The fewest digits that are surely exact in the server's fast path.
        fast = not part and 15 - len(whole) - power * 3 // 10 - 1 >= 0
        kept = fast and amount & 7 != 0
        value = amount * _NANO << power
        value = -(-value // 10 ** len(part))
        if value > _INT64 * _NANO:
            value = _INT64 * _NANO
    else:
        scale = power - len(part)
        fast = len(digits) <= 18 and scale >= -9
        kept = fast and scale % 3 == 0 and digits[:1] not in ("", "0") and not digits.endswith("000")
        kept = kept and (scale >= -3 or not whole_milli)
        value = amount * 10 ** (scale + 9) if scale >= -9 else -(-amount // 10 ** (-9 - scale))
    if kept:
        return text
    if whole_milli:
        value = -(-value // 10**6) * 10**6
    return ("-" if sign == "-" and value else "") + _spelled(value, binary, mark is not None)


def _spelled(nano: int, binary: bool, exponents: bool) -> str:
    if not nano:
        return "0"
    if binary and nano >= 1024 * _NANO and nano % _NANO == 0:
        number, power = nano // _NANO, 0
        while number % 1024 == 0:
            number, power = number // 1024, power + 10
        return f"{number}{_BINARY_SUFFIX.get(power, '')}"
    number, power = nano, -9
    while number % 1000 == 0:
        number, power = number // 1000, power + 3
    if exponents:
        return f"{number}e{power}" if power else str(number)
    # Past E the server has no suffix, and prints none.
    return f"{number}{_SUFFIX.get(power, '')}"
