"""render as a user runs it: files for other tools, all of them or none.

What it prints is in ``tests/golden/test_cli_render.txt``.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def test_created_objects_are_rendered_only_as_a_kustomization(project: Any, run: Any, golden: Any) -> None:
    project.add("""
modelyard:runtime: {image: "a/b:1"}
modelyard:resources:
  - {name: web, type: serving, cpu: 1, memory: 2Gi}
modelyard:jobs:
  - {name: scores, type: serving, resource: web}
  - {name: load, type: data-sink}
""")
    patches, whole = run("render", "dev"), run("render", "dev", "--format", "kustomize")
    assert (patches.code, whole.code) == (0, 0)
    golden(patches, whole)
    names = {"resource-web.yaml", "job-load.yaml"}
    assert names <= {path.name for path in (project.root / "out/kustomize/dev").iterdir()}
    assert len([*(project.root / "out/vendor/dev").glob("*.yaml")]) == 7


def test_vendor_files_name_their_target(project: Any, run: Any) -> None:
    assert run("render", "staging").code == 0
    folder = project.root / "out/vendor/staging"
    files = sorted(path.name for path in folder.glob("*.yaml"))
    assert files[0] == "01-training-route.v1.deployment-api-server.yaml"
    assert len(files) == 8
    for name in files:
        text = (folder / name).read_text()
        assert text.startswith(f"# target: {name.split('.')[-2]}\n")
        assert yaml.safe_load(text)["kind"] == "Deployment"


def test_a_kustomization_lists_every_file(project: Any, run: Any) -> None:
    assert run("render", "dev", "--format", "kustomize", "--out", "gitops").code == 0
    folder = project.root / "gitops/dev"
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    named = [*kustomization["resources"], *(patch["path"] for patch in kustomization["patches"])]
    assert sorted(named) == sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*.yaml") if path.name != "kustomization.yaml"
    )
    assert len(kustomization["patches"]) == 5


def remote(project: Any, *names: str) -> None:
    """Adds resources with remote clusters of their own."""
    buckets = f"reachedBy: [platform, {', '.join(names)}]"
    lines = [f"modelyard:buckets: [{{name: lake, url: s3://acme-lake, {buckets}}}]", "modelyard:resources:"]
    for name in names:
        secrets = "readSecret: reads, writeSecret: writes"
        place = f'controller: "https://10.8.0.5:6443", context: {name}'
        cluster = f"{{{place}, quota: {{cpu: 8, memory: 32Gi}}, {secrets}}}"
        places = "data: {shared: {bucket: lake, prefix: datasets}}, model: {bucket: lake, prefix: models}"
        lines.append(
            f"  - {{name: {name}, type: training, remote: {{cluster: {cluster}, {places}, image: trainer:1}}}}"
        )
    project.add("\n".join(lines))


def test_each_remote_cluster_has_its_own_kustomization(project: Any, run: Any) -> None:
    remote(project, "far")
    done = run("render", "dev", "--format", "kustomize", "--out", "gitops")
    assert (done.code, done.out.splitlines()[1].split()[-1]) == (0, "gitops/dev/remotes/far")
    folder = project.root / "gitops/dev"
    assert "remotes" not in (folder / "kustomization.yaml").read_text()
    there = folder / "remotes/far"
    names = yaml.safe_load((there / "kustomization.yaml").read_text())["resources"]
    assert sorted(names) == sorted(path.name for path in there.glob("*.yaml") if path.name != "kustomization.yaml")
    kinds = {yaml.safe_load((there / name).read_text())["kind"] for name in names}
    assert kinds == {"Namespace", "ServiceAccount", "ResourceFlavor", "ClusterQueue", "LocalQueue"}


def test_vendor_files_of_remote_clusters_are_whole_objects_in_order(project: Any, run: Any) -> None:
    plain = json.loads(run("render", "dev", "--json", "--print").out)["stacks"][0]
    remote(project, "far", "near")
    stack = json.loads(run("render", "dev", "--json").out)["stacks"][0]
    assert stack["files"][: len(plain["files"])] == plain["files"]
    assert [(one["name"], one["context"], one["folder"]) for one in stack["remotes"]] == [
        ("far", "far", "remotes/far"),
        ("near", "near", "remotes/near"),
    ]
    sent = {one["remote"]: [target["applied"] for target in one["targets"]] for one in remotes(run)}
    for name in ("far", "near"):
        there = project.root / "out/vendor/dev/remotes" / name
        files = sorted(there.iterdir())
        assert files[0].name == "01-namespace-modelyard-remote.yaml"
        assert [yaml.safe_load(path.read_text()) for path in files] == sent[name]


def remotes(run: Any) -> list[dict[str, Any]]:
    """The plans of dev's remote clusters."""
    found: list[dict[str, Any]] = json.loads(run("plan", "dev", "--json").out)["remotes"]
    return found


@pytest.mark.parametrize("form", ["vendor", "kustomize"])
def test_the_folder_of_a_removed_remote_cluster_is_deleted(project: Any, run: Any, form: str) -> None:
    before = project.stack_file().read_text()
    remote(project, "far")
    run("render", "dev", "--format", form, "--out", "out")
    project.stack_file().write_text(before)
    assert "remote cluster" not in run("render", "dev", "--format", form, "--out", "out").out
    assert [path for path in (project.root / "out/dev").rglob("*") if path.is_file() and "remotes" in path.parts] == []


def test_a_remote_cluster_without_objects_has_no_folder(project: Any, run: Any) -> None:
    remote(project, "far")
    project.add("modelyard:patches: [{name: remote-cluster, enabled: false}]")
    done = run("render", "dev", "--format", "kustomize", "--out", "gitops")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert not (project.root / "gitops/dev/remotes").exists()


def test_a_policy_error_in_a_remote_cluster_stops_rendering(project: Any, run: Any, refused: Any) -> None:
    remote(project, "far")
    (project.root / "policies/rules").mkdir(parents=True)
    shutil.copy(ROOT / "policies/rules/organisation.py", project.root / "policies/rules")
    project.add("modelyard:policy: {rules: {POL112: {params: {allow: [ml-platform]}}}}")
    done = refused("render", "dev", "--format", "kustomize", code=1)
    assert "POL112 on far:" in done.words
    assert done.out == ""
    assert run("check", "dev").code == run("plan", "dev").code == 1


def test_json_has_the_same_files(project: Any, run: Any, cli: Any) -> None:
    before = cli.tree(project.root)
    printed = json.loads(run("render", "staging", "--json", "--print").out)
    assert cli.tree(project.root) == before
    assert (printed["format"], printed["folder"]) == ("vendor", None)
    written = json.loads(run("render", "staging", "--json").out)
    assert written["folder"] == "out/vendor"
    ((stack,), (same,)) = printed["stacks"], written["stacks"]
    assert stack == same
    for file in stack["files"]:
        assert (project.root / "out/vendor/staging" / file["name"]).read_text() == file["text"]


def test_an_empty_replicas_that_would_start_a_pod_is_a_warning(project: Any, run: Any) -> None:
    rendered = run("render", "staging")
    assert rendered.code == 0
    assert "AUT004  " in rendered.err
    assert "deployment-ray-model-training-worker" not in rendered.err  # one runs already
    assert "AUT004" not in run("render", "staging", "--format", "kustomize").err


def test_a_file_that_modelyard_did_not_write_is_not_overwritten(project: Any, run: Any, golden: Any) -> None:
    folder = project.root / "gitops/dev"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("mine\n")
    result = run("render", "dev", "--format", "kustomize", "--out", "gitops")
    assert result.code == 2
    golden(result)
    assert [path.name for path in folder.iterdir()] == ["kustomization.yaml"]
    assert (folder / "kustomization.yaml").read_text() == "mine\n"


def test_render_removes_what_it_wrote_before_and_nothing_else(project: Any, run: Any) -> None:
    run("render", "staging", "--out", "out")
    folder = project.root / "out/staging"
    (folder / "namespace.yaml").write_text("kind: Namespace\n")
    (folder / "08-mine.yaml").write_text("kind: Mine\n")
    project.edit(("mode: annotations\n    maxReplicas: 2", "mode: none"), stack="staging")
    run("render", "staging", "--out", "out")
    names = sorted(path.name for path in folder.glob("*.yaml"))
    assert not [name for name in names if "autoscaling" in name]
    assert {"namespace.yaml", "08-mine.yaml"} <= set(names)


def test_a_manifest_cannot_remove_other_files(project: Any, run: Any) -> None:
    folder = project.root / "out/dev"
    folder.mkdir(parents=True)
    (folder / ".modelyard").write_text("../../Pulumi.yaml\n/etc/hostname\n..\n\nstacks\n")
    assert run("render", "dev", "--out", "out").code == 0
    assert (project.root / "Pulumi.yaml").is_file()


def test_render_prints_exactly_what_it_would_write(project: Any, run: Any, cli: Any) -> None:
    before = cli.tree(project.root)
    printed = run("render", "dev", "--print").out
    assert cli.tree(project.root) == before
    run("render", "dev", "--out", "out")
    for path in (project.root / "out/dev").glob("*.yaml"):
        assert f"# dev/{path.name}\n{path.read_text()}" in printed


@pytest.mark.parametrize("form", ["vendor", "kustomize"])
def test_rendering_twice_changes_nothing(project: Any, run: Any, cli: Any, form: str) -> None:
    run("render", "--all", "--format", form, "--out", "out")
    once = cli.tree(project.root / "out")
    run("render", "--all", "--format", form, "--out", "out")
    assert cli.tree(project.root / "out") == once


def blocked(project: Any, stack: str = "dev") -> None:
    """Makes a stack's plan have an error."""
    project.add("modelyard:targets:\n  rayHead: {deployment: deployment-ray-hed}", stack)


def test_a_plan_with_errors_is_not_rendered(project: Any, refused: Any, golden: Any) -> None:
    blocked(project)
    results = [refused("render", "dev", "--format", form, code=1) for form in ("vendor", "kustomize")]
    assert [(one.out, one.errors) for one in results] == [("", ["PAT013"])] * 2
    golden(*results[0].err.splitlines()[-2:])


def test_no_stack_is_rendered_if_one_has_errors(project: Any, refused: Any, golden: Any) -> None:
    blocked(project)
    blocked(project, "staging")
    result = refused("render", "--all", code=1)
    assert (result.out, result.errors) == ("", ["PAT013", "PAT013"])
    golden(*result.err.splitlines()[-2:])
    assert refused("render", "--all", "--print", code=1).out == ""
    project.edit(("training: celery", "training: selery"), stack="prod")
    result = refused("render", "--all", code=2)
    assert result.errors == ["PAT013", "CFG011", "PAT013"]


def test_a_failed_run_keeps_the_files_of_an_earlier_one(project: Any, run: Any, cli: Any) -> None:
    run("render", "--all", "--out", "out")
    before = cli.tree(project.root / "out")
    blocked(project, "staging")
    assert run("render", "--all", "--out", "out").code == 1
    assert cli.tree(project.root / "out") == before


def test_many_stacks_are_rendered_by_many_processes(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modelyard.cli.fleet.WORTH_A_POOL", 2)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    pooled = run("render", "--all", "--print")
    monkeypatch.setattr("modelyard.cli.fleet.WORTH_A_POOL", 100)
    assert (pooled.code, pooled) == (0, run("render", "--all", "--print"))
