"""Where findings stand: on the line of the stack file or of the patch that somebody has to edit."""

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


def only(plan: Any) -> tuple[str, str, int]:
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    return finding.code, finding.file, finding.line


@pytest.mark.parametrize(
    ("spec", "meta", "code", "file", "line"),
    [
        ("\n  replica: 1", "", "PAT008", TEMPLATE, 5),
        ("\n  strategy:\n    rollingUpdate:\n      maxSurges: 1", "", "PAT008", TEMPLATE, 7),
        ("\n  template:\n    $patch: replace", "", "PAT015", TEMPLATE, 5),
        (f"{CONTAINERS}        - name: ray-haed\n          tty: true", "", "PAT014", TEMPLATE, 7),
        (f"{CONTAINERS}        - name: [", "", "PAT007", TEMPLATE, 9),
        ("\n  strategy:\n    rollingUpdate:\n      maxSurge: 1", "overrides: []\n", "PAT010", TEMPLATE, 7),
        ("\n  paused: true", "params:\n  a: gpu.model\n  b: gpu.nope\n", "PAT012", META, 4),
        ("\n  paused: true", "when:\n  gpu.nope: 1\n", "PAT012", META, 2),
        ("\n  paused: true", "phase: never\n", "PAT009", META, 2),
        ("\n  paused: true", "desription: x\n", "PAT009", META, 2),
        ("\n  paused: true", "after: x\n", "PAT009", META, 2),
    ],
)
def test_a_mistake_in_a_patch_stands_on_its_line(
    dev: Any, tmp_path: Path, spec: str, meta: str, code: str, file: str, line: int
) -> None:
    assert only(dev.patched(tmp_path, spec, f"description: mine\n{meta}").plan()) == (code, file, line)


def test_a_target_that_is_not_there_stands_on_the_line_that_names_it(dev: Any, tmp_path: Path) -> None:
    plan = dev.patched(tmp_path, "{paused: true}", target="deployment-nope").plan()
    assert only(plan) == ("PAT013", TEMPLATE, 1)


def test_of_two_targets_the_one_that_is_not_there_stands_on_its_own_line(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    template = tmp_path / TEMPLATE
    one = template.read_text()
    template.write_text(f"{one}---\n{one.replace('deployment-ray-head', 'deployment-nope')}")
    assert only(site._replace(library=load_library(tmp_path)).plan()) == ("PAT013", TEMPLATE, one.count("\n") + 2)


def test_a_kind_that_is_not_there_stands_on_the_line_that_names_it(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    template = tmp_path / TEMPLATE
    template.write_text(template.read_text().replace("kind: Deployment", "kind: Deploiment"))
    assert only(site._replace(library=load_library(tmp_path)).plan()) == ("PAT008", TEMPLATE, 3)


def test_of_two_patches_of_a_kind_that_is_not_there_the_first_is_named(dev: Any, tmp_path: Path) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    template = tmp_path / TEMPLATE
    template.write_text(template.read_text().replace("kind: Deployment", "kind: Deploiment"))
    copytree(tmp_path / "patches" / "zz-mine", tmp_path / "patches" / "zz-other")
    assert only(site._replace(library=load_library(tmp_path)).plan()) == ("PAT008", TEMPLATE, 3)


def test_a_released_version_that_was_changed_stands_in_the_version_and_names_the_line_of_the_lock(
    dev: Any, tmp_path: Path
) -> None:
    site = dev.patched(tmp_path, "{paused: true}")
    changed = tmp_path / "patches" / "ray-head" / "v1" / "meta.yaml"
    changed.write_text(changed.read_text() + "\n")
    lock = (tmp_path / "patches" / "patches.lock").read_text().splitlines()
    line = next(number for number, text in enumerate(lock, 1) if text.startswith("ray-head/"))
    plan = site._replace(library=load_library(tmp_path)).plan()
    assert only(plan) == ("PAT003", "patches/ray-head/v1/meta.yaml", 1)
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    assert f"patches/patches.lock:{line} has SHA-256" in finding.detail


@pytest.mark.parametrize(("manager", "code"), [("keda-operator", "OWN002"), ("argocd-controller", "OWN003")])
def test_a_field_of_somebody_else_stands_where_the_patch_sets_it(dev: Any, manager: str, code: str) -> None:
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


def test_a_size_that_a_patch_gives_stands_where_the_patch_gives_it(dev: Any, tmp_path: Path) -> None:
    spec = (
        f"{CONTAINERS}        - name: ray-head\n          resources:\n            requests:\n              memory: 1Gi"
    )
    plan = dev.patched(tmp_path, spec, "overrides: [ray-head]\n").plan()
    assert ("RES", TEMPLATE, 11) in {
        (finding.code[:3].replace("RAY", "RES"), finding.file, finding.line) for finding in plan.findings
    }


def test_whatever_has_to_be_looked_at_has_a_file_and_a_line(sites: Any) -> None:
    for site in sites.values():
        for finding in site.plan().findings:
            if finding.severity is not Severity.ADVICE:
                assert finding.file, finding
                assert finding.line, finding


def test_pods_that_the_nodes_cannot_hold_stand_on_the_line_of_what_they_are_of(dev: Any, tmp_path: Path) -> None:
    """Their patch is the same for all resources: nobody has to edit that."""
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
