"""One run of the engine: choosing the stack, following what it does, and ending in order."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pulumi import automation
from pulumi.automation import events

from modelyard.engine.command import Command
from modelyard.engine.failure import EngineError, Lock, NothingAppliedError, failure, killed, stopped
from modelyard.engine.progress import Progress, Report
from modelyard.engine.stopping import Stopping
from modelyard.engine.workspace import Workspace

OnEvent = Callable[[events.EngineEvent], None]
Result = TypeVar("Result")


class Run:
    """A run of one verb, a context manager.

    Without a ``stopping`` of the caller's, nothing but an exception ends the run early.
    """

    def __init__(self, verb: Literal["apply", "destroy"], report: Report, stopping: Stopping | None = None) -> None:
        self._verb = verb
        self._report = report
        self._given = stopping is not None
        self._stopping = stopping or Stopping()
        self._progress = Progress(report)
        self.state: Mapping[str, Any] = {}
        """The deployment of the selected stack as it was found; empty where it is new."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._given:
            self._stopping.close()

    @property
    def changes(self) -> dict[str, int]:
        """How many objects had which operation."""
        return dict(sorted(self._progress.changes.items()))

    def select(
        self, root: Path, stack: str, *, create: bool, variables: Mapping[str, str] | None = None
    ) -> automation.Stack:
        """The stack in the engine's state, made there if ``create`` says so.

        Raises:
            EngineError: there is no engine, no such stack, or no way to the state.
        """
        if shutil.which("pulumi") is None:
            raise EngineError(
                "the Pulumi engine (pulumi) is not on PATH", "install the Pulumi CLI, or in this repository: make lab"
            )
        choose = automation.Stack.create_or_select if create else automation.Stack.select
        command: Command | None = None
        try:
            command = Command(self._stopping, self._report)
            workspace = Workspace(str(root), {**_environment(), **(variables or {})}, command)
            selected = choose(stack, workspace)
        except automation.StackNotFoundError as error:
            raise NothingAppliedError(
                f"nothing was ever applied for {stack} in this state",
                "check PULUMI_BACKEND_URL and the backend of Pulumi.yaml; modelyard apply comes first",
            ) from error
        except automation.CommandError as error:
            lock: Lock = "unknown" if command is not None and command.killed else "free"
            raise self._ended(stack, lock, failure((), str(error))) from error
        except (
            automation.InvalidVersionError,
            OSError,
            ValueError,
            TypeError,
            LookupError,
            subprocess.CalledProcessError,
        ) as error:
            wrong = EngineError(f"pulumi on PATH does not run: {error}", "install the Pulumi CLI again")
            raise self._ended(stack, "free", wrong) from error
        self.state = workspace.found
        return selected

    def add(self, stack: automation.Stack, variables: Mapping[str, str]) -> None:
        """Gives the engine more environment variables from here on."""
        stack.workspace.env_vars = {**stack.workspace.env_vars, **variables}

    def follow(self, stack: automation.Stack, run: Callable[[OnEvent], Result]) -> Result:
        """Runs an operation on the stack and follows its events.

        Raises:
            StaleError, StoppedError, EngineError: it did not come to a good end.
        """
        if self._stopping.signal is not None:
            raise stopped(self._stopping.signal, self._verb, stack.name, self._progress, "free")
        try:
            result = run(self._on_event)
        except automation.CommandError as error:
            lock = self._lock(stack)
            wrong = failure(self._progress.errors, str(error))
            raise self._ended(stack.name, lock, wrong) from error
        except OSError as error:
            raise EngineError(f"pulumi on PATH does not run: {error}", "install the Pulumi CLI again") from error
        # Interrupted while it deletes, the engine begins nothing more and still says that it succeeded.
        if self._stopping.signal is not None and self._stopping.heard and not self._all_gone(stack):
            raise stopped(self._stopping.signal, self._verb, stack.name, self._progress, "free")
        return result

    def _all_gone(self, stack: automation.Stack) -> bool:
        """Whether a destroy has left nothing to do."""
        if self._verb != "destroy":
            return False
        self._stopping.begin(afresh=True)
        return not (stack.export_stack().deployment or {}).get("resources")

    def _on_event(self, event: events.EngineEvent) -> None:
        self._progress.on_event(event)
        self._stopping.listens(not self._progress.over)

    def _ended(self, stack: str, lock: Lock, wrong: EngineError) -> EngineError:
        """The error to end with: of the signal if there was one, else of what went wrong."""
        if self._stopping.signal is not None:
            return stopped(self._stopping.signal, self._verb, stack, self._progress, lock)
        return wrong if lock == "free" else killed(self._verb, stack, lock)

    def _lock(self, stack: automation.Stack) -> Lock:
        """What became of the lock; that of a killed engine is freed, if it had come so far that it was ours."""
        command = stack.workspace.pulumi_command
        if not (isinstance(command, Command) and command.killed):
            return "free"
        if not self._progress.begun:
            return "unknown"
        self._stopping.begin(afresh=True)
        try:
            stack.cancel()
        except (automation.CommandError, OSError):
            return "unknown"
        return "freed"


def _environment() -> dict[str, str]:
    extra = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & os.environ.keys():
        # Plans hold no secrets. Who keeps secrets in the stack sets a passphrase, and Pulumi then asks for that one.
        extra["PULUMI_CONFIG_PASSPHRASE"] = ""
    return extra
