"""The components of a platform's workloads.

In a program, each takes its arguments and plans by itself: ``ModelService("m", cpu="4", memory="16Gi")``. Inside a
``Platform`` each gets the plan of the whole stack instead.
"""

from collections.abc import Mapping
from typing import Any, Literal, Unpack

import pulumi

from modelyard.components.arguments import (
    AutoscalingArgs,
    AutoscalingSection,
    CeleryTrainingArgs,
    GpuSection,
    ModelServiceArgs,
    RayHeadSection,
    RayWorkerSection,
    Surroundings,
    TrainingSwitchArgs,
)
from modelyard.components.part import Part
from modelyard.components.planning import Settings
from modelyard.plan import Plan
from modelyard.plan.keda import bounds
from modelyard.stack.config import ROLES, WORKERS

Backend = Literal["ray", "celery"]


class ModelService(Part):
    """CPU inference: size, replicas and the local volume of the model service."""

    def __init__(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ModelServiceArgs],
    ) -> None:
        """Declares the model service.

        Args:
            name: name of the component.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``modelService`` of a stack file, and ``Surroundings``.
        """
        own, around = _divided(args)
        super().__init__(name, plan, Settings({"modelService": own}, frozenset({"modelService"})), around, opts)


class RayCluster(Part):
    """Training on Ray: the head and the workers."""

    def __init__(
        self,
        name: str,
        *,
        gpu: str | GpuSection = "",
        head: RayHeadSection | None = None,
        worker: RayWorkerSection | None = None,
        autoscaling: AutoscalingSection | None = None,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **surroundings: Unpack[Surroundings],
    ) -> None:
        """Declares the Ray cluster.

        Args:
            name: name of the component.
            gpu: the GPU of the workers: its model, or its model with the GPUs of one worker.
            head: as in the section ``rayHead`` of a stack file.
            worker: as in the section ``rayWorker`` of a stack file.
            autoscaling: how the workers scale; None: ``replicas`` workers at all times.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            surroundings: its platform and cluster.
        """
        sections = {
            "gpu": gpu_section(gpu),
            "rayHead": head or {},
            "rayWorker": worker or {},
            **autoscaling_section(autoscaling),
        }
        settings = Settings(sections, frozenset({"rayHead", "rayWorker"}), "ray")
        super().__init__(name, plan, settings, surroundings, opts)


class CeleryTraining(Part):
    """Training on Celery: size, replicas, queue and limits of the training tasks."""

    def __init__(
        self,
        name: str,
        *,
        gpu: str | GpuSection = "",
        autoscaling: AutoscalingSection | None = None,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[CeleryTrainingArgs],
    ) -> None:
        """Declares the training tasks.

        Args:
            name: name of the component.
            gpu: the GPU of the tasks.
            autoscaling: how the tasks scale; None: ``replicas`` pods at all times.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``celery`` of a stack file, and ``Surroundings``.
        """
        own, around = _divided(args)
        sections: dict[str, Any] = {"gpu": gpu_section(gpu), "celery": own, **autoscaling_section(autoscaling)}
        super().__init__(name, plan, Settings(sections, frozenset({"celery"}), "celery"), around, opts)


class TrainingSwitch(Part):
    """The route of new training requests: the first target that changes when training moves to the other backend."""

    def __init__(
        self,
        name: str,
        *,
        training: Backend = "ray",
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[TrainingSwitchArgs],
    ) -> None:
        """Declares the route.

        Args:
            name: name of the component.
            training: the backend that gets new training requests.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: Deployment and container of the API server, and ``Surroundings``.
        """
        own, around = _divided(args)
        super().__init__(name, plan, Settings({"apiServer": own}, frozenset({"apiServer"}), training), around, opts)


class Autoscaling(Part):
    """How training scales: the objects of KEDA, or the platform's autoscaler, which reads annotations.

    Annotations are fields of the training Deployments. In a ``Platform`` they are part of those targets, and this
    component reports the most replicas of each. By itself it patches the Deployment that another program sizes.
    """

    def __init__(
        self,
        name: str,
        *,
        training: Backend = "ray",
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[AutoscalingArgs],
    ) -> None:
        """Declares the autoscaling of one training backend.

        Args:
            name: name of the component.
            training: the backend that scales.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``autoscaling`` of a stack file, and ``Surroundings``.
        """
        own, around = _divided(args)
        settings = Settings({"autoscaling": {"mode": "annotations", **own}}, frozenset({WORKERS[training]}), training)
        super().__init__(name, plan, settings, around, opts)

    def outputs(self) -> dict[str, object]:
        """The most replicas of each autoscaled target, and the patches of the component's own."""
        return {"maxReplicas": autoscaled(self._plan), **(super().outputs() if self._targets else {})}


class OtherTargets(Part):
    """Targets of the project's own patches that belong to none of the platform's workloads."""

    def __init__(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **surroundings: Unpack[Surroundings],
    ) -> None:
        """Declares the targets of the patches that ``patches`` lists.

        Args:
            name: name of the component.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            surroundings: its platform and cluster.
        """
        super().__init__(name, plan, Settings({}, frozenset(ROLES)), surroundings, opts)


def autoscaled(plan: Plan) -> dict[str, str]:
    """The most replicas of each autoscaled target, by name."""
    found = {target.name: target.after.reveal()["metadata"].get("annotations") or {} for target in plan.asked}
    key = "autoscaling/max_replicas"
    said = {name: annotations[key] for name, annotations in found.items() if key in annotations}
    return said | {name: str(most) for name, (_, most) in bounds(plan.asked).items() if most is not None}


def gpu_section(gpu: str | GpuSection) -> GpuSection:
    """The section of a GPU that may be named by its model alone."""
    return {"model": gpu} if isinstance(gpu, str) else gpu


def autoscaling_section(autoscaling: AutoscalingSection | None) -> dict[str, Mapping[str, Any]]:
    """The section of autoscaling by its name; none where nothing is to scale."""
    return {} if autoscaling is None else {"autoscaling": {"mode": "annotations", **autoscaling}}


def _divided(args: Mapping[str, Any]) -> tuple[dict[str, Any], Surroundings]:
    """A component's own arguments, and its surroundings."""
    around: Any = {name: value for name, value in args.items() if name in Surroundings.__annotations__}
    return {name: value for name, value in args.items() if name not in around}, around
