"""Each verb as a user runs it: what it prints, its options, its exit codes, and what it leaves behind."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelyard.cli.app import VERBS

STACKS = ("dev", "prod", "staging")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def applied(project: Any, run: Any, stack: str) -> None:
    """Makes what a plan predicts the recorded platform, as if it had been applied."""
    document = json.loads(run("plan", stack, "--json").out)
    for target in document["targets"]:
        name = f"{target['kind'].lower()}.{target['namespace']}.{target['name']}.json"
        (project.root / "stacks/recorded" / stack / name).write_text(json.dumps(target["after"]))


# plan


@pytest.mark.parametrize("stack", STACKS)
def test_plan_says_what_changes_in_which_order_and_what_comes_next(run: Any, stack: str) -> None:
    result = run("plan", stack)
    assert (result.code, result.err) == (0, "")
    for words in ("takes", "over from", "Order", "1. deployment-api-server:", f"Next: modelyard apply {stack}"):
        assert words in result.words
    assert f"{stack}: 5 targets to change" in result.words


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_that_changes_nothing_is_one_line(project: Any, run: Any, stack: str) -> None:
    applied(project, run, stack)
    result = run("plan", stack, "--detailed-exitcode")
    assert result.code == 0
    assert result.out.startswith(f"{stack}: no changes against stacks/recorded/{stack} (Kubernetes v1.")
    assert result.out.count("\n") == 1
    assert run("diff", stack).out == f"{stack}: no changes.\n"


def test_detailed_exitcode_tells_pending_changes_from_none_and_from_errors(project: Any, run: Any) -> None:
    assert run("plan", "dev", "--detailed-exitcode").code == 5
    project.edit(("model: A10", "model: L4"))
    assert run("plan", "dev", "--detailed-exitcode").code == 1


def test_several_plans_end_with_one_line_over_all(run: Any) -> None:
    result = run("plan", "dev", "prod")
    assert result.out.splitlines()[-1] == "2 stacks: 2 with changes, 0 without"
    assert run("plan", "--all").out.splitlines()[-1] == "3 stacks: 3 with changes, 0 without"


def test_a_stack_named_twice_is_planned_once(run: Any) -> None:
    assert run("plan", "dev", "dev").out == run("plan", "dev").out


def test_plan_of_single_targets(run: Any) -> None:
    result = run("plan", "dev", "--target", "ray-head", "--target", "api-server")
    assert "dev: 2 targets to change" in result.words
    assert "model-service" not in result.out
    document = json.loads(run("plan", "dev", "--target", "ray-head", "--json").out)
    assert [target["name"] for target in document["targets"]] == ["deployment-ray-head"]


def test_notes_are_counted_and_shown_on_request(run: Any) -> None:
    assert "OWN001" not in run("plan", "dev").out
    assert "OWN001" in run("plan", "dev", "--notes").out
    assert "OWN001" not in run("check", "dev").out
    assert "OWN001" in run("check", "dev", "--notes").out


def test_a_waived_finding_is_shown_with_its_reason_and_stops_nothing(project: Any, run: Any) -> None:
    project.edit(("model: A10", "model: A10G"))
    project.add("modelyard:waivers:\n  - {code: GPU001, reason: on order, expires: 2036-01-01}")
    assert "GPU001" not in run("plan", "dev").out
    result = run("check", "dev", "--notes")
    assert "waived GPU001" in result.words
    assert "waived: on order" in result.words
    # With the card accepted, that no node has it is news again.
    assert result.errors == ["RES101"]


def test_saving_and_showing_a_plan(project: Any, run: Any) -> None:
    result = run("plan", "dev", "--out", "plans/dev.json")
    saved = (project.root / "plans/dev.json").read_text()
    assert result.code == 0
    assert saved == run("plan", "dev", "--json").out
    assert run("show", "plans/dev.json", "--json").out == saved
    shown = run("show", "plans/dev.json").out
    assert [line for line in result.out.splitlines() if line not in shown.splitlines()] == []


def test_the_same_input_gives_the_same_bytes(run: Any) -> None:
    for words in (("plan", "--all", "--json"), ("check", "--all", "--json"), ("plan", "staging"), ("diff", "prod")):
        assert run(*words) == run(*words)


def test_plan_from_a_folder_below_and_from_elsewhere(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = run("plan", "dev").out
    monkeypatch.chdir(project.root / "stacks")
    assert run("plan", "dev").out == here
    monkeypatch.chdir("/")
    assert run("-C", str(project.root), "plan", "dev").out == here
    assert run("plan", "dev", "-C", str(project.root)).out == here


# show, check, diff


def test_show_a_stack(run: Any) -> None:
    result = run("show", "staging")
    for words in ("4 × NVIDIA A100 a worker", "multi_gpu", "192Gi", "autoscaled", "ray-worker-multi-gpu@v1"):
        assert words in result.words
    document = json.loads(run("show", "staging", "--json").out)
    worker = next(one for one in document["workloads"] if one["role"] == "rayWorker")
    assert (worker["memory"], worker["gpus"], worker["replicas"]) == ("192Gi", 4, None)
    assert document["gpu"]["perWorker"] == 4


def test_check_is_for_ci(project: Any, run: Any) -> None:
    result = run("check", "--all")
    assert result.code == 0
    assert re.fullmatch(r"3 stacks checked: 3 warnings, \d+ notes", result.out.splitlines()[-1])
    project.edit(("model: A30", "model: T4"), stack="prod")
    result = run("check", "--all")
    assert (result.code, result.errors) == (1, ["GPU001"])
    assert "stacks/Pulumi.prod.yaml:10:5" in result.out
    project.edit(("replicas: 2", "replicas: -2"))
    assert run("check", "--all").code == 2


def test_a_platform_without_faults_checks_clean(project: Any, run: Any) -> None:
    applied(project, run, "dev")
    assert run("check", "dev").out == "1 stack checked: nothing is wrong\n"


def test_diff_is_unified_and_by_target(run: Any) -> None:
    lines = run("diff", "dev", "--target", "ray-head").out.splitlines()
    assert lines[:2] == ["--- before/deployment-ray-head", "+++ after/deployment-ray-head"]
    assert "-            memory: 8Gi" in lines
    assert "+            memory: 16Gi" in lines
    assert not any("status" in line or "resourceVersion" in line for line in lines)
    fewer = run("diff", "dev", "--target", "ray-head", "--context", "0").out.splitlines()
    assert not any(line.startswith(" ") for line in fewer)
    document = json.loads(run("diff", "dev", "--json").out)
    assert len(document["diffs"]) == 5


def test_a_long_line_that_changes_is_shown_whole(run: Any) -> None:
    query = json.loads(run("blame", "staging", "training-tasks", "autoscaling/queries", "--json").out)["after"]
    lines = run("diff", "staging", "--target", "training-tasks").out.splitlines()
    start = next(index for index, line in enumerate(lines) if "autoscaling/queries" in line)
    parts = [lines[start].partition("queries: ")[2]]
    for line in lines[start + 1 :]:
        if not line.startswith("+…"):
            break
        parts.append(line[2:])
    assert yaml.safe_load("".join(parts)) == query


# render


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


# blame


def test_blame_leads_from_a_field_to_the_line_that_decides_it(run: Any) -> None:
    result = run("blame", "dev", "training-worker", "resources.limits.memory")
    for words in (
        "containers[name=ray-model-training-worker].resources.limits.memory",
        "after 32Gi",
        "set by ray-worker@v1 patches/ray-worker/v1/patch.yaml.j2",
        "memory = 32Gi stacks/Pulumi.dev.yaml:28",
        "before 12Gi",
        "held by kubectl-client-side-apply (Update)",
    ):
        assert words in result.words
    document = json.loads(run("blame", "dev", "training-worker", "resources.limits.memory", "--json").out)
    memory = next(source for source in document["settings"][0]["sources"] if source["param"] == "memory")
    assert memory == {"param": "memory", "value": "32Gi", "path": ["rayWorker", "memory"], "line": 28}


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("spec.replicas", "spec.replicas"),
        ("replicas", None),
        ("env[name=NUM_GPUS_REQUESTED].value", "env[name=NUM_GPUS_REQUESTED].value"),
        ("autoscaling/max_replicas", 'metadata.annotations["autoscaling/max_replicas"]'),
        ("limits.nvidia.com/gpu", 'resources.limits["nvidia.com/gpu"]'),
    ],
)
def test_blame_takes_whole_paths_ends_of_paths_and_names_without_quotes(run: Any, field: str, path: str | None) -> None:
    result = run("blame", "staging", "training-worker", field, "--json")
    if path is None:
        assert (result.code, "names" in result.out) == (2, True)
    else:
        assert json.loads(result.out)["field"].endswith(path)


def test_blame_of_a_field_that_nobody_of_ours_sets(run: Any) -> None:
    result = run("blame", "dev", "ray-head", "spec.progressDeadlineSeconds")
    assert "set by no patch" in result.words
    assert "held by kubectl-client-side-apply (Update)" in result.words


# tables and texts


def test_gpus(run: Any) -> None:
    lines = run("gpus").out.splitlines()
    assert lines[0].split()[:2] == ["OK?", "CARD"]
    assert any(line.split()[:2] == ["yes", "a10"] for line in lines)
    assert any(line.split()[:2] == ["no", "a10g"] for line in lines)
    only = [line.split()[0] for line in run("gpus", "--supported").out.splitlines()[1:-2]]
    assert set(only) == {"yes"}
    assert "121 FP16 TFLOPS < 125" in run("gpus", "l4").words
    h100 = json.loads(run("gpus", "H100", "--cuda", "12.4", "--json").out)["cards"]
    assert {card["supported"] for card in h100} == {"yes"}


def test_patches(run: Any) -> None:
    out = run("patches").out
    assert re.search(r"^ray-worker +v1 ", out, re.MULTILINE)
    one = run("patches", "ray-worker").words
    assert "takes part ray.available is true" in one
    assert "memory rayWorker.memory Memory of the whole pod" in one
    listed = json.loads(run("patches", "--json").out)["patches"]
    assert [patch["name"] for patch in listed] == sorted(patch["name"] for patch in listed)


def test_a_draft_is_released_once_and_then_fixed(project: Any, run: Any) -> None:
    folder = project.patch("mine", "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n")
    assert "v1 (draft)" in run("patches").out
    assert run("patches", "--release").out == "released mine/v1\n"
    assert run("patches", "--release").out == "every version is released already\n"
    assert "draft" not in run("patches").out
    (folder / "meta.yaml").write_text("description: changed\n")
    before = (project.root / "patches/patches.lock").read_text()
    result = run("patches", "--release")
    assert (result.code, result.errors) == (2, ["PAT003"])
    assert (project.root / "patches/patches.lock").read_text() == before


def test_explain(run: Any) -> None:
    codes = [line.split()[0] for line in run("explain").out.splitlines()]
    assert codes == sorted(codes)
    assert len(codes) > 70
    for code in codes:
        out = run("explain", code).out
        assert out.startswith(f"{code}  ")
        for word in ("Why", "Example", "Fix"):
            assert word in out, code
    assert run("explain", "gpu001") == run("explain", "GPU001")
    assert json.loads(run("explain", "GPU001", "--json").out)["code"] == "GPU001"


@pytest.mark.parametrize("name", ["stack", "plan", "findings", "outputs"])
def test_schema(run: Any, name: str) -> None:
    document = json.loads(run("schema", name).out)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"urn:modelyard:schema:{name}"
    assert document["title"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_scripts_are_programs_of_their_shell(run: Any, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(run("completion", shell).out)
    assert all(verb in script.read_text() for verb in VERBS)
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} to read it")
    assert subprocess.run([shell, "-n", script], capture_output=True, check=False).returncode == 0


def test_help_of_everything(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    for words in ((), *((verb,) for verb in VERBS)):
        result = run(*words, "--help")
        assert result.code == 0
        assert result.out.startswith(f"usage: modelyard {' '.join(words)}".rstrip())
        assert max(map(len, result.out.splitlines())) <= 100
    overview = run("--help").out
    assert all(f"  {verb} " in overview for verb in VERBS)
    assert re.search(r"^ +5  changes are pending", overview, re.MULTILINE)
    assert re.fullmatch(r"modelyard \d+\.\d+\.\d+\n", run("--version").out)


# colour and width


def test_colour_is_for_terminals_unless_asked_for(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("plan", "dev").out
    assert "\x1b" not in plain
    coloured = run("plan", "dev", "--colour", "always").out
    assert "\x1b[" in coloured
    assert ESCAPE.sub("", coloured) == plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in run("plan", "dev").out
    assert "\x1b" not in run("plan", "dev", "--color=never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("plan", "dev").out
    assert "\x1b[" in run("--colour", "always", "plan", "dev").out


def test_errors_are_coloured_when_asked_for(run: Any) -> None:
    assert run("plan", "nope", "--colour", "always").err.startswith("\x1b[1;31merror\x1b[0m: there is no stack")
    assert run("plan", "nope", "--colour=always").err.startswith("\x1b[1;31merror")


WIDE = [
    *(words for stack in STACKS for words in (("plan", stack, "--notes"), ("show", stack), ("diff", stack))),
    *(("blame", stack, role, "spec.replicas") for stack in STACKS for role in ("model-service", "training-worker")),
    ("check", "--all", "--notes"),
    ("blame", "staging", "training-tasks", "autoscaling/queries"),
    ("blame", "dev", "ray-head", "RAY_OVERRIDE_RESOURCES.value"),
    ("gpus",),
    ("gpus", "--embeds-ptx", "--cuda", "12.4"),
    ("gpus", "a100", "l4", "h100", "v100", "gh200"),
    ("patches",),
    *(("patches", name) for name in ("ray-worker", "autoscaling-ray", "training-replicas", "model-service")),
    ("plan", "dev", "--target", "nope"),
    ("blame", "dev", "ray-head", "cpu"),
]


@pytest.mark.parametrize("words", WIDE, ids=" ".join)
@pytest.mark.parametrize("colour", ["never", "always"])
def test_text_fits_100_columns(run: Any, words: tuple[str, ...], colour: str) -> None:
    result = run(*words, "--colour", colour)
    for line in ESCAPE.sub("", result.text).splitlines():
        assert len(line) <= 100, line


def test_explanations_fit_100_columns(run: Any) -> None:
    for line in run("explain").out.splitlines():
        assert len(line) <= 100
        assert max(map(len, run("explain", line.split()[0]).out.splitlines())) <= 100


def test_long_names_fit_too(project: Any, run: Any) -> None:
    long = "deployment-" + "x" * 200
    source = project.root / "stacks/recorded/dev/deployment.ml-platform.deployment-ray-head.json"
    body = json.loads(source.read_text())
    body["metadata"]["name"] = long
    for entry in body["metadata"]["managedFields"]:
        entry["manager"] = "m" * 120
    source.write_text(json.dumps(body))
    project.add(f"modelyard:targets:\n  rayHead: {{deployment: {long}}}")
    for words in (("plan", "dev", "--notes"), ("show", "dev"), ("check", "dev", "--notes"), ("diff", "dev")):
        result = run(*words)
        assert result.code == 0, result.text
        assert max(map(len, result.out.splitlines())) <= 100, max(result.out.splitlines(), key=len)


def test_as_a_process_of_its_own(process: Any) -> None:
    done = process("plan", "dev", "--detailed-exitcode")
    assert (done.returncode, done.stderr) == (5, "")
    assert "\x1b" not in done.stdout
    assert process("check", "prod", "--json").returncode == 0


def test_a_patch_of_ones_own_may_add_a_sidecar(run: Any, project: Any) -> None:
    folder = project.root / "patches" / "sidecar" / "v1"
    folder.mkdir(parents=True)
    container = "{name: fluent-bit, image: 'images.example.com/fluent-bit:3.1'}"
    (folder / "patch.yaml.j2").write_text(
        "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n"
        f"spec: {{template: {{spec: {{containers: [{container}]}}}}}}\n"
    )
    (folder / "schema.json").write_text('{"type": "object"}')
    (folder / "meta.yaml").write_text("description: ships logs\n")
    done = run("plan", "dev", "--target", "api-server")
    assert "fluent-bit: image" in done.out
    assert "PAT014" not in done.out
