"""``modelyard init --from-cluster``: a stack file for an existing platform, and a first plan without changes.

``tests/golden/test_cli_init_from_cluster.txt`` has what it prints.
"""

import io
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.api_server import ApiServer, api_server
from tests.support.cli_project import ROOT, tree
from tests.support.discovered_platforms import PLURALS, objects_in

Golden = Callable[..., None]
VENDOR = ROOT / "stacks/recorded/dev"
INIT = ("init", "--from-cluster", "--stacks", "found")
WORKERS = "deployment-ray-model-training-worker"
SPOT = "deployment-ray-spot"


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster without a platform."""
    with api_server(tmp_path) as made:
        made.page = 500
        made.objects |= {plural: [] for plural in PLURALS.values()}
        made.objects |= {"nodes": list(objects_in("nodes")), "pods": [], "resourcequotas": []}
        made.answers = {
            "/version": {"gitVersion": "v1.35.4"},
            "/api/v1/namespaces/kube-system": {"metadata": {"uid": "a-cluster"}},
        }
        monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        yield made


@pytest.fixture
def vendor(cluster: ApiServer) -> ApiServer:
    """A cluster with the vendor's platform."""
    cluster.objects["deployments"] += [json.loads(path.read_text()) for path in sorted(VENDOR.glob("deployment.*"))]
    cluster.objects["nodes"] = json.loads((VENDOR / "cluster.json").read_text())["nodes"]
    return cluster


@pytest.fixture
def spot(vendor: ApiServer) -> ApiServer:
    """The vendor's platform with a second Deployment of Ray workers."""
    (workers,) = (one for one in vendor.objects["deployments"] if one["metadata"]["name"] == WORKERS)
    vendor.objects["deployments"].append(deepcopy(workers))
    vendor.objects["deployments"][-1]["metadata"]["name"] = SPOT
    return vendor


@pytest.fixture
def project(project: Any) -> Any:
    """A project without stacks."""
    for path in project.root.glob("stacks/Pulumi.*.yaml"):
        path.unlink()
    return project


def test_the_first_plan_changes_nothing(vendor: ApiServer, project: Any, run: Any, golden: Golden) -> None:
    done = run(*INIT)
    golden(done)
    assert "RES001" in done.errors, "the platform's pods are smaller than the rules allow"
    planned = json.loads(run("plan", "found", "--json").out)
    assert planned["targets"] == []
    assert "CFG101" not in {one["code"] for one in planned["findings"]}, "the platform is recorded"
    assert run("fmt", "--check", "stacks/Pulumi.found.yaml").code == 0
    assert "guess" not in project.stack_file("found").read_text()


def test_an_enabled_patch_changes_what_its_comment_lists(vendor: ApiServer, project: Any, run: Any) -> None:
    run(*INIT)
    text = project.stack_file("found").read_text()
    comment = text.partition("    # ray-head changes ")[2].partition("    - {name: ray-head")[0]
    project.edit(("{name: ray-head, enabled: false}", "{name: ray-head, enabled: true}"), stack="found")
    (target,) = json.loads(run("plan", "found", "--json").out)["targets"]
    fields = {change["field"] for change in target["changes"] if change["patch"] == "ray-head@v1"}
    assert len(fields) == 5, fields
    assert "spec.template.spec.containers[name=ray-head].resources.requests.memory" not in fields
    for words in ("maxSurge 25% → 0", "maxUnavailable 25% → 1", "node affinity", "RAY_OVERRIDE_RESOURCES"):
        assert words in comment


def test_a_guess_needs_an_answer_or_yes(
    spot: ApiServer, project: Any, run: Any, refused: Any, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = refused(*INIT, code=2)
    monkeypatch.setattr("sys.stdin", Terminal(""))
    golden(batch, refused(*INIT, code=2))
    assert run(*INIT, "--yes").code == 0
    (line,) = (one for one in project.stack_file("found").read_text().splitlines() if "guess" in one)
    assert f"{{deployment: {WORKERS}," in line
    assert f"# guess: 2 candidates, {WORKERS} and {SPOT}" in line


def test_a_person_chooses(
    spot: ApiServer, project: Any, run: Any, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("workers\n2\n"))
    done = run(*INIT)
    assert done.code == 0, done
    # The first answer was no number.
    golden(done.err)
    text = project.stack_file("found").read_text()
    assert f"rayWorker: {{deployment: {SPOT}, container: ray-model-training-worker}}\n" in text


def test_a_stack_file_is_never_overwritten(vendor: ApiServer, project: Any, refused: Any) -> None:
    project.stack_file("dev").write_text("config: {}\n")
    assert "stacks/Pulumi.dev.yaml exists" in refused("init", "--from-cluster", code=2).words
    assert vendor.asked == []


def test_a_project_is_written_in_an_empty_folder(vendor: ApiServer, run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    done = run("-C", str(folder), *INIT)
    assert done.code == 0
    assert (folder / "patches/patches.lock").is_file()
    assert run("-C", str(folder), "plan", "found", "--detailed-exitcode").code != 5


def test_no_project_is_written_without_a_platform(cluster: ApiServer, refused: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    assert refused("-C", str(folder), *INIT, code=2)[1:] == refused(*INIT, code=2)[1:]
    assert list(folder.iterdir()) == []


FAILING = ("the stack file", "an object", "the folder", "a signal at the end")
"""What cannot be written, in the order in which it is written."""


@pytest.fixture
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run that fails where its parameter says."""
    what: str = request.param
    opened, moved = os.open, Path.rename

    def open_file(path: Any, flags: int, *words: Any, **more: Any) -> int:
        at = Path(path)
        made = {"policy.yaml": "a file of the project", "Pulumi.found.yaml": "the stack file"}.get(at.name)
        if flags & os.O_CREAT and what in (made, "an object" if at.parent.name == "new" else None):
            raise OSError(28, "No space left on device", str(path))
        return opened(path, flags, *words, **more)

    def rename(path: Path, to: Path) -> Path:
        if what == "the folder" and path.name == "new":
            raise OSError(28, "No space left on device", str(to))
        return moved(path, to)

    def stop(folder: Path) -> list[Path]:
        if what == "a signal at the end":
            os.kill(os.getpid(), signal.SIGTERM)
        return []

    monkeypatch.setattr(os, "open", open_file)
    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr("modelyard.cluster.folder.unfinished", stop)
    return what


@pytest.mark.parametrize("failing", ["a file of the project", *FAILING], indirect=True)
def test_a_failure_leaves_a_new_folder_empty(vendor: ApiServer, failing: str, run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    done = run("-C", str(folder), *INIT)
    assert done.code == (143 if failing == "a signal at the end" else 2), done
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("failing", FAILING, indirect=True)
def test_a_failure_leaves_a_project_as_it_was(vendor: ApiServer, project: Any, failing: str, run: Any) -> None:
    if failing != "a signal at the end":
        shutil.copytree(VENDOR, project.root / "stacks/recorded/found")
    before = tree(project.root)
    assert run(*INIT).code != 0
    assert tree(project.root) == before


def test_a_cluster_without_one_platform(cluster: ApiServer, project: Any, refused: Any, golden: Golden) -> None:
    cluster.objects["deployments"] += objects_in("unrelated")
    none = refused(*INIT, code=2)
    cluster.objects["deployments"] += objects_in("namespaces")
    golden(none, refused(*INIT, code=2), refused(*INIT, "--namespace", "shop", code=2))


def test_a_namespace_is_needed_without_the_right_to_list_all(vendor: ApiServer, run: Any, refused: Any) -> None:
    vendor.forbidden |= {"deployments@"}
    vendor.answers["/apis/apps/v1"] = {}
    result = refused(*INIT, code=3)
    assert "list Deployments" in result.words
    assert "--namespace" in result.words
    assert run(*INIT, "--namespace", "ml-platform").code == 0


def test_a_cluster_without_some_kinds(vendor: ApiServer, run: Any) -> None:
    for plural in ("rayclusters", "rayservices", "scaledobjects"):
        del vendor.objects[plural]
    assert run(*INIT).code == 0


def test_a_stack_file_names_the_schema_of_the_project(vendor: ApiServer, project: Any, run: Any) -> None:
    (project.root / "stacks/stack.schema.json").write_text(run("schema", "stack").out)
    assert run(*INIT).code == 0
    assert project.stack_file("found").read_text().startswith("# yaml-language-server: $schema=stack.schema.json\n")


def test_the_stack_of_a_cloud_context_has_a_short_name(vendor: ApiServer, project: Any, run: Any) -> None:
    text = vendor.kubeconfig.read_text()
    arn = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"
    vendor.kubeconfig.write_text(text.replace("dev", arn))
    assert run("init", "--from-cluster").code == 0
    assert yaml.safe_load(project.stack_file("prod").read_text())["config"]["kubernetes:context"] == arn


@pytest.mark.parametrize(
    ("name", "worker", "version"),
    [
        ("raycluster", "rayWorker: {rayCluster: training, group: a10, container: ray-worker}", "v4"),
        ("rayservice", "rayWorker: {rayService: models, group: a10, container: ray-worker}", "v4"),
        ("statefulsets", "rayWorker: {statefulSet: ", "v2"),
    ],
)
def test_platforms_of_other_kinds(
    name: str, worker: str, version: str, cluster: ApiServer, project: Any, run: Any
) -> None:
    for body in objects_in(name):
        cluster.objects[PLURALS[body["kind"]]].append(body)
    done = run(*INIT, "--yes")
    assert (done.code, "RAY008" in done.errors) == (0, True), done
    text = project.stack_file("found").read_text()
    assert worker in text
    assert "{name: ray-worker, enabled: false}" in text
    assert (name == "raycluster") == ("group a10 of training" in run("show", "found").out)
    assert json.loads(run("plan", "found", "--json").out)["targets"] == []
    project.edit(("{name: ray-worker, enabled: false}", "{name: ray-worker, enabled: true}"), stack="found")
    (target,) = json.loads(run("plan", "found", "--json").out)["targets"]
    assert {change["patch"] for change in target["changes"]} <= {f"ray-worker@{version}", None}
    part = {"raycluster": "groupName=a10", "rayservice": "groupName=a10", "statefulsets": "spec.template"}[name]
    assert part in run("blame", "found", "rayWorker", "limits.memory").words
    # The head is in the same object.
    if name != "statefulsets":
        assert "headGroupSpec" in run("blame", "found", "rayHead", "limits.memory").words
    comment = text.partition("    # ray-worker changes ")[2].partition("    - {name: ray-worker")[0]
    assert "karpenter.sh/do-not-disrupt + true" in comment
