"""The diagnosis of a run, built cause by cause."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from modelyard.cluster.pool_objects import PoolObjects, WorkerClusterObjects
from modelyard.runs.pool.kueue import Queues
from modelyard.runs.pool.runs import Run
from modelyard.stack.config import Config

About = Literal["queue", "quota", "nodes", "pods", "end"]


class Cause(NamedTuple):
    """One cause that keeps a run from its GPUs, or that ended the run."""

    about: About
    summary: str
    details: tuple[str, ...] = ()


class Diagnosis(NamedTuple):
    """Why a run waits or failed."""

    run: Run
    summary: str
    causes: tuple[Cause, ...] = ()
    helps: tuple[str, ...] = ()
    """Suggestions, the most promising first; empty if nothing is wrong."""


class Evidence(NamedTuple):
    """The input of a diagnosis."""

    objects: PoolObjects
    queues: Queues
    now: datetime
    config: Config
    by_cluster: Mapping[str, WorkerClusterObjects]
    """The objects of the run on worker clusters, by the stack's names for them; only clusters that were read."""


class DiagnosisBuilder:
    """Collects the causes of a diagnosis."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.helps: list[str] = []

    def cause(self, about: About, summary: str, *details: str | None) -> None:
        """Adds a cause after the earlier causes; leaves out empty details."""
        self.causes.append(Cause(about, summary, tuple(filter(None, details))))

    def why(self, run: Run, summary: str) -> Diagnosis:
        """The diagnosis, with each suggestion once."""
        return Diagnosis(run, summary, tuple(dict.fromkeys(self.causes)), tuple(dict.fromkeys(self.helps)))
