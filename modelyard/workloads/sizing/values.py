"""What an estimate is made of."""

from fractions import Fraction
from typing import Literal, NamedTuple

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
