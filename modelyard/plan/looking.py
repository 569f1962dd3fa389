"""How busy the training sides of a plan are now. Loaded only where somebody plans against a live cluster."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date

from modelyard.drain import Busy, Drain, Unanswered, Unnamed
from modelyard.drain.asking import ask
from modelyard.findings import Finding, Severity
from modelyard.plan.drains import unanswerable
from modelyard.plan.trace import place_field
from modelyard.plan.values import Plan
from modelyard.stack import apply_waivers
from modelyard.stack.config import Stack

CODES = ("RES105", "RES107")
"""Of these findings. A plan does not find them, so their waivers are applied here."""


def looked(stack: Stack, plan: Plan, today: date) -> Plan:
    """The plan with what the sides that it waits for say now, all asked together.

    One that cannot be asked is a warning: by the time of the apply it may answer.
    """
    waits = [drain for drain in plan.drains if not isinstance(drain.source, Unnamed)]
    if not waits:
        return plan
    with ThreadPoolExecutor(max_workers=len(waits)) as pool:
        found = [finding for finding in pool.map(_look, waits) if finding is not None]
    placed = apply_waivers([place_field(finding, stack) for finding in found], stack, today)
    # What is wrong with waivers themselves the plan has told already.
    return plan._replace(findings=(*plan.findings, *(one for one in placed if one.code in CODES)))


def _look(drain: Drain) -> Finding | None:
    try:
        seen = ask(drain.source)
    except Unanswered as error:
        return unanswerable(drain, error.summary, error.remedy or "look again")
    return _busy(drain, seen)


def _busy(drain: Drain, seen: Busy) -> Finding:
    return Finding(
        "RES107",
        Severity.ADVICE,
        f"{drain.name} has {seen} now",
        target=drain.targets[0],
        field=f"drain.{drain.side}",
        detail="; ".join(seen.jobs[:5]),
        remedy="nothing to do: an apply waits" if not seen.idle else "nothing to do",
    )
