"""Platforms of different shapes, as objects in ``tests/support/platforms``."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_name("platforms")
PLATFORMS = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != "nodes"))
PLURALS = {
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "RayCluster": "rayclusters",
    "RayService": "rayservices",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "ScaledObject": "scaledobjects",
}


@lru_cache(maxsize=len(PLATFORMS) + 1)
def objects_in(name: str) -> tuple[dict[str, Any], ...]:
    """The objects of a platform, or the nodes."""
    return tuple(yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()))
