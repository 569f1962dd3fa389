"""Converts the engine's events to lines of progress for the user, and collects their errors."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from pulumi.automation import events

from modelyard.cluster.engine_state import REMOTE
from modelyard.engine.ledger import LEFT
from modelyard.kube.kinds import KINDS
from modelyard.probes.waiting import SAYS

Report = Callable[[str], None]
"""Receives one line of progress at a time."""

_VERBS = {
    "create": "creating",
    "update": "updating",
    "delete": "deleting",
    "replace": "replacing",
    "create-replacement": "replacing",
    "delete-replaced": "deleting the replaced",
}
_PATCH_VERBS = {"create": "patching", "update": "patching"}
_LEDGER_VERBS = {"delete": "restoring"}
_DROPPING_VERBS = {
    "/modelyard:Restore": {"create": "restoring", "update": "restoring"},
    "/modelyard:Removal": {"create": "deleting", "update": "deleting"},
}
"""Verbs for the objects that a run restores or deletes in the plan's order, by the end of the resource type."""
_CAPITALS = {kind.lower(): kind for _, kind in KINDS}
"""Kinds by their lowercase form, which the state's records of objects have; other kinds stay lowercase."""
_HIDDEN = "[secret]"
_STACK = "pulumi:pulumi:Stack"
_SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
"""The member by which the engine marks an object as a secret value."""

DONE = "done "
"""Begins the line about an object whose step has ended well."""
ROLLING = ": Waiting for its rollout"
"""Follows an object whose pods a run waits for."""


class Progress:
    """Follows one run: reports the steps on Kubernetes objects and what each waits for.

    Keeps the number of objects per operation, the progress of their steps, and the errors.
    """

    def __init__(self, report: Report) -> None:
        self.changes: Counter[str] = Counter()
        self.errors: list[str] = []
        self.done: list[str] = []
        """The objects that were changed, by kind and name."""
        self.unfinished: list[str] = []
        """The objects whose change began and failed or has not ended yet."""
        self.begun = False
        """Whether the engine has reported anything: from then on, it holds the lock of the state."""
        self.over = False
        """Whether the engine has finished its steps and only cleans up."""
        self.outputs: dict[str, Any] = {}
        """The stack's outputs as the program set them, without secret ones."""
        self._report = report
        self._reported: dict[str, str] = {}
        self._ended: set[str] = set()
        """Objects that are already restored or deleted: the engine then only drops them from the state."""

    def on_event(self, event: events.EngineEvent) -> None:
        """Takes the engine's next event."""
        self.begun = True
        if event.resource_pre_event is not None:
            self._step(event.resource_pre_event.metadata, "", self.unfinished.append)
        elif event.res_outputs_event is not None:
            step = event.res_outputs_event.metadata
            if _is_object(step) and (operation := _operation(step)) != "refresh":
                self.changes[operation] += 1
            if step.type == _STACK and step.new is not None:
                shown = {name: _shown(value) for name, value in sorted((step.new.outputs or {}).items())}
                self.outputs = {name: value for name, value in shown.items() if value != _HIDDEN}
            self._step(step, DONE, self._finished)
        elif event.res_op_failed_event is not None:
            self._step(event.res_op_failed_event.metadata, "FAILED ", lambda _target: None)
        elif event.diagnostic_event is not None:
            self._diagnostic(event.diagnostic_event)
        elif event.summary_event is not None:
            self.over = True

    def _step(self, step: events.StepEventMetadata, prefix: str, note: Callable[[str], None]) -> None:
        ledger = step.type.endswith("/modelyard:Ledger")
        dropping = next((verbs for end, verbs in _DROPPING_VERBS.items() if step.type.endswith(end)), None)
        verbs = dropping or (_LEDGER_VERBS if ledger else _PATCH_VERBS if step.type.endswith("Patch") else _VERBS)
        if (dropping or ledger or _is_object(step)) and (verb := verbs.get(_operation(step))) is not None:
            target = _object(step.urn)
            if dropping:
                self._ended.add(target.lower())
            elif target.lower() in self._ended and _operation(step) == "delete":
                return
            note(target)
            self._report(f"{prefix}{verb} {target}")

    def _finished(self, target: str) -> None:
        if target in self.unfinished:
            self.unfinished.remove(target)
        self.done.append(target)

    def _diagnostic(self, diagnostic: Any) -> None:
        message = diagnostic.message.strip()
        if diagnostic.severity == "error":
            urn = diagnostic.urn or ""
            name = _name(urn) if "kubernetes:" in urn else ""
            self.errors.append(unreached(message, urn) or (f"{name}: {message}" if name else message))
        elif diagnostic.severity.startswith("info") and (
            message.startswith(SAYS) or f": {LEFT}" in message or ROLLING in message
        ):
            self._report(message)
        elif diagnostic.severity.startswith("info") and "kubernetes:" in (diagnostic.urn or "") and message:
            target = _object(diagnostic.urn)
            if message.startswith("Waiting") and self._reported.get(target) != message:
                self._reported[target] = message
                self._report(f"{target}: {message}")


def _shown(value: Any) -> Any:
    """An output's value as ``pulumi stack output`` shows it."""
    if isinstance(value, list):
        return [_shown(one) for one in value]
    if not isinstance(value, dict):
        return value
    key, mark = _SECRET
    return _HIDDEN if value.get(key) == mark else {name: _shown(one) for name, one in value.items()}


def _is_object(step: events.StepEventMetadata) -> bool:
    return step.type.startswith("kubernetes:")


def _operation(step: events.StepEventMetadata) -> str:
    return str(getattr(step.op, "value", step.op))


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _object(urn: str) -> str:
    """``Deployment ray-head``, whether the URN is of the object or of the state's record of it."""
    kind, _, name = _name(urn).rpartition("/")
    kind = _CAPITALS.get(kind, kind) or urn.rpartition("::")[0].rpartition(":")[2].removesuffix("Patch")
    return f"{kind} {name}"


# From here: what the user reads when the engine does not reach a cluster. The engine's own message suggests a variable
# with which the engine drops from its state whatever it does not reach. Objects that still exist would then belong to
# no stack, even if the cluster is unreachable only briefly. modelyard therefore does not show this advice.
_FORGETTING: Final = re.compile(r"\s*[^.\n]*PULUMI_K8S_DELETE_UNREACHABLE[^.\n]*\.?")
_UNREACHED: Final = re.compile(
    r"(?:failed to read resource state due to unreachable cluster|configured Kubernetes cluster is unreachable)"
    r"(?:\.(?=\s|$))?(?::\s*(?P<why>\S.*))?\s*$",
    re.DOTALL,
)
_NO_ANSWER: Final = "does not answer"


def without_forgetting(message: str) -> str:
    """The message without the advice to make the engine forget what it does not reach."""
    return _FORGETTING.sub("", message)


def unreached(message: str, urn: str = "") -> str | None:
    """The cluster that the engine does not reach, and why.

    The text is the same for all objects of one cluster that are unreachable for the same reason.

    Args:
        message: an error of the engine about an object.
        urn: URN of the object; empty: the stack's cluster is unknown.

    Returns:
        None if the message is about something else.
    """
    if (found := _UNREACHED.search(without_forgetting(message))) is None:
        return None
    kind, _, name = urn.rpartition("::")
    cluster = f"remote cluster {name.partition('/')[0]}" if f"${REMOTE}$" in kind else "the platform's cluster"
    why = " ".join((found["why"] or "").split())
    return f"{cluster if urn else 'a cluster'} {_NO_ANSWER}{f': {why}' if why else ''}"


def is_unreached(text: str) -> bool:
    """Whether a text reports that a cluster does not answer."""
    return _NO_ANSWER in text
