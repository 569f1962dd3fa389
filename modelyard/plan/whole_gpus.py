"""Decides which resources get whole GPUs instead of slices (``grow``): those for which enough are free and nobody
waits.

The decision is a function of the stack and the cluster's state. All later steps see either the slice or the whole GPU.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.findings import Finding, Severity
from modelyard.hardware.nodes import node_gpus
from modelyard.hardware.partitions import CONFIG_LABEL, Slice, gpu_name, replaceable
from modelyard.kube.scheduling.capacity import obstacle, on_node
from modelyard.kube.scheduling.pods import Pods, pods_of
from modelyard.kube.state import ClusterState, Node, Pod, Waiting
from modelyard.names import GPU_RESOURCE, PRODUCT_LABEL
from modelyard.stack.config import Config, Stack
from modelyard.stack.jobs import Resource
from modelyard.stack.pool import Team
from modelyard.stack.words import plural
from modelyard.workloads.facts.jobs import (
    deployment_of,
    is_deployed,
    namespace_of_resource,
    products_for,
    sized_resources,
    team_of_resource,
)
from modelyard.workloads.facts.pool import gpu_flavors, namespaces, node_labels

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.workloads.sizing import Sized


class Grown(NamedTuple):
    """A stack whose resources that grow have whole GPUs or slices, as the cluster allows."""

    stack: Stack
    findings: tuple[Finding, ...] = ()
    """A note for each resource that grows: what its pods get, and why."""
    inputs: Mapping[str, str] = {}
    """The decisions as inputs of the plan: an approved plan is stale after another decision."""


class _Demand(NamedTuple):
    """A resource with whole GPUs, and the nodes on which its pods could run."""

    one: "Sized"
    deployment: tuple[str, str]
    """Namespace and name of the Deployment that owns the pods."""
    gpu: str
    wanted: int
    """The maximum number of its pods."""
    requests: Mapping[str, Fraction]
    nodes: tuple[Node, ...]
    """The nodes that offer whole GPUs to these pods."""


def growing(config: Config) -> bool:
    """Whether a resource may get whole GPUs instead of slices."""
    return any(replaceable(config, resource) is not None for resource in config.resources)


def read_waiting(client: "Client", config: Config) -> tuple[Waiting, ...] | None:
    """The pods that wait for whole GPUs; None if these credentials may not read who waits.

    Raises:
        cluster.connection.ClusterError: the API server does not answer or denies access.
    """
    from modelyard.cluster.lists import pool_objects
    from modelyard.runs.pool.waiting_pods import waiting_pods

    return waiting_pods(pool_objects(client, namespaces(config)), config)


def with_whole_gpus(stack: Stack, state: ClusterState) -> Grown:
    """Returns the stack with whole GPUs for the resources that get them; earlier ones in the stack file come first."""
    config = stack.config
    parts = {at: part for at, one in enumerate(config.resources) if (part := replaceable(config, one)) is not None}
    if not parts:
        return Grown(stack)
    whole = {at: _whole(config, config.resources[at], part) for at, part in parts.items()}
    grown = config._replace(resources=tuple(whole.get(at, one) for at, one in enumerate(config.resources)))
    slices, sizes = sized_resources(config), sized_resources(grown)
    planned, pods = list(config.resources), list(state.pods)
    findings: list[Finding] = []
    inputs = {}
    for at, part in parts.items():
        if not is_deployed(grown, sizes[at]):
            continue
        demand = _demand(grown, sizes[at], state.nodes)
        others = [pod for pod in pods if (pod.namespace, pod.owner) != demand.deployment]
        places = _places(demand, others)
        reason = (
            _wrong(stack, at, slices[at])
            or ("the pods that wait for a GPU are unknown" if state.waiting is None else "")
            or _without_quota(config, demand, part, others)
            or _waits(demand, state.waiting or ())
            or (_free(demand, places) if len(places) < demand.wanted else "")
        )
        name = demand.one.resource.name
        if reason:
            what = "slices" if part.profile is None else f"slice {part.profile.name}"
            gets = f"{what} of partition {part.partition.name}: {reason}"
        else:
            gets = f"whole GPUs: {_free(demand, places)}; no other pod waits for one"
            planned[at] = whole[at]
            namespace, owner = demand.deployment
            pods = [*others, *(Pod(node, owner, demand.requests, namespace) for node in places[: demand.wanted])]
        inputs[f"resource {name}"] = sha256(("slices" if reason else "whole GPUs").encode()).hexdigest()
        findings.append(
            stack.finding(
                "PAR018",
                Severity.ADVICE,
                ("resources", at, "grow"),
                f"resource {name} gets {gets}",
                _remedy(stack, state),
                target=demand.deployment[1],
            )
        )
    return Grown(stack._replace(config=config._replace(resources=tuple(planned))), tuple(findings), inputs)


def _whole(config: Config, resource: Resource, part: Slice) -> Resource:
    gpu = gpu_name(config, part.partition)
    return resource._replace(partition=None, slice=None, grow=False, gpus=1, gpu=gpu)


def _demand(config: Config, one: "Sized", nodes: Iterable[Node]) -> _Demand:
    names = products_for(config, one.resource.gpu)
    rule = {"key": PRODUCT_LABEL, "operator": "In", "values": names}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    tolerated = {"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}
    team = _team(config, one)
    # Kueue adds the labels and tolerations of one of its flavors to a team's pods.
    added: list[tuple[Mapping[str, str], list[dict[str, Any]]]] = [({}, [])]
    if team is not None:
        flavors = gpu_flavors(config, team, names, GPU_RESOURCE)
        added = [(node_labels(flavor), [taint._asdict() for taint in flavor.tolerations]) for flavor in flavors]
    requests = {"cpu": one.size.cpu, "memory": one.size.memory, GPU_RESOURCE: Fraction(1)}
    kinds = [
        Pods(
            {"nodeSelector": labels, "affinity": {"nodeAffinity": required}, "tolerations": [tolerated, *more]},
            requests,
            1,
        )
        for labels, more in added
    ]
    there = (
        node
        for node in nodes
        if node.labels.get(CONFIG_LABEL, "default") == "default"
        and node_gpus(node).whole
        and any(not obstacle(pods, node) for pods in kinds)
    )
    scale = one.resource.scale
    return _Demand(
        one=one,
        deployment=(namespace_of_resource(config, one), deployment_of(one)),
        gpu=one.resource.gpu or "",
        wanted=max(one.size.workers, scale.most if scale is not None else 0),
        requests=requests,
        nodes=tuple(there),
    )


def _places(demand: _Demand, others: Iterable[Pod]) -> list[str]:
    """The node of each pod that fits next to the pods of others."""
    taken: dict[str, list[Mapping[str, Fraction]]] = {}
    for pod in others:
        taken.setdefault(pod.node, []).append(pod.requests)
    return [
        node.name for node in demand.nodes for _ in range(on_node(demand.requests, node, taken.get(node.name, ()))[0])
    ]


def _free(demand: _Demand, places: Sequence[str]) -> str:
    verb = "is" if len(places) == 1 else "are"
    need = "needs" if demand.wanted == 1 else "need"
    needs = f"its {plural(demand.wanted, 'pod')} {need} {demand.wanted} × {demand.gpu}"
    return f"{needs}, and {len(places)} {verb} free or in use by it"


def _wrong(stack: Stack, at: int, one: "Sized") -> str:
    """The error about a resource's slices, if any: with it, pods on whole GPUs could not return to slices."""
    from modelyard.workloads.sizing.partitions import slice_findings  # few stacks need the formulas

    wrong = next((found for found in slice_findings(stack, at, one) if found.severity is Severity.ERROR), None)
    return f"{wrong.code} is an error" if wrong is not None else ""


def _remedy(stack: Stack, state: ClusterState) -> str:
    if state.waiting is not None:
        return f"no action needed; modelyard apply {stack.name} --yes on a schedule follows the cluster"
    if state.source == "recorded":
        return f"run: modelyard record {stack.name}; or plan with --live"
    return "ask for the right to list pods, and the workloads, queues and flavors of kueue.x-k8s.io"


def _waits(demand: _Demand, waiting: Iterable[Waiting]) -> str:
    """What else waits for a GPU of a node that offers whole GPUs, and would fit there."""
    for one in waiting:
        if (one.namespace, one.owner) == demand.deployment:
            continue
        pods = pods_of({"spec": {"template": {"spec": one.spec.reveal()}}})
        if pods.gpus and any(not obstacle(pods, node) and on_node(pods.requests, node, ())[0] for node in demand.nodes):
            return f"{one.name} of {one.namespace} waits for a GPU"
    return ""


def _team(config: Config, one: "Sized") -> Team | None:
    return next((team for team in config.teams if team.name == team_of_resource(one)), None)


def _without_quota(config: Config, demand: _Demand, part: Slice, others: Iterable[Pod]) -> str:
    """Why the quota of the resource's team is not enough, so that Kueue would not admit its pods."""
    team = _team(config, demand.one)
    if team is None:
        return ""
    counted = {quota.resource for quota in team.quotas}
    if missing := sorted({GPU_RESOURCE, part.resource} - counted):
        return f"team {team.name} has no quota of {missing[0]}"
    names = {flavor.name for flavor in gpu_flavors(config, team, products_for(config, demand.gpu), GPU_RESOURCE)}
    quota = sum(one.gpus for one in team.quotas if one.resource == GPU_RESOURCE and one.flavor in names)
    used = sum(pod.requests.get(GPU_RESOURCE, 0) for pod in others if pod.namespace == demand.deployment[0])
    left = max(quota - int(used), 0)
    pods = plural(demand.wanted, "pod")
    return f"team {team.name} has quota for {left} × {demand.gpu}, for its {pods}" if left < demand.wanted else ""
