"""render as a user runs it: files for other tools, all of them or none."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def test_what_is_made_whole_is_in_no_file_of_patches_and_that_is_said(project: Any, run: Any) -> None:
    project.add("""
modelyard:runtime: {image: "a/b:1"}
modelyard:resources:
  - {name: web, type: serving, cpu: 1, memory: 2Gi}
modelyard:jobs:
  - {name: scores, type: serving, resource: web}
  - {name: load, type: data-sink}
""")
    result = run("render", "dev")
    assert (result.code, result.out) == (0, "7 files written to out/vendor\n")
    assert "2 objects of the plan are created" in result.err
    whole = run("render", "dev", "--format", "kustomize")
    assert "made whole" not in whole.err
    assert (project.root / "out/kustomize/dev/resource-web.yaml").exists()
    assert (project.root / "out/kustomize/dev/job-load.yaml").exists()


def test_render_for_the_vendors_tool(project: Any, run: Any) -> None:
    assert run("render", "staging").out == "8 files written to out/vendor\n"
    folder = project.root / "out/vendor/staging"
    files = sorted(path.name for path in folder.glob("*.yaml"))
    assert files[0] == "01-training-route.v1.deployment-api-server.yaml"
    assert len(files) == 8
    for name in files:
        text = (folder / name).read_text()
        assert text.startswith(f"# target: {name.split('.')[-2]}\n")
        assert yaml.safe_load(text)["kind"] == "Deployment"


def test_render_as_a_kustomization(project: Any, run: Any) -> None:
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


def test_each_remote_cluster_has_a_kustomization_of_its_own(project: Any, run: Any) -> None:
    remote(project, "far")
    done = run("render", "dev", "--format", "kustomize", "--out", "gitops")
    assert (done.code, done.out.splitlines()[1]) == (0, "remote cluster far: gitops/dev/remotes/far")
    folder = project.root / "gitops/dev"
    assert "remotes" not in (folder / "kustomization.yaml").read_text()
    there = folder / "remotes/far"
    names = yaml.safe_load((there / "kustomization.yaml").read_text())["resources"]
    assert sorted(names) == sorted(path.name for path in there.glob("*.yaml") if path.name != "kustomization.yaml")
    kinds = {yaml.safe_load((there / name).read_text())["kind"] for name in names}
    assert kinds == {"Namespace", "ServiceAccount", "ResourceFlavor", "ClusterQueue", "LocalQueue"}


def test_in_the_vendors_form_remote_clusters_have_whole_objects_in_order(project: Any, run: Any) -> None:
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
def test_a_remote_cluster_that_goes_takes_its_folder_along(project: Any, run: Any, form: str) -> None:
    before = project.stack_file().read_text()
    remote(project, "far")
    run("render", "dev", "--format", form, "--out", "out")
    project.stack_file().write_text(before)
    assert "remote cluster" not in run("render", "dev", "--format", form, "--out", "out").out
    assert [path for path in (project.root / "out/dev").rglob("*") if path.is_file() and "remotes" in path.parts] == []


def test_a_cluster_in_which_nothing_is_asked_for_has_no_folder(project: Any, run: Any) -> None:
    remote(project, "far")
    project.add("modelyard:patches: [{name: remote-cluster, enabled: false}]")
    done = run("render", "dev", "--format", "kustomize", "--out", "gitops")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert not (project.root / "gitops/dev/remotes").exists()


def test_a_rule_that_an_object_of_a_remote_cluster_breaks_stops_the_rendering(
    project: Any, run: Any, refused: Any
) -> None:
    remote(project, "far")
    (project.root / "policies/rules").mkdir(parents=True)
    shutil.copy(ROOT / "policies/rules/organisation.py", project.root / "policies/rules")
    project.add("modelyard:policy: {rules: {POL112: {params: {allow: [ml-platform]}}}}")
    done = refused("render", "dev", "--format", "kustomize", code=1)
    assert "POL112 on far: far is in namespace modelyard-remote, which is not allowed" in done.words
    assert "nothing was written" in done.words
    assert run("check", "dev").code == run("plan", "dev").code == 1


def test_render_for_machines_has_the_same_files(project: Any, run: Any, cli: Any) -> None:
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


def test_an_empty_replicas_that_would_start_a_pod_is_told(project: Any, run: Any) -> None:
    rendered = run("render", "staging")
    assert rendered.code == 0
    assert "AUT004  " in rendered.err
    assert "deployment-ray-model-training-worker" not in rendered.err  # one runs already
    assert "AUT004" not in run("render", "staging", "--format", "kustomize").err


def test_a_file_of_somebody_else_is_not_overwritten(project: Any, run: Any, cli: Any) -> None:
    folder = project.root / "gitops/dev"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("mine\n")
    result = run("render", "dev", "--format", "kustomize", "--out", "gitops")
    assert result.code == 2
    assert "kustomization.yaml exists and was not written by modelyard" in result.words
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


def test_a_manifest_cannot_remove_files_elsewhere(project: Any, run: Any) -> None:
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


@pytest.mark.parametrize("form", ["vendor", "kustomize"])
def test_a_plan_with_errors_is_not_rendered(project: Any, refused: Any, form: str) -> None:
    blocked(project)
    result = refused("render", "dev", "--format", form, code=1)
    assert (result.out, result.errors) == ("", ["PAT013"])
    assert "error: nothing was written: dev has errors → correct them first; modelyard check dev shows" in result.words


def test_one_stack_with_errors_keeps_all_from_being_rendered(project: Any, refused: Any) -> None:
    blocked(project)
    blocked(project, "staging")
    result = refused("render", "--all", code=1)
    assert result.errors == ["PAT013", "PAT013"]
    assert "nothing was written: 2 of 3 stacks have errors (dev, staging)" in result.words
    assert refused("render", "--all", "--print", code=1).out == ""


def test_a_stack_that_cannot_be_read_weighs_more_than_one_with_errors(project: Any, refused: Any) -> None:
    blocked(project)
    project.edit(("training: celery", "training: selery"), stack="prod")
    result = refused("render", "--all", code=2)
    assert result.errors == ["PAT013", "CFG011"]


def test_files_of_an_earlier_run_stay_where_a_later_one_fails(project: Any, run: Any, cli: Any) -> None:
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
