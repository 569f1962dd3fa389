"""Kubernetes quantities: exact numbers with a unit, in every form the API server accepts.

The grammar is that of ``k8s.io/apimachinery/pkg/api/resource``: a signed decimal, then a binary suffix (``Ki`` to
``Ei``), a decimal suffix (``n`` to ``E``) or a decimal exponent (``e3``). Values are exact fractions, so ``0.1`` plus
``0.2`` is ``0.3`` and no comparison suffers from rounding.
"""

import re
from fractions import Fraction
from functools import lru_cache

from modelyard.patterns import regex

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_FORM = regex(rf"({_NUMBER})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{{1,3}}))?")
_SCALE: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{suffix: Fraction(1024 ** (power + 1)) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))},
}
_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_LONGEST = 64
"""Characters of the longest quantity that is read; the server keeps 19 digits."""

GB = 10**9
"""Bytes in a vendor's GB, as on a data sheet."""
GI = 2**30
"""Bytes in a Kubernetes Gi."""


def parse(text: str | int | float) -> Fraction:
    """The exact value of a quantity, in its base unit (bytes, cores, or a count).

    Raises:
        ValueError: the text is not a Kubernetes quantity.
    """
    return _parse(text if isinstance(text, str) else str(text))


def same(amount: object, other: object) -> bool:
    """Whether two values are the same amount, however they are spelled; False if one is no amount."""
    try:
        return isinstance(amount, int | str) and isinstance(other, int | str) and parse(amount) == parse(other)
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def _parse(text: str) -> Fraction:
    number, suffix, exponent = _parts(text)
    value = Fraction(number)
    if suffix:
        return value * _SCALE[suffix]
    return value * Fraction(10) ** int(exponent) if exponent else value


def _parts(text: str) -> tuple[str, str | None, str | None]:
    """Number, suffix and exponent of a quantity."""
    found = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError(f"{text[:_LONGEST]!r} is not a Kubernetes quantity such as 16Gi, 500m or 1.5")
    return found[1], found[2], found[3]


def memory(value: Fraction) -> str:
    """Bytes as the shortest exact binary quantity: ``48Gi``, ``1536Mi``, ``1500``; a part of a byte as ``1500m``."""
    for suffix in _BINARY:
        scaled = value / _SCALE[suffix]
        if scaled.denominator == 1 and scaled:
            return f"{scaled.numerator}{suffix}"
    return _decimal(value)


def cpu(value: Fraction) -> str:
    """Cores as whole numbers or millicores: ``4``, ``500m``; finer than a millicore rounds up, as the kubelet does."""
    if value.denominator == 1:
        return str(value.numerator)
    milli = value * 1000
    return f"{-(-milli.numerator // milli.denominator)}m"


def times(text: str, factor: int) -> str:
    """A quantity multiplied by a whole number, in the unit it was written in: ``12Gi`` × 4 is ``48Gi``.

    Where that unit has no whole number for it (``1.5Gi`` × 3), the nearest exact one is taken (``4608Mi``).

    Raises:
        ValueError: the text is not a Kubernetes quantity.
    """
    number, suffix, exponent = _parts(text)
    value = Fraction(number) * factor
    if value.denominator != 1:
        return memory(parse(text) * factor)
    return f"{value.numerator}{suffix or ''}" + (f"e{exponent}" if exponent else "")


def suggest(text: str) -> str:
    """What a misspelt quantity probably meant: ``12GB`` gives ``12G or 12Gi``; empty if unclear."""
    found = re.fullmatch(rf"\s*({_NUMBER})\s*([A-Za-z]*)\s*", text[:_LONGEST].replace(",", "."))
    if found is None:
        return ""
    number, unit = found[1], found[2].casefold()
    if unit in ("", "c", "cpu", "cpus", "core", "cores", "vcpu", "vcpus"):
        return number
    if unit in ("mcpu", "millicore", "millicores", "milli"):
        return f"{number}m"
    if found[2] == "B":
        # Billions of parameters or rows; of memory, bytes.
        return f"{number}G or {number}"
    if unit in ("b", "byte", "bytes"):
        return number
    shape = re.fullmatch(r"(k|m|g|t|p|e)(?:ilo|ega|iga|era|eta|xa)?(i|ibi|ebi)?(?:b|bytes?|bit)?", unit)
    if shape is None:
        return ""
    letter = shape[1].upper()
    binary = f"{number}{letter}i"
    return binary if shape[2] else f"{number}{'k' if letter == 'K' else letter} or {binary}"


def _decimal(value: Fraction) -> str:
    """A value in the coarsest decimal unit that has a whole number for it; finer than nano rounds away from zero."""
    for scale, suffix in ((1, ""), (10**3, "m"), (10**6, "u")):
        scaled = value * scale
        if scaled.denominator == 1:
            return f"{scaled.numerator}{suffix}"
    nano = abs(value) * 10**9
    return f"{'-' if value < 0 else ''}{-(-nano.numerator // nano.denominator)}n"
