"""Stacks planned on a real Ray cluster: the output is that of one machine, even if a node dies."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.environment import ROOT, environment
from tests.lab.support.ray_nodes import Nodes, ended, ray_nodes
from tests.lab.support.training_processes import kill, until

STACKS = 60
SLOW = '''
import time
from modelyard.policy import rule

@rule("POL901", kinds=["Deployment"], roles=["rayHead"])
def slow(subject, params):
    """Takes its time.

    **Why.** So that a test can act while it runs.

    **Example.** None.

    **Fix.** None.
    """
    time.sleep(0.3)
    return []
'''


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with ray_nodes(tmp_path_factory.mktemp("fleet")) as made:
        made.add()
        made.add()
        yield made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with many stacks, one of them invalid, and rules that take 18 seconds."""
    root = tmp_path_factory.mktemp("project")
    for name in ("patches", "policies", "stacks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", root)
    text = (root / "stacks/Pulumi.dev.yaml").read_text()
    for number in range(STACKS):
        name = f"s{number:02}"
        (root / f"stacks/Pulumi.{name}.yaml").write_text(text.replace("memory: 32Gi", f"memory: {32 + number}Gi"))
        (root / "stacks/recorded" / name).symlink_to("dev")
    (root / "stacks/Pulumi.s30.yaml").write_text("config: [")
    (root / "policies/rules/slow.py").write_text(SLOW)
    return root


@pytest.mark.parametrize("words", [("check", "--all", "--json"), ("plan", "s01", "s30", "dev", "--notes")])
def test_ray_workers_give_the_output_of_one_machine(nodes: Nodes, project: Path, words: tuple[str, ...]) -> None:
    found = ended(nodes.driver(project, *words))
    assert found == nodes.here(project, *words)
    assert found[1]


def test_ray_workers_give_the_preview_of_one_machine(nodes: Nodes, project: Path, tmp_path: Path) -> None:
    """Workers plan both commits; the base is in a temporary folder of the driver."""
    root = tmp_path / "project"
    shutil.copytree(project, root, symlinks=True)
    commit(root)
    for number in range(12):
        file = root / f"stacks/Pulumi.s{number:02}.yaml"
        file.write_text(file.read_text().replace(f"memory: {32 + number}Gi", f"memory: {33 + number}Gi"))
    (root / "stacks/Pulumi.s20.yaml").unlink()
    found = ended(nodes.driver(root, "preview", "--base", "HEAD", "--json"))
    assert found == nodes.here(root, "preview", "--base", "HEAD", "--json")
    stacks = {one["stack"]: one["status"] for one in json.loads(found[1])["stacks"]}
    assert (len(stacks), stacks["s20"]) == (13, "removed")


def test_workers_with_another_version_of_modelyard_are_rejected(nodes: Nodes, project: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "modelyard", tmp_path / "modelyard", ignore=shutil.ignore_patterns("__pycache__"))
    module = tmp_path / "modelyard/__init__.py"
    assert module.read_text().count('"0.1.0"') == 1
    module.write_text(module.read_text().replace('"0.1.0"', '"9.9.9"'))
    code, out, err = ended(nodes.driver(project, "check", "dev", package=tmp_path))
    assert (code, out) == (3, "")
    assert "the Ray workers have modelyard 0.1.0, and this is modelyard 9.9.9" in " ".join(err.split())
    assert "install modelyard==9.9.9 on the workers" in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_tasks(nodes: Nodes, project: Path, number: signal.Signals, code: int) -> None:
    driver = nodes.driver(project, "plan", "--all")
    until("tasks", lambda: all(nodes.tasks(node) for node in nodes.started[1:]), 60)
    driver.send_signal(number)
    driver.communicate(timeout=60)
    assert driver.returncode % 256 in (code, 256 - number)
    until("the end of the tasks", lambda: not any(nodes.tasks(node) for node in nodes.started[1:]), 30)
    until("empty folders", lambda: not list(nodes.temporary.glob("modelyard-*")), 30)


def test_a_killed_node_does_not_change_the_output(nodes: Nodes, project: Path) -> None:
    here = nodes.here(project, "plan", "--all", "--json")
    driver = nodes.driver(project, "plan", "--all", "--json")
    until("tasks", lambda: all(nodes.tasks(node) for node in nodes.started[1:]), 60)
    kill(nodes.started.pop())
    assert driver.poll() is None
    assert ended(driver) == here
    assert here[0] == 2


def test_live_commands_read_the_cluster_from_the_workers(tmp_path: Path) -> None:
    """They use their own Pulumi, state and kubeconfig. For previews, the driver reads the cluster."""
    folder = tmp_path / "dev"
    folder.mkdir()
    with environment("dev", folder) as dev:
        dev.modelyard("apply", "dev", "--yes")
        dev.settle()
        (dev.folder / ".gitignore").write_text(".venv\n.pulumi\n")
        commit(dev.folder)
        dev.lab.kubectl("scale", "deployment", "deployment-model-service", "--replicas=5", "--namespace", "ml-platform")
        dev.settle()
        dev.edit("memory: 16Gi\n    volume", "memory: 20Gi\n    volume")
        (tmp_path / "nodes").mkdir()
        env = {**dev.env, "PULUMI_BACKEND_URL": f"file://{dev.folder}"}
        with ray_nodes(tmp_path / "nodes", env) as nodes:
            nodes.add()
            for words, code, part in (
                (("drift", "dev"), 1, "replicas"),
                (("plan", "dev", "--live"), 0, "20Gi"),
                (("check", "dev", "--live"), 0, "1 stack checked"),
                (("preview", "--base", "HEAD", "--live"), 0, "20Gi"),
            ):
                found = ended(nodes.driver(dev.folder, *words))
                assert found == nodes.here(dev.folder, *words)
                assert found[0] == code, found
                assert part in found[1]


def commit(root: Path) -> None:
    """Creates a repository in a folder, with all files in one commit."""
    setting = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "one")):
        subprocess.run(["git", "-C", str(root), *setting, *words], check=True, capture_output=True)
