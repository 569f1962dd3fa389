"""The first lines of a preview: the outcome of each stack."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.plan import Step
from modelyard.plan.cost.values import Count, Money, TargetCost, stack_cost
from modelyard.preview.values import Pending
from modelyard.probes import BackendDrain
from modelyard.report.preview.markdown import preview_markdown
from modelyard.report.preview.outcome import next_command, outcomes, title
from modelyard.report.preview.text import preview_text
from modelyard.workloads.training.backend import NoJobSource
from tests.support.preview_values import finding, preview, stack, target

CELERY = target("celery", replicas=(3, 0), gpus=(3, 0), replaces_pods=0)
RAY = target("ray", replicas=(0, 3), gpus=(0, 3), replaces_pods=0)
API = target("api", replicas=(3, 3), gpus=(0, 0), replaces_pods=3)
NAMESPACE = target(
    "jobs", kind="Namespace", status="deleted", fields=(), gpus=(0, 0), replicas=(None, None), replaces_pods=0
)
STEPS = (Step("api", "route", "a"), Step("celery", "down", "c"), Step("ray", "up", "d"))
WAITING = (STEPS[0], Step("celery", "drain", "b"), *STEPS[1:])
SWITCH: dict[str, Any] = {"training": ("celery", "ray"), "steps": STEPS}
NOBODY = BackendDrain("celery", ("celery",), 23400, 60, NoJobSource("no broker is set", "set one"))


def unknown_cost(why: str) -> Any:
    one = Count(1, 1)
    return stack_cost([TargetCost("Deployment", "worker", (one, one), (one, one), (None, None), None, (), why)])


def known_cost(before: int, after: int) -> Any:
    one, usd = Count(1, 1), [Money(Fraction(value), Fraction(value)) for value in (before, after, after - before)]
    return stack_cost([TargetCost("Deployment", "worker", (one, one), (one, one), (usd[0], usd[1]), usd[2], (), "")])


CASES = {
    "training-moves": ("training", stack("s", CELERY, RAY, API, **SWITCH)),
    "training-moves-without-a-drain": (
        "training",
        stack("s", CELERY, RAY, training=("celery", "ray"), steps=WAITING, drains=(NOBODY,)),
    ),
    "pods-stop-without-a-drain": ("training", stack("s", CELERY, steps=WAITING[1:3], drains=(NOBODY,))),
    "pods-stop-with-an-error": (
        "loss",
        stack("s", CELERY, steps=WAITING[1:3], drains=(NOBODY,), new=(finding(code="GPU001"),)),
    ),
    "training-moves-with-an-error": ("training", stack("s", CELERY, RAY, **SWITCH, new=(finding(code="GPU001"),))),
    "pods-stop-and-are-replaced": ("loss", stack("s", target(gpus=(3, 1), replicas=(3, 1), replaces_pods=1))),
    "a-namespace-is-deleted": ("loss", stack("s", NAMESPACE)),
    "not-planned": ("error", stack("s", unplanned=True, new=(finding(code="CFG008"),))),
    "stack-file-deleted": ("error", stack("s", status="removed", new=(finding(severity=Severity.WARNING),))),
    "the-cost-grows": ("cost", stack("s", API, cost=known_cost(1, 3))),
    "a-new-stack-of-unknown-cost": ("none", stack("s", API, status="added", cost=unknown_cost("L9 has no price"))),
    "the-cost-stays": ("none", stack("s", API, cost=known_cost(3, 3))),
    "no-pod-stops": ("none", stack("s", target(replaces_pods=0))),
    "only-a-finding-is-fixed": ("none", stack("s", fixed=(finding(),))),
}


@pytest.mark.parametrize("case", CASES)
def test_outcome_of_a_stack(case: str, golden: Any) -> None:
    risk, changed = CASES[case]
    (found,) = outcomes(preview(changed))
    assert found.risk == risk
    golden(found.headline, *(f"  {sentence}" for sentence in found.sentences), "")


def test_the_gravest_outcome_comes_first_and_equal_ones_are_one(golden: Any) -> None:
    many = preview(stack("a", API), stack("b", CELERY, RAY, **SWITCH), stack("c", API), unchanged=("d",))
    refused = stack("d", new=(finding(code="GPU001", severity=Severity.ERROR),))
    some = preview(stack("a", CELERY, RAY, **SWITCH), refused, stack("e", unplanned=True), stack("f", API))
    assert [one.risk for one in outcomes(many)] == ["training", "none"]
    lines = preview_markdown(many).splitlines()
    assert lines[3].startswith("- **b** ")
    golden(
        *(f"{one.subject} {one.headline}" for one in outcomes(many)),
        title(many, outcomes(many)),
        title(some, outcomes(some)),
        lines[5],
        "",
    )


def test_the_next_command_names_every_stack_that_an_apply_would_change(golden: Any) -> None:
    same = stack("b", target(status="same", fields=()), fixed=(finding(),))
    two = preview(stack("a", API), same, stack("c", CELERY, RAY, **SWITCH))
    many = preview(*(stack(f"s{number}", API) for number in range(7)))
    assert next_command(two).stacks == "a, c"
    (comment,) = (line for line in preview_markdown(two).splitlines() if "after the merge" in line)
    golden(*(line for one in (two, many) for line in preview_text(one)[-2:]), comment, "")


def test_the_next_command_applies_the_stack_and_warns_of_changes_pending_on_the_base() -> None:
    found = preview(stack("a", API))
    # A preview of live clusters shows on its own what an apply of the base would change.
    live = preview(stack("a", API)._replace(pending=Pending(fields=0, objects=0)))
    new = preview(stack("a", API, status="added"))
    commands = [next_command(one) for one in (found, live, new)]
    assert [(one.command, bool(one.note)) for one in commands] == [
        ("modelyard apply a", True),
        ("modelyard apply a", False),
        ("modelyard apply a", False),
    ]


def test_the_step_of_a_ray_service_is_listed_if_its_pods_run_twice() -> None:
    upgraded = target("models", kind="RayService", replicas=(1, 1), gpus=(1, 1), replaces_pods=4)
    steps = (Step("models", "normal", "replaces 4 running pods; meanwhile a second RayCluster runs"),)
    scaled = upgraded._replace(replaces_pods=0)
    found = outcomes(preview(stack("a", upgraded, steps=steps), stack("b", scaled, steps=steps)))
    assert [one.steps for one in found] == [(f"models: {steps[0].why}",), ()]


def test_steps_are_listed_if_their_order_matters(golden: Any) -> None:
    ordered = stack("a", CELERY, RAY, API, training=("celery", "ray"), steps=WAITING, drains=(NOBODY,))
    first, second = outcomes(preview(ordered, stack("b", API)))
    assert second.steps == ()
    golden(*first.steps, "")


def test_a_new_stack_is_one_entry_with_the_number_of_its_objects() -> None:
    new = stack("new", target("x", status="added"), target("y", status="added"), status="added")
    text = preview_markdown(preview(new))
    assert text.count("<summary>") == 1
    assert "<summary>new: 2 objects</summary>" in text
