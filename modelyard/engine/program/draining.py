"""Waits until a training backend is idle, right before a change to a target whose pods its jobs need."""

import os

import pulumi

from modelyard.engine.program.aside import aside, stop_asked
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.state import SCALED_OBJECT
from modelyard.plan import Plan, TargetPlan
from modelyard.probes import Busy
from modelyard.probes.asking import ask
from modelyard.probes.values import NO_DRAIN
from modelyard.probes.waiting import GaveUp, wait
from modelyard.workloads.training.backend import Source


def waits_before(plan: Plan, target: TargetPlan) -> tuple[pulumi.ResourceHook, ...]:
    """The hook that drains a backend before a target changes, if the plan has such a drain; hooks do not run in
    previews.

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


async def _ask(source: Source) -> Busy:
    # The program has other callbacks to answer meanwhile.
    return await aside(ask, source)
