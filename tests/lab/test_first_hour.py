"""A new project, made with the commands on the pages: from an empty folder or a running platform to an apply."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab import Lab
from lab.install import rolled_out
from tests.lab.support.environment import NAMESPACE
from tests.lab.support.new_project import Terminal

INSTALL, FROM_CLUSTER, FROM_EXAMPLE = slice(1), slice(1, 5), slice(5, None)
"""The README's blocks with the installation and the two starts."""
WORKER = "deployment-ray-model-training-worker"
SERVICE = "deployment-model-service"


class Site(NamedTuple):
    """A cluster with the vendor's platform, and the shell of a user who has followed the quick start."""

    lab: Lab
    terminal: Terminal
    outputs: list[str]
    """The output of each block."""

    def replicas(self, name: str) -> Any:
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}"
        return self.lab.request("GET", path).body["spec"]["replicas"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hour")
    with Lab.start(folder / "lab", context="dev") as lab:
        lab.install_platform("dev")
        terminal = Terminal(folder, lab)
        terminal.follow("README.md", only=INSTALL)
        yield Site(lab, terminal, terminal.follow("README.md", only=FROM_EXAMPLE))


def targets(output: str) -> set[str]:
    """The targets of the plans in an output."""
    return set(re.findall(r"^(?:\d+\. )?~ (\S+)", output, re.MULTILINE))


def test_the_quick_start_ends_with_an_applied_change(site: Site) -> None:
    begun, preview, applied = site.outputs
    assert "error" not in begun
    assert len(targets(begun)) == 5
    # The comment for reviewers has only the change of the branch.
    assert "<!-- modelyard preview -->" in preview
    assert "<code>modelyard apply dev</code>" in preview
    assert "| replicas | <code>1</code> | <code>2</code> |" in preview
    assert "dev: succeeded" in applied
    assert site.replicas(WORKER) == 2
    assert site.terminal.run("git status --short") == ""
    for source in ("", "--live"):
        site.terminal.run(f"modelyard plan dev {source} --detailed-exitcode")


def test_pulumi_alone_runs_the_program_and_the_policies(site: Site) -> None:
    """Pulumi runs them from the installed package, without the modelyard command."""
    stack = site.terminal.project / "stacks" / "Pulumi.dev.yaml"
    text = stack.read_text()
    before = "modelyard:modelService:\n    replicas: 1"
    assert text.count(before) == 1
    stack.write_text(text.replace(before, before.replace("1", "2")))
    words = "--stack dev --policy-pack policies --non-interactive"
    passphrase = {"PULUMI_CONFIG_PASSPHRASE": ""}
    up = site.terminal.run(f"pulumi up --yes --skip-preview {words}", env=passphrase)
    assert "modelyard@v0.1.0 (local: policies)" in up
    assert "1 updated" in up
    site.lab.wait("the rollouts", lambda: rolled_out(site.lab))
    assert site.replicas(SERVICE) == 2
    site.terminal.run("modelyard plan dev --live --detailed-exitcode")
    rule = site.terminal.project / "policies" / "assertions" / "no-surge.yaml"
    stricter = {"value: [0, 0%]": "value: [7]", "level: advisory": "level: mandatory"}
    for before, after in stricter.items():
        assert before in rule.read_text()
        rule.write_text(rule.read_text().replace(before, after))
    stopped = site.terminal.run(f"pulumi preview {words}", code=1, env=passphrase)
    assert "POL900" in stopped
    assert f"{WORKER} rolls out with a surge of 0" in " ".join(stopped.split())


SIZES = {
    SERVICE: "cpu=4,memory=16Gi",
    "deployment-ray-head": "cpu=2,memory=16Gi",
    WORKER: "cpu=8,memory=32Gi,nvidia.com/gpu=1",
}
"""Sizes that pass the rules; the vendor's are too small."""
PATCHES = {
    SERVICE: {"volumes": [{"name": "local-models", "emptyDir": {"sizeLimit": "50Gi"}}]},
    WORKER: {"terminationGracePeriodSeconds": 21900},
}
RAY_CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: training, namespace: ml-platform}
spec:
  rayVersion: 2.52.0
  headGroupSpec:
    rayStartParams: {num-cpus: "0"}
    template:
      spec:
        containers:
          - name: ray-head
            image: rayproject/ray:2.52.0
            resources: {requests: {cpu: 2, memory: 16Gi}, limits: {cpu: 2, memory: 16Gi}}
  workerGroupSpecs:
    - groupName: a10
      replicas: 1
      minReplicas: 0
      maxReplicas: 2
      rayStartParams: {}
      template:
        spec:
          terminationGracePeriodSeconds: 21900
          containers:
            - name: ray-worker
              image: rayproject/ray:2.52.0-gpu
              resources:
                requests: {cpu: 8, memory: 32Gi, nvidia.com/gpu: 1}
                limits: {cpu: 8, memory: 32Gi, nvidia.com/gpu: 1}
"""


def healthy(lab: Lab, *, kuberay: bool) -> None:
    """Installs the platform with sizes that pass the rules; with ``kuberay``, KubeRay runs Ray."""
    lab.install_platform("dev")
    ours = ("--namespace", NAMESPACE)
    for name, size in SIZES.items():
        lab.kubectl("set", "resources", "deployment", name, f"--requests={size}", f"--limits={size}", *ours)
    for name, spec in PATCHES.items():
        lab.kubectl("patch", "deployment", name, "--patch", json.dumps({"spec": {"template": {"spec": spec}}}), *ours)
    if kuberay:
        lab.kubectl("delete", "deployment", "deployment-ray-head", WORKER, *ours)
        lab.start_operators("kuberay")
        lab.kubectl("apply", "--filename", "-", stdin=RAY_CLUSTER)
        # KubeRay also creates the head's Service, which must exist before the objects are counted.
        service = f"/api/v1/namespaces/{NAMESPACE}/services/training-head-svc"
        lab.wait("the head's Service", lambda: lab.request("GET", service).status == 200)
    lab.wait("the rollouts", lambda: rolled_out(lab))


def generations(lab: Lab) -> dict[str, int]:
    """The generation of each object, by name: it changes with every write to the spec."""
    kinds = "deployments,services,rayclusters" if "kuberay" in lab.status() else "deployments,services"
    items = json.loads(lab.kubectl("get", kinds, "--namespace", NAMESPACE, "--output", "json").stdout)["items"]
    return {one["metadata"]["name"]: one["metadata"].get("generation", 0) for one in items}


@pytest.mark.parametrize("kuberay", [False, True], ids=["deployments", "kuberay"])
def test_a_running_platform_gets_its_first_patch(tmp_path: Path, kuberay: bool) -> None:
    with Lab.start(tmp_path / "lab", context="dev") as lab:
        healthy(lab, kuberay=kuberay)
        before = generations(lab)
        terminal = Terminal(tmp_path, lab)
        terminal.follow("README.md", only=INSTALL)
        written, preview, applied = terminal.follow("README.md", only=FROM_CLUSTER)
        assert targets(written) == set()
        assert "<code>modelyard apply dev</code>" in preview
        assert "| resources ephemeral-storage request |  | <code>50Gi</code> |" in preview
        assert targets(applied) == {SERVICE}
        assert "dev: succeeded" in applied
        assert ("rayCluster: training" in (terminal.project / "stacks" / "Pulumi.dev.yaml").read_text()) == kuberay
        terminal.run("modelyard plan dev --live --detailed-exitcode")
        after = generations(lab)
        assert {name for name, number in after.items() if before[name] != number} == {SERVICE}
