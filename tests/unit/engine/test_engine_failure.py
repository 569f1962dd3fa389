"""The engine's errors: one cause and one remedy, without its decoration."""

from typing import Any

import pytest

from modelyard.engine.failure import EngineError, StaleError, failure, other_cluster
from modelyard.engine.home import ClusterProvider, OtherClusterError

FORBIDDEN = 'deployments.apps "it" is forbidden: User "viewer" cannot patch resource "deployments"'
LIVE = 'the Kubernetes API server reported that "ml-platform/it" failed to fully initialize or become live: '
MADE = 'resource "urn:pulumi:dev::p::a$b::it" was not successfully created by the Kubernetes API server: '
CAME = (
    'resource "urn:pulumi:dev::p::a$b::it" was successfully created, but the Kubernetes API server reported that it '
    "failed to fully initialize or become live: "
)
PROGRAM = "an unhandled error occurred: program exited with non-zero exit code: 1"


def texts(*errors: EngineError) -> list[str]:
    assert not [error for error in errors if "<{%" in error.summary or "urn:" in error.summary]
    return [line for error in errors for line in (error.summary, f"→ {error.remedy}", "")]


def test_messages(golden: Any) -> None:
    every = (
        [f"it: 1 error occurred:\n\t* {LIVE}{FORBIDDEN}", "update failed"],
        [f"it: {MADE}{FORBIDDEN}"],
        ["<{%fg 1%}>dev has errors<{%reset%}>", PROGRAM],
        ["same", "same", "other"],
        ["it: configured Kubernetes cluster is unreachable: dial tcp"],
        ["it: 1 error occurred:\n\t* the server has asked for the client to provide credentials"],
        ["failed to load checkpoint: EOF"],
        ["it: timed out waiting to be Ready"],
        ["a: has not rolled out in 600 s: 0 of 1 workers ready"],
        ["team-a: timed out waiting for the condition"],
        [f"it: {CAME}'it' timed out waiting to be Ready\n\t* [One] of them\n\t* the other"],
    )
    golden(*texts(*(failure("dev", messages, "") for messages in every)))


def test_the_output_is_used_if_there_is_no_message(golden: Any) -> None:
    outputs = (
        "code: 255\nstderr: error: the stack is currently locked by 1 lock(s). Either wait",
        'stderr: error: could not create stack: blob (key ".pulumi/locks/organization/p/dev/c1ea.json") '
        "(code=NotFound): operation error S3: GetObject, https response error StatusCode: 404",
        " stderr: error: getting stack configuration: incorrect passphrase",
        "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions",
        "error: unknown shorthand flag: 'x'",
        "first\nsecond\nthird\nfourth",
        "",
        "Traceback (most recent call last):\n  import pulumi\n  dev ModuleNotFoundError: No module named 'pulumi'"
        "\n It looks like\n  error: an unhandled error occurred: program exited with non-zero exit code: 1",
    )
    golden(*texts(*(failure("dev", [PROGRAM], output) for output in outputs)))


def test_the_holder_of_a_lock_is_named(golden: Any) -> None:
    locked = (
        "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the "
        "lock file with `pulumi cancel`.\n  s3://state/.pulumi/locks/organization/p/dev/66a7.json: created by "
        "ci runner@host-7 (pid 26602) at 2026-11-26T14:44:36Z"
    )
    error = failure("dev", [locked], "")
    for other in (failure("dev", [], f"code: 255\nstderr: {locked}\n"), failure("dev", [locked], locked)):
        assert other.args == error.args
    golden(*texts(error))


def test_a_stale_plan_is_its_own_error() -> None:
    stale = "the plan is stale: input x changed; it moved"
    error = failure("dev", [stale, PROGRAM], "")
    assert isinstance(error, StaleError)
    assert error.summary == stale
    assert isinstance(failure("dev", ["it"], ""), EngineError)
    assert not isinstance(failure("dev", ["it"], ""), StaleError)


PLACES: list[tuple[str, str | None]] = [("", "arn:aws:eks:eu-west-1:1234:cluster/ml"), ("", None), ("far", "farm dev")]
"""Remote clusters, empty for the home cluster, with their contexts."""


def test_the_error_about_another_cluster(golden: Any) -> None:
    """It is the same before a run and after the engine has passed it on as text."""
    errors = [
        other_cluster("dev", remote=remote, context=one, applied_to="a-1", points_to="b-2") for remote, one in PLACES
    ]
    for (remote, context), error in zip(PLACES, errors, strict=True):
        props = {"stack": "dev", "remote": remote, "context": context or ""}
        with pytest.raises(OtherClusterError) as raised:
            ClusterProvider().diff("", {**props, "cluster": "a-1"}, {**props, "cluster": "b-2"})
        passed_on = failure("dev", [f"Exception calling application: {raised.value}", PROGRAM], "")
        assert isinstance(passed_on, StaleError)
        assert passed_on.args == error.args
    golden(*texts(*errors))


ADVICE = (
    "If the cluster was deleted, you can remove this resource from Pulumi state by rerunning the operation with the "
    'PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'
)


@pytest.mark.parametrize(
    "message",
    [
        f"failed to read resource state due to unreachable cluster. {ADVICE}",
        f"configured Kubernetes cluster is unreachable: connection refused. {ADVICE}",
        f"failed to read it: connection refused. {ADVICE}",
    ],
)
def test_the_remedy_for_an_unreachable_cluster_keeps_its_objects_in_the_state(message: str) -> None:
    for error in (failure("dev", [message], ""), failure("dev", [], f"error: {message}")):
        assert "PULUMI_K8S" not in error.summary + error.remedy
        assert ("connection refused" in error.summary) == ("connection refused" in message)
        assert "REM014" in error.remedy
