"""Training on Celery."""

from typing import Any, Unpack

import pulumi

from modelyard.components.arguments import (
    AutoscalingSection,
    CeleryTrainingArgs,
    GpuSection,
    autoscaling_section,
    divided,
    gpu_section,
)
from modelyard.components.part import Part
from modelyard.components.planning import ComponentSettings
from modelyard.plan import Plan


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
            gpu: required: the GPU of the pods, as a model or as in the section ``gpu`` of a stack file.
            autoscaling: as for ``Autoscaling``, without ``training``; if unset, ``replicas`` pods run at all times.
            plan: the plan of a stack that it is a part of; it then takes no other arguments.
            opts: options of the component; those of providers are not taken.
            args: as in the section ``celery`` of a stack file, and ``Surroundings``.
        """
        own, around = divided(args)
        sections: dict[str, Any] = {"gpu": gpu_section(gpu), "celery": own, **autoscaling_section(autoscaling)}
        super().__init__(name, plan, ComponentSettings(sections, frozenset({"celery"}), "celery"), around, opts)
