"""One environment under test: a project folder, and a lab with the vendor's platform to apply it to."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from lab import Lab
from modelyard.kube.state import ObjectKey, essence
from modelyard.plan import Plan
from modelyard.plan.project import plan_live
from tests.ci.support.machine import machine

ROOT = Path(__file__).resolve().parents[3]
NAMESPACE = "ml-platform"
PATIENCE = 240
"""Limit in seconds for one command; on a rollout that hangs, the engine would wait for ten minutes."""
PLURALS = {
    ("apps/v1", "Deployment"): "apis/apps/v1/namespaces/{}/deployments",
    ("apps/v1", "StatefulSet"): "apis/apps/v1/namespaces/{}/statefulsets",
    ("v1", "ConfigMap"): "api/v1/namespaces/{}/configmaps",
    ("v1", "Service"): "api/v1/namespaces/{}/services",
    ("v1", "ServiceAccount"): "api/v1/namespaces/{}/serviceaccounts",
    ("rbac.authorization.k8s.io/v1", "Role"): "apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): (
        "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    ),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): (
        "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    ("policy/v1", "PodDisruptionBudget"): "apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    ("karpenter.sh/v1", "NodePool"): "apis/karpenter.sh/v1/nodepools",
    ("ray.io/v1", "RayCluster"): "apis/ray.io/v1/namespaces/{}/rayclusters",
    ("ray.io/v1", "RayService"): "apis/ray.io/v1/namespaces/{}/rayservices",
    ("keda.sh/v1alpha1", "ScaledObject"): "apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects",
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): "apis/kueue.x-k8s.io/v1beta2/resourceflavors",
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): "apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): "apis/kueue.x-k8s.io/v1beta2/namespaces/{}/localqueues",
    ("kueue.x-k8s.io/v1beta2", "AdmissionCheck"): "apis/kueue.x-k8s.io/v1beta2/admissionchecks",
    ("kueue.x-k8s.io/v1beta2", "MultiKueueCluster"): "apis/kueue.x-k8s.io/v1beta2/multikueueclusters",
    ("kueue.x-k8s.io/v1beta2", "MultiKueueConfig"): "apis/kueue.x-k8s.io/v1beta2/multikueueconfigs",
    ("kueue.x-k8s.io/v1beta2", "Topology"): "apis/kueue.x-k8s.io/v1beta2/topologies",
    ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"): "apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses",
}
GPUS = {"dev": "NVIDIA-A10", "staging": "NVIDIA-A100-SXM4-40GB", "prod": "NVIDIA-A30"}
"""The product label of each environment's GPU nodes."""
Object = dict[str, Any]
Done = subprocess.CompletedProcess[str]
PlatformLab = Callable[[str], Lab]
"""Returns a lab with the platform of an environment; the context of its kubeconfig has the environment's name."""


class Run(NamedTuple):
    """One run of the engine: what it printed, and its steps on Kubernetes objects."""

    output: str
    steps: tuple[tuple[str, str, str], ...]
    """``(event, operation, name)`` in the order of the engine's log; event is ``begin`` or ``end``."""

    @property
    def changed(self) -> list[str]:
        """Names of the objects that were changed, in the order in which their changes began."""
        return [name for event, operation, name in self.steps if event == "begin" and operation != "same"]


class Environment:
    """A copy of the project, and the lab that its stack ``name`` is applied to."""

    def __init__(self, name: str, lab: Lab, folder: Path) -> None:
        self.name, self.lab, self.folder = name, lab, folder
        for part in ("components", "patches", "stacks"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "Pulumi.yaml", folder)
        (folder / ".venv").symlink_to(sys.prefix)
        # The committed recordings are of other clusters.
        shutil.rmtree(folder / "stacks" / "recorded")
        # The engine writes a log of its events only if it is asked to.
        # Python prints a traceback if a signal in a library kills the program.
        self.env = lab.env() | {
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_DEBUG_COMMANDS": "true",
            "PYTHONFAULTHANDLER": "1",
        }
        # Pulumi.yaml sets the backend.
        del self.env["PULUMI_BACKEND_URL"]

    @property
    def stack_file(self) -> Path:
        return self.folder / "stacks" / f"Pulumi.{self.name}.yaml"

    def edit(self, before: str, after: str) -> None:
        """Replaces text that occurs once in the stack file."""
        text = self.stack_file.read_text()
        assert text.count(before) == 1, (before, text)
        self.stack_file.write_text(text.replace(before, after))

    def pulumi(self, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> Done:
        """Runs ``pulumi`` in the project's folder."""
        return self._run([str(self.lab.tools.bin / "pulumi"), *arguments, "--non-interactive"], check, env)

    def modelyard(self, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> Done:
        """Runs the command line in the project's folder."""
        return self._run([str(Path(sys.prefix) / "bin" / "modelyard"), *arguments], check, env)

    def _run(self, command: list[str], check: bool, env: dict[str, str] | None) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        # The traceback of a crash is longer than what a failed comparison shows.
        crashed = "Segmentation fault" in done.stdout + done.stderr
        fine = not crashed and (not check or done.returncode == 0)
        assert fine, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done

    def init(self) -> None:
        """Creates the stack in the engine's state."""
        self.pulumi("stack", "init", self.name)

    def preview(self) -> Run:
        """``pulumi preview``."""
        return self._engine("preview")

    def up(self) -> Run:
        """``pulumi up``."""
        return self._engine("up", "--yes", "--skip-preview")

    def _engine(self, *arguments: str) -> Run:
        log = self.folder / "events.json"
        log.unlink(missing_ok=True)
        done = self.pulumi(*arguments, "--stack", self.name, "--event-log", str(log))
        return Run(done.stdout + done.stderr, tuple(_steps(log)))

    def plan(self) -> Plan:
        """The plan against the lab's API server, made in this process."""
        with patch.dict("os.environ", self.env):
            made = plan_live(self.folder, self.stack_file, date.today()).plan
        assert made is not None
        return made

    def get(self, key: ObjectKey) -> Object | None:
        """The live object."""
        path = PLURALS[key.api_version, key.kind].format(key.namespace)
        answer = self.lab.request("GET", f"/{path}/{key.name}")
        assert answer.status in (200, 404), answer
        found: Object | None = answer.body if answer.status == 200 else None
        return found and {"apiVersion": key.api_version, "kind": key.kind, **found}

    def deployment(self, name: str) -> Object:
        """A live Deployment."""
        found = self.get(ObjectKey("apps/v1", "Deployment", NAMESPACE, name))
        assert found is not None
        return found

    def found(self, path: str) -> list[Object]:
        """Objects of the platform's namespace, such as ``apis/apps/v1/…/replicasets``."""
        items: list[Object] = self.lab.request("GET", f"/{path.replace('…', f'namespaces/{NAMESPACE}')}").body["items"]
        return items

    def pods(self, app: str) -> list[Object]:
        """The pods of a Deployment, by their ``app.kubernetes.io/name``, that are not being deleted."""
        return [
            pod
            for pod in self.found("api/v1/…/pods")
            if pod["metadata"]["labels"].get("app.kubernetes.io/name") == app
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def nodes_of(self, app: str) -> list[Object]:
        """The nodes that a Deployment's pods run on."""
        nodes = {node["metadata"]["name"]: node for node in self.lab.request("GET", "/api/v1/nodes").body["items"]}
        return [nodes[pod["spec"]["nodeName"]] for pod in self.pods(app) if "nodeName" in pod["spec"]]

    def replica_sets(self) -> dict[str, int]:
        """The number of ReplicaSets of each Deployment, by name."""
        found: dict[str, int] = {}
        for item in self.found("apis/apps/v1/…/replicasets"):
            owner = item["metadata"]["ownerReferences"][0]["name"]
            found[owner] = found.get(owner, 0) + 1
        return found

    def finish(self) -> None:
        """Applies again and checks that each object is as planned."""
        self.modelyard("apply", self.name, "--yes")
        self.settle()
        plan = self.plan()
        assert plan.changed == ()
        for target in plan.targets:
            live = self.get(target.key)
            assert live is not None
            assert comparable(live) == comparable(target.after.reveal())

    def settle(self) -> None:
        """Waits until every Deployment has rolled out."""
        from lab.install import rolled_out

        self.lab.wait("the rollouts", lambda: rolled_out(self.lab))


@contextmanager
def environment(name: str, folder: Path) -> Iterator[Environment]:
    """A new lab with the platform ``name``, and a copy of the project; the lab stops when the context ends."""
    with Lab.start(folder / "lab", context=name) as lab:
        lab.install_platform(name)
        yield Environment(name, lab, folder / "project")


def ci_machine(env: Environment, folder: Path) -> dict[str, str]:
    """The variables of a CI runner that has the engine, keeps state in a folder, and reaches no cluster yet."""
    backend = folder / "state"
    backend.mkdir(exist_ok=True)
    lab = {name: value for name, value in env.env.items() if name.startswith(("PULUMI_", "XDG_", "MODELYARD_"))}
    made = machine(folder, lab)
    del made["KUBECONFIG"]
    tools = f"{env.lab.tools.bin}{os.pathsep}{Path(sys.executable).parent}"
    return made | {"PATH": f"{made['PATH']}{os.pathsep}{tools}", "PULUMI_BACKEND_URL": backend.as_uri()}


def _steps(log: Path) -> Iterator[tuple[str, str, str]]:
    """The steps of an engine's event log, without the refresh that precedes them."""
    kinds = {"resourcePreEvent": "begin", "resOutputsEvent": "end"}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        for field, kind in kinds.items():
            step = event.get(field, {}).get("metadata")
            if step is not None and step["type"].startswith("kubernetes:") and step["op"] != "refresh":
                yield kind, step["op"], step["urn"].rpartition("::")[2]


def identity(lab: Lab) -> str:
    """Returns the identity of a lab's cluster, as modelyard names it."""
    return str(lab.request("GET", "/api/v1/namespaces/kube-system").body["metadata"]["uid"])


def managed_fields(body: Object) -> list[Object]:
    """The managed fields without times and without those of the status."""
    kept = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
    entries = [{name: value for name, value in each.items() if name != "time"} for each in kept]
    return sorted(entries, key=lambda each: json.dumps(each, sort_keys=True))


def comparable(body: Object) -> Object:
    """What a plan predicts of an object: everything but status, versions and times, with the owners of its fields."""
    return {"object": essence(body), "owners": managed_fields(body)}


def words(done: Done) -> str:
    """The complete output of a command, on one line."""
    return " ".join((done.stdout + done.stderr).split())


def scale(env: Environment, name: str, replicas: int, manager: str) -> None:
    """Scales a Deployment, as an autoscaler does."""
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}/scale?fieldManager={manager}"
    answer = env.lab.request(
        "PATCH", path, {"spec": {"replicas": replicas}}, content_type="application/merge-patch+json"
    )
    assert answer.status == 200, answer
