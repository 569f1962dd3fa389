"""Signals while a verb runs that changes something: the exit code, one message, and JSON where JSON was asked for.

The messages are in ``tests/golden/test_cli_signals.txt``.
"""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.exit import Exit

SIGNALS = [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143), (signal.SIGHUP, "SIGHUP", 129)]
KUBECONFIG = """
apiVersion: v1
kind: Config
contexts: [{{name: dev, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""


class Silence:
    """An API server that takes a connection and says nothing."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.taken: list[socket.socket] = []

    def is_asked(self) -> None:
        """Returns when somebody has connected."""
        self.listener.settimeout(60)
        self.taken.append(self.listener.accept()[0])

    def close(self) -> None:
        for each in (self.listener, *self.taken):
            each.close()


@pytest.fixture
def silence() -> Iterator[Silence]:
    server = Silence()
    yield server
    server.close()


@pytest.fixture
def waiting(project: Any, cli: Any, silence: Silence, tmp_path: Path) -> Callable[..., Any]:
    """Starts a verb that asks the silent API server, and returns when it does."""
    (tmp_path / "kubeconfig").write_text(KUBECONFIG.format(port=silence.port))
    engine = tmp_path / "bin" / "pulumi"
    engine.parent.mkdir()
    # What it decrypts is for the controller of REMOTE.
    (tmp_path / "decrypted").write_text(KUBECONFIG.format(port=9).replace("http:", "https:"))
    engine.write_text(f'#!/bin/sh\n[ "$1" = config ] && exec cat {tmp_path}/decrypted\nexit 1\n')
    engine.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    env = {
        **os.environ,
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "PATH": f"{engine.parent}{os.pathsep}{os.environ['PATH']}",
        "NO_PROXY": "*",
        "TMPDIR": str(tmp_path / "tmp"),
    }

    def start(*words: str) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [*cli.PROGRAM, *words],
            cwd=project.root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        silence.is_asked()
        return child

    return start


def ended(child: "subprocess.Popen[str]", silence: Silence, number: signal.Signals) -> tuple[int, str, str]:
    child.send_signal(number)
    silence.close()
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


@pytest.mark.parametrize(("number", "name", "code"), SIGNALS)
def test_a_signal_while_planning(
    waiting: Any, silence: Silence, golden: Any, number: signal.Signals, name: str, code: int
) -> None:
    child = waiting("apply", "dev", "--yes")
    ended_with, out, err = ended(child, silence, number)
    assert (ended_with, out, name in err) == (code, "", True)
    golden(err)


def test_a_signal_while_planning_is_reported_in_json(waiting: Any, silence: Silence) -> None:
    child = waiting("apply", "dev", "--yes", "--json")
    code, out, err = ended(child, silence, signal.SIGTERM)
    assert (code, err) == (143, "")
    assert json.loads(out)["error"]["summary"].startswith("SIGTERM: ")


def test_a_signal_while_recording(waiting: Any, silence: Silence, project: Any, cli: Any, golden: Any) -> None:
    before = cli.tree(project.root)
    child = waiting("record", "dev")
    code, out, err = ended(child, silence, signal.SIGTERM)
    assert (code, out) == (143, "")
    golden(err)
    assert cli.tree(project.root) == before


REMOTE = """
modelyard:resources:
  - name: far
    type: runtime
    remote: {cluster: {controller: "https://127.0.0.1:9", quota: {cpu: 1, memory: 1Gi}, credentials: {secure: "v1:x"}}}
"""


@pytest.mark.parametrize(
    ("verb", "number", "code"),
    [*(("plan", number, code) for number, _, code in SIGNALS), ("check", signal.SIGTERM, 143)],
)
def test_a_signal_leaves_no_credentials_in_a_file(
    waiting: Any, silence: Silence, project: Any, tmp_path: Path, verb: str, number: signal.Signals, code: int
) -> None:
    project.add(REMOTE)
    child = waiting(verb, "dev", "--live")
    assert list((tmp_path / "tmp").rglob("kubeconfig*"))
    ended_with, out, err = ended(child, silence, number)
    assert (ended_with in (code, -number), out) == (True, ""), err
    assert list((tmp_path / "tmp").iterdir()) == []


ASKING = """
import sys
from types import SimpleNamespace
from modelyard.cli import app, destroy
destroy._look = lambda *_: SimpleNamespace(plan=None, contexts={}, total=0)
destroy.show_plan, destroy._report = lambda *_, **__: None, lambda *_: False
sys.exit(app.main(["destroy", "dev"]))
"""
"""A destroy that has looked at its cluster."""


def test_ctrl_c_at_the_question(project: Any, golden: Any, tmp_path: Path) -> None:
    engine = tmp_path / "bin" / "pulumi"
    engine.parent.mkdir()
    engine.write_text("#!/bin/sh\nexit 1\n")
    engine.chmod(0o755)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", ASKING],
        cwd=project.root,
        env={**os.environ, "PATH": f"{engine.parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = ""
    while "Type yes to continue: " not in said:
        said += os.read(ours, 4096).decode()
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    said += os.read(ours, 4096).decode()
    os.close(ours)
    golden(said.replace("\r", "").partition("Type yes to continue: ")[2])


IGNORING = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from modelyard.cli.signals import on_signal
with on_signal(print):
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGTERM)
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""


def test_ignored_signals_stay_ignored_and_handlers_are_restored() -> None:
    done = subprocess.run([sys.executable, "-c", IGNORING], capture_output=True, text=True, check=True)
    assert done.stdout == f"{int(signal.SIGTERM)}\nTrue\n"


def test_the_exit_codes_of_signals_are_those_of_shells() -> None:
    assert {Exit(code) for _, _, code in SIGNALS} == {Exit.HANGUP, Exit.INTERRUPTED, Exit.TERMINATED}
    assert all(code == 128 + number for number, _, code in SIGNALS)


SHOWING = """
import sys
from modelyard.cli.exit import Stop
from argparse import Namespace
from modelyard.cli.printing import show_plan
try:
    show_plan(lambda _: ["a plan"], Namespace(json=False), asks=True)
except Stop as stop:
    sys.stderr.write(stop.summary)
    sys.exit(int(stop.code))
"""


def test_a_plan_with_a_closed_output_is_not_applied(golden: Any) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", SHOWING], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert done.returncode == 2
    golden(done.stderr)
