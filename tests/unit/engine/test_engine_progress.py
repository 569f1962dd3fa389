"""Lines of progress from the engine's events."""

from types import SimpleNamespace
from typing import Any

import pytest
from pulumi.automation import OpType

from modelyard.engine.failure import failure
from modelyard.engine.progress import Progress

URN = "urn:pulumi:dev::p::modelyard:index:Platform$kubernetes:apps/v1:DeploymentPatch::it"
NOTHING = {
    "resource_pre_event": None,
    "res_outputs_event": None,
    "res_op_failed_event": None,
    "diagnostic_event": None,
}


def event(**fields: Any) -> Any:
    return SimpleNamespace(**{**NOTHING, **fields})


def step(operation: Any, kind: str = "kubernetes:apps/v1:DeploymentPatch", of: str = "deployment") -> Any:
    """One on an object, or, of a type of modelyard's own, on what the state keeps of one of the kind ``of``."""
    name = "it" if kind.startswith("kubernetes:") else f"{of}/it"
    urn = f"urn:pulumi:dev::p::modelyard:index:Platform${kind}::{name}"
    return SimpleNamespace(metadata=SimpleNamespace(op=operation, type=kind, urn=urn))


def said(*events: Any) -> tuple[list[str], Progress]:
    lines: list[str] = []
    progress = Progress(lines.append)
    for each in events:
        progress.on_event(each)
    return lines, progress


@pytest.mark.parametrize(
    ("operation", "kind", "line"),
    [
        (OpType.CREATE, "kubernetes:apps/v1:DeploymentPatch", "patching Deployment it"),
        (OpType.UPDATE, "kubernetes:apps/v1:DeploymentPatch", "patching Deployment it"),
        (OpType.CREATE, "kubernetes:apps/v1:Deployment", "creating Deployment it"),
        (OpType.DELETE, "kubernetes:core/v1:Service", "deleting Service it"),
    ],
)
def test_a_step_begins_and_ends(operation: OpType, kind: str, line: str) -> None:
    lines, progress = said(
        event(resource_pre_event=step(operation, kind)), event(res_outputs_event=step(operation, kind))
    )
    assert lines == [line, f"done {line}"]
    assert progress.changes == {operation.value: 1}


def test_a_deleted_patch_is_only_dropped_and_its_ledger_puts_the_object_back() -> None:
    patch = step(OpType.DELETE, "kubernetes:apps/v1:DeploymentPatch")
    ledger = step(OpType.DELETE, "pulumi-python:dynamic/modelyard:Ledger")
    lines, progress = said(
        *(each for one in (patch, ledger) for each in (event(resource_pre_event=one), event(res_outputs_event=one)))
    )
    assert lines == ["restoring Deployment it", "done restoring Deployment it"]
    assert progress.changes == {"delete": 1}
    assert progress.done == ["Deployment it"]


def test_fields_that_an_undo_leaves_are_shown() -> None:
    told = "Deployment deployment-ray-head: left as others set them since: spec.replicas (human)"
    lines, _ = said(diagnostic("info#err", told, None))
    assert lines == [told]


@pytest.mark.parametrize(
    ("operation", "kind", "changes"),
    [
        (OpType.SAME, "kubernetes:apps/v1:DeploymentPatch", {"same": 1}),
        (OpType.REFRESH, "kubernetes:apps/v1:DeploymentPatch", {}),
        (OpType.CREATE, "modelyard:index:Platform", {}),
    ],
)
def test_steps_without_a_line(operation: OpType, kind: str, changes: dict[str, int]) -> None:
    lines, progress = said(
        event(resource_pre_event=step(operation, kind)), event(res_outputs_event=step(operation, kind))
    )
    assert lines == []
    assert progress.changes == changes


def test_the_outputs_are_those_that_the_program_sets_last_without_secrets() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
    later = {"open": "yes", "number": 2.5, "closed": secret, "within": {"list": [1, secret]}}
    told = [("pulumi:pulumi:Stack", {"earlier": 1}), ("pulumi:pulumi:Stack", later), ("pulumi:pulumi:Stack", None)]
    steps = [
        SimpleNamespace(op=OpType.SAME, type=kind, urn=URN, new=new if new is None else SimpleNamespace(outputs=new))
        for kind, new in [*told, ("modelyard:index:Platform", {"open": "other"})]
    ]
    _, progress = said(*(event(res_outputs_event=SimpleNamespace(metadata=one)) for one in steps))
    assert progress.outputs == {
        "open": "yes",
        "number": 2.5,
        "within": {"list": [1, "[secret]"]},
    }


def test_a_failed_step() -> None:
    (line,) = said(event(res_op_failed_event=step(OpType.UPDATE)))[0]
    assert line.split() == ["FAILED", "patching", "Deployment", "it"]


def diagnostic(severity: str, message: str, urn: str | None = URN) -> Any:
    return event(diagnostic_event=SimpleNamespace(severity=severity, message=message, urn=urn))


def test_a_rollout_message_is_shown_once() -> None:
    waiting = "Waiting for app ReplicaSet to be available (0/1 Pods available)"
    lines, _ = said(
        diagnostic("info", waiting),
        diagnostic("info", waiting),
        diagnostic("info", "Deployment initialization complete"),
        diagnostic("info", waiting.replace("0/1", "1/1")),
    )
    assert lines == [f"Deployment it: {waiting}", f"Deployment it: {waiting.replace('0/1', '1/1')}"]


def test_errors_are_kept_with_the_object_they_are_of() -> None:
    stack = "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"
    lines, progress = said(
        diagnostic("error", "no\n"), diagnostic("error", "stale", stack), diagnostic("warning", "hm", None)
    )
    assert lines == []
    assert progress.errors == ["it: no", "stale"]


@pytest.mark.parametrize(
    ("urn", "cluster"),
    [
        ("modelyard:index:Platform$kubernetes:core/v1:ServiceAccount::it", "the platform's cluster"),
        (
            "modelyard:index:Platform$modelyard:index:RemoteCluster$kubernetes:core/v1:ServiceAccount::far/remote-job",
            "remote cluster far",
        ),
    ],
)
def test_an_unreachable_cluster_is_named_in_its_error(urn: str, cluster: str) -> None:
    away = "configured Kubernetes cluster is unreachable: dial tcp 10.8.0.5:6443: connect: connection refused"
    progress = said(*(diagnostic("error", away, f"urn:pulumi:dev::p::{urn}{end}") for end in ("", "-2")))[1]
    told = f"{cluster} does not answer: dial tcp 10.8.0.5:6443: connect: connection refused"
    assert progress.errors == [told] * 2
    assert failure("dev", progress.errors, "").summary == told


def test_a_wait_for_running_jobs_is_shown() -> None:
    told = "draining Ray: 1 running job: raysubmit_1 (train) (waited 10m so far)"
    lines, _ = said(diagnostic("info#err", f"{told}\n", None), diagnostic("info", "something else", None))
    assert lines == [told]


@pytest.mark.parametrize(
    ("kind", "then", "line"),
    [
        ("Restore", "pulumi-python:dynamic/modelyard:Ledger", "restoring Deployment it"),
        ("Removal", "kubernetes:apps/v1:Deployment", "deleting Deployment it"),
    ],
)
def test_a_restored_or_removed_object_is_shown_once(kind: str, then: str, line: str) -> None:
    done, dropped = step(OpType.CREATE, f"pulumi-python:dynamic/modelyard:{kind}"), step(OpType.DELETE, then)
    # The run after it drops what did the work, and says nothing.
    tidied = step(OpType.DELETE, f"pulumi-python:dynamic/modelyard:{kind}")
    lines, _ = said(
        *(
            each
            for one in (done, dropped, tidied)
            for each in (event(resource_pre_event=one), event(res_outputs_event=one))
        )
    )
    assert lines == [line, f"done {line}"]


def test_objects_of_one_name_and_of_two_kinds_are_two() -> None:
    restored = step(OpType.CREATE, "pulumi-python:dynamic/modelyard:Removal", of="service")
    kinds = ("core/v1:Service", "apps/v1:Deployment", "example.com/v1:Gadget")
    gone = [step(OpType.DELETE, f"kubernetes:{kind}") for kind in kinds]
    lines, progress = said(*(event(resource_pre_event=one) for one in (restored, *gone)))
    assert progress.unfinished == ["Service it", "Deployment it", "Gadget it"]
    assert lines == [f"deleting {one}" for one in progress.unfinished]


def test_an_unknown_kind_is_shown_once() -> None:
    removal = step(OpType.CREATE, "pulumi-python:dynamic/modelyard:Removal", of="gadget")
    lines, _ = said(
        event(resource_pre_event=removal),
        event(resource_pre_event=step(OpType.DELETE, "kubernetes:example.com/v1:Gadget")),
    )
    assert [line.split()[:2] for line in lines] == [["deleting", "gadget"]]
