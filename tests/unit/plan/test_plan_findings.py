"""Findings about patches and their targets, with their places."""

from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential
from modelyard.plan.build import place_in_patch
from modelyard.plan.project import plan_recorded
from modelyard.plan.trace import place_field

ROOT = Path(__file__).parents[3]


def only_error(plan: Any) -> Any:
    (finding,) = (finding for finding in plan.findings if finding.blocks)
    return finding


def test_a_conflict_of_patches_names_both_and_the_field(dev: Any, tmp_path: Path) -> None:
    finding = only_error(dev.patched(tmp_path, "{strategy: {rollingUpdate: {maxSurge: 1}}}").plan())
    field = "spec.strategy.rollingUpdate.maxSurge"
    assert (finding.code, finding.target, finding.field) == ("PAT010", "deployment-ray-head", field)
    assert finding.summary == f"ray-head@v1 and zz-mine@v1 set {field} differently: 0 and 1"
    assert "add `overrides: [ray-head]` to the meta.yaml of zz-mine" in finding.remedy


def test_a_patch_with_overrides_replaces_the_value_of_another(dev: Any, tmp_path: Path) -> None:
    spec = "{strategy: {rollingUpdate: {maxUnavailable: 100%}}}"
    plan = dev.patched(tmp_path, spec, "overrides: [ray-head]\n").plan()
    head = next(target for target in plan.targets if target.name == "deployment-ray-head")
    assert head.after.reveal()["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == "100%"
    assert head.patches == ("ray-head@v1", "zz-mine@v1")
    changed = next(change for change in head.changes if change.path[-1] == "maxUnavailable")
    assert changed.patch == "zz-mine@v1"
    assert not plan.blocked


def test_an_unknown_field_is_an_error(dev: Any, tmp_path: Path) -> None:
    finding = only_error(dev.patched(tmp_path, "{replica: 1}").plan())
    assert (finding.code, finding.file) == ("PAT008", "patches/zz-mine/v1/patch.yaml.j2")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("deletionTimestamp", '"2020-01-01T00:00:00Z"', "only the API server sets it"),
        ("deletionGracePeriodSeconds", "5", "only the API server sets it"),
        ("deletionGracePeriodSeconds", "0", "only the API server sets it"),
        ("creationTimestamp", "x", "'x' is not a time such as 2026-01-31T12:00:00Z"),
        ("deletionTimestamp", "tomorrow", "'tomorrow' is not a time such as 2026-01-31T12:00:00Z"),
        ("uid", "11111111-1111-1111-1111-111111111111", "is not the uid of the live object"),
        ("resourceVersion", '"1"', "is not the resourceVersion of the live object"),
    ],
)
def test_a_field_that_only_the_api_server_sets_is_an_error_in_the_patch(
    dev: Any, tmp_path: Path, name: str, value: str, reason: str
) -> None:
    site = dev.patched(tmp_path, f"{{}}\nmetadata: {{{name}: {value}}}")
    plan = site.plan()
    finding = place_in_patch(only_error(plan), site.library, plan.targets)
    assert (finding.code, finding.field, finding.target) == ("PAT008", f"metadata.{name}", "deployment-ray-head")
    assert (finding.file, finding.line) == ("patches/zz-mine/v1/patch.yaml.j2", 5)
    assert reason in finding.summary


def test_an_invalid_platform_object_is_not_an_error_of_the_patch(dev: Any) -> None:
    def broken(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != "deployment-ray-head":
            return body
        copy = deepcopy(body)
        copy["spec"]["template"]["spec"]["containers"][0]["env"] = ["LOG_LEVEL=debug"]
        return copy

    plan = dev.having(broken).plan()
    finding = only_error(plan)
    assert (finding.code, finding.target, finding.field) == ("PAT008", "deployment-ray-head", "")
    assert finding.file == "stacks/Pulumi.dev.yaml"
    assert "deployment-ray-head" not in {target.name for target in plan.targets}


@pytest.mark.parametrize("value", ["null", '"2020-01-01T00:00:00Z"'])
def test_a_creation_time_is_ignored(dev: Any, tmp_path: Path, value: str) -> None:
    plan = dev.patched(tmp_path, f"{{}}\nmetadata: {{creationTimestamp: {value}}}").plan()
    assert not plan.blocked
    assert not any("creationTimestamp" in str(change.path) for target in plan.targets for change in target.changes)


def test_a_merge_directive_is_an_error(dev: Any, tmp_path: Path) -> None:
    finding = only_error(dev.patched(tmp_path, "{template: {$patch: replace}}").plan())
    assert (finding.code, finding.field) == ("PAT015", "spec.template")


def test_a_misspelled_container_gets_a_suggestion(dev: Any, tmp_path: Path) -> None:
    spec = "{template: {spec: {containers: [{name: ray-haed, tty: true}]}}}"
    finding = only_error(dev.patched(tmp_path, spec).plan())
    assert (finding.code, finding.file) == ("PAT014", "patches/zz-mine/v1/patch.yaml.j2")
    assert finding.remedy == "did you mean ray-head? Correct the template"


def test_a_missing_target_does_not_stop_the_other_targets(dev: Any) -> None:
    objects = {key: body for key, body in dev.state.objects.reveal().items() if key.name != "deployment-ray-head"}
    plan = dev._replace(state=dev.state._replace(objects=Confidential(objects))).plan()
    assert (only_error(plan).code, only_error(plan).target) == ("PAT013", "deployment-ray-head")
    assert len(plan.targets) == 4


def test_an_object_that_was_named_after_the_recording_is_recorded_again(dev: Any) -> None:
    def remedy_against(source: str) -> str:
        targets = dev.stack.config.targets
        named = targets._replace(ray_worker=targets.ray_worker._replace(deployment="trainers"))
        site = dev._replace(state=dev.state._replace(source=source))
        return next(one.remedy for one in site.asking(targets=named).plan().findings if one.code == "PAT013")

    assert remedy_against("recorded") == (
        "run modelyard record if the cluster has it; otherwise correct modelyard:targets, "
        "or leave it out with platform.without: [rayWorker]"
    )
    assert remedy_against("live").startswith("namespace ml-platform has deployment-api-server")


def test_the_remedy_names_the_namespace_that_has_the_targets(dev: Any) -> None:
    keys = frozenset(key._replace(namespace="team-a") for key in dev.state.objects.reveal())
    state = dev.state._replace(objects=Confidential({}), other_namespaces=keys)
    found = [one for one in dev._replace(state=state).plan().findings if one.code == "PAT013"]
    assert {one.field for one in found} == {"platform.namespace"}
    assert {one.remedy for one in found} == {"set platform.namespace to team-a, which has 5"}


def test_a_finding_has_a_line_only_for_fields_of_the_stack_file(dev: Any) -> None:
    def placed(field: str) -> tuple[str, int]:
        finding = place_field(Finding("RES101", Severity.ERROR, "x", field=field), dev.stack)
        return finding.file, finding.line

    assert placed("rayWorker.memory") == ("stacks/Pulumi.dev.yaml", 28)
    assert placed("rayWorker.gracePeriod") == ("stacks/Pulumi.dev.yaml", 25)
    assert placed("spec.replicas") == ("stacks/Pulumi.dev.yaml", 0)
    assert placed("targets.rayHead.deployment") == ("stacks/Pulumi.dev.yaml", 0)


def test_the_projects_own_stacks_plan_without_errors() -> None:
    for path in sorted((ROOT / "stacks").glob("Pulumi.*.yaml")):
        planned = plan_recorded(ROOT, path, date(2026, 11, 21))
        assert planned.plan is not None
        assert not planned.plan.blocked
        assert planned.plan.changed


def test_a_missing_init_container_is_an_error(dev: Any, tmp_path: Path) -> None:
    spec = "{template: {spec: {initContainers: [{name: fetch-model, tty: true}]}}}"
    plan = dev.patched(tmp_path, spec).plan()
    (finding,) = (finding for finding in plan.findings if finding.code == "PAT014")
    assert finding.summary == "deployment-ray-head has no init container 'fetch-model'"
    assert "no init containers" in finding.remedy
