"""A plan's text: its targets, totals, and the next step that is true for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from modelyard.findings import Finding, Severity
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.plan import Plan
from modelyard.report.part import part_of, target_names, totals, unplanned
from modelyard.report.style import Style
from modelyard.report.terminal import plan_text

WORKER = "deployment-ray-model-training-worker"


@pytest.fixture
def dev(plans: Mapping[str, Plan]) -> Plan:
    return plans["dev"]


def error(code: str, target: str = "", **more: Any) -> Finding:
    return Finding(code, Severity.ERROR, "wrong", "dev", target, **more)


def text(plan: Plan, **options: Any) -> str:
    return "\n".join(plan_text(plan, **options))


@pytest.mark.parametrize(
    ("source", "saved", "ends"),
    [
        ("live", "", "Next: modelyard apply dev"),
        ("recorded", "", "Next: modelyard apply dev"),
        ("live", "a.json", "saved to a.json\nNext: modelyard apply --plan a.json"),
        ("live", "it's here.json", "Next: modelyard apply --plan 'it'\"'\"'s here.json'"),
        (
            "recorded",
            "a.json",
            "saved to a.json\nNext: modelyard apply --plan a.json; it fails if the cluster is not as recorded",
        ),
    ],
)
def test_the_next_step_is_one_that_works(dev: Plan, source: str, saved: str, ends: str) -> None:
    assert text(dev._replace(source=source), saved=saved).endswith(ends)


def test_a_plan_with_errors_has_no_next_step_but_to_correct_them(dev: Plan) -> None:
    blocked = dev._replace(source="live", findings=(error("GPU001"),))
    ends = "saved to a.json\nNext: correct the error above; for the reason: modelyard explain GPU001"
    assert text(blocked, saved="a.json").endswith(ends)
    waived = dev._replace(findings=(error("GPU001", waived="on order"),))
    assert text(waived).endswith("1 waived\nNext: modelyard apply dev")


def test_who_applies_anyway_is_told_no_next_step(dev: Plan) -> None:
    assert "Next" not in text(dev, next_step=False)


def test_a_plan_of_one_changed_target_has_no_order_unless_it_waits(dev: Plan) -> None:
    (worker,) = (target for target in dev.targets if target.name == WORKER)
    others = tuple(target._replace(action="none") for target in dev.targets if target.name != WORKER)
    steps = tuple(step for step in dev.steps if step.target == WORKER)
    one = text(dev._replace(targets=(*others, worker), steps=steps))
    assert f"\n~ {WORKER}  ray-worker@v1" in one
    assert "1. ~" not in one
    # Its number in the order would have said so too.
    assert "1 pod replaced" in one
    wait = next(step for step in dev.steps if step.phase == "drain")
    after = text(dev._replace(targets=(*others, worker), steps=(wait._replace(target=WORKER), *steps)))
    assert "\n1. … waits until Ray has no running" in after
    assert f"\n2. ~ {WORKER}  ray-worker@v1" in after


def test_new_objects_of_one_line_stand_together(dev: Plan) -> None:
    made = dev._replace(
        targets=tuple(target._replace(action="create", before=Confidential(None)) for target in dev.targets)
    )
    lines = plan_text(made)
    first = next(at for at, line in enumerate(lines) if line.startswith("1. + "))
    assert lines[first : first + 2] == [
        "1. + deployment-api-server  training-route@v1  new · 1 pod · no running pod is replaced",
        "2. + deployment-model-service  model-service@v1  new · 2 pods · replaces 1 running pod",
    ]


def test_hostile_names_of_patches_are_escaped(dev: Plan) -> None:
    evil = "\x1b[31m@v1"
    for action in ("create", "update", "none"):
        for patches in ((evil,), (evil, evil)):
            changed = tuple(one._replace(action=action, patches=patches, changes=()) for one in dev.targets)
            assert "\x1b" not in text(dev._replace(targets=changed))


def test_a_field_that_is_given_up_is_under_that_word(dev: Plan) -> None:
    (worker,) = (target for target in dev.targets if target.name == WORKER)
    gone = worker.changes[0]._replace(path=merge.Path.parse("spec.paused"), before=True, after=merge.ABSENT, patch=None)
    changed = worker._replace(changes=(*worker.changes, gone))
    shown = text(dev._replace(targets=tuple(changed if target is worker else target for target in dev.targets)))
    assert "\n     released  paused  - true\n" in shown
    assert "\n     ray-worker@v1\n" in shown


def test_only_findings_that_leave_a_target_out_make_it_one_without_a_plan(dev: Plan) -> None:
    found = (
        error("PAT013", "gone"),
        error("PAT014", "gone"),
        error("OWN004", "taken", waived="moving"),
        error("RES001", "sized"),
        error("PAT008", WORKER),
        error("PAT017"),
        Finding("OWN006", Severity.WARNING, "no longer patched", "dev", "old"),
    )
    plan = dev._replace(findings=found)
    assert {name: len(errors) for name, errors in unplanned(plan).items()} == {"gone": 2, "taken": 1}
    assert target_names(plan)[-2:] == ("gone", "taken")
    assert "5 targets to change, 2 could not be planned" in text(plan)


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ((error("PAT013", "a"), error("PAT013", "b")), "dev: nothing could be planned (2 targets); 2 errors"),
        ((error("PAT017"),), "dev: nothing could be planned; 1 error"),
        ((error("CFG101"),), "dev: nothing could be planned; 1 error"),
        ((error("RES001", "a"),), "dev: nothing to change; 1 error"),
        (
            (Finding("OWN006", Severity.WARNING, "x", "dev", "old"),),
            "dev: nothing to change; 1 warning",
        ),
    ],
)
def test_a_plan_without_targets(dev: Plan, findings: tuple[Finding, ...], words: str) -> None:
    assert f"\n{words}\n" in text(dev._replace(targets=(), steps=(), findings=findings))


def test_a_part_of_a_plan_keeps_what_stops_all_of_it(dev: Plan) -> None:
    found = (error("PAT013", "gone"), error("GPU001"), Finding("RES102", Severity.WARNING, "x", "dev", "other"))
    part = part_of(dev._replace(findings=found), {WORKER})
    assert [one.code for one in part.findings] == ["PAT013", "GPU001"]
    assert [target.name for target in part.targets] == [step.target for step in part.steps] == [WORKER]


def test_totals_are_sums_over_the_targets(plans: Mapping[str, Plan]) -> None:
    staging = plans["staging"].targets
    assert totals(staging) == (5, 3, (1, 4))
    assert totals(staging[:2]) == (2, 1, (0, 0))
    assert totals(()) == (0, 0, (0, 0))


@pytest.mark.parametrize("columns", range(60, 101, 8))
def test_every_width_is_kept(plans: Mapping[str, Plan], columns: int) -> None:
    for plan in plans.values():
        lines = plan_text(plan, Style(False, columns), advice=True, saved="x/" * 60)
        assert max(map(len, lines)) <= columns


def test_what_goes_back_and_what_is_deleted_say_so(dev: Plan) -> None:
    (worker,) = (target for target in dev.targets if target.name == WORKER)
    back = worker._replace(action="restore", patches=(), changes=(), replicas=(2, 1), gpus=(2, 1), replaces_pods=0)
    told = text(dev._replace(targets=(back,), steps=()))
    assert f"\n~ {WORKER}  restored · pods 2 → 1 · GPUs 2 → 1\n" in told
    gone = back._replace(action="delete", after=Confidential({}), replicas=(2, 0), gpus=(2, 0))
    told = text(dev._replace(targets=(gone,), steps=()))
    assert f"\n- {WORKER}  deleted · pods 2 → 0 · GPUs 2 → 0\n" in told
    assert "notes which patches" not in told


def test_of_an_object_that_said_no_number_only_the_new_one_is_told(dev: Plan) -> None:
    target = next(one for one in dev.targets if one.name == WORKER)
    made = text(dev._replace(targets=(target._replace(replicas=(None, 2)),), steps=()))
    assert "2 pods after this step" in made
    assert "None" not in made
