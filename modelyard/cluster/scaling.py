"""The objects by which autoscalers are told what to scale, and the little of them that is kept."""

from collections.abc import Mapping
from typing import Any

from modelyard.kube.state import PAUSED, PAUSED_REPLICAS, SCALED_OBJECT, annotations_of

_LISTS = (
    ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    ("keda.sh/v1alpha1", SCALED_OBJECT, "scaledobjects"),
)


def lists(namespace: str) -> tuple[tuple[str, str], ...]:
    """The kinds, and where the API server lists the objects of each in a namespace."""
    return tuple((kind, f"/apis/{version}/namespaces/{namespace}/{plural}") for version, kind, plural in _LISTS)


def reference(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """An object of a list, in its own form, with nothing but what it scales, whether it is paused, and for which object
    of KEDA's it was made.
    """
    metadata = body["metadata"]
    kept = {"name": metadata["name"], "namespace": metadata["namespace"]}
    paused = {name: value for name, value in annotations_of(body).items() if name in (PAUSED, PAUSED_REPLICAS)}
    made_for = [
        {"kind": owner["kind"], "name": owner["name"]}
        for owner in metadata.get("ownerReferences") or ()
        if owner.get("kind") == SCALED_OBJECT
    ]
    return {
        "kind": kind,
        "metadata": {
            **kept,
            **({"annotations": paused} if paused else {}),
            **({"ownerReferences": made_for} if made_for else {}),
        },
        "spec": {"scaleTargetRef": (body.get("spec") or {}).get("scaleTargetRef") or {}},
    }
