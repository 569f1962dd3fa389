"""The committed recordings equal the output of ``modelyard record``, and a GitOps tool builds the planned objects."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import Lab
from modelyard.cli import main
from modelyard.kube import merge
from modelyard.kube.state import essence
from modelyard.plan.project import plan_recorded
from modelyard.plan.undo.ledger import without_ledger
from tests.lab.support.environment import PlatformLab

ROOT = Path(__file__).resolve().parents[2]
STACKS = ["dev", "staging", "prod"]

VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "generation", "time", "observedGeneration"}
TIMES = {"lastHeartbeatTime", "lastTransitionTime", "lastUpdateTime"}
HASHED = re.compile(r'-[0-9a-f]{8,10}(-[a-z0-9]{5})?(?=[" ]|$)')
"""The suffix that a controller adds to the names of ReplicaSets and pods."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for part in ("stacks", "patches"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    return tmp_path


def steady(value: Any) -> Any:
    """A recording without values that differ between clusters: identities, versions, times, ports and IPs."""
    match value:
        case dict():
            if set(value) >= {"manager", "operation"}:
                value = {**value, "time": ""}
            return {
                key: steady(item)
                for key, item in sorted(value.items())
                if key not in VOLATILE | TIMES | {"identity", "kubeletEndpoint"}
            }
        case list():
            return sorted(map(steady, value), key=lambda item: json.dumps(item, sort_keys=True))
        case str():
            return HASHED.sub("-*", re.sub(r"\b\d+\.\d+\.\d+\.\d+(:\d+)?\b", "*", value))
        case _:
            return value


def recording(folder: Path) -> dict[str, Any]:
    found = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    cluster = found["cluster.json"]
    kinds = {
        node["metadata"]["name"]: node["metadata"]["labels"]["node.kubernetes.io/instance-type"]
        for node in cluster["nodes"]
    }
    # The scheduler picks one of two equal nodes at random.
    for pod in cluster["pods"]:
        pod["node"] = kinds[pod["node"]]
    return {name: steady(body) for name, body in found.items()}


@pytest.mark.parametrize("stack", STACKS)
def test_a_new_recording_equals_the_committed_one(
    stack: str, project: Path, platform_lab: PlatformLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab: Lab = platform_lab(stack)
    committed = recording(ROOT / "stacks" / "recorded" / stack)
    shutil.rmtree(project / "stacks" / "recorded" / stack)
    monkeypatch.setenv("KUBECONFIG", str(lab.kubeconfig))
    assert main(["-C", str(project), "record", stack]) == 0
    assert recording(project / "stacks" / "recorded" / stack) == committed


def test_a_recording_contains_nodes_and_owners() -> None:
    cluster = json.loads((ROOT / "stacks" / "recorded" / "dev" / "cluster.json").read_text())
    assert cluster["schemaSha256"] == merge.MergeSchema.kubernetes("1.35").sha256
    assert all("managedFields" in node["metadata"] and "allocatable" in node["status"] for node in cluster["nodes"])


@pytest.mark.parametrize("stack", STACKS)
def test_kustomize_builds_the_objects_of_the_plan(stack: str, project: Path, platform_lab: PlatformLab) -> None:
    lab = platform_lab("dev")
    out = project / "overlays"
    assert main(["-C", str(project), "render", stack, "--format", "kustomize", "--out", str(out)]) == 0
    built = list(yaml.safe_load_all(lab.kubectl("kustomize", str(out / stack)).stdout))
    plan = plan_recorded(project, project / "stacks" / f"Pulumi.{stack}.yaml", date.today()).plan
    assert plan is not None
    assert len(built) == len(plan.targets)
    schema = merge.MergeSchema.kubernetes("1.35")
    for body in built:
        (target,) = (one for one in plan.targets if one.name == body["metadata"]["name"])
        # The ledger is for modelyard's own undo, so a GitOps tool does not get it.
        wanted = without_ledger(essence(target.after.reveal()))
        assert wanted != essence(target.after.reveal())
        assert merge.diff(wanted, body, schema.of(body["apiVersion"], body["kind"])) == ()


def test_recordings_contain_no_secret_and_no_machine_name() -> None:
    for path in (ROOT / "stacks" / "recorded").rglob("*.json"):
        text = path.read_text()
        assert str(Path.home()) not in text or str(Path.home()) == "/"
        assert os.uname().nodename not in text
        assert '"kind": "Secret"' not in text


def test_record_reports_missing_access(project: Path, lab: Lab, tmp_path: Path) -> None:
    command = [str(Path(sys.prefix) / "bin" / "modelyard"), "-C", str(project), "record", "dev"]
    for user, words in (("expired", "credentials"), ("stranger", "may not read")):
        env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig_of(user))}
        done = subprocess.run([*command, "--context", "lab"], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "")
        assert words in done.stderr
        assert "Traceback" not in done.stderr
