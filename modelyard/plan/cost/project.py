"""Prices the plans of a project: the single entry for reports and policies."""

from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

from modelyard.findings import Finding, ordered
from modelyard.hardware.own import of_project
from modelyard.plan.cost.pods import cost_of
from modelyard.plan.cost.prices import LIST, Prices
from modelyard.plan.cost.values import JobsOnly, stack_cost
from modelyard.plan.project import UNFIT, Planned, recorded_damage
from modelyard.stack import Stack
from modelyard.workloads.facts.remote import remote_clusters


@of_project
def priced(root: Path, planned: Planned, earlier: Prices | None = None) -> Planned:
    """The plan with its cost in all of its clusters; only the findings if the stack's price file has errors.

    A stack that could not be planned is returned unchanged.

    Args:
        root: the project's folder, which holds price files.
        planned: the result of ``plan_recorded`` or ``plan_live``.
        earlier: the earlier prices, if they change with the plan.
    """
    if planned.stack is None or planned.plan is None or planned.state is None:
        return planned
    prices, findings = prices_of(root, planned.stack)
    if prices is None:
        return planned._replace(plan=None, findings=findings)
    try:
        costs = {plan.remote: cost_of(plan, state, prices, earlier).targets for plan, state in planned.clusters}
    except UNFIT:
        if not (damage := recorded_damage(root, planned.stack, planned.remotes)):
            raise
        return planned._replace(plan=None, findings=damage)
    idle = _jobs_only(planned.stack, [name for name, targets in costs.items() if not targets])
    plan = planned.plan._replace(cost=stack_cost(chain.from_iterable(costs.values()), idle))
    return planned._replace(plan=plan._replace(findings=ordered((*plan.findings, *findings))) if findings else plan)


def _jobs_only(stack: Stack, names: Collection[str]) -> Iterator[JobsOnly]:
    """The stack's remote clusters, by name, that run only jobs."""
    for remote in remote_clusters(stack.config):
        if remote.name in names:
            quotas = [one.remote.cluster.quota for one in remote.resources if one.remote and one.remote.cluster]
            limits = [quota.gpus for quota in quotas if quota is not None]
            yield JobsOnly(remote.name, sum(limits) if len(limits) == len(quotas) else None)


@of_project
def prices_of(root: Path, stack: Stack) -> tuple[Prices | None, tuple[Finding, ...]]:
    """The prices of a stack, with all findings about its price file; no prices if a finding is an error.

    A stack that names no file uses only list prices.
    """
    if stack.config.prices is None:
        return LIST, ()
    from modelyard.plan.cost.file import load_prices  # few stacks have a file, and a cold start must be short

    return load_prices(root, stack.config.prices, stack)
