"""Findings have the file and the line of the stack file or of the patch to edit."""

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from modelyard.catalog import load_library
from modelyard.findings import Severity
from modelyard.stack import load
from tests.support.example_stacks import ROOT

TEMPLATE = "patches/zz-mine/v1/patch.yaml.j2"
META = "patches/zz-mine/v1/meta.yaml"
CONTAINERS = "\n  template:\n    spec:\n      containers:\n"


def only_error(plan: Any) -> tuple[str, str, int]:
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    return finding.code, finding.file, finding.line


@pytest.mark.parametrize(
    ("spec", "meta", "code", "file", "line"),
    [
        ("\n  replica: 1", "", "PAT008", TEMPLATE, 5),
        ("\n  strategy:\n    rollingUpdate:\n      maxSurges: 1", "", "PAT008", TEMPLATE, 7),
        ("\n  template:\n    $patch: replace", "", "PAT015", TEMPLATE, 5),
        (f"{CONTAINERS}        - name: ray-haed\n          tty: true", "", "PAT014", TEMPLATE, 7),
        (f"{CONTAINERS}        - name: [", "", "PAT007", TEMPLATE, 8),
        ("\n  strategy:\n    rollingUpdate:\n      maxSurge: 1", "overrides: []\n", "PAT010", TEMPLATE, 7),
        ("\n  paused: true", "params:\n  a: gpu.model\n  b: gpu.nope\n", "PAT012", META, 4),
        ("\n  paused: true", "when:\n  gpu.nope: 1\n", "PAT012", META, 2),
        ("\n  paused: true", "phase: never\n", "PAT009", META, 2),
        ("\n  paused: true", "desription: x\n", "PAT009", META, 2),
        ("\n  paused: true", "after: x\n", "PAT009", META, 2),
    ],
)
def test_an_error_in_a_patch_has_its_line(
    dev: Any, tmp_path: Path, spec: str, meta: str, code: str, file: str, line: int
) -> None:
    assert only_error(dev.patched(tmp_path, spec, f"description: mine\n{meta}").plan()) == (code, file, line)


def test_an_error_in_a_parameter_is_reported_once_where_the_stack_file_sets_it(dev: Any, tmp_path: Path) -> None:
    text = (ROOT / dev.stack.file).read_text()
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(f"{text}  modelyard:patches:\n    - name: ray-worker\n      params: {{memory: x}}\n")
    stack, _ = load(file, "Pulumi.dev.yaml")
    plan = dev._replace(stack=stack).plan()
    assert only_error(plan) == ("PAT008", "Pulumi.dev.yaml", text.count("\n") + 3)
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    assert (finding.field, finding.target) == ("patches[0].params.memory", "deployment-ray-model-training-worker")


def test_a_conflict_is_reported_at_the_patch_that_can_change(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "\n  strategy:\n    rollingUpdate:\n      maxSurge: 1", "overrides: []\n")
    (tmp_path / "patches/zz-mine").rename(tmp_path / "patches/a-mine")
    plan = site._replace(library=load_library(tmp_path)).plan()
    assert only_error(plan) == ("PAT010", TEMPLATE.replace("zz-", "a-"), 7)


@pytest.mark.parametrize("field", ["replica: {{ n }}", 'revisionHistoryLimit: "{{ n }}s"'])
def test_an_error_of_a_template_stays_there_although_a_parameter_fills_the_field(
    dev: Any, tmp_path: Path, field: str
) -> None:
    site = dev.patched(tmp_path, f"{{{field}}}")
    file = tmp_path / "Pulumi.dev.yaml"
    text = (ROOT / dev.stack.file).read_text()
    file.write_text(f"{text}  modelyard:patches: [{{name: zz-mine, params: {{n: 5}}}}]\n")
    stack, _ = load(file, "Pulumi.dev.yaml")
    assert only_error(site._replace(stack=stack).plan()) == ("PAT008", TEMPLATE, 4)


def test_a_namespace_that_a_patch_does_not_change_is_a_warning(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}\nmetadata: {namespace: wrong}")
    (finding,) = (one for one in site._replace(library=load_library(tmp_path)).plan().findings if one.code == "PAT007")
    assert (finding.severity, finding.file, finding.line) == (Severity.WARNING, TEMPLATE, 5)


def test_a_missing_target_has_the_line_that_names_it(dev: Any, tmp_path: Path) -> None:
    plan = dev.patched(tmp_path, "{paused: true}", target="deployment-nope").plan()
    assert only_error(plan) == ("PAT013", TEMPLATE, 1)


def test_the_missing_one_of_two_targets_has_its_own_line(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    template = tmp_path / TEMPLATE
    one = template.read_text()
    template.write_text(f"{one}---\n{one.replace('deployment-ray-head', 'deployment-nope')}")
    assert only_error(site._replace(library=load_library(tmp_path)).plan()) == ("PAT013", TEMPLATE, one.count("\n") + 2)


def test_an_unknown_kind_has_the_line_that_names_it(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    template = tmp_path / TEMPLATE
    template.write_text(template.read_text().replace("kind: Deployment", "kind: Deploiment"))
    assert only_error(site._replace(library=load_library(tmp_path)).plan()) == ("PAT008", TEMPLATE, 3)


def test_an_unknown_kind_in_two_patches_is_reported_for_the_first(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    template = tmp_path / TEMPLATE
    template.write_text(template.read_text().replace("kind: Deployment", "kind: Deploiment"))
    copytree(tmp_path / "patches" / "zz-mine", tmp_path / "patches" / "zz-other")
    assert only_error(site._replace(library=load_library(tmp_path)).plan()) == ("PAT008", TEMPLATE, 3)


def test_a_changed_released_version_names_its_file_and_the_lock_line(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    changed = tmp_path / "patches" / "ray-head" / "v1" / "meta.yaml"
    changed.write_text(changed.read_text() + "\n")
    lock = (tmp_path / "patches" / "patches.lock").read_text().splitlines()
    line = next(number for number, text in enumerate(lock, 1) if text.startswith("ray-head/"))
    plan = site._replace(library=load_library(tmp_path)).plan()
    assert only_error(plan) == ("PAT003", "patches/ray-head/v1/meta.yaml", 1)
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    assert f"patches/patches.lock:{line} has SHA-256" in finding.detail


@pytest.mark.parametrize(("manager", "code"), [("keda-operator", "OWN002"), ("argocd-controller", "OWN003")])
def test_a_takeover_has_the_line_where_the_patch_sets_the_field(dev: Any, manager: str, code: str) -> None:
    def owned(body: dict[str, Any]) -> dict[str, Any]:
        fields = [{**entry, "manager": manager} for entry in body["metadata"]["managedFields"]]
        return {**body, "metadata": {**body["metadata"], "managedFields": fields}}

    found = [finding for finding in dev.having(owned).plan().findings if finding.code == code]
    templates = {one.file: one.template.split("\n") for patch in dev.library.patches.values() for one in patch.values()}
    assert len(found) > 10
    for finding in found:
        name = finding.field.replace('"]', "").replace('["', ".").rpartition(".")[2]
        template = templates[finding.file.removesuffix("/patch.yaml.j2")]
        assert name in template[finding.line - 1], finding


def test_a_wrong_size_in_a_patch_has_the_line_that_sets_it(dev: Any, tmp_path: Path) -> None:
    spec = (
        f"{CONTAINERS}        - name: ray-head\n          resources:\n            requests:\n              memory: 1Gi"
    )
    plan = dev.patched(tmp_path, spec, "overrides: [ray-head]\n").plan()
    assert ("RES", TEMPLATE, 11) in {
        (finding.code[:3].replace("RAY", "RES"), finding.file, finding.line) for finding in plan.findings
    }


def test_each_error_and_warning_has_a_file_and_a_line(sites: Any) -> None:
    for site in sites.values():
        for finding in site.plan().findings:
            if finding.severity is not Severity.ADVICE:
                assert finding.file, finding
                assert finding.line, finding


def test_pods_that_no_node_can_hold_have_the_line_of_their_resource(dev: Any, tmp_path: Path) -> None:
    """The patch is the same for all resources and needs no change."""
    text = (ROOT / dev.stack.file).read_text()
    line = text.count("\n") + 1
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(
        f"{text}"
        "  modelyard:runtime: {image: 'images.example.com/runtime:1.0.0'}\n"
        "  modelyard:resources:\n"
        "    - {name: small, type: dataset, cpu: 1, memory: 1Gi}\n"
        "    - {name: huge, type: dataset, cpu: 900, memory: 1Gi}\n"
        "  modelyard:jobs:\n"
        "    - {name: clicks, type: dataset, resource: small}\n"
        "    - {name: views, type: dataset, resource: huge}\n"
        "    - {name: all, type: dataset, rows: 90000000000, columns: 400}\n"
    )
    stack, _ = load(file, "Pulumi.dev.yaml")
    assert stack is not None
    told = {
        one.target: (one.file, one.line) for one in dev._replace(stack=stack).plan().findings if one.code == "RES101"
    }
    assert told == {"resource-huge": ("Pulumi.dev.yaml", line + 3), "job-all": ("Pulumi.dev.yaml", line + 7)}
