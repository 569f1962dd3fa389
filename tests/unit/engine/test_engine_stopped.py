"""The progress of a run, and the error of a run that was stopped or killed."""

import signal
from types import SimpleNamespace
from typing import Any, Literal

from pulumi.automation import OpType

from modelyard.engine.failure import LockState, killed, stopped
from modelyard.engine.progress import Progress

KINDS = ("resource_pre_event", "res_outputs_event", "res_op_failed_event", "diagnostic_event", "summary_event")


def event(kind: str, name: str = "", operation: OpType = OpType.UPDATE) -> Any:
    urn = f"urn:pulumi:dev::p::modelyard:index:Platform$kubernetes:apps/v1:DeploymentPatch::{name}"
    step = SimpleNamespace(op=operation, type="kubernetes:apps/v1:DeploymentPatch", urn=urn)
    return SimpleNamespace(**{**dict.fromkeys(KINDS), kind: SimpleNamespace(metadata=step)})


def begins(name: str) -> Any:
    return event("resource_pre_event", name)


def ends(name: str) -> Any:
    return event("res_outputs_event", name)


def followed(*events: Any) -> Progress:
    progress = Progress(lambda _line: None)
    for each in events:
        progress.on_event(each)
    return progress


def test_finished_and_failed_steps_are_separate() -> None:
    progress = followed(begins("a"), begins("b"), begins("c"), ends("b"), event("res_op_failed_event", "c"))
    assert progress.done == ["Deployment b"]
    assert progress.unfinished == ["Deployment a", "Deployment c"]


def test_an_unchanged_object_is_not_a_step() -> None:
    progress = followed(event("resource_pre_event", "a", OpType.SAME), event("res_outputs_event", "a", OpType.SAME))
    assert (progress.done, progress.unfinished) == ([], [])


def test_a_run_begins_with_the_first_event_and_ends_with_the_summary() -> None:
    assert (followed().begun, followed().over) == (False, False)
    assert (followed(begins("a")).begun, followed(begins("a")).over) == (True, False)
    assert followed(begins("a"), event("summary_event"), ends("a")).over


EVENTS = (
    (),
    (begins("a"),),
    (begins("a"), ends("a")),
    (begins("a"), begins("b"), begins("c"), ends("a"), ends("c")),
)


def test_a_stopped_run_shows_how_far_it_came(golden: Any) -> None:
    errors = [stopped(signal.SIGTERM, "apply", "dev", followed(*events), "free") for events in EVENTS]
    assert {error.signal for error in errors} == {signal.SIGTERM}
    assert {error.remedy for error in errors} == {errors[0].remedy}
    golden(*(error.summary for error in errors), f"→ {errors[0].remedy}", "")


VERBS: tuple[Literal["apply", "destroy"], ...] = ("apply", "destroy")
LOCKS: tuple[LockState, ...] = ("freed", "unknown")


def test_the_remedy_of_a_killed_engine_depends_on_the_lock(golden: Any) -> None:
    shown = []
    for verb in VERBS:
        for lock in LOCKS:
            error = killed(verb, "dev", lock)
            assert stopped(signal.SIGINT, verb, "dev", followed(), lock).remedy == error.remedy
            shown += [error.summary, f"→ {error.remedy}"]
    golden(*shown, "")
