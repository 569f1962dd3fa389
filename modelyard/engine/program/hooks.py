"""What runs around the step of a target: the last check and the wait for jobs before it, the wait for pods after it."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pulumi

from modelyard.cluster import Refusal
from modelyard.engine.progress import ROLLING
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.rollouts import unfinished
from modelyard.kube.state import SCALED_OBJECT, ObjectKey
from modelyard.plan import Plan, TargetPlan
from modelyard.plan.starting import moved_object, unapproved
from modelyard.plan.store import STALE
from modelyard.probes import Busy
from modelyard.probes.asking import ask
from modelyard.probes.values import NO_DRAIN, STOP
from modelyard.probes.waiting import GaveUp, wait
from modelyard.stack.durations import text
from modelyard.workloads.training.backend import JobSource

if TYPE_CHECKING:
    from lightkube import Client


POLL = 1.0
"""Seconds between two checks of a rollout."""
_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="modelyard")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Live:
    """The cluster of a run, read between the engine's steps; connects at the first request.

    The context is one of the kubeconfig; None: the current one.
    """

    def __init__(self, context: str | None) -> None:
        self._context = context

    @cached_property
    def client(self) -> "Client":
        """The connection.

        Raises:
            ClusterError: the kubeconfig cannot be used.
        """
        from modelyard.cluster.connection import connect

        return connect(self._context)

    def look(self, key: ObjectKey) -> dict[str, Any] | None:
        """The current state of an object; None if it does not exist.

        Raises:
            ClusterError: the API server does not answer or denies access.
        """
        from modelyard.cluster.live import read

        return read(self.client, key)


async def aside(work: Callable[Arguments, Result], *args: Arguments.args, **options: Arguments.kwargs) -> Result:
    """Runs slow ``work`` while the program's event loop continues, and returns its result.

    A hook cannot use the loop's own threads: every resource in progress holds one of them until it is registered, which
    happens only after its hooks. With as many resources as threads, all would wait forever.
    """
    return await asyncio.get_running_loop().run_in_executor(_THREADS, lambda: work(*args, **options))


# Whether this run should stop: the only way for a wait in the program to find out.
def stop_asked() -> bool:
    """True when ``modelyard apply`` was asked to stop or has ended; never in a direct ``pulumi up``."""
    owner, _, path = os.environ.get(STOP, "").partition(":")
    return bool(path) and (Path(path).exists() or not _is_there(int(owner)))


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Guard:
    """The last check before an object is changed: it must be what the plan started from, with the same owners.

    An update sends its request with force, and force covers the whole request. Between the plan and the step of a
    target, hours may pass in which another client takes a field, or an owner sets another value. So right before the
    step, modelyard sends the same request without force, as a dry run, and reads the object. The step fails unless the
    conflicts are exactly the plan's and the object is what the plan read.
    """

    def __init__(self, live: Live) -> None:
        self._live = live

    def before(self, target: TargetPlan) -> pulumi.ResourceHook:
        """The hook for a target's resource. A preview runs no hooks."""

        async def check(_args: pulumi.ResourceHookArgs) -> None:
            # The program goes on meanwhile: other targets do not wait for this answer.
            await aside(self.check, target)

        return pulumi.ResourceHook(f"approved:{_name(target)}", check)

    def check(self, target: TargetPlan) -> None:
        """Checks the conflicts and the object once more.

        Raises:
            pulumi.RunError: the fields of other owners differ from the plan, the object is not what the plan was made
            from, or the cluster does not answer.
        """
        from modelyard.cluster.connection import ClusterError
        from modelyard.cluster.dryrun import claims_of

        try:
            claims = claims_of(self._live.client, target.applied.reveal())
            if isinstance(claims, Refusal):
                # What admission refuses here, it also refuses in the step, with its own message; that is no conflict.
                return
            live = self._live.look(target.key)
        except ClusterError as error:
            raise pulumi.RunError(f"{target.name} was not changed: {error.summary}; {error.remedy}") from error
        finding = unapproved(target, claims) or moved_object(target, live)
        if finding is not None:
            # An apply with a saved plan shows the first line, with a remedy of its own.
            raise pulumi.RunError(f"{STALE}: {finding.summary} ({finding.code})\n→ {finding.remedy}")


def waits_before(plan: Plan, target: TargetPlan) -> tuple[pulumi.ResourceHook, ...]:
    """The hook that waits until a backend is idle, right before a change to a target whose pods its jobs need, if the
    plan has such a drain; hooks do not run in previews.

    If the drain fails, the hook fails, and so does the step: the target and everything after it in the chain do not
    change.
    """
    drain = next((found for found in plan.drains if target.name in found.targets), None)
    if drain is None or target.key.kind not in {*WORKLOAD_KINDS, SCALED_OBJECT}:
        return ()
    if os.environ.get(NO_DRAIN):
        pulumi.log.warn(f"{target.name} is changed without waiting for jobs on {drain.name}: {NO_DRAIN} is set")
        return ()

    async def until_idle(_args: pulumi.ResourceHookArgs) -> None:
        try:
            await wait(drain._replace(targets=(target.name,)), _ask, pulumi.log.info, stop_asked)
        except GaveUp as error:
            raise pulumi.RunError(str(error)) from error

    return (pulumi.ResourceHook(f"drain {target.resource}", until_idle),)


async def _ask(source: JobSource) -> Busy:
    # The program has other callbacks to answer meanwhile.
    return await aside(ask, source)


class Rollouts:
    """Waits after a step until all pods of the changed object are up to date and available.

    The provider waits too, and knows what keeps a pod from starting. But its watch may mistake the object's state from
    before the step for the controller's answer (pulumi-kubernetes 4.25 does, mostly with a busy control plane). The
    provider then treats a rollout that has not begun as complete. The next target in the chain relies on a complete
    rollout.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._stuck: list[str] = []

    def before(self, target: TargetPlan) -> tuple[pulumi.ResourceHook, ...]:
        """The hook that stops a chain after an unfinished rollout; the engine would continue after the step."""

        def check(_args: pulumi.ResourceHookArgs) -> None:
            self.check(target)

        return (pulumi.ResourceHook(f"follows:{_name(target)}", check),)

    def after(self, target: TargetPlan, patience: int) -> tuple[pulumi.ResourceHook, ...]:
        """The hook that waits for a target's rollout, at most ``patience`` seconds; a preview runs no hooks.

        A restored target rolls out by its installer's strategy, which may need one GPU more than there are (RES104), so
        the hook does not wait for a restored target.
        """
        if target.key.kind not in WORKLOAD_KINDS or target.dropped or _skipped(target.after.reveal()):
            return ()

        async def wait(_args: pulumi.ResourceHookArgs) -> None:
            await self.wait(target, patience)

        return (pulumi.ResourceHook(f"rolled out:{_name(target)}", wait),)

    def check(self, target: TargetPlan) -> None:
        """Allows a change of a target, unless an earlier rollout failed.

        Raises:
            pulumi.RunError: an earlier rollout did not finish.
        """
        if self._stuck:
            raise pulumi.RunError(f"{target.name} was not changed: {', '.join(self._stuck)} has not rolled out")

    async def wait(self, target: TargetPlan, patience: int) -> None:
        """Waits for a target's rollout, at most ``patience`` seconds.

        Raises:
            pulumi.RunError: the rollout is not complete by then, or the run was asked to stop.
        """
        try:
            await self._wait(target, patience)
        except pulumi.RunError:
            self._stuck.append(target.name)
            raise

    async def _wait(self, target: TargetPlan, patience: int) -> None:
        until = time.monotonic() + patience
        reported = ""
        while True:
            state = await aside(self._state, target)
            if not state:
                return
            if stop_asked():
                raise pulumi.RunError(f"stopped while {target.name} rolls out ({state}); the rollout continues")
            if time.monotonic() >= until:
                raise pulumi.RunError(f"{target.name} has not rolled out in {text(patience)}: {state}")
            if not reported:
                reported = state
                pulumi.log.info(f"{target.key.kind} {target.name}{ROLLING} ({state})")
            await asyncio.sleep(POLL)

    def _state(self, target: TargetPlan) -> str:
        """What a rollout still lacks, in words; empty when it is done."""
        from modelyard.cluster.connection import ClusterError

        try:
            live = self._live.look(target.key)
        except ClusterError as error:
            # A wait this long also covers an API server that restarts.
            return error.summary
        return unfinished(live, upgraded=target.upgrades)


def _skipped(body: Mapping[str, Any]) -> bool:
    """Whether the object asks the provider not to wait for it."""
    return str((body["metadata"].get("annotations") or {}).get("pulumi.com/skipAwait", "")).lower() == "true"


def _name(target: TargetPlan) -> str:
    return f"{target.key.kind}/{target.resource}"
