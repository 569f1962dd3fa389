"""After a step: waits until all pods of the changed object are up to date and available.

The provider waits too, and knows what keeps a pod from starting. But its watch may mistake the object's state from
before the step for the controller's answer (pulumi-kubernetes 4.25 does, mostly with a busy control plane). The
provider then treats a rollout that has not begun as complete. The next target in the chain relies on a complete
rollout.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pulumi

from modelyard.engine.program.aside import aside, stop_asked
from modelyard.engine.program.live import Live
from modelyard.engine.progress import ROLLING
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.rollouts import unfinished
from modelyard.plan import TargetPlan

POLL = 1.0
"""Seconds between two checks."""


class Rollouts:
    """The rollouts of one run."""

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
        if target.key.kind not in WORKLOAD_KINDS or target.leaves or _skipped(target.after.reveal()):
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
                raise pulumi.RunError(f"{target.name} has not rolled out in {patience} s: {state}")
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
