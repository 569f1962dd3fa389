"""An answer to the question why a run does not run, put together cause by cause."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from modelyard.cluster.pool_objects import FarObjects, PoolObjects
from modelyard.runs.pool.kueue import Queues
from modelyard.runs.pool.runs import Run
from modelyard.stack.config import Config

About = Literal["queue", "quota", "nodes", "pods", "end"]


class Cause(NamedTuple):
    """One thing that keeps a run from its GPUs, or ended it."""

    about: About
    summary: str
    details: tuple[str, ...] = ()


class Diagnosis(NamedTuple):
    """What is known of a run that does not run."""

    run: Run
    summary: str
    causes: tuple[Cause, ...] = ()
    helps: tuple[str, ...] = ()
    """What to do, the most promising first; empty where nothing is wrong."""


class Evidence(NamedTuple):
    """What the answer is found in."""

    objects: PoolObjects
    queues: Queues
    now: datetime
    config: Config
    far: Mapping[str, FarObjects]
    """What worker clusters have of the run, by the stack's names for them: those that were looked at."""


class DiagnosisBuilder:
    """What has been found so far."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.helps: list[str] = []

    def cause(self, about: About, summary: str, *details: str | None) -> None:
        """Adds a cause behind those that were found before; details that say nothing are left out."""
        self.causes.append(Cause(about, summary, tuple(filter(None, details))))

    def why(self, run: Run, summary: str) -> Diagnosis:
        """The answer, everything that would help said once."""
        return Diagnosis(run, summary, tuple(dict.fromkeys(self.causes)), tuple(dict.fromkeys(self.helps)))
