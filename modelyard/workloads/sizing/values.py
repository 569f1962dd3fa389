"""What an estimate is made of."""

from fractions import Fraction
from typing import Literal, NamedTuple

from modelyard.quantity import GI

Unit = Literal["bytes", "cores", "pods", "GPUs", "parts", "requests"]


class Source(NamedTuple):
    """Where a number or a rule of a formula comes from."""

    title: str
    says: str
    """What it says, in a few words."""
    url: str = ""
    """Empty for a convention of modelyard itself."""


class Term(NamedTuple):
    """One line of an estimate."""

    name: str
    formula: str
    """With its numbers: ``50M rows × 40 columns × 8 bytes``."""
    value: Fraction
    unit: Unit
    sources: tuple[str, ...] = ()
    """Keys of ``SOURCES``."""


class Need(NamedTuple):
    """What one job needs of each pod that it runs on; what nobody can tell is None."""

    workers: int | None = None
    """Pods."""
    cpu: int | None = None
    """Cores of one pod."""
    memory: int | None = None
    """Bytes of one pod, whole Gi."""
    gpus: int | None = None
    """Of one pod; 0 where the job needs none, None where nobody can tell how many."""
    gpu_memory: int | None = None
    """Bytes on the GPUs of one pod."""


class Estimate(NamedTuple):
    """What a job needs, and why."""

    need: Need
    terms: tuple[Term, ...] = ()
    missing: tuple[str, ...] = ()
    """Keys of the job that would tell more, as in the stack file: ``model.layers``."""
    notes: tuple[str, ...] = ()
    """What the numbers leave out."""


# Numbers as people read them.
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
