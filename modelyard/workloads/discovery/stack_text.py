"""Writes the stack file of a platform that was found in a cluster."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from modelyard import quantity
from modelyard.hardware.limits import RAY_DEFAULT
from modelyard.stack.config import TARGET_KINDS
from modelyard.workloads.discovery.evidence import ROLES
from modelyard.workloads.discovery.values import Candidate, Discovery, PatchOff
from modelyard.workloads.training import BACKENDS
from modelyard.workloads.training.celery import CELERY
from modelyard.workloads.training.ray import RAY

_KEYS: Final[Mapping[str, str]] = {kind: key for key, kind in TARGET_KINDS.items()}
"""The key of a target by the kind of its object."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/:@-]*[A-Za-z0-9]")
_SPECIAL: Final = frozenset(("true", "false", "yes", "no", "on", "off", "null"))
"""Words that YAML does not read as text."""


def stack_text(
    discovery: Discovery,
    *,
    context: str,
    kubernetes: str,
    off: Iterable[PatchOff] = (),
    schema: str = "",
) -> str:
    """Returns the stack file that describes a platform as it is now.

    Args:
        discovery: the platform.
        context: kubeconfig context of its cluster.
        kubernetes: minor version of its cluster; empty if the stack file cannot have it.
        off: the patches that the file turns off.
        schema: path of the JSON Schema from the file, for editors; empty if there is none.
    """
    lines = [
        *([f"# yaml-language-server: $schema={schema}"] if schema else []),
        "# Written by modelyard init --from-cluster: the platform as it is in the cluster.",
        "config:",
        f"  kubernetes:context: {_text(context)}",
        f"  modelyard:training: {discovery.training}{_guess(discovery, 'training')}",
        *_platform(discovery),
        *_gpu(discovery),
        *([f'  modelyard:kubernetesVersion: "{kubernetes}"'] if kubernetes else []),
        *(line for role in ROLES if role in discovery.roles for line in _sizes(discovery, role, discovery.roles[role])),
        *_autoscaling(discovery),
        "  modelyard:targets:",
        *(_target(discovery, role) for role in ROLES if role in discovery.roles),
        *_patches(off),
    ]
    return "\n".join(lines) + "\n"


def _platform(found: Discovery) -> Iterator[str]:
    release = found.release or "{}.{:02}".format(*RAY_DEFAULT)
    yield "  modelyard:platform:"
    yield f'    release: "{release}"' + ("" if found.release else " # default: no image tag shows a release")
    yield f"    namespace: {_text(found.namespace)}{_guess(found, 'namespace')}"
    if lacking := [role for role in ROLES if role not in found.roles]:
        for words in found.other_namespaces:
            yield f"    # {words}: a stack has one namespace"
        guessed = "".join(_guess(found, role) for role in lacking)
        yield f"    without: [{', '.join(lacking)}]{guessed}"


def _gpu(found: Discovery) -> Iterator[str]:
    yield "  modelyard:gpu:"
    comment = _guess(found, "gpu") or (f" # {found.gpu_nodes}" if found.gpu_nodes else "")
    yield f"    model: {_text(found.gpu)}{comment}"
    if RAY.worker in found.roles:
        gpus = found.roles[RAY.worker].sizes.gpus
        yield f"    perWorker: {gpus}" if gpus else "    # perWorker: the Ray workers request no whole GPU"


def _sizes(found: Discovery, role: str, candidate: Candidate) -> Iterator[str]:
    """Yields the section of a workload; the API server has none."""
    if role == "apiServer":
        return
    sizes = candidate.sizes
    yield f"  modelyard:{role}:"
    backend = next((one for one in BACKENDS.values() if one.worker == role), None)
    if sizes.replicas is not None and (sizes.replicas or backend is None or backend.name == found.training):
        scaled = backend is not None and backend.name == found.training and found.scaling.by
        yield f"    replicas: {sizes.replicas}" + (f" # {found.scaling.by} sets them" if scaled else "")
    yield _amount("cpu", sizes.cpu)
    yield from _memory(role, candidate)
    if role == "modelService":
        yield _amount("volume", sizes.volume)
        if sizes.gpus:
            yield f"    gpu: {sizes.gpus}"
    if role == CELERY.worker and found.queue:
        yield f"    queue: {_text(found.queue)}"
    if backend is not None and sizes.grace_period > 0:
        yield f"    gracePeriod: {sizes.grace_period}"


def _memory(role: str, candidate: Candidate) -> Iterator[str]:
    """Yields the memory: of Ray workers for each GPU, of other pods as a whole."""
    sizes = candidate.sizes
    if role == RAY.worker and sizes.memory and sizes.gpus > 1:
        share = quantity.memory(quantity.parse(sizes.memory) / sizes.gpus)
        yield f"    memory: {share} # for each GPU: a pod has {sizes.memory}"
    else:
        yield _amount("memory", sizes.memory)


def _amount(key: str, amount: str) -> str:
    return f"    {key}: {amount}" if amount else f"    # {key}: the pods request none"


def _autoscaling(found: Discovery) -> Iterator[str]:
    scaling = found.scaling
    yield "  modelyard:autoscaling:"
    by = f" # {scaling.by} sets the replicas" if scaling.by else ""
    yield f"    mode: {scaling.mode}{by}"
    if scaling.mode != "none" and scaling.max_replicas:
        yield f"    maxReplicas: {scaling.max_replicas}"
    if scaling.prometheus:
        yield f"    prometheus: {_text(scaling.prometheus)}"


def _target(found: Discovery, role: str) -> str:
    place, container = found.roles[role].place, found.roles[role].container
    group = f", group: {_text(place.group)}" if place.group else ""
    named = f"{_KEYS[place.kind]}: {_text(place.name)}{group}, container: {_text(container)}"
    return f"    {role}: {{{named}}}{_guess(found, role)}"


def _patches(off: Iterable[PatchOff]) -> Sequence[str]:
    lines = [
        line
        for one in off
        for line in (*(f"    # {words}" for words in one.effect), f"    - {{name: {one.name}, enabled: false}}")
    ]
    head = (
        "  # These patches are off, so that the first plan changes nothing. Turn them on step by step: a finding",
        "  # about a size names the patch that sets it. Keep these lines: a patch without a line is on.",
    )
    return [*head, "  modelyard:patches:", *lines] if lines else []


def _guess(found: Discovery, about: str) -> str:
    """Returns the comment behind a value that is not certain."""
    return next((f" # guess: {one.why}" for one in found.questions if one.about == about), "")


def _text(value: str) -> str:
    """Returns a text as YAML, in quotes if it could be read as something else."""
    plain = _WORD.fullmatch(value) and value.lower() not in _SPECIAL
    return value if plain else json.dumps(value, ensure_ascii=False)
