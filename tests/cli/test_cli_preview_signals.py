"""Signals while two commits are compared: nothing of the other one is left, neither in git nor on disk."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.fleet import WORTH_A_POOL

SLOW = '''import time
from pathlib import Path
from modelyard.policy import rule

@rule("POL901")
def slow(subject, params):
    """Takes its time.

    **Why.** A test asks.

    **Example.** Any.

    **Fix.** None.
    """
    Path({marker!r}).touch()
    time.sleep(120)
    yield from ()
'''


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def comparing(project: Any, cli: Any, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts a preview of so many stacks, and returns when it is in the midst of it."""
    children: list[subprocess.Popen[str]] = []

    def start(stacks: int) -> "subprocess.Popen[str]":
        for number in range(stacks):
            name = f"s{number:03}"
            project.stack_file(name).write_bytes(project.stack_file().read_bytes())
            (project.root / "stacks/recorded" / name).symlink_to("dev")
        git(project.root, "init", "--quiet", "--initial-branch", "main")
        git(project.root, "config", "user.email", "dev@example.com")
        git(project.root, "config", "user.name", "dev")
        git(project.root, "add", "--all")
        git(project.root, "commit", "--quiet", "--message", "one")
        marker = tmp_path / "slow"
        rules = project.root / "policies/rules"
        rules.mkdir(parents=True)
        (rules / "slow.py").write_text(SLOW.format(marker=str(marker)))
        (tmp_path / "tmp").mkdir()
        child = subprocess.Popen(
            [*cli.PROGRAM, "preview", "--base", "main", "--trust-head"],
            cwd=project.root,
            env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        children.append(child)
        while not marker.exists():
            assert child.poll() is None, child.communicate()
            time.sleep(0.02)
        assert git(project.root, "worktree", "list").count("\n") == 1
        return child

    yield start
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


@pytest.mark.parametrize(
    ("number", "name", "code"),
    [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143), (signal.SIGHUP, "SIGHUP", 129)],
)
def test_a_signal_leaves_nothing_of_the_other_commit(
    project: Any, comparing: Any, tmp_path: Path, number: signal.Signals, name: str, code: int
) -> None:
    child = comparing(0)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (code, "")
    assert err == f"error: {name}: preview was stopped; its temporary files were removed\n"
    assert git(project.root, "worktree", "list").count("\n") == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_signal_to_every_process_of_many_leaves_nothing_either(project: Any, comparing: Any, tmp_path: Path) -> None:
    child = comparing(WORTH_A_POOL)
    os.killpg(child.pid, signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (143, "")
    assert err == "error: SIGTERM: preview was stopped; its temporary files were removed\n"
    assert git(project.root, "worktree", "list").count("\n") == 1
    assert list((tmp_path / "tmp").iterdir()) == []
