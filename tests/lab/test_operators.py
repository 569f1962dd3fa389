"""Operators as processes of a lab: they admit objects, are reported when they die, and restart with the lab."""

import socket
from pathlib import Path

import pytest

from lab import Lab, LabError, cluster

FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"


def queue(gpus: str) -> dict[str, object]:
    """A ClusterQueue with a quota of this number of GPUs."""
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "a10", "resources": resources}]}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "team"},
        "spec": {"namespaceSelector": {}, "resourceGroups": groups},
    }


def test_a_killed_kueue_is_reported_and_restarts_with_the_lab(tmp_path: Path) -> None:
    with Lab.start(tmp_path) as lab:
        with pytest.raises(LabError, match="unknown operator 'volcano'"):
            lab.start_operators("volcano")
        lab.start_operators("kueue")
        assert lab.status()["kueue"]
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "a10"}}
        assert lab.request("POST", FLAVORS, flavor).status == 201
        refused = lab.request("POST", QUEUES, queue("-1"))
        assert "denied the request" in refused.body["message"]
        assert "must be greater than or equal to 0" in refused.body["message"]
        assert lab.request("POST", QUEUES, queue("1")).status == 201

        def active() -> bool:
            found = lab.request("GET", f"{QUEUES}/team").body.get("status", {}).get("conditions", [])
            return any(each["type"] == "Active" and each["status"] == "True" for each in found)

        lab.wait("the queue to be active", active)
        pid = lab.pids["kueue"]
        lab.kill("kueue")
        assert lab.lost == ["kueue"]
        assert lab.request("DELETE", f"{QUEUES}/team").status == 200
        assert "deletionTimestamp" in lab.request("GET", f"{QUEUES}/team").body["metadata"]
        lab.restart("kueue")
        assert lab.pids["kueue"] != pid
        lab.wait("Kueue to let the queue go", lambda: lab.request("GET", f"{QUEUES}/team").status == 404)
    with Lab.start(tmp_path) as again:
        assert again.status()["kueue"]
        assert again.request("POST", QUEUES, queue("-1")).status in (403, 422)


def test_keda_and_kuberay_run_in_one_lab_although_a_port_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lab.start(tmp_path) as lab, socket.create_server(("127.0.0.1", 0)) as other:
        free = cluster.free_numbers
        taken = iter([other.getsockname()[1]])
        monkeypatch.setattr(cluster, "free_numbers", lambda count: [*taken, *free(count)][:count])
        lab.start_operators("kuberay", "keda")
        assert lab.running
        assert list(lab.status())[-3:] == ["keda", "keda-adapter", "kuberay"]
    assert Lab.find(tmp_path).status() == {}  # type: ignore[union-attr]
