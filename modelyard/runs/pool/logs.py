"""The pods of a run that have logs: the last pod of each worker, and in each pod the container that does the work."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from modelyard.cluster.pool_objects import JOB_NAME, RUN
from modelyard.kube.state import annotations_of
from modelyard.names import RAY_NODE_TYPE
from modelyard.runs.pool.objects import INDEX, labels_of, spec_of, status_of
from modelyard.runs.pool.runs import Run

_SPARK_ROLE: Final = "spark-role"
_EXECUTOR: Final = "spark-exec-id"
"""Spark's labels: ``driver`` or ``executor``, and the executor's number, from 1."""


class LogSource(NamedTuple):
    """The origin of one worker's lines."""

    worker: int | None
    """Number of the worker or trial; None: another pod, such as the Ray submitter, Ray's head or Spark's driver."""
    mark: str
    """Prefix of the source's lines, if there are several sources."""
    pod: str
    container: str
    restarts: int = 0
    """How often the container was restarted; each start has its own log."""
    running: bool = False
    """Whether the container runs, so its log goes on."""


def worker_count(run: Run, name: str) -> int | None:
    """How many workers or trials have a number in the named run, stage or trial; None if only its pods show it."""
    parts = run.parts if name == run.name else run.named(name)
    if len(parts) > 1:
        return 0 if run.stages else len(parts)
    spec = spec_of(parts[0].body.reveal())
    return int(spec.get("parallelism", 1)) if parts[0].kind == "Job" else None


def sources(run: Run, pods: Iterable[Mapping[str, Any]]) -> list[LogSource]:
    """The sources of a run's log, the workers last."""
    trials = {part.name: number for number, part in enumerate(run.parts)} if len(run.parts) > 1 else {}
    stages = {part.name: part.stage or "stages" for part in run.parts} if run.stages else {}
    latest: dict[tuple[int, str], LogSource] = {}
    numbers = 0
    for pod in sorted(pods, key=lambda one: (str(one["metadata"].get("creationTimestamp") or ""), _name(one))):
        containers = spec_of(pod).get("containers") or ()
        if not containers:
            continue
        labels = labels_of(pod)
        index = labels.get(INDEX) or annotations_of(pod).get(INDEX)
        job = labels.get(JOB_NAME, "")
        kind, executor = labels.get(RAY_NODE_TYPE) or labels.get(_SPARK_ROLE), labels.get(_EXECUTOR)
        if executor is not None:
            kind, index = None, executor
        if stages:
            # Several stages can have a worker with the same number.
            worker, mark = None, stages.get(job or labels.get(RUN, ""), "stages")
            mark += f"/{kind or index}" if kind or index else ""
        elif kind == "worker":
            # Ray does not number its workers: number them in the order of creation.
            worker, mark, numbers = numbers, str(numbers), numbers + 1
        elif kind in ("head", "driver"):
            worker, mark = None, kind
        elif job in trials:
            worker, mark = trials[job], str(trials[job])
        elif run.parts[0].kind == "RayJob":
            worker, mark = None, "submitter"
        else:
            worker = int(index) if index is not None and index.isdigit() else 0
            mark = str(worker)
        container = str(containers[0]["name"])
        state = _state(pod, container)
        running = "running" in (state.get("state") or ())
        restarts = int(state.get("restartCount", 0))
        source = LogSource(worker, mark, _name(pod), container=container, restarts=restarts, running=running)
        latest[-1 if worker is None else worker, mark] = source
    return [latest[key] for key in sorted(latest)]


def of_part(run: Run, name: str, pods: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pods of one stage or trial, by the name of its object, or by the run name that a stage's pods have."""
    jobs = {part.name for part in run.named(name)}
    return [pod for pod in pods if labels_of(pod).get(JOB_NAME) in jobs or labels_of(pod).get(RUN) == name]


def _state(pod: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    found = status_of(pod).get("containerStatuses") or ()
    return next((one for one in found if one.get("name") == container), {})


def _name(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"]["name"])
