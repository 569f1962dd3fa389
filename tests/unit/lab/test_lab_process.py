"""The lab stops its child processes and no other process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import process
from lab.process import Process

ROOT = Path(__file__).resolve().parents[3]


def spawn(tmp_path: Path, *argv: str) -> Process:
    env = {"PATH": os.defpath}
    return process.spawn("child", argv, log=tmp_path / "log", env=env, cwd=tmp_path, dies_with_parent=True)


def test_a_child_runs_until_it_is_stopped(tmp_path: Path) -> None:
    child = spawn(tmp_path, "sleep", "60")
    assert process.alive(child)
    process.stop([child], patience=5)
    assert not process.alive(child)
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_child_that_exits_is_not_alive(tmp_path: Path) -> None:
    child = spawn(tmp_path, "echo", "said")
    deadline = time.monotonic() + 5
    while process.alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not process.alive(child)
    assert (tmp_path / "log").read_text() == "said\n"


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    child = spawn(tmp_path, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
    while not (tmp_path / "log").read_text():
        time.sleep(0.01)
    begun = time.monotonic()
    process.stop([child], patience=0.2)
    assert not process.alive(child)
    assert time.monotonic() - begun < 3


def test_a_suspended_child_can_be_stopped(tmp_path: Path) -> None:
    child = spawn(tmp_path, "sleep", "60")
    process.send(child, signal.SIGSTOP)
    process.stop([child], patience=5)
    assert not process.alive(child)


def test_another_process_with_the_same_pid_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        remembered = Process("etcd", stranger.pid, "another start time")
        process.stop([remembered], patience=0)
        assert not process.alive(remembered)
        assert stranger.poll() is None
        stranger.kill()


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        spawn(tmp_path, "/no/such/program")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help exists on Linux only")
def test_children_end_with_a_killed_parent(tmp_path: Path) -> None:
    program = f"""
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from lab import process
here = Path({str(tmp_path)!r})
child = process.spawn("c", ["sleep", "60"], log=here / "log", env={{}}, cwd=here, dies_with_parent=True)
print(child.pid, child.started, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, started = parent.stdout.readline().split()
        child = Process("c", int(pid), started)
        assert process.alive(child)
        parent.kill()
    deadline = time.monotonic() + 5
    while process.alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not process.alive(child)
