"""Interrupted runs: no process is left, the state is unlocked, and the next run completes."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Literal

import pytest

from modelyard.engine.failure import StoppedError, failure, killed, stopped
from modelyard.engine.progress import Progress
from modelyard.engine.stopping import GENTLY, SOON
from tests.lab.support.cli_process import cli_process, locks, send_signal, words
from tests.lab.support.environment import NAMESPACE, PATIENCE, Environment, environment
from tests.lab.support.fault_proxy import Reply, Request, When, fault_proxy
from tests.lab.support.stuck_rollout import HEAD, NEVER_READY, hold, release

PATCHING = f"patching Deployment {HEAD}"

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("interrupted")) as env:
        yield env


@pytest.fixture
def dev(shared: Environment) -> Iterator[Environment]:
    """An environment in which the step of the Ray head never completes, because its pods cannot get ready."""
    before = shared.stack_file.read_text()
    shared.modelyard("apply", "dev", "--yes")
    hold(shared)
    shared.edit("    cpu: 2\n", "    cpu: 3\n")
    yield shared
    shared.stack_file.write_text(before)
    release(shared)
    shared.settle()


def at_the_head(number: int, verb: Literal["apply", "destroy"] = "apply") -> StoppedError:
    """The error of a run that was stopped during the step of the Ray head."""
    progress = Progress(lambda _line: None)
    progress.unfinished.append(f"Deployment {HEAD}")
    return stopped(number, verb, "dev", progress, "free")


def check_next_apply(env: Environment) -> None:
    """Checks that the next apply completes."""
    release(env)
    env.finish()


@pytest.mark.parametrize(
    ("number", "name", "code"),
    [(signal.SIGTERM, "SIGTERM", 143), (signal.SIGINT, "Ctrl-C", 130)],
)
def test_a_signal_ends_an_apply_gracefully(dev: Environment, number: signal.Signals, name: str, code: int) -> None:
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        assert any("pulumi-resource-kubernetes" in command for command in run.running().values())
        assert locks(dev)
        run.process.send_signal(number)
        ended, _, said = run.end()
        assert run.running() == {}
    assert ended == code, said
    assert GENTLY in said
    assert f"error: {name}: {at_the_head(number).summary} → {at_the_head(number).remedy}" in words(said)
    assert "Traceback" not in said
    assert "Warning" not in said
    assert locks(dev) == []
    check_next_apply(dev)


def test_a_second_signal_ends_an_apply_at_once(dev: Environment) -> None:
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        run.process.send_signal(signal.SIGTERM)
        run.until("stopping after ")
        time.sleep(1.1)
        run.process.send_signal(signal.SIGTERM)
        ended, _, said = run.end()
        assert run.running() == {}
    assert ended == 143, said
    assert SOON in said
    assert at_the_head(signal.SIGTERM).summary in words(said)
    assert "Warning" not in said
    assert locks(dev) == []
    check_next_apply(dev)


def test_the_engine_ends_when_modelyard_is_killed(dev: Environment) -> None:
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        run.process.kill()
        run.process.wait()
        dev.lab.wait("the end of the engine", lambda: run.running() == {})
    assert locks(dev) == []
    check_next_apply(dev)


def test_a_killed_engine_leaves_no_lock(dev: Environment) -> None:
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        (engine,) = (pid for pid, command in run.running().items() if command.startswith("pulumi "))
        os.kill(engine, signal.SIGKILL)
        ended, _, said = run.end()
        assert run.running() == {}
    assert ended == 3, said
    error = killed("apply", "dev", "freed")
    assert f"error: {error.summary} → {error.remedy}" in words(said)
    assert "Warning" not in said
    assert locks(dev) == []
    check_next_apply(dev)


def test_a_signal_to_all_processes_ends_an_apply_gracefully(dev: Environment) -> None:
    """Some CI systems signal all processes of a job."""
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        send_signal(run.running(), signal.SIGTERM)
        ended, _, said = run.end()
        assert run.running() == {}
    assert ended == 143, said
    assert locks(dev) == []
    check_next_apply(dev)


def test_a_closed_terminal_ends_an_apply_gracefully(dev: Environment) -> None:
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        assert run.process.stderr is not None
        assert run.process.stdout is not None
        run.process.stderr.close()
        run.process.stdout.close()
        run.process.send_signal(signal.SIGHUP)
        assert run.process.wait(PATIENCE) == 129
        assert run.running() == {}
    assert locks(dev) == []
    check_next_apply(dev)


def test_an_apply_waits_for_the_rollout_of_an_interrupted_one(dev: Environment) -> None:
    """The object is as planned, but its pods are not ready: the apply waits without a new patch or owner."""
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)
        dev.lab.wait("the patch", lambda: dev.plan().changed == ())
        run.process.send_signal(signal.SIGTERM)
        run.end()
    before = dev.deployment(HEAD)["metadata"]["managedFields"]
    with cli_process(dev, "apply", "dev", "--yes") as run:
        run.until(PATCHING)

        def gets_ready() -> bool:
            # The rollout may still be creating the pod; retries until it exists.
            for pod in dev.pods("ray-head"):
                words = ("annotate", "pod", pod["metadata"]["name"], "--overwrite", f"{NEVER_READY}=no")
                dev.lab.kubectl(*words, "--namespace", NAMESPACE, check=False)
            return run.process.poll() is not None

        dev.lab.wait("the apply", gets_ready, PATIENCE)
        ended, _, said = run.end()
    assert ended == 0, said
    after = dev.deployment(HEAD)["metadata"]["managedFields"]
    ours = [[entry["fieldsV1"] for entry in fields if entry["manager"] == "modelyard"] for fields in (before, after)]
    assert ours[0] == ours[1]


def test_the_next_destroy_finishes_a_stopped_one(
    dev: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = Event()

    def hold_back(request: Request, when: When) -> Reply | None:
        """Delays the first restores until the signal is sent."""
        if request.method == "PATCH" and not request.dry_run and when == "before":
            stopping.wait(PATIENCE)
        return None

    with fault_proxy(dev.lab, tmp_path) as proxy, monkeypatch.context() as way:
        proxy.meddle = hold_back
        way.setitem(dev.env, "KUBECONFIG", str(proxy.kubeconfig))
        # One step at a time: the other steps have not begun when the signal comes.
        way.setitem(dev.env, "PULUMI_PARALLEL", "1")
        with cli_process(dev, "destroy", "dev", "--yes", "--json") as run:
            run.until("restoring ")
            run.process.send_signal(signal.SIGTERM)
            run.until("stopping after ")
            stopping.set()
            ended, out, said = run.end()
        assert run.running() == {}
    assert ended == 143, said
    error = json.loads(out)["error"]
    assert error["summary"].startswith("SIGTERM: ")
    assert error["remedy"] == at_the_head(signal.SIGTERM, "destroy").remedy
    assert locks(dev) == []
    release(dev)
    dev.modelyard("destroy", "dev", "--yes")
    check_next_apply(dev)


def test_a_half_written_state_is_reported(dev: Environment) -> None:
    """No file next to the state is written in place; a half-written one, from another backend URL, is reported."""
    (state,) = (dev.folder / ".pulumi" / "stacks").rglob("dev.json")
    assert list((dev.folder / ".pulumi").rglob("*.attrs")) == []
    attributes = state.with_name("dev.json.attrs")
    attributes.touch()
    run = dev.modelyard("destroy", "dev", "--yes", "--json", check=False)
    assert run.returncode == 3
    torn = failure("dev", ["failed to load checkpoint: EOF"], "")
    assert json.loads(run.stdout)["error"]["remedy"] == torn.remedy
    attributes.unlink()
    dev.modelyard("destroy", "dev", "--yes")
