"""Explains the failure of an engine run to the user."""

import re
from collections.abc import Iterable
from typing import Literal

from modelyard.engine.progress import Progress, is_unreached, unreached, without_forgetting
from modelyard.findings import Failure
from modelyard.plan.store import STALE

_COLOURS = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")
_WRAPPING = re.compile(
    r"\d+ errors? occurred:\s*\* |"
    r'the Kubernetes API server reported that "[^"]*" failed to fully initialize or become live: |'
    r'resource "?urn:\S+ was not successfully \w+ by the Kubernetes API server: |'
    r'resource "?urn:\S+ was successfully \w+, but the Kubernetes API server reported that it failed to fully '
    r"initialize or become live: |"
    r"Exception calling application: "
)
_LISTED = re.compile(r"\n\s*\* ")
_ELSEWHERE = re.compile(r"(\S+ was applied to cluster \S+, and .+? points to [^:\s]+): ([^\n]+)")
"""The text of ``other_cluster``, as ``home`` passes it through the engine."""
_RAISED = re.compile(r"([\w.]*(?:Error|Exception|Interrupt): .*\S)")
"""How Python reports an exception, at the end of a traceback."""
_NOISE = re.compile(r"an unhandled error occurred: program exited|(update|preview|refresh) failed$")
_LOCKED = ("locked by", "another update is currently in progress")
_JUST_ENDED = re.compile(r'\.pulumi/locks/[^"\s]+"?\) \(code=NotFound\)')
"""The engine's message about a lock that it saw and that was gone when it read who holds it."""
_HOLDER = re.compile(r"created by (.+ \(pid \d+\)) at (\S+)")
"""How the engine names the process that holds a lock, except in Pulumi Cloud."""
_CREDENTIALS = ("unauthorized", "the server has asked for the client to provide credentials", "x509")
_TORN = re.compile(r"failed to load checkpoint: (unexpected )?EOF")
"""The engine's message about a state whose file of attributes was never written completely."""
_STILL_THERE = "timed out waiting for the condition"
"""The engine's message about a deleted object that a finalizer keeps."""
_UNREACHABLE = ("unreachable", "connection refused", "no such host", "i/o timeout")

FORGET_REMOTE = "modelyard explain REM014"
"""Explains how to forget a single remote cluster."""

LockState = Literal["free", "freed", "unknown"]
"""What happened to the lock of the state: released by the engine, taken from a killed engine, or unknown."""
_LOCKS: dict[LockState, str] = {
    "free": "",
    "freed": "the state is unlocked again. ",
    "unknown": "Pulumi may have left the state locked: pulumi cancel --stack {stack} unlocks it. ",
}


class EngineError(Failure):
    """The engine cannot run, or its run failed: why, and what to do."""


class NothingAppliedError(EngineError):
    """The engine's state does not have the stack."""


class StaleError(EngineError):
    """Inputs or objects changed between approval and run; the run changed nothing."""


class StoppedError(EngineError):
    """A signal ended the run early."""

    def __init__(self, number: int, summary: str, remedy: str) -> None:
        super().__init__(summary, remedy)
        self.signal = number


def other_cluster(stack: str, *, remote: str, context: str | None, applied_to: str, points_to: str) -> StaleError:
    """The error about a context that points to another cluster than the one that the stack was applied to.

    Args:
        stack: name of the stack.
        remote: name of the remote cluster; empty: the home cluster.
        context: the cluster's context; None: the current one of the kubeconfig.
        applied_to: identity of the cluster of the last apply.
        points_to: identity of the cluster that the context points to.
    """
    shown = f"context {context}" if context else "the kubeconfig's context"
    setting = f"the context of {remote}" if remote else "kubernetes:context"
    forget = FORGET_REMOTE if remote else f"pulumi stack rm {stack} --force --preserve-config"
    return StaleError(
        f"{stack} was applied to cluster {applied_to}, and {shown} points to {points_to}",
        f"check {setting} and KUBECONFIG. To forget a cluster that no longer exists: {forget}",
    )


def stopped(number: int, verb: str, stack: str, progress: Progress, lock: LockState) -> StoppedError:
    """The error after a signal, with the steps that the run did and did not finish.

    Args:
        number: the signal.
        verb: ``apply`` or ``destroy``.
        stack: the stack's name.
        progress: what the engine reported about its steps.
        lock: what happened to the state's lock.
    """
    groups = (("done", progress.done), ("not finished", progress.unfinished))
    steps = "; ".join(f"{words}: {', '.join(names)}" for words, names in groups if names)
    return StoppedError(
        number, f"{verb} {stack} was stopped; {steps or 'nothing was changed'}", _goes_on(verb, stack, lock)
    )


def killed(verb: str, stack: str, lock: LockState) -> EngineError:
    """The error after something else ended the engine, such as the kernel when memory ran out."""
    return EngineError(f"Pulumi was killed while it ran {verb} {stack}", _goes_on(verb, stack, lock))


def _goes_on(verb: str, stack: str, lock: LockState) -> str:
    return f"{_LOCKS[lock].format(stack=stack)}modelyard {verb} {stack} finishes the rest"


def failure(stack: str, messages: Iterable[str], output: str) -> EngineError:
    """The error for a failed run.

    Args:
        stack: name of the stack.
        messages: the engine's error messages, in order.
        output: everything that the engine printed; used only if no message has content.
    """
    output = without_forgetting(output)
    reasons = _meaningful(messages) or _meaningful(_errors(output)) or _RAISED.findall(_COLOURS.sub("", output))[-1:]
    if not reasons:
        return EngineError(
            "Pulumi ended without a message",
            f"run pulumi up --stack {stack} to see its whole output; finished steps are kept",
        )
    text = "\n".join(reasons)
    lowered = text.lower()
    if STALE in text:
        return StaleError(text[text.index(STALE) :].splitlines()[0], "plan again, and have the new plan approved")
    if other := _ELSEWHERE.search(text):
        return StaleError(other[1], other[2])
    if any(words in lowered for words in _LOCKED):
        holders = [f"{who} since {time}" for who, time in dict.fromkeys(_HOLDER.findall(f"{text}\n{output}"))]
        return EngineError(
            ": ".join(("another Pulumi command has locked the state of this stack", *holders)),
            f"wait until it ends; if it was killed, pulumi cancel --stack {stack} removes the lock",
        )
    if _JUST_ENDED.search(text):
        return EngineError(
            "another Pulumi command had locked the state of this stack, and has just ended", "run your command again"
        )
    if "passphrase" in lowered:
        return EngineError(
            "the stack's state is encrypted with another passphrase", "set PULUMI_CONFIG_PASSPHRASE to the right one"
        )
    if "pulumi_access_token" in lowered or "pulumi login" in lowered:
        return EngineError(
            "no backend is set for the state",
            "add backend: {url: file://.?metadata=skip} to Pulumi.yaml, or run pulumi login",
        )
    if _TORN.search(text):
        return EngineError(
            f"Pulumi was killed while it wrote the state: {text}",
            "remove the empty .json.attrs beside the stack's .json in the backend's folder; the state itself is "
            "intact. With ?metadata=skip at the end of the backend's file:// URL no such files are written",
        )
    return EngineError(text, _remedy(stack, lowered))


def _remedy(stack: str, text: str) -> str:
    if "no module named" in text:
        return (
            "install modelyard and the packages that the program imports into the virtual environment that Pulumi.yaml "
            "names under virtualenv; Pulumi creates an empty one if none exists"
        )
    if "forbidden" in text:
        return "ask for this right; later steps changed nothing"
    if any(words in text for words in _CREDENTIALS):
        return "log in to the cluster again"
    if is_unreached(text) or any(words in text for words in _UNREACHABLE):
        return (
            "check the context, the network and the cluster, and run again: the state still has its objects. To "
            f"forget a remote cluster that no longer exists: {FORGET_REMOTE}"
        )
    if _STILL_THERE in text:
        return (
            "a finalizer keeps it. Kubernetes deletes a queue or flavor once the last run in it has ended: list the "
            f"runs with modelyard job list {stack}, end one with modelyard job cancel {stack} RUN, then run again"
        )
    if any(words in text for words in ("timed out", "timeout", "not rolled out")):
        return "kubectl --namespace NAMESPACE describe pods shows what the pods wait for; correct that, then run again"
    return "correct the cause and run again; finished steps are kept"


def _meaningful(messages: Iterable[str]) -> list[str]:
    """The messages without colours, repeats, and lines that only say that there was an error."""
    clean = (_LISTED.sub("\n- ", _WRAPPING.sub("", _COLOURS.sub("", message))).strip() for message in messages)
    shortened = (unreached(message) or without_forgetting(message) for message in clean)
    return [message for message in dict.fromkeys(shortened) if message and not _NOISE.match(message)]


def _errors(output: str) -> list[str]:
    """The text after ``error:`` in the engine's output, or else the last lines of the output."""
    return re.findall(r"(?:^|\s)error: (.+)", output) or output.strip().splitlines()[-3:]
