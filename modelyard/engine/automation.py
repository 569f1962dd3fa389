"""Driving the project's Pulumi program: the same one that ``pulumi up`` runs."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pulumi import automation
from pulumi.automation import events

from modelyard.engine.failure import EngineError, failure
from modelyard.engine.progress import Progress, Report
from modelyard.plan import Plan
from modelyard.plan.store import plan_to_json

OnEvent = Callable[[events.EngineEvent], None]


class Outcome(NamedTuple):
    """What a run of the engine did."""

    result: str
    changes: Mapping[str, int]
    """Kubernetes objects by operation: ``create``, ``update``, ``same``, ``delete``."""
    outputs: Mapping[str, Any]


def apply(root: Path, plan: Plan, report: Report) -> Outcome:
    """Runs ``up`` of a plan's stack.

    The program plans again, and changes nothing unless that gives the same plan.

    Raises:
        StaleError: inputs or starting state moved since the plan was made.
        EngineError: the engine is not there, its state is locked, or a step failed.
    """
    with tempfile.TemporaryDirectory(prefix="modelyard-") as folder:
        approved = Path(folder) / "plan.json"
        approved.write_text(json.dumps(plan_to_json(plan)), encoding="utf-8")
        stack = _select(root, plan.stack, create=True, variables={"MODELYARD_PLAN": str(approved)})
        done, changes = _watched(lambda on_event: stack.up(on_event=on_event, suppress_progress=True), report)
    outputs = {name: value.value for name, value in sorted(done.outputs.items()) if not value.secret}
    return Outcome(done.summary.result, changes, outputs)


def destroy(root: Path, stack: str, report: Report) -> Outcome:
    """Runs ``destroy`` of a stack.

    Raises:
        EngineError: there is no such stack in the state, or as for :func:`apply`.
    """
    selected = _select(root, stack, create=False)
    done, changes = _watched(lambda on_event: selected.destroy(on_event=on_event, suppress_progress=True), report)
    return Outcome(done.summary.result, changes, {})


def recorded_cluster(root: Path, stack: str) -> str | None:
    """The identity of the cluster that a stack was last applied to; None where that never came to an end.

    Raises:
        EngineError: as for :func:`destroy`.
    """
    try:
        found = _select(root, stack, create=False).outputs().get("cluster")
    except automation.CommandError as error:
        raise failure((), str(error)) from error
    return None if found is None else str(found.value)


def _select(root: Path, stack: str, *, create: bool, variables: Mapping[str, str] | None = None) -> automation.Stack:
    if shutil.which("pulumi") is None:
        raise EngineError(
            "the Pulumi engine (pulumi) is not on PATH", "install the Pulumi CLI, or in this repository: make lab"
        )
    options = automation.LocalWorkspaceOptions(env_vars={**_environment(), **(variables or {})})
    choose = automation.create_or_select_stack if create else automation.select_stack
    try:
        return choose(stack, work_dir=str(root), opts=options)
    except automation.StackNotFoundError as error:
        raise EngineError(
            f"nothing was ever applied for {stack} in this state",
            "check PULUMI_BACKEND_URL and the backend of Pulumi.yaml; modelyard apply comes first",
        ) from error
    except automation.CommandError as error:
        raise failure((), str(error)) from error
    except (automation.InvalidVersionError, OSError) as error:
        raise EngineError(f"pulumi on PATH does not run: {error}", "install the Pulumi CLI again") from error


def _environment() -> dict[str, str]:
    extra = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & os.environ.keys():
        # Plans hold no secrets. Who keeps secrets in the stack sets a passphrase, and Pulumi then asks for that one.
        extra["PULUMI_CONFIG_PASSPHRASE"] = ""
    return extra


def _watched(run: Callable[[OnEvent], Any], report: Report) -> tuple[Any, dict[str, int]]:
    progress = Progress(report)
    try:
        return run(progress.on_event), dict(sorted(progress.changes.items()))
    except automation.CommandError as error:
        raise failure(progress.errors, str(error)) from error
