"""The text of a plan: targets, totals and the next step."""

import re
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


def test_the_next_step(dev: Plan, golden: Any) -> None:
    live, recorded = (dev._replace(source=source) for source in ("live", "recorded"))
    shown = {
        "live": text(live),
        "recorded": text(recorded),
        "live, saved": text(live, saved="a.json"),
        "saved in a file with a quote in its name": text(live, saved="it's here.json"),
        "recorded, saved": text(recorded, saved="a.json"),
        "an error": text(live._replace(findings=(error("GPU001"),)), saved="a.json"),
        "a waived error": text(dev._replace(findings=(error("GPU001", waived="on order"),))),
        "none asked for": text(dev, next_step=False),
    }
    golden(*(line for case, made in shown.items() for line in (f"{case}:", *made.splitlines()[-2:], "")))


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
    assert "\n1. … " in after
    assert f"\n2. ~ {WORKER}  ray-worker@v1" in after


def test_new_objects_take_a_line_each(dev: Plan) -> None:
    made = dev._replace(
        targets=tuple(target._replace(action="create", before=Confidential(None)) for target in dev.targets)
    )
    lines = plan_text(made)
    first = next(at for at, line in enumerate(lines) if line.startswith("1. + "))
    assert [line.split()[:4] for line in lines[first : first + 2]] == [
        ["1.", "+", "deployment-api-server", "training-route@v1"],
        ["2.", "+", "deployment-model-service", "model-service@v1"],
    ]


def test_a_plan_without_changes_names_what_it_is_against(dev: Plan, golden: Any) -> None:
    same = dev._replace(targets=(), steps=(), findings=())
    golden(*plan_text(same), *plan_text(same._replace(cluster="")))


def test_hostile_names_of_patches_are_escaped(dev: Plan) -> None:
    evil = "\x1b[31m@v1"
    for action in ("create", "update", "none"):
        for patches in ((evil,), (evil, evil)):
            changed = tuple(one._replace(action=action, patches=patches, changes=()) for one in dev.targets)
            assert "\x1b" not in text(dev._replace(targets=changed))


def test_a_removed_field_is_listed_under_removed(dev: Plan) -> None:
    (worker,) = (target for target in dev.targets if target.name == WORKER)
    gone = worker.changes[0]._replace(path=merge.Path.parse("spec.paused"), before=True, after=merge.ABSENT, patch=None)
    changed = worker._replace(changes=(*worker.changes, gone))
    shown = text(dev._replace(targets=tuple(changed if target is worker else target for target in dev.targets)))
    assert "\n     removed  paused  - true\n" in shown
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
    (tally,) = (line for line in text(plan).splitlines() if "could not be planned" in line)
    assert re.findall(r"(\d+) targets|, (\d+)", tally)[:2] == [("5", ""), ("", "2")]


def test_a_plan_without_targets(dev: Plan, golden: Any) -> None:
    cases: tuple[tuple[Finding, ...], ...] = (
        (error("PAT013", "a"), error("PAT013", "b")),
        (error("PAT017"),),
        (error("CFG101"),),
        (error("RES001", "a"),),
        (Finding("OWN006", Severity.WARNING, "x", "dev", "old"),),
    )
    shown = [text(dev._replace(targets=(), steps=(), findings=findings)).splitlines() for findings in cases]
    golden(*(line for lines in shown for line in lines if re.match(r"dev: |  \w+ +[A-Z]{3}\d", line)), "")


def test_a_part_of_a_plan_keeps_what_stops_all_of_it(dev: Plan) -> None:
    found = (error("PAT013", "gone"), error("GPU001"), Finding("RES102", Severity.WARNING, "x", "dev", "other"))
    part = part_of(dev._replace(findings=found), {WORKER})
    assert [one.code for one in part.findings] == ["PAT013", "GPU001"]
    assert [target.name for target in part.targets] == [step.target for step in part.steps] == [WORKER]


def test_totals_are_sums_over_the_targets(plans: Mapping[str, Plan]) -> None:
    staging = plans["staging"].targets
    assert totals(staging) == (5, 3, (1, 4), True)
    assert totals(staging[:2]) == (2, 1, (0, 0), False)
    assert totals(()) == (0, 0, (0, 0), False)


def test_the_total_of_gpus_says_that_an_autoscaler_changes_it(plans: Mapping[str, Plan]) -> None:
    assert {name: "before autoscaling" in text(plan) for name, plan in plans.items()} == {
        "dev": False,
        "prod": False,
        "staging": True,
    }
    # What the stack no longer asks for has its earlier number of pods, or none.
    gone = (target._replace(action="delete", replicas=(1, None), gpus=(1, 0)) for target in plans["staging"].targets)
    assert not totals(tuple(gone)).autoscaled


@pytest.mark.parametrize("columns", range(60, 101, 8))
def test_every_width_is_kept(plans: Mapping[str, Plan], columns: int) -> None:
    for plan in plans.values():
        lines = plan_text(plan, Style(False, columns), advice=True, saved="x/" * 60)
        assert max(map(len, lines)) <= columns


def test_restored_and_deleted_targets_are_marked(dev: Plan) -> None:
    (worker,) = (target for target in dev.targets if target.name == WORKER)
    back = worker._replace(action="restore", patches=(), changes=(), replicas=(2, 1), gpus=(2, 1), replaces_pods=0)
    told = text(dev._replace(targets=(back,), steps=()))
    assert f"\n~ {WORKER}  restored · pods 2 → 1 · GPUs 2 → 1\n" in told
    gone = back._replace(action="delete", after=Confidential({}), replicas=(2, 0), gpus=(2, 0))
    told = text(dev._replace(targets=(gone,), steps=()))
    assert f"\n- {WORKER}  deleted · pods 2 → 0 · GPUs 2 → 0\n" in told


def test_an_unknown_earlier_number_of_pods_is_left_out(dev: Plan) -> None:
    target = next(one for one in dev.targets if one.name == WORKER)
    made = text(dev._replace(targets=(target._replace(replicas=(None, 2)),), steps=()))
    assert "2 pods" in made
    assert "None" not in made
