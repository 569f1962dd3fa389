"""Runs: groups the objects that submissions created, with one state for each run."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from shlex import quote
from typing import Any, Final, NamedTuple

from modelyard.cluster.pool_objects import (
    FLAVOR,
    FUNCTION,
    JOB,
    LATER,
    NOTEBOOK,
    PIPELINE,
    PIPELINE_RUN,
    QUEUE,
    RESULT,
    RUN,
    STACK,
    STAGE,
    USER,
    WAITING_QUEUE,
    RunObjects,
)
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, annotations_of, key_of
from modelyard.names import is_slice
from modelyard.runs.pool.kueue import Queues
from modelyard.runs.pool.objects import asks_for, labels_of, spec_of
from modelyard.runs.pool.states import ENDED, RunState, pod_sets, state_of, times_of
from modelyard.runs.pool.words import run_words
from modelyard.stack.words import near, plural

_FIRST: Final[Sequence[RunState]] = (
    "cancelled",
    "running",
    "starting",
    "queued",
    "suspended",
    "held",
    "failed",
    "succeeded",
)
"""The state of a run with several parts is the first of these that a part has: active states come before ended ones."""


DISPATCHER: Final = "kueue.x-k8s.io/multikueue"
"""The manager of a Job or RayJob that runs in another cluster (Kueue 0.19.2, MultiKueueControllerName)."""


class RunPart(NamedTuple):
    """One object of a run: the whole run, a trial, or a stage."""

    body: Confidential[Mapping[str, Any]]
    kind: str
    name: str
    uid: str
    state: RunState
    reason: str
    """The reason of a failure in Kubernetes or KubeRay; empty otherwise, and for Spark, which has none."""
    message: str
    workers: int
    gpus: int
    """All workers' GPUs together, of every resource."""
    created: str
    started: str
    """When the part started; empty if it has not."""
    ended: str
    stage: str = ""
    """Name of the pipeline's stage; empty if the part is no stage."""

    @property
    def key(self) -> ObjectKey:
        """The object's key."""
        return key_of(self.body.reveal(), "")

    @property
    def queue(self) -> str | None:
        """The queue that the part is in, or enters at its stage's turn; None: it is not queued."""
        body = self.body.reveal()
        label = labels_of(body).get(QUEUE)
        return annotations_of(body).get(LATER) if label == WAITING_QUEUE else label

    @property
    def holds(self) -> int:
        """GPUs that the part has, or is about to get: none before it has quota and none after its end."""
        return self.gpus if self.state in ("starting", "running", "cancelled") else 0

    @property
    def over(self) -> bool:
        """Whether the part has ended."""
        return self.state in ENDED

    @property
    def dispatched(self) -> bool:
        """Whether Kueue creates the part in another cluster, so that nothing here starts its pods."""
        return bool(spec_of(self.body.reveal()).get("managedBy") == DISPATCHER)


class Run(NamedTuple):
    """The objects of one submission."""

    name: str
    job: str
    stack: str
    namespace: str
    team: str | None
    """The queue that the run was submitted to; in the home cluster, the queue has the team's name, and a remote cluster
    has no teams. None: the run is not queued."""
    parts: tuple[RunPart, ...]
    """The parts, sorted. Several parts are trials of a search, or a pipeline's stages after the object that starts
    them."""
    clusters: tuple[str, ...] = ()
    """The other clusters in which the run runs or ran, by the stack's names; empty: this cluster, or unknown."""
    remote: str = ""
    """The resource in whose remote cluster the run was found; empty: in the home cluster."""
    position: int | None = None
    """Position in its queue, from 1, of the part that is nearest to its quota; None: no part waits, or the position is
    unknown."""

    @property
    def user(self) -> str:
        """The user who submitted the run; empty if no label names one."""
        return next(filter(None, (labels_of(part.body.reveal()).get(USER) for part in self.parts)), "")

    @property
    def flavor(self) -> str:
        """The flavor that was chosen for a notebook; empty for every other run."""
        return str(annotations_of(self.parts[0].body.reveal()).get(FLAVOR, ""))

    @property
    def result(self) -> str:
        """Path of a notebook's result, as the job sees it; empty for every other run."""
        return str(annotations_of(self.parts[0].body.reveal()).get(RESULT, ""))

    @property
    def rest(self) -> str:
        """What of the run still waits, in words: the run, or the rest of it."""
        begun = any(part.state in ("starting", "running", *ENDED) for part in self.work)
        return "the rest of the run" if begun else "the run"

    @property
    def words(self) -> str:
        """The arguments with which commands such as ``job why`` find the run."""
        return run_words(self.stack, self.name, self.remote)

    @property
    def function(self) -> str:
        """Name of the function that was called; empty for every other run."""
        return str(annotations_of(self.parts[0].body.reveal()).get(FUNCTION, ""))

    @property
    def again(self) -> str:
        """What starts the run again, as an instruction."""
        if self.function:
            return f"call {self.function} again"
        notebook = str(annotations_of(self.parts[0].body.reveal()).get(NOTEBOOK, ""))
        what = quote(PurePosixPath(notebook).name) if notebook else self.job
        return f"submit it again: modelyard {'pipeline' if self.stages else 'job'} submit {self.stack} {what}"

    @property
    def dispatched(self) -> bool:
        """Whether any part of the run is in another cluster."""
        return bool(self.clusters) or any(part.dispatched for part in self.parts)

    @property
    def state(self) -> RunState:
        """The run's state; the run is active while any part is."""
        leader, have = self.leader, {part.state for part in self.work}
        goes_on = have - {"held", *ENDED}
        if leader is None or (goes_on and leader.state != "cancelled"):
            # The object that starts the stages may end before them, such as after too many refusals by the API server.
            return next(state for state in _FIRST if state in (goes_on or have))
        if leader.state == "succeeded":
            # It reports success for all stages or for none: if a stage has not succeeded, something else ended the run.
            return next(state for state in ("failed", "held", "succeeded") if state in have)
        # In a failed run, stages that nothing starts any more are abandoned.
        return leader.state

    @property
    def stages(self) -> tuple[RunPart, ...]:
        """The parts that are stages of a pipeline."""
        return tuple(part for part in self.parts if part.stage)

    @property
    def leader(self) -> RunPart | None:
        """The part that starts the stages; None: the run has no stages, or the part is gone."""
        return next((part for part in self.parts if not part.stage), None) if self.stages else None

    @property
    def work(self) -> tuple[RunPart, ...]:
        """The parts that do the run's work: for a pipeline, the stages."""
        return self.stages or self.parts

    @property
    def noun(self) -> str:
        """The noun for several parts of the run."""
        return "stage" if self.stages else "trial"

    @property
    def reason(self) -> str:
        """Why the run failed, in one word of Kubernetes or KubeRay; empty otherwise."""
        parts = (*self.stages, *self.parts)
        return next((part.reason for part in parts if part.state == "failed"), "") if self.over else ""

    @property
    def over(self) -> bool:
        """Whether all parts of the run have ended."""
        return self.state in ENDED

    @property
    def gpus(self) -> int:
        """GPUs that all parts together request."""
        return sum(part.gpus for part in self.parts)

    @property
    def holds(self) -> int:
        """GPUs that the run has."""
        return sum(part.holds for part in self.parts)

    @property
    def slice(self) -> str:
        """The resource of the run's GPUs if all are slices of one kind; empty otherwise."""
        kinds = {name for part in self.parts for spec, _ in pod_sets(part.body.reveal()) for name in asks_for(spec)}
        return next(iter(kinds)) if len(kinds) == 1 and is_slice(*kinds) else ""

    def counted(self, gpus: int) -> str:
        """A number of the run's GPUs, in words: ``2 GPUs``, ``1 nvidia.com/mig-1g.5gb``."""
        return f"{gpus} {self.slice}" if self.slice else plural(gpus, "GPU")

    @property
    def created(self) -> str:
        """When the run was submitted."""
        return min(part.created for part in self.parts)

    @property
    def started(self) -> str:
        """When the first part started; empty if none has."""
        return min((part.started for part in self.parts if part.started), default="")

    @property
    def ended(self) -> str:
        """When the last part ended; empty while any part is active."""
        return max((part.ended for part in self.parts), default="") if self.over else ""

    def named(self, name: str) -> tuple[RunPart, ...]:
        """The stages or trials with this name: an object's name, or the run name that a stage's pods have."""
        return tuple(part for part in self.work if name in (part.name, labels_of(part.body.reveal()).get(RUN)))

    def count(self, state: RunState) -> int:
        """The number of trials or stages in a state."""
        return sum(part.state == state for part in self.work)


def runs_of(objects: RunObjects) -> tuple[Run, ...]:
    """The runs of every stack, the newest first."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for body in (*objects.jobs, *objects.ray_jobs, *objects.spark_applications):
        labels, metadata = labels_of(body), body["metadata"]
        name = labels.get(PIPELINE_RUN) or labels.get(RUN) or str(metadata["name"])
        if not (JOB in labels or PIPELINE_RUN in labels):
            continue  # The build of a Python environment belongs to the stack and is no run.
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


def _part(body: Mapping[str, Any]) -> RunPart:
    metadata = body["metadata"]
    state, reason, message = state_of(body)
    pods = pod_sets(body)
    started, ended = times_of(body, state)
    return RunPart(
        body=Confidential(body),
        kind=str(body["kind"]),
        name=str(metadata["name"]),
        uid=str(metadata.get("uid") or ""),
        state=state,
        reason=reason,
        message=message,
        # The last set is the workers; before it comes Ray's head, or Spark's driver.
        workers=pods[-1][1] if pods else 0,
        gpus=sum(sum(asks_for(spec).values()) * count for spec, count in pods),
        created=str(metadata.get("creationTimestamp") or ""),
        started=started,
        ended=ended,
        stage=labels_of(body).get(STAGE, ""),
    )


def with_positions(runs: Iterable[Run], queues: Queues) -> tuple[Run, ...]:
    """The runs with their positions in the queues."""
    places = {uid: place for work, place in queues.places() for uid in work.uids}

    def position(run: Run) -> int | None:
        return min(
            (places[part.uid] for part in run.parts if part.state == "queued" and part.uid in places), default=None
        )

    return tuple(run._replace(position=position(run)) for run in runs)


def near_runs(name: str, runs: Iterable[Run]) -> list[str]:
    """The runs with the most similar names, the most similar first; without any, the runs of the job."""
    known = list(runs)
    return near(name, [run.name for run in known]) or [run.name for run in known if run.job == name][:3]
