"""A stack: its parts, in the plan's order."""

from collections.abc import Mapping
from typing import Any, Unpack

import pulumi

from modelyard.components.arguments import (
    AutoscalingSection,
    BackendName,
    CelerySection,
    GpuSection,
    ModelServiceSection,
    RayHeadSection,
    RayWorkerSection,
    Surroundings,
    TargetSection,
    autoscaling_section,
    gpu_section,
)
from modelyard.components.autoscaling import Autoscaling, autoscaled
from modelyard.components.celery_training import CeleryTraining
from modelyard.components.model_service import ModelService
from modelyard.components.other_targets import OtherTargets
from modelyard.components.part import Part, carry_out, dashed, provider_of
from modelyard.components.planning import ComponentSettings, check_arguments, plan_of_arguments
from modelyard.components.ray_cluster import RayCluster
from modelyard.components.remote_cluster import RemoteCluster
from modelyard.components.training_switch import TrainingSwitch
from modelyard.engine.home import Cluster
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.state import SCALED_OBJECT
from modelyard.plan import Plan, TargetPlan
from modelyard.workloads.training import WORKER_ROLES

KIND = "modelyard:index:Platform"
ComponentClass = (
    type[TrainingSwitch]
    | type[ModelService]
    | type[RayCluster]
    | type[CeleryTraining]
    | type[Autoscaling]
    | type[OtherTargets]
)
PARTS: Mapping[str, ComponentClass] = {
    "apiServer": TrainingSwitch,
    "modelService": ModelService,
    "rayHead": RayCluster,
    "rayWorker": RayCluster,
    "celery": CeleryTraining,
}
"""The component of each workload's targets; ``Autoscaling`` has KEDA's objects, ``OtherTargets`` the others."""


class Platform(pulumi.ComponentResource):
    """The platform as one component, which also exports the stack's outputs. A workload without an argument does not
    change.

    A program has at most one: its parts have fixed names.
    """

    def __init__(
        self,
        name: str,
        plan: Plan | None = None,
        *,
        training: BackendName | None = None,
        gpu: str | GpuSection | None = None,
        model_service: ModelServiceSection | None = None,
        ray_head: RayHeadSection | None = None,
        ray_worker: RayWorkerSection | None = None,
        celery: CelerySection | None = None,
        autoscaling: AutoscalingSection | None = None,
        api_server: TargetSection | None = None,
        **surroundings: Unpack[Surroundings],
    ) -> None:
        """Declares the parts that the arguments name; those left out stay as they are in the cluster.

        Args:
            name: name of the component.
            plan: the plan of a stack file; it then takes no other arguments.
            training: the training backend, by default the release's; if set, it also sets the API server's route.
            gpu: required with ``ray_worker`` or ``celery``: their GPU, as a model or as in the section ``gpu``.
            model_service: as in the section ``modelService`` of a stack file, with its keys in the section ``targets``.
            ray_head: as in the section ``rayHead``, with its keys in the section ``targets``.
            ray_worker: as in the section ``rayWorker``, with its keys in the section ``targets``.
            celery: as in the section ``celery``, with its keys in the section ``targets``.
            autoscaling: as for ``Autoscaling``, without ``training``.
            api_server: the keys of the API server in the section ``targets``.
            surroundings: the platform and its cluster.

        Raises:
            pulumi.RunError: the arguments or the plan have errors, or the cluster is out of reach.
        """
        opts = None
        if plan is None:
            sections = {
                "apiServer": api_server,
                "modelService": model_service,
                "rayHead": ray_head,
                "rayWorker": ray_worker,
                "celery": celery,
            }
            settings = _settings(training, gpu, autoscaling, sections)
            plan = plan_of_arguments("Platform", name, settings, surroundings, None)
            # A provider of its own would replace the resources of a state that has been applied from a stack file.
            opts = provider_of(name, plan, None) if "context" in surroundings else None
        else:
            check_arguments(f"Platform {name}", surroundings)
        super().__init__(KIND, name, None, opts)
        whole = plan
        inside = pulumi.ResourceOptions(parent=self)
        parts: dict[ComponentClass, Part] = {}

        def part(kind: ComponentClass) -> Part:
            return parts.get(kind) or parts.setdefault(kind, kind(dashed(kind.__name__), plan=whole, opts=inside))

        def part_of(target: TargetPlan) -> tuple[Part, pulumi.Input[str] | None]:
            kind = PARTS.get(target.role, OtherTargets)
            if target.key.kind == SCALED_OBJECT and target.role in PARTS:
                # States of earlier versions have it below the component of its backend.
                was = pulumi.create_urn(dashed(kind.__name__), f"modelyard:index:{kind.__name__}", self)
                return part(Autoscaling), was
            return part(kind), None

        carry_out(f"Platform {name}", plan, Cluster(plan, inside), part_of)
        part(Autoscaling)
        for one in parts.values():
            one.close()
        for remote in plan.remotes:
            RemoteCluster(remote.remote, plan=remote, opts=inside)
        shown = outputs(plan)
        self.register_outputs(shown)
        for key, value in shown.items():
            pulumi.export(key, value)


def _settings(
    training: BackendName | None,
    gpu: str | GpuSection | None,
    autoscaling: AutoscalingSection | None,
    workloads: Mapping[str, Mapping[str, Any] | None],
) -> ComponentSettings:
    """What the arguments of a platform ask for; ``workloads`` are by section, None for one that stays as it is."""
    sections = {name: given for name, given in workloads.items() if given is not None}
    if training is not None:
        sections.setdefault("apiServer", {})
    roles = frozenset(sections)
    if gpu is not None or not roles.isdisjoint(WORKER_ROLES):
        # A missing model is an error of the plan.
        sections["gpu"] = gpu_section(gpu or "")
    return ComponentSettings({**sections, **autoscaling_section(autoscaling)}, roles, training)


def outputs(plan: Plan) -> dict[str, object]:
    """The outputs of a stack; they describe its state, so a run that changes nothing does not change them."""
    workloads = [target for target in plan.asked if target.key.kind in WORKLOAD_KINDS]
    remotes = {one.remote: one.cluster for one in plan.remotes}
    return {
        **({"remoteClusters": remotes} if remotes else {}),
        "headline": plan.headline,
        "training": plan.training,
        "namespace": plan.namespace,
        "cluster": plan.cluster,
        "replicas": {target.name: _replicas(target) for target in workloads},
        "gpus": sum(target.gpus[1] for target in workloads if target.replicas[1] is not None),
        "maxReplicas": autoscaled(plan),
        "patches": {target.name: list(target.patches) for target in workloads},
    }


def _replicas(target: TargetPlan) -> int | str:
    return "autoscaled" if target.replicas[1] is None else target.replicas[1]
