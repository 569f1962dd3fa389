"""The objects by which autoscalers are told what to scale, and the little of them that is kept."""

from collections.abc import Mapping
from typing import Any

from modelyard.cluster.state import PAUSED, SCALED_OBJECT, annotations_of

_LISTS = (
    ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("keda.sh/v1alpha1", SCALED_OBJECT, "scaledobjects"),
)


def lists(namespace: str) -> tuple[tuple[str, str], ...]:
    """The kinds, and where the API server lists the objects of each in a namespace."""
    return tuple((kind, f"/apis/{version}/namespaces/{namespace}/{plural}") for version, kind, plural in _LISTS)


def reference(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """An object of a list, in its own form, with nothing but what it scales and whether it is paused."""
    metadata, paused = body["metadata"], annotations_of(body).get(PAUSED)
    kept = {"name": metadata["name"], "namespace": metadata["namespace"]}
    return {
        "kind": kind,
        "metadata": {**kept, "annotations": {PAUSED: paused}} if paused else kept,
        "spec": {"scaleTargetRef": (body.get("spec") or {}).get("scaleTargetRef") or {}},
    }
