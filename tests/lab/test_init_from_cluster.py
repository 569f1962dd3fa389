"""``modelyard init --from-cluster`` on a real API server: a live plan of the new project has no changes."""

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from subprocess import CompletedProcess, run
from unittest.mock import patch

import pytest

from lab import Lab
from modelyard.plan import Plan
from modelyard.plan.project import plan_live
from tests.support.discovered_platforms import FOLDER, objects_in

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ("celery-only", "helm", "raycluster", "rayservice", "statefulsets", "two-candidates")
NAMESPACES = {name: next(body["metadata"]["namespace"] for body in objects_in(name)[::-1]) for name in OTHERS}
LISTS = ("deployments", "statefulsets", "rayclusters", "rayservices", "horizontalpodautoscalers", "scaledobjects")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A cluster with the vendor's platform and the CRDs of KubeRay and KEDA."""
    with Lab.start(tmp_path_factory.mktemp("init"), context="dev") as lab:
        lab.install_platform("dev")
        lab.install_crds()
        yield lab


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for part in ("patches", "policies"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    (tmp_path / "stacks").mkdir()
    shutil.copy(ROOT / "stacks/__main__.py", tmp_path / "stacks")
    return tmp_path


def modelyard(project: Path, lab: Lab, *words: str) -> CompletedProcess[str]:
    """Runs the command line as a user who may only read."""
    command = [str(Path(sys.prefix) / "bin" / "modelyard"), "-C", str(project), *words]
    env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig_of("viewer"))}
    return run(command, env=env, capture_output=True, text=True, check=False, timeout=240)


def live(project: Path, lab: Lab) -> Plan:
    with patch.dict("os.environ", lab.env()):
        planned = plan_live(project, project / "stacks/Pulumi.found.yaml", date.today())
    assert planned.plan is not None, planned.findings
    return planned.plan


def versions(lab: Lab, namespace: str) -> str:
    """The generations of a namespace's workloads and autoscalers: they change with every write to a spec."""
    form = "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation} {.metadata.annotations}\n{end}"
    return lab.kubectl("get", ",".join(LISTS), "--namespace", namespace, "--output", form).stdout


def unplannable(plan: Plan) -> list[str]:
    """Errors other than those about the platform's present sizes."""
    return [str(one) for one in plan.findings if one.blocks and one.code.startswith(("PAT", "OWN", "CFG"))]


def test_a_project_of_the_vendors_platform_plans_no_change(cluster: Lab, project: Path) -> None:
    before = versions(cluster, "ml-platform")
    done = modelyard(project, cluster, "init", "--from-cluster", "--namespace", "ml-platform", "--stacks", "found")
    assert done.returncode == 0, done.stderr
    assert (project / "stacks/Pulumi.found.yaml").read_text().count("enabled: false") == 6
    plan = live(project, cluster)
    assert (plan.targets, unplannable(plan)) == ((), [])
    assert versions(cluster, "ml-platform") == before


def test_each_patch_of_the_vendors_platform_can_be_turned_on(cluster: Lab, project: Path) -> None:
    """Each patch alone; a live plan then makes the change that the comment above the patch describes."""
    modelyard(project, cluster, "init", "--from-cluster", "--namespace", "ml-platform", "--stacks", "found", "--yes")
    file = project / "stacks/Pulumi.found.yaml"
    text = file.read_text()
    names = [line.partition("name: ")[2].partition(",")[0] for line in text.splitlines() if "enabled: false" in line]
    assert len(names) == 6
    for name in names:
        file.write_text(text.replace(f"{{name: {name}, enabled: false}}", f"{{name: {name}, enabled: true}}"))
        plan = live(project, cluster)
        assert unplannable(plan) == []
        changed = {change.patch for target in plan.targets for change in target.changes} - {None}
        silent = f"# {name} changes no value" in text
        assert {one.partition("@")[0] for one in changed if one} == (set() if silent else {name})


@pytest.mark.parametrize("name", OTHERS)
def test_projects_of_other_platforms_plan_no_change(name: str, cluster: Lab, project: Path) -> None:
    namespace = NAMESPACES[name]
    for each in sorted({body["metadata"]["namespace"] for body in objects_in(name)}):
        cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": each}})
    cluster.kubectl("apply", "--filename", str(FOLDER / f"{name}.yaml"))
    try:
        before = versions(cluster, namespace)
        words = ("init", "--from-cluster", "--namespace", namespace, "--stacks", "found", "--yes")
        done = modelyard(project, cluster, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        plan = live(project, cluster)
        assert (plan.targets, unplannable(plan)) == ((), [])
        assert versions(cluster, namespace) == before
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "--filename", str(FOLDER / f"{name}.yaml"))


def test_a_namespace_without_a_platform_is_rejected(cluster: Lab, project: Path) -> None:
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "empty"}})
    done = modelyard(project, cluster, "init", "--from-cluster", "--namespace", "empty", "--stacks", "found", "--yes")
    assert done.returncode == 2
    assert "empty" in done.stderr.split()
    assert list((project / "stacks").iterdir()) == [project / "stacks/__main__.py"]
