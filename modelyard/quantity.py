"""Kubernetes quantities: exact numbers with a unit, in every form the API server accepts.

The grammar is that of ``k8s.io/apimachinery/pkg/api/resource``: a signed decimal, then a binary suffix (``Ki`` to
``Ei``), a decimal suffix (``n`` to ``E``) or a decimal exponent (``e3``). Values are exact fractions, so ``0.1`` plus
``0.2`` is ``0.3`` and no comparison suffers from rounding.
"""

import re
from fractions import Fraction

_FORM = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?\d{1,3}))?")
_SCALE: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{suffix: Fraction(1024 ** (power + 1)) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))},
}
_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")

GB = 10**9
"""Bytes in a vendor's GB, as on a data sheet."""
GI = 2**30
"""Bytes in a Kubernetes Gi."""


def parse(text: str | int | float) -> Fraction:
    """The exact value of a quantity, in its base unit (bytes, cores, or a count).

    Raises:
        ValueError: the text is not a Kubernetes quantity.
    """
    found = _FORM.fullmatch(str(text))
    if found is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity such as 16Gi, 500m or 1.5")
    number, suffix, exponent = found.groups()
    value = Fraction(number)
    if suffix:
        return value * _SCALE[suffix]
    return value * Fraction(10) ** int(exponent) if exponent else value


def memory(value: Fraction) -> str:
    """Bytes as the shortest exact binary quantity: ``48Gi``, ``1536Mi``, ``1500``."""
    for suffix in _BINARY:
        scaled = value / _SCALE[suffix]
        if scaled.denominator == 1 and scaled:
            return f"{scaled.numerator}{suffix}"
    return str(value.numerator) if value.denominator == 1 else cpu(value)


def cpu(value: Fraction) -> str:
    """Cores as whole numbers or millicores: ``4``, ``500m``; finer than a millicore rounds up, as the server does."""
    if value.denominator == 1:
        return str(value.numerator)
    milli = value * 1000
    return f"{-(-milli.numerator // milli.denominator)}m"


def times(text: str, factor: int) -> str:
    """A quantity multiplied by a whole number, in the unit it was written in: ``12Gi`` × 4 is ``48Gi``."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity such as 16Gi, 500m or 1.5")
    number, suffix, exponent = found.groups()
    value = Fraction(number) * factor
    if value.denominator != 1:
        return memory(parse(text) * factor)
    return f"{value.numerator}{suffix or ''}" + (f"e{exponent}" if exponent else "")
