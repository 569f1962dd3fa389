"""Why pods do not start."""

from typing import Any

import pytest

from modelyard.cluster.pods import not_started, ray_services, request_of


def pod(
    phase: str, *, scheduled: str = "", first: dict[str, str] | None = None, waiting: dict[str, str] | None = None
) -> dict[str, Any]:
    """``first`` is what its init container waits for."""
    conditions = [{"type": "PodScheduled", "status": "False", "message": scheduled}] if scheduled else []
    containers = [{"state": {"waiting": waiting}}] if waiting else []
    status = {"phase": phase, "conditions": conditions, "containerStatuses": containers}
    if first:
        status["initContainerStatuses"] = [{"state": {"waiting": first}}]
    return {"metadata": {"name": "build-1"}, "status": status}


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (pod("Pending", scheduled="no claim"), "build-1 has no node: no claim"),
        (
            pod("Pending", waiting={"reason": "ImagePullBackOff", "message": "not found"}),
            "build-1: ImagePullBackOff not found",
        ),
        (
            pod(
                "Pending",
                first={"reason": "ErrImagePull", "message": "not found"},
                waiting={"reason": "PodInitializing"},
            ),
            "build-1: ErrImagePull not found",
        ),
        (pod("Pending", waiting={"reason": "ContainerCreating"}), ""),
        (pod("Pending"), ""),
        (pod("Failed", scheduled="no claim"), ""),
    ],
)
def test_the_first_reason_is_shown(one: dict[str, Any], why: str) -> None:
    assert not_started([pod("Running"), one]) == why


def test_pods_of_both_clusters_of_an_upgrade_belong_to_the_service() -> None:
    status = {
        "activeServiceStatus": {"rayClusterName": "models-a"},
        "pendingServiceStatus": {"rayClusterName": "models-b"},
    }
    metadata = {"name": "models", "namespace": "ml"}
    services = ray_services(
        ({"kind": "RayService", "metadata": metadata, "status": status}, {"kind": "RayCluster", "metadata": metadata})
    )

    def owner(cluster: str, namespace: str) -> str:
        reference = [{"kind": "RayCluster", "name": cluster}]
        pod = {"metadata": {"name": "p", "namespace": namespace, "ownerReferences": reference}}
        return str(request_of({**pod, "spec": {"nodeName": "n", "containers": []}}, services)["owner"])

    assert [owner(name, "ml") for name in ("models-a", "models-b", "models-c")] == ["models", "models", "models-c"]
    assert owner("models-a", "other") == "models-a"
