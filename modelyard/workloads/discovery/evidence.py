"""What a workload is recognized by: the commands, images, environment, ports, labels and GPUs of its containers.

Each piece of evidence has a weight. A command or a KubeRay object says what a pod is; a name only suggests it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from modelyard.kube.scheduling.pods import RAY_CLUSTERS, container_requests, pods_of, ray_cluster
from modelyard.names import GPU_RESOURCE, RAY_NODE_TYPE, is_gpu
from modelyard.stack.words import plural
from modelyard.workloads.discovery.values import WorkloadPlace
from modelyard.workloads.training import WORKER_ROLES

Weighed = tuple[int, str]
"""A weight and the evidence in words. Words never quote arguments or values, which may hold secrets."""
ObjectBody = Mapping[str, Any]

TRAINING_FLAG: Final = "ENABLE_RAY_MODEL_TRAINING"
"""Environment variable of the API server with the training backend, as the patch training-route sets it."""
CERTAIN: Final = 6
"""Least weight of evidence that is certain."""
POSSIBLE: Final = 4
"""Least weight of evidence that makes a candidate."""
_WITHOUT_GPU: Final = 5
"""Greatest weight of training workers without GPUs: possible, but never certain."""
_SERVERS: Final = frozenset(
    ("tritonserver", "torchserve", "tensorflow_model_server", "mlserver", "bentoml", "vllm", "kserve", "seldon")
)
"""Programs that serve models."""
_WEB: Final = frozenset(("gunicorn", "uvicorn", "hypercorn"))
_RAY_PORTS: Final = (6379, 8265, 10001)
"""Ports of a Ray head: GCS, dashboard and client (Ray documentation, configuring Ray)."""
_ROUTE: Final = re.compile(r"(?:TRAIN(?:ING)?_(?:BACKEND|ENGINE)|ENABLE_\w*TRAINING)")
_MODEL_VARIABLE: Final = re.compile(r"MODEL_(?:PATH|STORE|NAME|CACHE|REPOSITORY|DIR)")


class Seen(NamedTuple):
    """The pods of a workload as its object describes them."""

    place: WorkloadPlace
    template: ObjectBody
    """Pod template, in an object of the form ``{spec: {template: …}}``."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    """Of the object."""
    replicas: int | None
    ray: str = ""
    """Node type in a KubeRay object: ``head`` or ``worker``."""
    scaled_by: str = ""
    """KubeRay's autoscaler, if the object turns it on."""

    @property
    def containers(self) -> tuple[ObjectBody, ...]:
        """The containers of one pod."""
        return tuple(pods_of(self.template).spec.get("containers") or ())

    @property
    def gpus(self) -> int:
        """Whole GPUs of one pod."""
        return pods_of(self.template).gpus

    @property
    def on_gpus(self) -> bool:
        """Whether a pod requests GPUs or parts of GPUs."""
        return any(is_gpu(name) for name in pods_of(self.template).requests)


def workloads_of(body: ObjectBody) -> Iterator[Seen]:
    """Yields the workloads that one object describes; none for what a RayService or RayJob created."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    if any(one.get("kind") in ("RayService", "RayJob") for one in metadata.get("ownerReferences") or ()):
        return
    kind, namespace, name = body["kind"], metadata.get("namespace") or "", metadata["name"]
    if kind not in RAY_CLUSTERS:
        yield _seen(WorkloadPlace(kind, namespace, name), body, spec.get("template"), spec.get("replicas"))
        return
    cluster = ray_cluster(body)
    head = cluster.get("headGroupSpec") or {}
    yield _seen(WorkloadPlace(kind, namespace, name), body, head.get("template"), 1)._replace(ray="head")
    for group in cluster.get("workerGroupSpecs") or ():
        place = WorkloadPlace(kind, namespace, name, str(group.get("groupName", "")))
        by = f"autoscaler of {kind} {name}" if cluster.get("enableInTreeAutoscaling") else ""
        yield _seen(place, body, group.get("template"), group.get("replicas"))._replace(ray="worker", scaled_by=by)


def _seen(place: WorkloadPlace, body: ObjectBody, template: ObjectBody | None, replicas: int | None) -> Seen:
    metadata, pods = body["metadata"], template or {}
    own = metadata.get("labels") or {}
    labels = {**own, **((pods.get("metadata") or {}).get("labels") or {})}
    return Seen(
        place=place,
        template={"spec": {"template": pods}},
        labels=labels,
        annotations=metadata.get("annotations") or {},
        replicas=replicas,
    )


def evidence(role: str, seen: Seen, container: ObjectBody) -> tuple[Weighed, ...]:
    """Returns why a container of a workload may have a role, strongest first; empty if it cannot have it."""
    return tuple(sorted(_ROLES[role](seen, container), key=lambda one: -one[0]))


def strength(role: str, seen: Seen, weighed: tuple[Weighed, ...]) -> int:
    """Returns the weight of all evidence together."""
    total = sum(weight for weight, _ in weighed)
    return min(total, _WITHOUT_GPU) if role in WORKER_ROLES and not seen.on_gpus else total


def _ray_head(seen: Seen, container: ObjectBody) -> Iterator[Weighed]:
    if seen.ray == "worker" or (_starts(container, "ray", "start") and "--head" not in _words(container)):
        return
    if seen.ray == "head":
        yield 10, f"head group of {seen.place}"
    elif _starts(container, "ray", "start"):
        yield 10, "command ray start --head"
    if seen.labels.get(RAY_NODE_TYPE) == "head":
        yield 8, f"label {RAY_NODE_TYPE}: head"
    yield from _named(seen, container, ("ray",), ("head",), weight=4)
    ports = {port.get("containerPort") for port in container.get("ports") or ()}
    if len(open_ports := [port for port in _RAY_PORTS if port in ports]) > 1:
        yield 4, f"ports {', '.join(map(str, open_ports))}"
    yield from _image(container, "ray")


def _ray_worker(seen: Seen, container: ObjectBody) -> Iterator[Weighed]:
    starts = _starts(container, "ray", "start")
    if seen.ray == "head" or (starts and "--head" in _words(container)):
        return
    if seen.ray == "worker":
        yield 10, f"worker group of {seen.place.kind} {seen.place.name}"
    elif starts:
        yield 10, "command ray start --address"
    if seen.labels.get(RAY_NODE_TYPE) == "worker":
        yield 8, f"label {RAY_NODE_TYPE}: worker"
    named = [*_named(seen, container, ("ray",), ("worker", "workers"), weight=4)]
    image = [*_image(container, "ray")]
    yield from (*named, *image)
    if named or seen.ray or starts:
        yield from _gpus(container, weight=6)
    elif image:
        # Such a pod may serve models instead.
        yield from _gpus(container, weight=3)


def _celery(seen: Seen, container: ObjectBody) -> Iterator[Weighed]:
    words = _words(container)
    starts = "celery" in words and "worker" in words
    named = [*_named(seen, container, ("celery",), ("worker", "workers", "tasks", "training"), weight=4)]
    variables = any(name.startswith("CELERY_") for name in _env(container))
    if "beat" in words or "flower" in words or not (starts or named or variables):
        return
    trains = [*_named(seen, container, ("train", "training", "trainer"), weight=3)]
    if not seen.on_gpus and not trains:
        return  # Celery does other work too, and training needs GPUs.
    if starts:
        yield 8, "command celery worker"
    yield from named
    yield from trains
    if variables:
        yield 2, "environment variables CELERY_…"
    yield from _image(container, "celery")
    # Programs that only send tasks have the variables too.
    yield from _gpus(container, weight=6 if starts or named else 3)


def _model_service(seen: Seen, container: ObjectBody) -> Iterator[Weighed]:
    if _trains(seen, container):
        return
    words = _words(container) | _tokens(_repository(container), "/-:")
    if served := sorted(words & _SERVERS):
        yield 6, f"program {served[0]}"
    yield from _named(seen, container, ("inference", "serving", "predictor"), weight=5)
    yield from _named(seen, container, ("model", "models"), ("service", "server", "serve"), weight=5)
    if named := sorted(name for name in _env(container) if _MODEL_VARIABLE.fullmatch(name)):
        yield 2, f"environment variable {named[0]}"


def _api_server(seen: Seen, container: ObjectBody) -> Iterator[Weighed]:
    if _trains(seen, container):
        return
    names = _env(container)
    if TRAINING_FLAG in names:
        yield 10, f"environment variable {TRAINING_FLAG}"
    elif named := sorted(filter(_ROUTE.fullmatch, names)):
        yield 5, f"environment variable {named[0]}"
    elif not container.get("envFrom"):
        return  # It has no setting that could send requests to a training backend.
    yield from _named(seen, container, ("api", "gateway"), weight=4)
    if served := sorted(_words(container) & _WEB):
        yield 1, f"program {served[0]}"


_ROLES: Final[Mapping[str, Callable[[Seen, ObjectBody], Iterator[Weighed]]]] = {
    "apiServer": _api_server,
    "modelService": _model_service,
    "rayHead": _ray_head,
    "rayWorker": _ray_worker,
    "celery": _celery,
}
ROLES: Final[tuple[str, ...]] = tuple(_ROLES)
"""The roles that are looked for: keys of ``modelyard:targets``, in their order."""


def _trains(seen: Seen, container: ObjectBody) -> bool:
    """Whether a container is a part of a training backend by what it runs."""
    words = _words(container)
    return bool(seen.ray) or _starts(container, "ray", "start") or ("celery" in words and "worker" in words)


def _words(container: ObjectBody) -> frozenset[str]:
    return frozenset(_line(container))


def _line(container: ObjectBody) -> list[str]:
    """The words of command and arguments, scripts of a shell included; programs without their folder."""
    parts = [*(container.get("command") or ()), *(container.get("args") or ())]
    words = [word.strip("\"'();&|") for part in parts for word in str(part).split()]
    return [word.rpartition("/")[2] if word.startswith("/") else word for word in words]


def _starts(container: ObjectBody, *wanted: str) -> bool:
    line = _line(container)
    return any(tuple(line[at : at + len(wanted)]) == wanted for at in range(len(line)))


def _env(container: ObjectBody) -> frozenset[str]:
    return frozenset(str(one.get("name", "")) for one in container.get("env") or ())


def _named(
    seen: Seen, container: ObjectBody, first: tuple[str, ...], second: tuple[str, ...] = (), *, weight: int
) -> Iterator[Weighed]:
    """Yields evidence if a component label, or else a name, has a word of each list."""
    component = {key: value for key, value in seen.labels.items() if key.rpartition("/")[2] in ("component", "role")}
    named = [(f"label {key}: {value}", value) for key, value in sorted(component.items())]
    name, of_container = seen.place.group or seen.place.name, str(container.get("name", ""))
    named += [(f"name {name}", name), (f"container {of_container}", of_container)]
    for words, text in named:
        tokens = _tokens(text, "-._")
        if tokens.intersection(first) and (not second or tokens.intersection(second)):
            yield weight, words
            return


def _image(container: ObjectBody, word: str) -> Iterator[Weighed]:
    repository = _repository(container)
    if word in _tokens(repository, "/-_."):
        yield 1, f"image {repository}"


def _repository(container: ObjectBody) -> str:
    """The repository of an image, without registry, tag and digest."""
    image = str(container.get("image", "")).partition("@")[0]
    first, slash, rest = image.partition("/")
    path = rest if slash and ("." in first or ":" in first or first == "localhost") else image
    folder, at, name = path.rpartition("/")
    return f"{folder}{at}{name.partition(':')[0]}"


def _gpus(container: ObjectBody, *, weight: int) -> Iterator[Weighed]:
    for name, amount in sorted(container_requests(container).items()):
        if is_gpu(name) and amount:
            yield weight, f"requests {plural(int(amount), 'GPU') if name == GPU_RESOURCE else name}"
            return


def _tokens(text: str, separators: str) -> frozenset[str]:
    return frozenset(re.split(f"[{re.escape(separators)}]+", text.lower()))
