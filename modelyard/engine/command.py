"""Running the Pulumi CLI so that nothing of it stays behind, however this process ends."""

import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

from pulumi.automation import CommandResult, OnOutput, PulumiCommand
from pulumi.automation.errors import create_command_error

from modelyard.engine import keeper
from modelyard.engine.stopping import Stopping
from modelyard.temporary import temporary_parent


class Command(PulumiCommand):
    """The CLI, each run of it under a keeper, which ends with whatever the CLI started when this process does.

    The keeper's session is not the terminal's: Ctrl-C and the end of a job reach this process alone, and the engine
    hears of it when ``stopping`` says so.
    """

    def __init__(self, stopping: Stopping, report: Callable[[str], None]) -> None:
        super().__init__()
        self.killed = False
        """Whether the last run was ended by a signal, and so could not clean up."""
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
        """Runs one command to its end; the callbacks get their lines then.

        Raises:
            pulumi.automation.CommandError: it ended with another code than 0.
            OSError: it cannot be started.
        """
        words = [self.command, "--non-interactive", *args]
        env = {**os.environ, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        # Files and not pipes: whoever writes to a pipe that nobody reads any more is killed, with the state locked.
        folder = temporary_parent()
        with tempfile.TemporaryFile(dir=folder) as out, tempfile.TemporaryFile(dir=folder) as err:
            code = self._kept(words, cwd, env, out, err)
            result = CommandResult(_told(out, on_output), _told(err, on_error), code)
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
                # A keeper that was killed has left this to us.
                keeper.end_session(child.pid)
            finally:
                # Whatever broke the loop: a keeper without a line to its owner ends what it keeps.
                ours.close()
                child.wait()
        return child.returncode

    def _follow(self, line: socket.socket) -> None:
        """Passes on what is asked for, until the keeper has ended and closed its end of the line."""
        while True:
            # Somebody may have asked before this command began, so this comes first.
            words, told = self._stopping.due()
            for each in told:
                self._report(each)
            with suppress(ConnectionError):
                line.sendall(words)
            heard = select.select([line.fileno(), self._stopping.fileno()], [], [], self._stopping.patience())[0]
            if line.fileno() in heard:
                return


def _told(stream: IO[bytes], callback: OnOutput | None) -> str:
    stream.seek(0)
    lines = [line.rstrip() for line in stream.read().decode("utf-8", "replace").splitlines()]
    if callback is not None:
        for line in lines:
            callback(line)
    return "\n".join(lines)
