"""Describes the platform among the objects of a cluster: its namespace, roles, sizes, GPU and training backend.

A pure function: what it cannot tell becomes a question, and it is called again with the answer.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from modelyard import quantity
from modelyard.hardware.gpu_models import GpuModel, exact_name, find
from modelyard.hardware.limits import LISTED
from modelyard.hardware.nodes import node_gpus
from modelyard.hiding import Confidential
from modelyard.kube.scheduling.capacity import obstacle
from modelyard.kube.scheduling.pods import container_requests, grace_of, image_version, pods_of
from modelyard.kube.state import SCALED_OBJECT, Node, Pod
from modelyard.names import PRODUCT_LABEL
from modelyard.stack.words import few, listed
from modelyard.workloads.discovery.evidence import (
    CERTAIN,
    POSSIBLE,
    ROLES,
    TRAINING_FLAG,
    ObjectBody,
    Seen,
    evidence,
    strength,
    workloads_of,
)
from modelyard.workloads.discovery.values import (
    Candidate,
    Discovery,
    FoundScaling,
    OpenQuestion,
    Option,
    Sizes,
    WorkloadPlace,
)
from modelyard.workloads.training import BACKENDS, WORKER_ROLES, is_head
from modelyard.workloads.training.celery import queue_of
from modelyard.workloads.training.ray import RAY

_MARGIN: Final = 4
"""How much more evidence the best candidate needs than the next one to be certain."""
_RELEASE: Final = re.compile(r"v?([0-9]{2}\.(?:0[1-9]|1[0-2]))(?:[.-].*)?")
_QUEUE: Final = re.compile(r"[A-Za-z0-9._:/-]{1,255}")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:/_-]+")
_ENABLED, _MAX_REPLICAS = "autoscaling/enabled", "autoscaling/max_replicas"
_TITLES: Final = {
    "apiServer": "the API server",
    "modelService": "the model service",
    "rayHead": "the Ray head",
    "rayWorker": "the Ray workers",
    "celery": "the Celery training workers",
}


_SCALERS: Final = ("HorizontalPodAutoscaler", SCALED_OBJECT)
_Pair = tuple[Candidate, Seen]
_Found = Mapping[str, Mapping[str, Sequence[_Pair]]]
"""Candidates by namespace and role, best first."""


def discover(
    objects: Confidential[tuple[Mapping[str, Any], ...]],
    nodes: Collection[Node],
    pods: Iterable[Pod],
    answers: Mapping[str, str],
) -> Discovery:
    """Returns the platform that a cluster's objects describe.

    Args:
        objects: Deployments, StatefulSets, RayClusters, RayServices, HorizontalPodAutoscalers and ScaledObjects.
        nodes: the cluster's nodes.
        pods: the running pods, which show the nodes that a workload uses.
        answers: the values of options by what their question was about; ``namespace`` may name any namespace.
    """
    bodies = objects.reveal()
    seen = [one for body in bodies if body["kind"] not in _SCALERS for one in workloads_of(body)]
    found = _by_namespace(seen)
    questions: list[OpenQuestion] = []
    namespace = answers.get("namespace") or _namespace(found, questions)
    if not any(role in found.get(namespace, {}) for role in WORKER_ROLES):
        return Discovery("", other_namespaces=_in_other_namespaces(found, "", ROLES))
    chosen = _chosen(found[namespace], answers, questions)
    training, training_evidence = _training(chosen, answers, questions)
    if not training:
        return Discovery("", other_namespaces=_in_other_namespaces(found, "", ROLES))
    worker, celery = chosen[BACKENDS[training].worker], chosen.get("celery")
    gpu, gpu_nodes = _gpu(worker, nodes, pods, answers, questions)
    scalers = (one for one in bodies if one["kind"] in _SCALERS and one["metadata"].get("namespace") == namespace)
    return Discovery(
        namespace=namespace,
        roles={role: candidate for role, (candidate, _) in chosen.items()},
        training=training,
        training_evidence=training_evidence,
        gpu=gpu,
        gpu_nodes=gpu_nodes,
        release=_release(chosen),
        scaling=_scaling(worker, scalers),
        queue=_queue(celery[1], celery[0].container) if celery else "",
        questions=tuple(questions),
        other_namespaces=_in_other_namespaces(found, namespace, [role for role in ROLES if role not in chosen]),
    )


def _by_namespace(seen: Iterable[Seen]) -> _Found:
    """Returns the candidates for each role. A workload is a candidate only for the role with its best evidence."""
    found: dict[str, dict[str, list[_Pair]]] = {}
    for one in seen:
        options = [(role, candidate) for role in ROLES if (candidate := _candidate(role, one)) is not None]
        if options:
            role, best = max(options, key=lambda option: option[1].strength)
            found.setdefault(one.place.namespace, {}).setdefault(role, []).append((best, one))
    for roles in found.values():
        for candidates in roles.values():
            candidates.sort(key=lambda pair: (-pair[0].strength, pair[0].place))
    return found


def _candidate(role: str, seen: Seen) -> Candidate | None:
    """Returns a workload as a candidate for a role, with the container that has the best evidence."""
    best: Candidate | None = None
    for container in seen.containers:
        found = evidence(role, seen, container)
        weight = strength(role, seen, found)
        if weight >= POSSIBLE and (best is None or weight > best.strength):
            words = tuple(words for _, words in found)
            best = Candidate(seen.place, str(container["name"]), weight, words, _sizes(role, seen, container))
    return best


def _sizes(role: str, seen: Seen, container: ObjectBody) -> Sizes:
    amounts = container_requests(container)
    return Sizes(
        replicas=seen.replicas,
        cpu=quantity.cpu(amounts["cpu"]) if amounts.get("cpu") else "",
        memory=quantity.memory(amounts["memory"]) if amounts.get("memory") else "",
        volume=_volume(amounts, seen) if role == "modelService" else "",
        gpus=seen.gpus,
        grace_period=grace_of(seen.template),
        image=str(container.get("image", "")),
    )


def _volume(amounts: Mapping[str, Fraction], seen: Seen) -> str:
    """Returns the local volume of a pod: what it requests, else the limit of its largest empty volume."""
    empty = [volume.get("emptyDir") or {} for volume in pods_of(seen.template).spec.get("volumes") or ()]
    on_disk = (one for one in empty if one.get("medium") != "Memory")
    limits = [quantity.parse(one["sizeLimit"]) for one in on_disk if one.get("sizeLimit")]
    size = amounts.get("ephemeral-storage") or max(limits, default=Fraction(0))
    return quantity.memory(size) if size else ""


def _namespace(found: _Found, questions: list[OpenQuestion]) -> str:
    """Returns the namespace with most of a platform, among those that have training workers."""
    having = [name for name, roles in found.items() if any(role in roles for role in WORKER_ROLES)]

    def order(name: str) -> tuple[int, int, str]:
        roles = found[name]
        return -len(roles), -sum(candidates[0][0].strength for candidates in roles.values()), name

    having.sort(key=order)
    if len(having) > 1:
        options = tuple(Option(name, f"{name}: {', '.join(sorted(found[name], key=ROLES.index))}") for name in having)
        why = f"{len(having)} namespaces have training workers, {listed(having, 'and')}"
        questions.append(OpenQuestion("namespace", "Which namespace has the platform?", options, why))
    return having[0] if having else ""


def _chosen(
    roles: Mapping[str, Sequence[_Pair]], answers: Mapping[str, str], questions: list[OpenQuestion]
) -> dict[str, _Pair]:
    """Returns the workload of each role that the namespace has: the answer, else the best candidate."""
    chosen: dict[str, _Pair] = {}
    # Workers first: those of a KubeRay object decide its head.
    for role in sorted(ROLES, key=lambda role: role not in WORKER_ROLES):
        candidates = roles.get(role, ())
        if is_head(role) and RAY.worker in chosen:
            candidates = _of_one_object(candidates, chosen[RAY.worker][0].place)
        if role in answers:
            chosen.update((role, pair) for pair in candidates if str(pair[0].place) == answers[role])
        elif candidates:
            chosen[role] = candidates[0]
            questions += _doubt(role, [candidate for candidate, _ in candidates])
    return {role: chosen[role] for role in ROLES if role in chosen}


def _of_one_object(heads: Sequence[_Pair], worker: WorkloadPlace) -> Sequence[_Pair]:
    """Returns the head in the KubeRay object of a worker group, else all heads."""
    return [pair for pair in heads if worker.group and pair[0].place == worker._replace(group="")] or heads


def _doubt(role: str, candidates: Sequence[Candidate]) -> list[OpenQuestion]:
    """Returns the question which workload has a role; none if one is certain."""
    best = candidates[0]
    rivals = [one for one in candidates if best.strength - one.strength < _MARGIN]
    if len(rivals) == 1 and best.strength >= CERTAIN:
        return []
    names = ["/".join(filter(None, (one.place.name, one.place.group))) for one in rivals]
    why = f"{len(names)} candidates, {listed(names, 'and')}" if len(rivals) > 1 else f"only {best.evidence[0]}"
    options = [Option(str(one.place), f"{one.place}: {', '.join(one.evidence)}") for one in candidates]
    none = Option("", f"none of them: the platform lacks {_TITLES[role]}")
    return [OpenQuestion(role, f"Which workload runs {_TITLES[role]}?", (*options, none), why)]


def _training(roles: Mapping[str, _Pair], answers: Mapping[str, str], questions: list[OpenQuestion]) -> tuple[str, str]:
    """Returns the training backend in use, and why: that of the API server's flag, else the only one with pods.

    Empty if no workers were found.
    """
    present = [one.name for one in BACKENDS.values() if one.worker in roles]
    if answers.get("training") in present:
        return answers["training"], "your answer"
    flag, evidence = _flag(roles)
    if flag in present:
        return flag, evidence
    running = [name for name in present if roles[BACKENDS[name].worker][0].sizes.replicas != 0]
    options = running or present
    if len(options) > 1:
        words = tuple(Option(name, f"{name}: {roles[BACKENDS[name].worker][0].place}") for name in options)
        why = f"{' and '.join(BACKENDS[name].title for name in options)} both have workers"
        questions.append(OpenQuestion("training", "Which training backend gets new requests?", words, why))
    title = BACKENDS[options[0]].title if options else ""
    return next(iter(options), ""), f"only {title} has {'pods' if running else 'workers'}" if title else ""


def _flag(roles: Mapping[str, _Pair]) -> tuple[str, str]:
    """Returns the backend that the API server's flag names, and the flag; empty if its value is not in the object."""
    if (server := roles.get("apiServer")) is None:
        return "", ""
    for container in server[1].containers:
        for variable in container.get("env") or ():
            value = str(variable.get("value", "")).lower()
            if variable.get("name") == TRAINING_FLAG and value in ("true", "false"):
                return "ray" if value == "true" else "celery", f"{TRAINING_FLAG} is {value} in {server[0].place}"
    return "", ""


def _gpu(
    worker: _Pair,
    nodes: Collection[Node],
    pods: Iterable[Pod],
    answers: Mapping[str, str],
    questions: list[OpenQuestion],
) -> tuple[str, str]:
    """Returns the GPU model of the training workers, and the GPUs of the nodes that may hold them in words."""
    place, template = worker[0].place, pods_of(worker[1].template)
    used = {pod.node for pod in pods if (pod.owner, pod.namespace) == (place.name, place.namespace)}
    fitting = [node for node in nodes if node.name in used and _model(node)]
    fitting = fitting or [node for node in nodes if _model(node) and not obstacle(template, node)]
    fitting = fitting or [node for node in nodes if _model(node)]
    gpus: Counter[str] = Counter()
    for node in fitting:
        gpus[_model(node)] += node_gpus(node).whole
    ranked = sorted(gpus, key=lambda name: (-gpus[name], name))
    words = few([f"{gpus[name]} × {name}" for name in ranked])
    shown = f"{words} on {few([node.name for node in fitting])}" if ranked else ""
    if answers.get("gpu"):
        return answers["gpu"], shown
    selected = _selected_model(template.selector, template.terms or ())
    if len(ranked) == 1 and (not selected or selected == ranked[0]):
        return ranked[0], shown
    if ranked:
        options = tuple(Option(name, f"{name}: {gpus[name]} GPUs") for name in ranked)
        why = f"{len(ranked)} GPU models on nodes for the workers: {words}"
    elif selected:
        return selected, shown
    else:
        options = tuple(Option(name, name) for name in sorted(LISTED, key=lambda name: LISTED[name].tflops))
        why = "no node has a GPU, and the workers do not select one"
    questions.append(OpenQuestion("gpu", "Which GPU do the training workers use?", options, why))
    return options[0].value, shown


def _model(node: Node) -> str:
    """Returns the name of a node's GPU for a stack file; empty if the node has none."""
    found = node_gpus(node)
    if found.gpu is None:
        return found.product if found.whole else ""
    return exact_name(found.gpu)


def _selected_model(selector: Mapping[str, str], terms: Iterable[Mapping[str, Any]]) -> str:
    """Returns the GPU model that pods select by the nodes' product label; empty if they select none or several."""
    values = {selector[PRODUCT_LABEL]} if PRODUCT_LABEL in selector else set()
    for term in terms:
        for rule in term.get("matchExpressions") or ():
            if rule.get("key") == PRODUCT_LABEL and rule.get("operator") == "In":
                values |= set(rule.get("values") or ())
    models = {exact_name(meant) if isinstance(meant := find(value), GpuModel) else value for value in values}
    return models.pop() if len(models) == 1 else ""


def _release(roles: Mapping[str, _Pair]) -> str:
    """Returns the release that versions and image tags of at least two workloads show; empty if they show none."""
    shown: Counter[str] = Counter()
    for candidate, seen in roles.values():
        tag, _ = image_version(candidate.sizes.image)
        texts = (seen.labels.get("app.kubernetes.io/version", ""), tag)
        shown.update({match[1] for text in texts if (match := _RELEASE.fullmatch(text))})
    best = max(shown, key=lambda release: (shown[release], release), default="")
    return best if shown[best] >= min(2, len(roles)) else ""


def _scaling(worker: _Pair, scalers: Iterable[ObjectBody]) -> FoundScaling:
    """Returns what sets the number of training pods now."""
    place, annotations = worker[0].place, worker[1].annotations
    if str(annotations.get(_ENABLED, "")).lower() == "true":
        most = str(annotations.get(_MAX_REPLICAS, ""))
        return FoundScaling("annotations", f"annotation {_ENABLED}", int(most) if most.isdecimal() else 0)
    if worker[1].scaled_by:
        return FoundScaling("none", worker[1].scaled_by)
    # KEDA creates an autoscaler for each ScaledObject; the ScaledObject says more.
    for body in sorted(scalers, key=lambda body: body["kind"] != SCALED_OBJECT):
        spec = body.get("spec") or {}
        target = spec.get("scaleTargetRef") or {}
        if (target.get("kind", "Deployment"), target.get("name")) != (place.kind, place.name):
            continue
        by = f"{body['kind']} {body['metadata']['name']}"
        if body["kind"] != SCALED_OBJECT:
            return FoundScaling("none", by, int(spec.get("maxReplicas") or 0))
        address = _prometheus(spec)
        return FoundScaling("keda" if address else "none", by, int(spec.get("maxReplicaCount") or 0), address)
    return FoundScaling()


def _prometheus(spec: ObjectBody) -> str:
    for trigger in spec.get("triggers") or ():
        address = str((trigger.get("metadata") or {}).get("serverAddress", ""))
        if trigger.get("type") == "prometheus" and _ADDRESS.fullmatch(address):
            return address
    return ""


def _queue(seen: Seen, container: str) -> str:
    """Returns the queue of a Celery worker, if it is one with a usual name."""
    queue = queue_of(pods_of(seen.template).container(container)) or ""
    return queue if _QUEUE.fullmatch(queue) else ""


def _in_other_namespaces(found: _Found, namespace: str, lacking: Iterable[str]) -> tuple[str, ...]:
    """Returns the certain candidates of other namespaces for roles that a namespace lacks."""
    return tuple(
        f"{candidates[0][0].place} in namespace {other} ({role})"
        for role in lacking
        for other, roles in sorted(found.items())
        if other != namespace and (candidates := roles.get(role)) and candidates[0][0].strength >= CERTAIN
    )
