"""Signals during a preview: no temporary file and no worktree of the base is left."""

import os
import re
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


def worktrees(project: Any) -> int:
    words = ["git", "-C", str(project.root), "worktree", "list"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.count("\n")


@pytest.fixture
def comparing(
    project: Any, cli: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts a preview of a number of stacks, and returns while it runs a slow rule."""
    children: list[subprocess.Popen[str]] = []

    def start(stacks: int) -> "subprocess.Popen[str]":
        for number in range(stacks):
            name = f"s{number:03}"
            project.stack_file(name).write_bytes(project.stack_file().read_bytes())
            (project.root / "stacks/recorded" / name).symlink_to("dev")
        request.getfixturevalue("committed")
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
        assert worktrees(project) == 1
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
def test_a_signal_leaves_nothing_of_the_base(
    project: Any, comparing: Any, tmp_path: Path, number: signal.Signals, name: str, code: int
) -> None:
    child = comparing(0)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (code, "")
    assert re.fullmatch(f"error: {name}: .*\n", err)
    assert worktrees(project) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_signal_to_all_processes_leaves_nothing_of_the_base(project: Any, comparing: Any, tmp_path: Path) -> None:
    child = comparing(WORTH_A_POOL)
    os.killpg(child.pid, signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (143, "")
    assert re.fullmatch("error: SIGTERM: .*\n", err)
    assert worktrees(project) == 1
    assert list((tmp_path / "tmp").iterdir()) == []
