"""The first lines of a preview: what happens, in words."""

from fractions import Fraction
from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.plan import Step
from modelyard.plan.cost.values import Count, Money, TargetCost, stack_cost
from modelyard.preview import StackDiff
from modelyard.preview.values import Pending
from modelyard.probes import Drain
from modelyard.report.preview.markdown import preview_markdown
from modelyard.report.preview.outcome import next_command, outcomes, title
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
NOBODY = Drain("celery", ("celery",), 23400, 60, NoJobSource("no broker is set", "set one"))

NOT_REPORTED = (
    "An apply is refused, because nothing reports Celery's jobs: set one, or apply with --no-drain while no job runs."
)


def unknown_cost(why: str) -> Any:
    one = Count(1, 1)
    return stack_cost([TargetCost("Deployment", "worker", (one, one), (one, one), (None, None), None, (), why)])


def known_cost(before: int, after: int) -> Any:
    one, usd = Count(1, 1), [Money(Fraction(value), Fraction(value)) for value in (before, after, after - before)]
    return stack_cost([TargetCost("Deployment", "worker", (one, one), (one, one), (usd[0], usd[1]), usd[2], (), "")])


@pytest.mark.parametrize(
    ("made", "risk", "headline", "sentences"),
    [
        (
            stack("s", CELERY, RAY, API, **SWITCH),
            "training",
            "switches training from Celery to Ray",
            ("Stops 3 GPU pods, then starts 3; also replaces 3 other pods of api.",),
        ),
        (
            stack("s", CELERY, RAY, training=("celery", "ray"), steps=WAITING, drains=(NOBODY,)),
            "training",
            "switches training from Celery to Ray",
            ("Stops 3 GPU pods, then starts 3.", NOT_REPORTED),
        ),
        (
            stack("s", CELERY, steps=WAITING[1:3], drains=(NOBODY,)),
            "training",
            "stops 3 GPU pods, but an apply is refused",
            (NOT_REPORTED, "GPUs 3 → 0."),
        ),
        (
            stack("s", CELERY, steps=WAITING[1:3], drains=(NOBODY,), new=(finding(code="GPU001"),)),
            "loss",
            "cannot be applied (GPU001)",
            ("GPUs 3 → 0.",),
        ),
        (
            stack("s", CELERY, RAY, **SWITCH, new=(finding(code="GPU001"),)),
            "training",
            "switches training from Celery to Ray, but cannot be applied (GPU001)",
            (),
        ),
        (
            stack("s", target(gpus=(3, 1), replicas=(3, 1), replaces_pods=1)),
            "loss",
            "stops 2 GPU pods, then replaces 1",
            ("GPUs 3 → 1.",),
        ),
        (
            stack(
                "s",
                target(
                    "jobs",
                    kind="Namespace",
                    status="deleted",
                    fields=(),
                    gpus=(0, 0),
                    replicas=(None, None),
                    replaces_pods=0,
                ),
            ),
            "loss",
            "deletes Namespace jobs, with all data",
            (),
        ),
        (stack("s", unplanned=True, new=(finding(code="CFG008"),)), "error", "cannot be planned (CFG008)", ()),
        (
            stack("s", status="removed", new=(finding(severity=Severity.WARNING),)),
            "error",
            "loses its stack file; what was applied stays in the cluster",
            ("1 new warning.",),
        ),
        (stack("s", API, cost=known_cost(1, 3)), "cost", "replaces 3 pods of api", ("Cost +USD 2.00/h.",)),
        (
            stack("s", API, status="added", cost=unknown_cost("L9 has no price")),
            "none",
            "is new, with 1 object",
            ("Replaces 3 pods of api.", "Cost unknown: L9 has no price."),
        ),
        (stack("s", API, cost=known_cost(3, 3)), "none", "replaces 3 pods of api", ()),
        (stack("s", target(replaces_pods=0)), "none", "changes deployment-worker and stops no pod", ()),
        (stack("s", fixed=(finding(),)), "none", "changes no object", ("1 finding fixed.",)),
    ],
)
def test_what_happens_in_words(made: StackDiff, risk: str, headline: str, sentences: tuple[str, ...]) -> None:
    (found,) = outcomes(preview(made))
    assert (found.risk, found.headline, found.sentences) == (risk, headline, sentences)


def test_the_gravest_is_first_and_the_same_is_said_once() -> None:
    many = preview(stack("a", API), stack("b", CELERY, RAY, **SWITCH), stack("c", API), unchanged=("d",))
    assert [one.subject for one in outcomes(many)] == ["b", "each of a and c"]
    assert title(many, outcomes(many)) == "b switches training from Celery to Ray; 2 other stacks change"
    refused = stack("d", new=(finding(code="GPU001", severity=Severity.ERROR),))
    some = preview(stack("a", CELERY, RAY, **SWITCH), refused, stack("e", unplanned=True), stack("f", API))
    words = "; 1 other stack changes, 1 cannot be applied, 1 cannot be planned"
    assert title(some, outcomes(some)) == f"a switches training from Celery to Ray{words}"
    assert next_command(many) == (
        "after the merge",
        "modelyard apply a",
        "also applies anything in main that the cluster does not have yet",
    )
    # A preview of live clusters shows on its own what an apply of the base would change.
    live = preview(stack("a", API)._replace(pending=Pending(fields=0, objects=0)))
    assert next_command(live) == ("after the merge", "modelyard apply a", "")
    new = preview(stack("a", API, status="added"))
    assert next_command(new) == ("after the merge", "modelyard apply a", "")
    lines = preview_markdown(many).splitlines()
    assert lines[3].startswith("- **b** switches training")
    assert lines[5] == "- 1 stack unaffected."


def test_the_step_of_a_ray_service_is_listed_if_its_pods_run_twice() -> None:
    upgraded = target("models", kind="RayService", replicas=(1, 1), gpus=(1, 1), replaces_pods=4)
    steps = (Step("models", "normal", "replaces 4 running pods; meanwhile a second RayCluster runs"),)
    scaled = upgraded._replace(replaces_pods=0)
    found = outcomes(preview(stack("a", upgraded, steps=steps), stack("b", scaled, steps=steps)))
    assert [one.steps for one in found] == [(f"models: {steps[0].why}",), ()]


def test_steps_are_listed_where_their_order_matters() -> None:
    found = outcomes(
        preview(
            stack("a", CELERY, RAY, API, training=("celery", "ray"), steps=WAITING, drains=(NOBODY,)), stack("b", API)
        )
    )
    assert [one.steps for one in found] == [
        (
            "api (replaces 3 pods): a",
            "wait until Celery has no running or queued job; nothing reports its jobs, so an apply is refused",
            "celery (pods 3 → 0): c",
            "ray (pods 0 → 3): d",
        ),
        (),
    ]


def test_a_new_stack_and_other_versions_are_one_entry_each() -> None:
    new = stack("new", target("x", status="added"), target("y", status="added"), status="added")
    text = preview_markdown(preview(new))
    assert text.count("<summary>") == 1
    assert "<summary>new: 2 objects</summary>" in text
