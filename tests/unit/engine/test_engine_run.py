"""Before and after the engine's own work: no engine, a broken one, one that is killed, and a stop that comes early."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pulumi import automation

from modelyard.cluster.engine_state import NO_ENGINE
from modelyard.engine.failure import EngineError, NothingAppliedError, StoppedError, killed, stopped
from modelyard.engine.progress import Progress
from modelyard.engine.run import EngineRun
from modelyard.engine.stopping import Stopping


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a ``pulumi`` that runs a piece of shell on PATH, in a project of its own."""

    def make(script: str) -> Path:
        program = tmp_path / "bin" / "pulumi"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
        (tmp_path / "Pulumi.yaml").write_text("name: it\nruntime: python\n")
        return tmp_path

    return make


@pytest.fixture
def stopping() -> Iterator[Stopping]:
    made = Stopping()
    yield made
    made.close()


WORKS = """case "$*" in version*) echo v3.259.0;; *export*) echo '{"version": 3, "deployment": {"it": 1}}';; esac"""
DIES = 'case "$*" in version*) echo v3.259.0;; *) kill -9 $$;; esac'


def silent(_line: str) -> None:
    """Progress that nobody follows."""


def never(_on_event: object) -> None:
    raise AssertionError("nothing may be run")


def select(root: Path, stopping: Stopping | None = None) -> automation.Stack:
    with EngineRun("apply", silent, stopping) as run:
        return run.select(root, "dev", create=False)


def test_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=NO_ENGINE):
        select(tmp_path)


@pytest.mark.parametrize("script", ["exit 3", "echo no version", "kill -9 $$"])
def test_an_engine_that_does_not_run(pulumi: Callable[[str], Path], script: str) -> None:
    with pytest.raises(EngineError, match="pulumi on PATH does not run"):
        select(pulumi(script))


@pytest.mark.parametrize("state", ["", "5", "null", "[1]", "{", "[" * 5000, '{"version": 3}', '"text"'])
def test_an_engine_with_an_invalid_state(pulumi: Callable[[str], Path], state: str) -> None:
    root = pulumi(f"""case "$*" in *export*) echo '{state}';; *) {WORKS};; esac""")
    with pytest.raises(EngineError, match="pulumi on PATH does not run"):
        select(root)


def test_an_engine_that_works(pulumi: Callable[[str], Path]) -> None:
    assert select(pulumi(WORKS)).name == "dev"


def test_what_the_state_holds_is_known_with_the_stack(pulumi: Callable[[str], Path]) -> None:
    root = pulumi(WORKS)
    with EngineRun("apply", silent) as run:
        run.select(root, "dev", create=False)
        assert run.state == {"it": 1}


def test_an_unreadable_state(pulumi: Callable[[str], Path]) -> None:
    with pytest.raises(EngineError, match="pulumi on PATH does not run"):
        select(pulumi('case "$*" in version*) echo v3.259.0;; *) echo what;; esac'))


def test_a_stack_missing_from_the_state(pulumi: Callable[[str], Path]) -> None:
    unknown = "echo \"error: no stack named 'dev' found\" >&2; exit 255"
    root = pulumi(f'case "$*" in version*) echo v3.259.0;; *init*) touch made;; *) {unknown};; esac')
    with pytest.raises(NothingAppliedError):
        select(root)
    with EngineRun("apply", silent) as run:
        assert run.select(root, "dev", create=True).name == "dev"
        assert run.state == {}
    assert (root / "made").exists()


def test_a_stack_that_another_first_apply_makes_at_the_same_time(pulumi: Callable[[str], Path]) -> None:
    unknown = "echo \"error: no stack named 'dev' found\" >&2; exit 255"
    exists = "touch made; echo \"error: stack 'organization/it/dev' already exists\" >&2; exit 255"
    root = pulumi(
        f'case "$*" in *init*) {exists};; *export*) [ -e made ] || {{ {unknown}; }}; {WORKS};; *) {WORKS};; esac'
    )
    with EngineRun("apply", silent) as run:
        assert run.select(root, "dev", create=True).name == "dev"
        assert run.state == {"it": 1}


def test_a_run_is_one_command_with_events(pulumi: Callable[[str], Path]) -> None:
    root = pulumi(f'echo "$1" >>"$0.asked"; {WORKS}')
    asked = root / "bin" / "pulumi.asked"
    with EngineRun("apply", silent) as run:
        stack = run.select(root, "dev", create=False)
        asked.unlink()
        assert stack.up().summary.result == stack.destroy().summary.result == "succeeded"
    assert asked.read_text().split() == ["--non-interactive"] * 2


def test_an_engine_that_is_killed_while_it_looks_for_the_stack(pulumi: Callable[[str], Path]) -> None:
    with pytest.raises(EngineError) as error:
        select(pulumi(DIES))
    assert error.value.args == killed("apply", "dev", "unknown").args


def test_an_engine_killed_after_a_signal_is_stopped(pulumi: Callable[[str], Path], stopping: Stopping) -> None:
    stopping.ask(signal.SIGTERM)
    with pytest.raises(StoppedError) as error:
        select(pulumi(DIES), stopping)
    assert error.value.signal == signal.SIGTERM
    assert error.value.args == stopped(signal.SIGTERM, "apply", "dev", Progress(silent), "unknown").args


def test_a_run_does_not_begin_after_a_signal(pulumi: Callable[[str], Path], stopping: Stopping) -> None:
    with EngineRun("destroy", silent, stopping) as run:
        stack = run.select(pulumi(WORKS), "dev", create=False)
        stopping.ask(signal.SIGINT)
        with pytest.raises(StoppedError) as error:
            run.follow(stack, never)
    assert error.value.args == stopped(signal.SIGINT, "destroy", "dev", Progress(silent), "free").args


@pytest.fixture
def destroyed(pulumi: Callable[[str], Path], stopping: Stopping) -> Callable[[str], str]:
    """A destroy that a signal interrupts, and that leaves these resources in the state."""

    def destroy(left: str) -> str:
        exported = f'{{"version": 3, "deployment": {{"resources": {left}}}}}'
        root = pulumi(f"""case "$*" in *export*) echo '{exported}';; *) {WORKS};; esac""")
        with EngineRun("destroy", silent, stopping) as run:

            def interrupted(_on_event: object) -> str:
                stopping.ask(signal.SIGTERM)
                stopping.listens(True)
                stopping.due()
                return "succeeded"

            return run.follow(run.select(root, "dev", create=False), interrupted)

    return destroy


def test_an_interrupted_engine_that_claims_success_and_left_something_was_stopped(
    destroyed: Callable[[str], str],
) -> None:
    """As it does when it leaves out deletes that it had not begun."""
    with pytest.raises(StoppedError) as error:
        destroyed('[{"type": "left"}]')
    assert error.value.args == stopped(signal.SIGTERM, "destroy", "dev", Progress(silent), "free").args


def test_an_interrupted_engine_that_left_nothing_succeeded(destroyed: Callable[[str], str]) -> None:
    assert destroyed("[]") == "succeeded"
