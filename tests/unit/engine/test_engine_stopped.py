"""How far a run came, and what is told of one that did not come to its end."""

import signal
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pulumi.automation import OpType

from modelyard.engine.failure import Lock, killed, stopped
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


def test_steps_end_well_or_not() -> None:
    progress = followed(begins("a"), begins("b"), begins("c"), ends("b"), event("res_op_failed_event", "c"))
    assert progress.done == ["Deployment b"]
    assert progress.unfinished == ["Deployment a", "Deployment c"]


def test_what_stays_the_same_is_no_step() -> None:
    progress = followed(event("resource_pre_event", "a", OpType.SAME), event("res_outputs_event", "a", OpType.SAME))
    assert (progress.done, progress.unfinished) == ([], [])


def test_a_run_begins_with_the_first_word_of_the_engine_and_is_over_with_its_summary() -> None:
    assert (followed().begun, followed().over) == (False, False)
    assert (followed(begins("a")).begun, followed(begins("a")).over) == (True, False)
    assert followed(begins("a"), event("summary_event"), ends("a")).over


@pytest.mark.parametrize(
    ("events", "far"),
    [
        ((), "nothing was changed"),
        ((begins("a"),), "not finished: Deployment a"),
        ((begins("a"), ends("a")), "done: Deployment a"),
        (
            (begins("a"), begins("b"), begins("c"), ends("a"), ends("c")),
            "done: Deployment a, Deployment c; not finished: Deployment b",
        ),
    ],
)
def test_a_stopped_run_tells_how_far_it_came(events: tuple[Any, ...], far: str) -> None:
    error = stopped(signal.SIGTERM, "apply", "dev", followed(*events), "free")
    assert error.summary == f"apply dev was stopped; {far}"
    assert error.remedy == "modelyard apply dev finishes the rest"
    assert error.signal == signal.SIGTERM


@pytest.mark.parametrize("verb", ["apply", "destroy"])
@pytest.mark.parametrize(
    ("lock", "words"),
    [
        ("freed", "the engine was killed; its lock on the state is freed."),
        ("unknown", "the engine was killed and may have left the state locked: pulumi cancel --stack dev unlocks it."),
    ],
)
def test_a_killed_engine_tells_of_the_lock(verb: Literal["apply", "destroy"], lock: Lock, words: str) -> None:
    remedy = f"{words} modelyard {verb} dev finishes the rest"
    assert stopped(signal.SIGINT, verb, "dev", followed(), lock).remedy == remedy
    assert killed(verb, "dev", lock).remedy == remedy
    assert killed(verb, "dev", lock).summary == f"the engine was killed while it ran {verb} dev"
