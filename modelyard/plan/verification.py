"""Whether a stack runs as its file says: the gate between the waves of a rollout."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from modelyard.findings import Failure
from modelyard.kube.kinds import WORKLOAD_KINDS
from modelyard.kube.rollouts import old_pods, unfinished
from modelyard.kube.state import ObjectKey
from modelyard.plan.target import deletion
from modelyard.plan.values import Plan
from modelyard.stack.durations import text
from modelyard.stack.words import few, plural

CheckKind = Literal["stack", "change", "rollout", "query"]
CheckState = Literal["ok", "waiting", "failed", "unknown"]
"""``waiting``: a rollout in progress. ``unknown``: the cluster or the Prometheus server did not answer."""


class VerifyCheck(NamedTuple):
    """One thing that a verification looks at."""

    kind: CheckKind
    subject: str
    """The name of the stack or of the target, or the query."""
    state: CheckState
    found: str
    """In words; empty if it is fine."""
    remedy: str = ""
    lasting: bool = False
    """Whether it cannot pass later without a change, as with a context that the kubeconfig lacks."""


def without_answer(kind: CheckKind, subject: str, error: Failure) -> VerifyCheck:
    """The check of something that did not answer."""
    return VerifyCheck(kind, subject, "unknown", found=error.summary, remedy=error.remedy, lasting=error.lasting)


StackChecks = Mapping[str, tuple[VerifyCheck, ...]]
"""The checks of each stack."""


def checks_of(plan: Plan, pods: Mapping[ObjectKey, Iterable[Mapping[str, Any]]] | None = None) -> Iterator[VerifyCheck]:
    """The checks of a live plan: an object with a pending change was not applied, or has drifted.

    ``pods`` are the pods in the namespace of each RayCluster: its status does not show whether they are up to date.
    """
    pending = plan.pending
    for finding in plan.findings:
        if finding.blocks:
            found = f"{finding.code} {finding.summary}"
            yield VerifyCheck(
                kind="stack", subject=finding.target or plan.stack, state="failed", found=found, remedy=finding.remedy
            )
    for target in plan.everything:
        if target.name in pending:
            found = f"it differs from the stack file in {plural(len(target.changes), 'field')}"
            if target.action in ("create", "delete"):
                found = "it does not exist" if target.action == "create" else "it still exists"
            remedy = (
                f"modelyard plan {plan.stack} --live shows the differences, modelyard apply {plan.stack} applies them; "
                f"after an apply, modelyard drift {plan.stack} shows who changed what"
            )
            yield VerifyCheck(kind="change", subject=target.name, state="failed", found=found, remedy=remedy)
        else:
            yield VerifyCheck(kind="change", subject=target.name, state="ok", found="")
        if target.key.kind in WORKLOAD_KINDS and not target.dropped:
            lacks = unfinished(target.before.reveal())
            old = old_pods(target.before.reveal() or {}, (pods or {})[target.key]) if target.key in (pods or {}) else {}
            remedy = f"when no job runs in them, delete them: {deletion(target.key, old)}" if old else ""
            if old and not lacks:
                names = [name for names in old.values() for name in names]
                lacks = f"{few(names)} {'has' if len(names) == 1 else 'have'} the old template"
            yield VerifyCheck(
                kind="rollout", subject=target.name, state="waiting" if lacks else "ok", found=lacks, remedy=remedy
            )


def verified(checks: Iterable[VerifyCheck]) -> bool:
    """Whether a stack passes."""
    return all(check.state == "ok" for check in checks)


def failures(checks: StackChecks) -> tuple[str, ...]:
    """The stacks that do not pass."""
    return tuple(stack for stack, found in checks.items() if not verified(found))


def wait(
    look: Callable[[Sequence[str]], StackChecks],
    stacks: Sequence[str],
    *,
    timeout: float,
    bake: float,
    poll: float,
    say: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> StackChecks:
    """Waits until every stack passes, and then for as long as they must keep passing; returns the last checks.

    A lasting failure before a stack has passed ends the wait for it, and so does a query or an object that fails after
    it has begun to bake. A rollout in progress, as after a scale-up, or a server that does not answer, ends it only
    after the timeout.

    Args:
        look: checks some of the stacks.
        stacks: all of them.
        timeout: seconds that a stack may take to pass.
        bake: seconds for which it must keep passing.
        poll: seconds between two looks.
        say: receives lines of progress.
        clock: seconds of a monotonic clock.
        sleep: waits for a number of seconds.
    """
    begun = clock()
    passed_at: dict[str, float] = {}
    """When a stack first passed."""
    last_passed = dict.fromkeys(stacks, begun)
    found: dict[str, tuple[VerifyCheck, ...]] = {}
    reported: dict[str, str] = {}
    waiting = list(stacks)
    while True:
        found.update(look(waiting))
        now = clock()
        for stack in tuple(waiting):
            if verified(found[stack]):
                last_passed[stack] = now
                over = now - passed_at.setdefault(stack, now) >= bake
                line = "" if over else f"passes; must keep passing for {text(int(bake))}"
            else:
                baking = stack in passed_at
                broken = any(one.state == "failed" if baking else one.lasting for one in found[stack])
                over = broken or now - last_passed[stack] >= timeout
                line = "" if over else f"waiting: {first_wrong(stack, found[stack])}"
            if over:
                waiting.remove(stack)
            elif line != reported.get(stack):
                reported[stack] = line
                say(f"{stack}: {line}")
        if not waiting:
            return {stack: found[stack] for stack in stacks}
        sleep(poll)


def first_wrong(stack: str, checks: Iterable[VerifyCheck]) -> str:
    """The first check of a stack that does not pass, in words."""
    return found_words(stack, next(one for one in checks if one.state != "ok"))


def found_words(stack: str, check: VerifyCheck) -> str:
    """What a check of a stack found; without its subject if that is the stack."""
    return check.found if check.subject == stack else f"{check.subject}: {check.found}"
