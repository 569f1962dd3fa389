"""One run of the engine: selects the stack, follows the run, and ends it cleanly."""

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, Self, TypeVar

from pulumi import automation
from pulumi.automation import CommandResult, OnOutput, PulumiCommand, events
from pulumi.automation._stack import StackInitMode
from pulumi.automation.errors import create_command_error

from modelyard.cluster.backend import backend_variables
from modelyard.cluster.engine_state import INSTALL, NO_ENGINE, default_passphrase
from modelyard.engine import keeper
from modelyard.engine.failure import EngineError, LockState, NothingAppliedError, failure, killed, stopped
from modelyard.engine.progress import Progress, Report
from modelyard.engine.stopping import Stopping
from modelyard.files import parse_json
from modelyard.temporary import temporary_parent

OnEvent = Callable[[events.EngineEvent], None]
Result = TypeVar("Result")


class EngineRun:
    """A run of one engine operation, as a context manager.

    Without ``stopping`` from the caller, only an exception ends the run early.
    """

    def __init__(self, verb: Literal["apply", "destroy"], report: Report, stopping: Stopping | None = None) -> None:
        self._verb = verb
        self._report = report
        self._given = stopping is not None
        self._stopping = stopping or Stopping()
        self._progress = Progress(report)
        self.state: Mapping[str, Any] = {}
        """The deployment of the selected stack before the run; empty for a new stack."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._given:
            self._stopping.close()

    @property
    def resources(self) -> list[Mapping[str, Any]]:
        """The stack's resources before the run."""
        return self.state.get("resources") or []

    @property
    def changes(self) -> dict[str, int]:
        """The number of objects per operation."""
        return dict(sorted(self._progress.changes.items()))

    @property
    def outputs(self) -> dict[str, Any]:
        """The stack's outputs after an update, without secret ones."""
        return self._progress.outputs

    def select(
        self, root: Path, stack: str, *, create: bool, variables: Mapping[str, str] | None = None
    ) -> automation.Stack:
        """The stack in the engine's state, which is created there if ``create`` is set.

        Raises:
            EngineError: there is no engine or no such stack, or the state cannot be found.
            BackendError: credentials would reach an address that the operator did not name.
        """
        if shutil.which("pulumi") is None:
            raise EngineError(NO_ENGINE, INSTALL)
        given = {"PULUMI_SKIP_UPDATE_CHECK": "true", **default_passphrase()}
        given |= {**backend_variables(root).reveal(), **(variables or {})}
        mode = StackInitMode.CREATE_OR_SELECT if create else StackInitMode.SELECT
        command: Command | None = None
        try:
            command = Command(self._stopping, self._report)
            workspace = Workspace(str(root), given, command)
            try:
                selected = EngineStack(stack, workspace, mode)
            except automation.StackAlreadyExistsError:
                # Another first apply has created it since this one looked.
                selected = EngineStack(stack, workspace, StackInitMode.SELECT)
        except automation.StackNotFoundError as error:
            raise NothingAppliedError(
                f"Pulumi's state has no stack {stack}",
                "check PULUMI_BACKEND_URL and the backend of Pulumi.yaml, or run modelyard apply first",
            ) from error
        except automation.CommandError as error:
            lock: LockState = "unknown" if command is not None and command.killed else "free"
            raise self._ended(stack, lock, failure(stack, (), str(error))) from error
        except (
            automation.InvalidVersionError,
            OSError,
            ValueError,
            TypeError,
            LookupError,
            subprocess.CalledProcessError,
        ) as error:
            raise self._ended(stack, "free", _does_not_run(error)) from error
        self.state = workspace.found
        return selected

    def add(self, stack: automation.Stack, variables: Mapping[str, str]) -> None:
        """Gives the engine more environment variables from now on."""
        stack.workspace.env_vars = {**stack.workspace.env_vars, **variables}

    def follow(self, stack: automation.Stack, run: Callable[[OnEvent], Result]) -> Result:
        """Runs an operation on the stack and follows its events.

        Raises:
            StaleError, StoppedError, EngineError: the operation failed or was stopped.
        """
        if self._stopping.signal is not None:
            raise stopped(self._stopping.signal, self._verb, stack.name, self._progress, "free")
        try:
            result = run(self._on_event)
        except automation.CommandError as error:
            lock = self._lock(stack)
            wrong = failure(stack.name, self._progress.errors, str(error))
            raise self._ended(stack.name, lock, wrong) from error
        except OSError as error:
            raise _does_not_run(error) from error
        # If interrupted while it deletes, the engine begins nothing more and still reports success.
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

    def _ended(self, stack: str, lock: LockState, wrong: EngineError) -> EngineError:
        """The error that ends the run: about the signal if there was one, or else about the failure."""
        if self._stopping.signal is not None:
            return stopped(self._stopping.signal, self._verb, stack, self._progress, lock)
        return wrong if lock == "free" else killed(self._verb, stack, lock)

    def _lock(self, stack: automation.Stack) -> LockState:
        """What happened to the state's lock; releases the lock of a killed engine if this run held it."""
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


def _does_not_run(error: Exception) -> EngineError:
    match error:
        case OSError():
            why = (error.strerror or type(error).__name__).lower()
        case subprocess.CalledProcessError():
            why = f"it ended with {error.returncode}"
        case automation.InvalidVersionError():
            why = str(error)
        case _:
            why = "its output is not that of the Pulumi CLI"
    return EngineError(f"pulumi on PATH does not run: {why}", "install the Pulumi CLI again")


# Runs the Pulumi CLI so that none of its processes stay behind, however this process ends.
class Command(PulumiCommand):
    """Pulumi's command line, each run under a keeper: when this process ends, so does everything that the command
    started.

    The keeper has another session than the terminal: Ctrl-C and the end of a shell's job reach only this process, which
    interrupts the engine only if ``stopping`` asks for it.
    """

    def __init__(self, stopping: Stopping, report: Callable[[str], None]) -> None:
        super().__init__()
        self.killed = False
        """Whether a signal ended the last run, so that it could not clean up."""
        self._stopping = stopping
        self._report = report

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,
        on_error: OnOutput | None = None,
    ) -> CommandResult:
        """Runs one command to its end; the callbacks then get the lines of its output.

        Raises:
            pulumi.automation.CommandError: the command ended with another code than 0.
            OSError: the command cannot be started.
        """
        words = [self.command, "--non-interactive", *args]
        env = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        # Files, not pipes: a process that writes to a pipe without a reader is killed, with the state locked.
        folder = temporary_parent()
        with tempfile.TemporaryFile(dir=folder) as out, tempfile.TemporaryFile(dir=folder) as err:
            code = self._kept(words, cwd, env, out, err)
            result = CommandResult(_read(out, on_output), _read(err, on_error), code)
        self.killed = code < 0 or 128 < code < 255
        if code != 0:
            raise create_command_error(result)
        return result

    def _kept(self, words: list[str], cwd: str, env: Mapping[str, str], out: IO[bytes], err: IO[bytes]) -> int:
        self._stopping.begin()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                child: subprocess.Popen[bytes] = subprocess.Popen(
                    [sys.executable, "-I", "-S", keeper.__file__, *words],
                    stdin=theirs.fileno(),
                    stdout=out,
                    stderr=err,
                    cwd=cwd,
                    env=env,
                    start_new_session=True,
                )
            try:
                self._follow(ours)
                # A killed keeper leaves this to us.
                keeper.end_session(child.pid)
            finally:
                # Whatever broke the loop: a keeper without a connection to its owner ends its processes.
                ours.close()
                child.wait()
        return child.returncode

    def _follow(self, line: socket.socket) -> None:
        """Sends the keeper what is due, until the keeper has ended and closed its end of the line."""
        while True:
            # A stop may have been requested before this command began, so this comes first.
            words, messages = self._stopping.due()
            for each in messages:
                self._report(each)
            with suppress(ConnectionError):
                line.sendall(words)
            heard = select.select([line.fileno(), self._stopping.fileno()], [], [], self._stopping.patience())[0]
            if line.fileno() in heard:
                return


def _read(stream: IO[bytes], callback: OnOutput | None) -> str:
    stream.seek(0)
    lines = [line.rstrip() for line in stream.read().decode("utf-8", "replace").splitlines()]
    if callback is not None:
        for line in lines:
            callback(line)
    return "\n".join(lines)


# The project's folder as the engine sees it, with no more requests than a run needs.
class Workspace(automation.LocalWorkspace):
    """Reads states with their secrets hidden. To decrypt them, the engine would derive a key from the passphrase for
    each command, which takes a second, and nothing here may read secrets.

    Selects no stack: your own ``pulumi`` commands keep the stack that you selected.
    """

    def __init__(self, work_dir: str, env_vars: dict[str, str], command: automation.PulumiCommand) -> None:
        super().__init__(work_dir=work_dir, env_vars=env_vars, pulumi_command=command)
        self.found: Mapping[str, Any] = {}
        """The deployment in the state when the stack was looked up; empty if there was none."""

    def select_stack(self, stack_name: str) -> None:
        """Looks a stack up.

        Raises:
            pulumi.automation.StackNotFoundError: the state does not have it.
        """
        self.found = self.export_stack(stack_name).deployment or {}

    def export_stack(self, stack_name: str) -> automation.Deployment:
        """The stack's state."""
        state = parse_json(self._pulumi("stack", "export", "--stack", stack_name))
        return automation.Deployment(state["version"], state["deployment"])

    def _pulumi(self, *arguments: str) -> str:
        done = self.pulumi_command.run(list(arguments), self.work_dir, self.env_vars)
        return str(done.stdout)


class EngineStack(automation.Stack):
    """A stack whose run is one command of Pulumi: the engine's events show the outputs and the end of the run.

    Pulumi's library would run two more commands for these, each of which takes as long as a small run. Of the value of
    ``info``, only the result is read.
    """

    def outputs(self) -> automation.OutputMap:
        """Nothing; ``Run.outputs`` has them."""
        return {}

    def info(self, _show_secrets: bool = True) -> automation.UpdateSummary:
        """A summary with only the result: the library raises an error for a failed run, so this run has succeeded."""
        return automation.UpdateSummary("", datetime.now(UTC), "", {}, {}, "succeeded")
