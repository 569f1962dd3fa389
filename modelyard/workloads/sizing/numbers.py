"""Numbers as people read them."""

from fractions import Fraction

from modelyard.quantity import GI

_BINARY = (("PiB", 2**50), ("TiB", 2**40), ("GiB", GI), ("MiB", 2**20), ("KiB", 2**10))


def amount(value: Fraction | int) -> str:
    """Bytes in the largest unit of which there is at least one, to a tenth: ``14.9 GiB``, ``128 MiB``."""
    for unit, size in _BINARY:
        if value >= size:
            return f"{count(Fraction(round(Fraction(value) / size * 10), 10))} {unit}"
    return f"{count(Fraction(value))} B"


def count(value: Fraction | int) -> str:
    """A number to three places behind the point, with thousands marked: ``50,000,000``, ``0.05``.

    What is smaller than that has two digits: ``0.0001``, ``2.5e-06``.
    """
    if value.denominator == 1:
        return f"{value.numerator:,}"
    if 0 < value < Fraction(1, 2000):
        return f"{float(value):.2g}"
    whole, part = divmod(round(Fraction(value) * 1000), 1000)
    return f"{whole:,}" + (f".{part:03}".rstrip("0") if part else "")
