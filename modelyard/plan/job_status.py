"""How busy the training backends of a plan are now. Loaded only for live plans."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import chain

from modelyard.findings import Finding, Severity, ordered
from modelyard.plan.drains import left_behind, unanswerable
from modelyard.plan.trace import place_field
from modelyard.plan.values import Plan
from modelyard.probes import BackendDrain, JobSourceError
from modelyard.probes.asking import ask
from modelyard.stack import waive
from modelyard.stack.config import Stack
from modelyard.workloads.training.backend import NoJobSource


def with_job_status(stack: Stack, plan: Plan, today: date) -> Plan:
    """The plan with findings from the training backends that it drains, or that new requests leave; asks all of them
    together.

    If a backend to drain does not answer, the finding is a warning: the backend may answer by the time of the apply.
    """
    waits, left = (
        [drain for drain in drains if not isinstance(drain.source, NoJobSource)]
        for drains in (plan.drains, left_behind(stack, plan))
    )
    if not waits and not left:
        return plan
    with ThreadPoolExecutor(max_workers=len(waits) + len(left)) as pool:
        answers = chain(pool.map(_look, waits), pool.map(_look_back, left))
        found = [finding for finding in answers if finding is not None]
    # The plan does not find these, so their waivers are applied here; it has judged the waivers themselves.
    judged, _ = waive((place_field(finding, stack) for finding in found), stack, today)
    return plan._replace(findings=(*plan.findings, *ordered(judged)))


def _look(drain: BackendDrain) -> Finding:
    try:
        seen = ask(drain.source)
    except JobSourceError as error:
        return unanswerable(drain, error.summary, error.remedy or "plan again")
    return Finding(
        "RES107",
        Severity.ADVICE,
        f"{drain.name} has {seen} now",
        target=drain.targets[0],
        field=f"drain.{drain.backend}",
        detail="; ".join(seen.jobs[:5]),
        remedy="no action needed" if seen.idle else "no action needed: an apply waits",
    )


def _look_back(drain: BackendDrain) -> Finding | None:
    """The requests left in the queue of a backend that new requests leave; None where no answer reports any."""
    try:
        seen = ask(drain.source)
    except JobSourceError:
        return None
    if seen.idle:
        return None
    return Finding(
        "RES109",
        Severity.WARNING,
        f"{drain.name} has {seen} now, and this plan leaves it without a worker",
        target=drain.targets[0],
        field=f"drain.{drain.backend}",
        detail="; ".join((*seen.jobs[:5], "these jobs stay in its queue until you switch training back")),
        remedy=f"complete the switch to {drain.name} and wait until it has finished them, or remove them from its "
        "queue and submit them again to the other backend",
    )
