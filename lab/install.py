"""Installs into a running lab: CRDs, simulated nodes, and platforms as their vendor installs them.

Each environment of ``lab/platform/`` is installed as its vendor does it: in each, another field manager owns the fields
of its objects, by another operation. Installing twice changes nothing.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import state
from lab.client import JSON
from lab.errors import LabError

if TYPE_CHECKING:
    from lab.cluster import Lab

PLATFORMS = Path(__file__).resolve().parent / "platform"
NAMESPACE = "ml-platform"
CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
"""Where the API server stores CRDs in etcd."""

APPLY = ("apply",)
APPLY_SERVER_SIDE = ("apply", "--server-side", "--field-manager=helm")
CREATE = ("create", "--field-manager=deployment-manager")
REPLACE = ("replace", "--field-manager=deployment-manager")
WAYS = {"dev": APPLY, "staging": APPLY_SERVER_SIDE, "prod": CREATE}
"""How each environment's vendor installs, which gives the owner and operation in managedFields."""


def crds(lab: "Lab") -> None:
    """Install every operator's CRDs and return when all are served.

    Checking them takes the API server eleven seconds of CPU time. So the first lab of a toolset keeps what its API
    server stored, and the labs after it write that to their own stores.
    """
    done, kept = lab.folder / "crds", lab.tools.folder / "crds.json"
    if done.is_file() and done.read_text() == str(lab.tools.folder):
        return
    if kept.is_file():
        stored = json.loads(kept.read_text())
        for key, value in stored.items():
            missing = {"key": key, "target": "CREATE", "create_revision": 0}
            lab.store("txn", {"compare": [missing], "success": [{"requestPut": {"key": key, "value": value}}]})
    else:
        _apply_crds(lab)
        every = {"key": _base64(CRDS), "range_end": _base64(CRDS[:-1] + chr(ord(CRDS[-1]) + 1))}
        stored = {pair["key"]: pair["value"] for pair in lab.store("range", every)["kvs"]}
        with suppress(OSError):  # the folder of the tools may be read-only
            state.write(kept, json.dumps(stored))
    wanted = {served for value in stored.values() for served in _resources(json.loads(base64.b64decode(value)))}
    lab.wait("the CRDs to be served", lambda: wanted <= _served(lab))
    state.write(done, str(lab.tools.folder))


def _apply_crds(lab: "Lab") -> None:
    """Apply the manifests and return when all are established.

    Server-side, because KEDA's are too large for the annotation that a client-side apply leaves.
    """
    manifests = sorted(lab.tools.crds.glob("*/*.yaml"))
    if not manifests:
        raise LabError(f"there are no CRDs in {lab.tools.crds}; build the tools again with: modelyard-lab build")
    files = [f"--filename={path}" for path in manifests]
    lab.kubectl("apply", "--server-side", "--field-manager=lab", *files)

    def established() -> bool:
        found = lab.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]
        return len(found) >= len(manifests) and all(map(_established, found))

    lab.wait("the CRDs to be established", established, within=120)


Resource = tuple[str, str, str]
"""Group, version and plural."""


def _resources(crd: Mapping[str, Any]) -> Iterator[Resource]:
    """Yields what a stored CRD serves."""
    spec = crd["spec"]
    for version in spec["versions"]:
        if version["served"]:
            yield spec["group"], version["name"], spec["names"]["plural"]


def _served(lab: "Lab") -> set[Resource]:
    """What clients can find: the API server lists it a little after it has it."""
    found = lab.request("GET", "/apis", accept=f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").body
    return {
        (group["metadata"]["name"], version["version"], resource["resource"])
        for group in found["items"]
        for version in group.get("versions", ())
        for resource in version.get("resources", ())
    }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def environments() -> list[str]:
    """The environments with a platform, sorted."""
    return sorted(path.name for path in PLATFORMS.iterdir() if (path / "platform.yaml").is_file())


def platform(lab: "Lab", environment: str) -> None:
    """Install the nodes and the platform of one environment, and return when every Deployment has rolled out.

    Raises:
        LabError: the environment is unknown, the server refuses, or pods do not start.
    """
    if environment not in WAYS:
        raise LabError(f"unknown platform {environment!r}; use {', '.join(environments())}")
    nodes(lab, PLATFORMS / environment / "nodes.yaml")
    manifest = f"--filename={PLATFORMS / environment / 'platform.yaml'}"
    way = WAYS[environment]
    if way is CREATE and lab.request("GET", f"/api/v1/namespaces/{NAMESPACE}").status == 200:
        way = REPLACE
    lab.kubectl(*way, manifest)
    lab.wait(f"the platform {environment} to roll out", lambda: rolled_out(lab))


def nodes(lab: "Lab", manifest: Path) -> None:
    """Create the nodes of a manifest as their kubelets would, and return when kwok has made them ready."""
    created = lab.kubectl("create", "--field-manager=kubelet", f"--filename={manifest}", check=False)
    refused = [line for line in created.stderr.splitlines() if line.strip() and "AlreadyExists" not in line]
    if refused:
        raise LabError(f"cannot create the nodes of {manifest}:\n" + "\n".join(refused))
    lab.wait("the nodes to be ready", lambda: all(map(_settled, lab.request("GET", "/api/v1/nodes").body["items"])))


def rolled_out(lab: "Lab") -> bool:
    """Whether every Deployment of the platform runs its current spec, with no pods of an older one."""
    base = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    found = lab.request("GET", base).body["items"]
    pods = lab.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").body["items"]
    return all(map(_complete, found)) and not any("deletionTimestamp" in pod["metadata"] for pod in pods)


def _established(crd: dict[str, Any]) -> bool:
    conditions = crd.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _settled(node: dict[str, Any]) -> bool:
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", []))
    tainted = any(each["key"].startswith("node.kubernetes.io/") for each in node["spec"].get("taints", []))
    # The controller manager sets this annotation last on a new node; an earlier recording would lack it.
    return ready and not tainted and "node.alpha.kubernetes.io/ttl" in node["metadata"].get("annotations", {})


def _complete(deployment: dict[str, Any]) -> bool:
    wanted, status = deployment["spec"]["replicas"], deployment.get("status", {})
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")]
    return status.get("observedGeneration") == deployment["metadata"]["generation"] and counts == [wanted] * 4
