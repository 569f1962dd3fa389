"""Pricing the plans of a project: the one entry for whoever shows what a plan costs."""

from pathlib import Path

from modelyard.cost.pods import cost_of
from modelyard.cost.prices import LIST, Prices
from modelyard.findings import Finding, ordered
from modelyard.plan.project import Planned
from modelyard.stack import Stack


def priced(root: Path, planned: Planned, earlier: Prices | None = None) -> Planned:
    """The same plan, and what it costs; no plan but the findings where the stack's price file has mistakes.

    What could not be planned stays as it is.

    Args:
        root: the project's folder, where price files lie.
        planned: as ``plan_recorded`` or ``plan_live`` returns it.
        earlier: the prices before, where they change with the plan.
    """
    if planned.stack is None or planned.plan is None or planned.state is None:
        return planned
    prices, findings = prices_of(root, planned.stack)
    if prices is None:
        return planned._replace(plan=None, findings=findings)
    plan = planned.plan._replace(cost=cost_of(planned.plan, planned.state, prices, earlier))
    return planned._replace(plan=plan._replace(findings=ordered((*plan.findings, *findings))) if findings else plan)


def prices_of(root: Path, stack: Stack) -> tuple[Prices | None, tuple[Finding, ...]]:
    """The prices of a stack, with all findings about its price file; without prices when one of them is an error.

    A stack that names no file has list prices alone.
    """
    if stack.config.prices is None:
        return LIST, ()
    from modelyard.cost.file import load_prices  # few stacks have a file, and a cold start is short

    return load_prices(root, stack.config.prices, stack)
