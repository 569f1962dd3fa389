"""Around the engine, which does not run here: what it says does no harm, and each ending has its exit code."""

import json
import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from pulumi.automation import OpType

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.running import run_engine
from modelyard.cli.streams import stop_text
from modelyard.engine.automation import EngineOutcome
from modelyard.engine.failure import EngineError, StaleError, StoppedError
from modelyard.engine.progress import Progress
from modelyard.engine.stopping import Stopping
from modelyard.report.style import PLAIN
from tests.support.hostile_text import EVIL, harmless

Report = Callable[[str], None]
TEXT, JSON = Namespace(json=False), Namespace(json=True)
KINDS = ("resource_pre_event", "res_outputs_event", "res_op_failed_event", "diagnostic_event", "summary_event")


def ends_with(error: EngineError) -> Callable[[Report, Stopping], EngineOutcome]:
    def run(_report: Report, _stopping: Stopping) -> EngineOutcome:
        raise error

    return run


def test_names_and_messages_of_the_cluster_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    urn = f"urn:pulumi:dev::p::modelyard:index:Platform$kubernetes:apps/v1:Deployment::{EVIL}"
    step = SimpleNamespace(metadata=SimpleNamespace(op=OpType.CREATE, type="kubernetes:apps/v1:Deployment", urn=urn))
    waits = SimpleNamespace(severity="info#err", message=f"Waiting for {EVIL}", urn=urn)
    told = {"resource_pre_event": step, "res_op_failed_event": step, "diagnostic_event": waits}

    def run(report: Report, _stopping: Stopping) -> EngineOutcome:
        progress = Progress(report)
        for kind, event in told.items():
            progress.on_event(SimpleNamespace(**{**dict.fromkeys(KINDS), kind: event}))  # type: ignore[arg-type]
        return EngineOutcome(EVIL, {EVIL: 1}, {EVIL: EVIL})

    for args in (TEXT, JSON):
        assert run_engine(EVIL, args, run, total=1) == Exit.FINE
        out, err = capsys.readouterr()
        harmless(out)
        harmless(err)
        assert len(err.splitlines()) == 3
        assert err.count(r"bell\x07") == 4
    assert json.loads(out)["outputs"] == {EVIL: EVIL}


@pytest.mark.parametrize("kind", [EngineError, StaleError])
def test_errors_of_the_engine_cannot_control_a_terminal(kind: type[EngineError]) -> None:
    with pytest.raises(Stop) as stop:
        run_engine("dev", TEXT, ends_with(kind(EVIL, EVIL)), total=1)
    harmless("\n".join(stop_text(stop.value, PLAIN)))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EngineError("no", "do"), Exit.UNREACHABLE),
        (StaleError("no", "do"), Exit.STALE),
        (StoppedError(signal.SIGINT, "no", "do"), Exit.INTERRUPTED),
        (StoppedError(signal.SIGTERM, "no", "do"), Exit.TERMINATED),
        (StoppedError(signal.SIGHUP, "no", "do"), Exit.HANGUP),
    ],
)
@pytest.mark.parametrize("args", [TEXT, JSON])
def test_each_result_has_its_exit_code(
    capsys: pytest.CaptureFixture[str], args: Namespace, error: EngineError, code: Exit
) -> None:
    with pytest.raises(Stop) as stop:
        run_engine("dev", args, ends_with(error), total=1)
    assert (stop.value.code, stop.value.remedy) == (code, "do")
    assert capsys.readouterr() == ("", "")


def test_the_engine_handles_signals_while_it_runs() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def run(_report: Report, stopping: Stopping) -> EngineOutcome:
        signal.raise_signal(signal.SIGTERM)
        assert stopping.signal == signal.SIGTERM
        return EngineOutcome("succeeded", {}, {})

    assert run_engine("dev", TEXT, run, total=0) == Exit.FINE
    assert {number: signal.getsignal(number) for number in before} == before


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


STEPS = (
    "patching Deployment a",
    "done patching Deployment a",
    "restoring Deployment b",
    "FAILED restoring Deployment b",
)


def run_steps(clock: list[float]) -> Callable[[Report, Stopping], EngineOutcome]:
    """The engine takes five seconds for its first line, and two for each further one."""

    def run(report: Report, _stopping: Stopping) -> EngineOutcome:
        clock[0] = 5
        for line in STEPS:
            report(line)
            clock[0] += 2
        return EngineOutcome("succeeded", {}, {})

    return run


def test_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time left counts from the first line, not from the start of the engine."""
    clock = [1.0]
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("modelyard.cli.running.time.monotonic", lambda: clock[0])
    assert run_engine("dev", TEXT, run_steps(clock), total=3) == Exit.FINE
    bars = re.findall(r"\[[# ]{20}\] [^\r]*", terminal.getvalue())
    half = "[######              ] 1 of 3 objects"
    assert bars == [f"{half}, about 4 s left", f"{half}, about 8 s left", f"{half}, about 12 s left"]
    # Each line replaces the bar, and the last bar is gone.
    assert terminal.getvalue().endswith("about 12 s left\r\x1b[K")
    assert re.sub(r"\[[# ]{20}\] [^\r]*\r\x1b\[K", "", terminal.getvalue()).splitlines() == [
        f"  {4 + 2 * at:5.1f} s  {line}" for at, line in enumerate(STEPS)
    ]


def test_a_log_has_no_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = [1.0]
    monkeypatch.setattr("modelyard.cli.running.time.monotonic", lambda: clock[0])
    assert run_engine("dev", TEXT, run_steps(clock), total=3) == Exit.FINE
    assert [line.partition("s  ")[2] for line in capsys.readouterr().err.splitlines()] == list(STEPS)


GONE = """
import sys
from argparse import Namespace
from modelyard.cli.running import run_engine
from modelyard.cli.streams import Heedless
from modelyard.engine.automation import EngineOutcome

sys.stderr = Heedless(sys.stderr)

def run(report, stopping):
    for number in range(1000):
        report(f"line {number}")
    return EngineOutcome("succeeded", {}, {})

sys.exit(run_engine("dev", Namespace(json=True), run, total=0))
"""


def test_a_closed_progress_output_does_not_stop_a_run() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", GONE], stdout=subprocess.PIPE, stderr=writer, text=True, check=False)
    os.close(writer)
    assert done.returncode == 0
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["result"] == "succeeded"
