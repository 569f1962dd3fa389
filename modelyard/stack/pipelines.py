"""Pipelines as a stack file asks for them: stages that run jobs one after another, and what they hand on in storage."""

from collections.abc import Mapping
from typing import NamedTuple

from modelyard.stack.remote import Place


class Stage(NamedTuple):
    """One step: a run of a job, or the roll-out of a model to the pods that serve it."""

    name: str
    job: str | None = None
    """Name of a job with a command."""
    rollout: str | None = None
    """Name of a resource whose pods are replaced by ones that serve what the stage reads."""
    needs: tuple[str, ...] = ()
    """Stages that have to succeed before it starts."""
    reads: tuple[str, ...] = ()
    """Artifacts, by the names under which stages before it write them, or the pipeline has them as inputs."""
    writes: tuple[str, ...] = ()


class Pipeline(NamedTuple):
    """Stages that are submitted together."""

    name: str
    stages: tuple[Stage, ...]
    artifacts: Place | None = None
    """Where its runs write, each below its own name; None: its stages hand on nothing."""
    inputs: Mapping[str, Place] = {}
    """What is there before the first stage, by the name under which stages read it."""
    image: str | None = None
    """With Python, for the pod that starts one stage after another; None: the runtime's."""
    keep: int = 86400
    """Seconds that a finished run stays, with all of its stages, for their logs; it holds no GPU."""

    @property
    def jobs(self) -> frozenset[str]:
        """Names of the jobs that its stages run."""
        return frozenset(stage.job for stage in self.stages if stage.job)
