"""What was found in a cluster."""

from collections.abc import Mapping
from typing import NamedTuple

from modelyard.stack.config import AutoscalingMode


class WorkloadPlace(NamedTuple):
    """A workload in a cluster: an object, or one worker group of it."""

    kind: str
    """``Deployment``, ``StatefulSet``, ``RayCluster`` or ``RayService``."""
    namespace: str
    name: str
    group: str = ""
    """Name of the worker group of a RayCluster or RayService."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}, group {self.group}" if self.group else f"{self.kind} {self.name}"


class Sizes(NamedTuple):
    """What one workload has now. An amount that its pods do not request is empty."""

    replicas: int | None = None
    """None if the object does not say."""
    cpu: str = ""
    memory: str = ""
    """Of one pod."""
    volume: str = ""
    gpus: int = 0
    grace_period: int = 30
    """Seconds."""
    image: str = ""


class Candidate(NamedTuple):
    """A workload that may have a role."""

    place: WorkloadPlace
    container: str
    strength: int
    """Sum of the weights of its evidence."""
    evidence: tuple[str, ...]
    """Why it may have the role, strongest first: ``command ray start --head``."""
    sizes: Sizes


class Option(NamedTuple):
    """One answer to a question."""

    value: str
    """What the answer is given as; empty for none of the candidates."""
    words: str


class OpenQuestion(NamedTuple):
    """Something that the cluster's objects leave open."""

    about: str
    """``namespace``, ``gpu``, ``training`` or a role."""
    words: str
    options: tuple[Option, ...]
    """Best guess first."""
    why: str
    """The comment that marks the guess in the stack file: ``two candidates, workers and workers-spot``."""


class FoundScaling(NamedTuple):
    """What sets the number of training pods."""

    mode: AutoscalingMode = "none"
    by: str = ""
    """The autoscaler, such as ``HorizontalPodAutoscaler workers``; empty if there is none."""
    max_replicas: int = 0
    """0 if it is unknown."""
    prometheus: str = ""
    """Address of the server that KEDA queries."""


class Discovery(NamedTuple):
    """The platform in one namespace of a cluster."""

    namespace: str
    """Empty if no namespace has training workers."""
    roles: Mapping[str, Candidate] = {}
    """The workload of each role that was found; roles are the keys of ``modelyard:targets``."""
    training: str = ""
    training_evidence: str = ""
    """Why: the API server's flag, or which backend has pods."""
    gpu: str = ""
    gpu_nodes: str = ""
    """The GPUs of the cluster in words: ``4 × A10 on 2 nodes``."""
    release: str = ""
    """The platform's release; empty if no image shows one."""
    scaling: FoundScaling = FoundScaling()
    queue: str = ""
    """Queue of the Celery workers; empty if their arguments do not name it."""
    questions: tuple[OpenQuestion, ...] = ()
    """What is not certain. The values above are the best guesses."""
    other_namespaces: tuple[str, ...] = ()
    """Parts that the namespace lacks and another one has: ``Deployment tasks in namespace jobs (celery)``."""


class PatchOff(NamedTuple):
    """A patch that the stack file turns off, because it would change the platform."""

    name: str
    effect: tuple[str, ...]
    """What turning it on does, in lines: ``Deployment workers:``, ``  replicas  1 → 2``."""
