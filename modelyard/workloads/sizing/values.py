"""The values that make up an estimate."""

from fractions import Fraction
from typing import Literal, NamedTuple

from modelyard.quantity import GI

Unit = Literal["bytes", "cores", "pods", "GPUs", "parts", "requests"]


class Source(NamedTuple):
    """The source of a number or a rule in a formula."""

    title: str
    says: str
    """Its content, in a few words."""
    url: str = ""
    """Empty for a convention of modelyard."""


class Term(NamedTuple):
    """One line of an estimate."""

    name: str
    formula: str
    """With its numbers: ``50M rows × 40 columns × 8 bytes``."""
    value: Fraction
    unit: Unit
    sources: tuple[str, ...] = ()
    """Keys of ``SOURCES``."""


class Assumption(NamedTuple):
    """A size that a job does not set, and what its estimate takes instead."""

    key: str
    """Key of the job that replaces it, as in the stack file: ``model.layers``."""
    value: str
    """As the stack file writes it: ``100m``."""
    says: str
    """What the value stands for, in a few words."""


class Need(NamedTuple):
    """What one job needs of each pod that it runs on; None means unknown."""

    workers: int | None = None
    """Number of pods."""
    cpu: int | None = None
    """Cores of one pod."""
    memory: int | None = None
    """Bytes of one pod, whole Gi."""
    gpus: int | None = None
    """GPUs of one pod; 0 if the job needs none, None if the number is unknown."""
    gpu_memory: int | None = None
    """Bytes on the GPUs of one pod."""


class Estimate(NamedTuple):
    """What a job needs, and why."""

    need: Need
    terms: tuple[Term, ...] = ()
    missing: tuple[str, ...] = ()
    """Keys of the job that would complete the estimate, as in the stack file: ``model.layers``."""
    notes: tuple[str, ...] = ()
    """What the numbers leave out."""
    assumptions: tuple[Assumption, ...] = ()
    """What the numbers take for some of the missing keys."""


# Numbers as people read them.
_BINARY = (("PiB", 2**50), ("TiB", 2**40), ("GiB", GI), ("MiB", 2**20), ("KiB", 2**10))


def amount(value: Fraction | int) -> str:
    """Returns bytes in the largest unit with a value of at least one, to a tenth: ``14.9 GiB``, ``128 MiB``."""
    for unit, size in _BINARY:
        if value >= size:
            return f"{count(Fraction(round(Fraction(value) / size * 10), 10))} {unit}"
    return f"{count(Fraction(value))} B"


def count(value: Fraction | int) -> str:
    """Returns a number with up to three decimal places and thousands separators: ``50,000,000``, ``0.05``.

    Smaller numbers have two significant digits: ``0.0001``, ``2.5e-06``.
    """
    if value.denominator == 1:
        return f"{value.numerator:,}"
    if 0 < value < Fraction(1, 2000):
        return f"{float(value):.2g}"
    whole, part = divmod(round(Fraction(value) * 1000), 1000)
    return f"{whole:,}" + (f".{part:03}".rstrip("0") if part else "")
