"""Pulumi components: the parts of a platform, as the engine shows them, for programs.

``Platform`` carries out the plan of a stack file, with the components of its parts in the plan's order. Each of them
also works by itself: it takes its arguments (``arguments``), plans its own objects (``planning``) and declares one
resource for each of its targets (``part``). No component computes a field; ``modelyard.engine.program`` has the steps
around each resource.

Optional, and not imported by the others: ``aws_base`` (a cluster to start from), ``device_plugin`` and
``remote_instance`` (a machine for one job), with their parts.
"""

from modelyard.components.autoscaling import Autoscaling
from modelyard.components.celery_training import CeleryTraining
from modelyard.components.model_service import ModelService
from modelyard.components.other_targets import OtherTargets
from modelyard.components.platform import Platform
from modelyard.components.ray_cluster import RayCluster
from modelyard.components.remote_cluster import RemoteCluster
from modelyard.components.training_switch import TrainingSwitch

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
