"""Runs: what submissions made, put together and told in one state each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from modelyard.cluster.pool_objects import (
    HELD,
    JOB,
    LATER,
    PIPELINE,
    PIPELINE_RUN,
    QUEUE,
    RUN,
    STACK,
    STAGE,
    RunObjects,
)
from modelyard.kube.state import annotations_of
from modelyard.names import is_slice
from modelyard.runs.pool.objects import asks_for, labels_of
from modelyard.runs.pool.states import ENDED, State, pod_sets, state_of, times_of
from modelyard.runs.pool.words import run_words
from modelyard.stack.words import near, plural

_FIRST: Final[Sequence[State]] = (
    "cancelled",
    "running",
    "starting",
    "queued",
    "suspended",
    "held",
    "failed",
    "succeeded",
)
"""Of several parts, the state that their run has: what still goes on before what has ended."""


DISPATCHER: Final = "kueue.x-k8s.io/multikueue"
"""What manages a Job or RayJob that runs in another cluster (Kueue 0.19.2, MultiKueueControllerName)."""


class Part(NamedTuple):
    """One object of a run: all of it, a trial, or a stage."""

    body: Mapping[str, Any]
    kind: str
    name: str
    uid: str
    state: State
    reason: str
    """Of a failure, as Kubernetes or KubeRay calls it; empty otherwise, and of Spark, which has no word for it."""
    message: str
    workers: int
    gpus: int
    """Of all workers together, of every resource."""
    created: str
    started: str
    """Empty where it has not started."""
    ended: str
    stage: str = ""
    """Of a pipeline; empty where it is no stage."""

    @property
    def queue(self) -> str | None:
        """The queue that it is in, or goes into at its stage's turn; None: nothing queues it."""
        label = labels_of(self.body).get(QUEUE)
        return annotations_of(self.body).get(LATER) if label == HELD else label

    @property
    def holds(self) -> int:
        """GPUs that it has, or is about to get: none before its quota and after its end."""
        return self.gpus if self.state in ("starting", "running", "cancelled") else 0

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED

    @property
    def dispatched(self) -> bool:
        """Whether Kueue makes it in another cluster, and nothing here starts its pods."""
        return bool((self.body.get("spec") or {}).get("managedBy") == DISPATCHER)


class Run(NamedTuple):
    """What one submission made."""

    name: str
    job: str
    stack: str
    namespace: str
    team: str | None
    """The queue that it was submitted to; in the platform's cluster it has the team's name, and in a remote one there
    are no teams. None: nothing queues it.
    """
    parts: tuple[Part, ...]
    """Sorted; several are trials of a search, or stages of a pipeline behind what starts them."""
    clusters: tuple[str, ...] = ()
    """The other clusters that run it, or ran it, as the stack calls them; none: this one, or nobody has asked."""
    remote: str = ""
    """The resource in whose remote cluster it was found; empty: in the platform's."""

    @property
    def words(self) -> str:
        """What the verbs of runs take to find it again."""
        return run_words(self.stack, self.name, self.remote)

    @property
    def again(self) -> str:
        """What submits the same once more."""
        return f"modelyard {'pipeline' if self.stages else 'job'} submit {self.stack} {self.job}"

    @property
    def dispatched(self) -> bool:
        """Whether anything of it runs in other clusters."""
        return bool(self.clusters) or any(part.dispatched for part in self.parts)

    @property
    def state(self) -> State:
        """The run's state: while anything of it goes on, it does."""
        leader, have = self.leader, {part.state for part in self.work}
        goes_on = have - {"held", *ENDED}
        if leader is None or (goes_on and leader.state != "cancelled"):
            # What starts the stages may have ended before them, as when the API server has refused it too often.
            return next(state for state in _FIRST if state in (goes_on or have))
        if leader.state == "succeeded":
            # It says so of all stages or of none: where one has not succeeded, something else has ended it.
            return next(state for state in ("failed", "held", "succeeded") if state in have)
        # Of a run that has failed, stages that nothing starts any more have been given up.
        return leader.state

    @property
    def stages(self) -> tuple[Part, ...]:
        """Those of its parts that are stages of a pipeline."""
        return tuple(part for part in self.parts if part.stage)

    @property
    def leader(self) -> Part | None:
        """What starts the stages; None: it has none, or it is gone."""
        return next((part for part in self.parts if not part.stage), None) if self.stages else None

    @property
    def work(self) -> tuple[Part, ...]:
        """The parts that do what the run is for: of a pipeline the stages."""
        return self.stages or self.parts

    @property
    def noun(self) -> str:
        """What several parts of it are."""
        return "stage" if self.stages else "trial"

    @property
    def reason(self) -> str:
        """Why it failed, in one word of Kubernetes or KubeRay; empty otherwise."""
        parts = (*self.stages, *self.parts)
        return next((part.reason for part in parts if part.state == "failed"), "") if self.over else ""

    @property
    def over(self) -> bool:
        """Whether nothing of it goes on, or will."""
        return self.state in ENDED

    @property
    def gpus(self) -> int:
        """GPUs that it asks for, of all its parts together."""
        return sum(part.gpus for part in self.parts)

    @property
    def holds(self) -> int:
        """GPUs that it has."""
        return sum(part.holds for part in self.parts)

    @property
    def slice(self) -> str:
        """The resource that its GPUs are, where all are slices of one kind; empty otherwise."""
        kinds = {name for part in self.parts for spec, _ in pod_sets(part.body) for name in asks_for(spec)}
        return next(iter(kinds)) if len(kinds) == 1 and is_slice(*kinds) else ""

    def counted(self, gpus: int) -> str:
        """So many of its GPUs, in words: ``2 GPUs``, ``1 nvidia.com/mig-1g.5gb``."""
        return f"{gpus} {self.slice}" if self.slice else plural(gpus, "GPU")

    @property
    def created(self) -> str:
        """When it was submitted."""
        return min(part.created for part in self.parts)

    @property
    def started(self) -> str:
        """When its first part started; empty where none has."""
        return min((part.started for part in self.parts if part.started), default="")

    @property
    def ended(self) -> str:
        """When its last part ended; empty while one goes on."""
        return max((part.ended for part in self.parts), default="") if self.over else ""

    def has(self, name: str) -> bool:
        """Whether a part of it is called so: an object, or the run that a stage is to its pods."""
        return any(name in (part.name, labels_of(part.body).get(RUN)) for part in self.work)

    def count(self, state: State) -> int:
        """Trials or stages in a state."""
        return sum(part.state == state for part in self.work)


def runs_of(objects: RunObjects) -> tuple[Run, ...]:
    """The runs of every stack, the newest first."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for body in (*objects.jobs, *objects.ray_jobs, *objects.spark_applications):
        labels, metadata = labels_of(body), body["metadata"]
        name = labels.get(PIPELINE_RUN) or labels.get(RUN) or str(metadata["name"])
        if not (JOB in labels or PIPELINE_RUN in labels):
            continue  # What makes an environment is the stack's, and no run.
        key = (labels.get(STACK, ""), str(metadata.get("namespace") or ""), name)
        groups.setdefault(key, []).append(body)
    runs = []
    for (stack, namespace, name), bodies in groups.items():
        labels = labels_of(bodies[0])
        parts = tuple(sorted(map(_part, bodies), key=lambda part: (len(part.name), part.name)))
        made = Run(
            name=name,
            job=labels.get(PIPELINE) or labels.get(JOB, ""),
            stack=stack,
            namespace=namespace,
            team=None,
            parts=parts,
        )
        runs.append(made._replace(team=next((part.queue for part in made.work if part.queue), None)))
    by_name = sorted(runs, key=lambda run: (run.name, run.namespace))
    return tuple(sorted(by_name, key=lambda run: run.created, reverse=True))


def _part(body: Mapping[str, Any]) -> Part:
    metadata = body["metadata"]
    state, reason, message = state_of(body)
    pods = pod_sets(body)
    started, ended = times_of(body, state)
    return Part(
        body=body,
        kind=str(body["kind"]),
        name=str(metadata["name"]),
        uid=str(metadata.get("uid") or ""),
        state=state,
        reason=reason,
        message=message,
        # The last set is that of the workers: before it stands Ray's head, or Spark's driver.
        workers=pods[-1][1] if pods else 0,
        gpus=sum(sum(asks_for(spec).values()) * count for spec, count in pods),
        created=str(metadata.get("creationTimestamp") or ""),
        started=started,
        ended=ended,
        stage=labels_of(body).get(STAGE, ""),
    )


def near_runs(name: str, runs: Iterable[Run]) -> list[str]:
    """The runs whose names are most like one, the nearest first; those of its job where none is."""
    known = list(runs)
    return near(name, [run.name for run in known]) or [run.name for run in known if run.job == name][:3]
