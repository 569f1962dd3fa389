"""Driving the project's Pulumi program: the same one that ``pulumi up`` runs."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pulumi import automation
from pulumi.automation import events

Report = Callable[[str], None]
"""Receives one line of progress at a time."""

_VERBS = {
    "create": "creating",
    "update": "updating",
    "delete": "giving up",
    "replace": "replacing",
    "create-replacement": "replacing",
    "delete-replaced": "removing the replaced",
}


class EngineError(Exception):
    """The engine cannot be run, or its run failed: why, and what to do."""

    def __init__(self, summary: str, remedy: str, detail: str = "") -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy
        self.detail = detail


class Outcome(NamedTuple):
    """What a run of the engine did."""

    result: str
    changes: Mapping[str, int]
    """Resources by operation: ``create``, ``update``, ``same``, ``delete``."""
    outputs: Mapping[str, Any]


def apply(root: Path, stack: str, report: Report) -> Outcome:
    """Runs ``up`` of a stack.

    Raises:
        EngineError: the engine is not there, its state is locked, or a step failed.
    """
    selected = _select(root, stack, create=True)
    done = _watched(lambda on_event: selected.up(on_event=on_event, suppress_progress=True), report)
    outputs = {name: value.value for name, value in done.outputs.items() if not value.secret}
    return Outcome(done.summary.result, _changes(done.summary.resource_changes), outputs)


def destroy(root: Path, stack: str, report: Report) -> Outcome:
    """Runs ``destroy`` of a stack.

    Raises:
        EngineError: there is no such stack in the state, or as for :func:`apply`.
    """
    selected = _select(root, stack, create=False)
    done = _watched(lambda on_event: selected.destroy(on_event=on_event, suppress_progress=True), report)
    return Outcome(done.summary.result, _changes(done.summary.resource_changes), {})


def _changes(counts: Mapping[Any, int] | None) -> dict[str, int]:
    return {str(getattr(name, "value", name)): number for name, number in sorted((counts or {}).items())}


def _select(root: Path, stack: str, *, create: bool) -> automation.Stack:
    if shutil.which("pulumi") is None:
        raise EngineError(
            "the Pulumi engine (pulumi) is not on PATH", "install the Pulumi CLI, or in this repository: make lab"
        )
    options = automation.LocalWorkspaceOptions(env_vars=_environment(root))
    choose = automation.create_or_select_stack if create else automation.select_stack
    try:
        return choose(stack, work_dir=str(root), opts=options)
    except automation.StackNotFoundError as error:
        raise EngineError(
            f"nothing was ever applied for {stack} in this state",
            "check PULUMI_BACKEND_URL; modelyard apply comes first",
        ) from error
    except automation.CommandError as error:
        raise _told(str(error)) from error


def _environment(root: Path) -> dict[str, str]:
    """State on disk unless the environment names another backend."""
    extra = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    if "PULUMI_BACKEND_URL" not in os.environ:
        state = root / ".pulumi"
        state.mkdir(exist_ok=True)
        extra["PULUMI_BACKEND_URL"] = state.as_uri()
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & os.environ.keys():
        # Plans hold no secrets. Who keeps secrets in the stack sets a passphrase, and Pulumi then asks for that one.
        extra["PULUMI_CONFIG_PASSPHRASE"] = ""
    return extra


def _watched(run: Callable[[Callable[[events.EngineEvent], None]], Any], report: Report) -> Any:
    problems: list[str] = []

    def on_event(event: events.EngineEvent) -> None:
        line = _progress(event)
        if line:
            report(line)
        if event.diagnostic_event is not None and event.diagnostic_event.severity == "error":
            problems.append(event.diagnostic_event.message.strip())

    try:
        return run(on_event)
    except automation.ConcurrentUpdateError as error:
        raise EngineError(
            "another run holds the state of this stack", "wait for it; pulumi cancel frees a lock that was left behind"
        ) from error
    except automation.CommandError as error:
        raise _told("\n".join(problems) or str(error)) from error


def _progress(event: events.EngineEvent) -> str:
    if event.resource_pre_event is not None:
        step = event.resource_pre_event.metadata
        verb = _VERBS.get(_name(step.op))
        return f"{verb} {_short(step.urn)}" if verb and _is_object(step.type) else ""
    if event.res_outputs_event is not None:
        step = event.res_outputs_event.metadata
        return f"done     {_short(step.urn)}" if _VERBS.get(_name(step.op)) and _is_object(step.type) else ""
    if event.res_op_failed_event is not None:
        return f"FAILED   {_short(event.res_op_failed_event.metadata.urn)}"
    return ""


def _name(op: Any) -> str:
    return str(getattr(op, "value", op))


def _is_object(kind: str) -> bool:
    return kind.startswith("kubernetes:")


def _short(urn: str) -> str:
    return urn.rpartition("::")[2]


def _told(text: str) -> EngineError:
    lowered = text.lower()
    if "passphrase" in lowered:
        return EngineError(
            "the stack's state is encrypted with another passphrase",
            "set PULUMI_CONFIG_PASSPHRASE to the right one",
            text,
        )
    if "lock" in lowered and "stack" in lowered:
        return EngineError(
            "another run holds the state of this stack",
            "wait for it; pulumi cancel frees a lock that was left behind",
            text,
        )
    return EngineError("the engine stopped", "the last lines say why; nothing after the failed step was changed", text)
