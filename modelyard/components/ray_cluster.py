"""Training on Ray."""

from typing import Unpack

import pulumi

from modelyard.components.arguments import (
    AutoscalingSection,
    GpuSection,
    RayHeadSection,
    RayWorkerSection,
    Surroundings,
    autoscaling_section,
    gpu_section,
)
from modelyard.components.part import Part
from modelyard.components.planning import ComponentSettings
from modelyard.plan import Plan


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
            gpu: required: the GPU of the workers, as a model or as in the section ``gpu`` of a stack file.
            head: as in the section ``rayHead`` of a stack file, with its keys in the section ``targets``.
            worker: as in the section ``rayWorker`` of a stack file, with its keys in the section ``targets``.
            autoscaling: as for ``Autoscaling``, without ``training``; if unset, ``replicas`` workers run at all times.
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
        settings = ComponentSettings(sections, frozenset({"rayHead", "rayWorker"}), "ray")
        super().__init__(name, plan, settings, surroundings, opts)
