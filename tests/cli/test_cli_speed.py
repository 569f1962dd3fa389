"""How fast commands are: what they import, and how a plan's processor time compares with that of three imports."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

LIBRARIES = ("jinja2", "yaml", "jsonschema_rs", "inspect", "socket", "lightkube", "pulumi")
"""Modules that take long to import. A plan reads its stack file with ``yaml``."""
PEER = (sys.executable, "-c", "import jinja2, yaml, jsonschema_rs")
RATIO = 2.1
"""Processor time of a plan, divided by that of the three imports (2026-11-26; 3.4 the day before)."""


@pytest.mark.parametrize(
    ("words", "used"),
    [
        ((), set()),
        (("--help",), set()),
        (("plan", "--help"), set()),
        (("completion", "bash"), set()),
        (("explain", "GPU001"), set()),
        (("plan", "dev"), {"yaml"}),
        (("check", "dev"), {"yaml"}),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_a_command_imports_only_what_it_uses(project: Any, words: tuple[str, ...], used: set[str]) -> None:
    assert _imported(project.root, words, os.environ) == used


def _imported(folder: Any, words: tuple[str, ...], environment: Mapping[str, str]) -> set[str]:
    """The libraries that a command imports."""
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('\\n', *{set(LIBRARIES)} & sys.modules.keys()))\n"
        "from modelyard.cli import main\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines()[-1].split())


def test_a_plan_takes_no_more_processor_time_than_before(project: Any, cli: Any) -> None:
    """Compares processor time, and the least of some runs, so that other work of the machine does not matter."""
    commands = {"plan": (*cli.PROGRAM, "plan", "dev"), "peer": PEER}
    runs = [{name: _seconds(command, project.root) for name, command in commands.items()} for _ in range(4)]
    # The first runs write bytecode.
    least = {name: min(run[name] for run in runs[1:]) for name in commands}
    assert least["plan"] < 1.5 * RATIO * least["peer"], least


def _seconds(command: tuple[str, ...], folder: Any) -> float:
    """Processor time of a process."""
    without = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**without, "MODELYARD_NO_CACHE": "1"}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_a_plan_from_the_cache_reads_no_hardware_file(project: Any, tmp_path: Any) -> None:
    (project.root / "hardware.yaml").write_text(
        'gpus: [{name: L20, labels: [NVIDIA-L20], tflops: 130, memoryGb: 48, compute: "8.9", nvlink: false, source: x}]'
    )
    without = {name: value for name, value in os.environ.items() if name != "MODELYARD_NO_CACHE"}
    environment = {**without, "MODELYARD_CACHE_DIR": str(tmp_path / "cache")}
    assert "yaml" in _imported(project.root, ("plan", "dev"), environment)
    assert _imported(project.root, ("plan", "dev"), environment) == set()


COUNT = """
import cProfile, pstats, sys
from modelyard.cli import main
profile = cProfile.Profile()
code = profile.runcall(main)
print(pstats.Stats(profile).total_calls, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
def test_the_cost_of_a_job_does_not_depend_on_their_number(project: Any) -> None:
    """Counts calls, which do not depend on the machine: a job that is compared with all others would need more each."""
    path = project.root / "stacks" / "Pulumi.dev.yaml"
    text = path.read_text()

    def calls(number: int) -> int:
        resources, jobs = (
            "".join(f"\n    - {{name: {name}-{one}, {more.format(one)}}}" for one in range(number))
            for name, more in (
                ("shape", "type: training, workers: 2, cpu: 9, memory: 33Gi, gpus: 1"),
                ("run", "type: training, resource: shape-{}, command: [python, train.py]"),
            )
        )
        image = "  modelyard:runtime: {image: 'images.example.com/jobs:1.4.2'}"
        path.write_text(f"{text}{image}\n  modelyard:resources:{resources}\n  modelyard:jobs:{jobs}\n")
        command = [sys.executable, "-c", COUNT, "check", "dev", "--no-cache"]
        done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return int(done.stderr.splitlines()[-1])

    few, more, most = (calls(number) for number in (200, 400, 600))
    assert most - more < 1.1 * (more - few)
