"""Pulumi components: the parts of a platform, as the engine shows them, for programs.

``Platform`` carries out the plan of a stack file, with the components of its parts in the plan's order. Each of them
also works by itself: it takes its arguments (``arguments``), plans its own objects (``planning``) and declares one
resource for each of its targets (``part``). No component computes a field; ``modelyard.engine.program`` has the steps
around each resource.

Optional, and not imported by the others: ``aws_base`` (a cluster to start from), ``device_plugin`` and
``remote_instance`` (a machine for one job), with their parts.
"""

from modelyard.components.parts import (
    Autoscaling,
    CeleryTraining,
    ModelService,
    OtherTargets,
    RayCluster,
    TrainingSwitch,
)
from modelyard.components.platform import Platform
from modelyard.components.remote_cluster import RemoteCluster

__all__ = [
    "Autoscaling",
    "CeleryTraining",
    "ModelService",
    "OtherTargets",
    "Platform",
    "RayCluster",
    "RemoteCluster",
    "TrainingSwitch",
]
