"""Environments with a conda list: the real solver and the real installer, on a channel of small packages."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.conda_channel import HERE, Channel, rattler, served
from tests.support.wheels import only_from, wheel

pytestmark = pytest.mark.lab

ENVIRONMENT = """
  modelyard:environments:
    - name: tabular
      python: "PYTHON"
      image: "python:PYTHON"
      channels: ["CHANNEL"]
      conda: ["frames>=2,<3", hello=1.0]
  modelyard:resources:
    - {name: deep, type: training, cpu: 4, memory: 24Gi, gpus: 1}
  modelyard:jobs:
    - {name: train, type: training, resource: deep, command: [python, x.py], environment: tabular}
"""
LOCK = "environments/tabular.lock"


@pytest.fixture(scope="module")
def solver() -> tuple[Path, Path]:
    return rattler()


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Channel]:
    with served(tmp_path / "channel") as made:
        made.add_python()
        made.add_module("frames", "1.9")
        made.add_module("frames", "2.1", ("arrays <2",))
        made.add_module("arrays", "1.8")
        made.add_module("arrays", "2.0")
        made.add("hello", "1.0", ("__glibc >=2.17",), {"bin/hello": "#!/bin/sh\necho a CPU\n"}, build="cpu_0")
        yield made


@pytest.fixture
def conda(
    project: Any, channel: Channel, solver: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """The project whose stack dev has an environment with a conda list, where py-rattler is installed."""
    project.edit(("config:\n", f"config:{ENVIRONMENT.replace('PYTHON', HERE).replace('CHANNEL', channel.url)}"))
    monkeypatch.setenv("PYTHONPATH", str(solver[1]))
    monkeypatch.setenv("RATTLER_CACHE_DIR", str(tmp_path / "rattler"))
    (tmp_path / "wheels").mkdir()
    for name, value in only_from(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    return project


def lock(project: Any, run: Any) -> list[str]:
    """The lines of the lock that is made, without where the channel is."""
    result = run("environment", "lock", "dev", "tabular")
    assert result.code == 0, result.text
    text: str = (project.root / LOCK).read_text()
    return [re.sub(r"^http://[^/]+/", "", line) for line in text.splitlines()]


def build(project: Any, tmp_path: Path, wheel_of_solver: Path) -> tuple[int, str, Path]:
    """Runs the container of the Job that builds the environment: its exit code, its words, the environment's folder."""
    from modelyard.plan.project import library_of
    from modelyard.runs.jobs import environment_build
    from modelyard.stack import load
    from modelyard.workloads.environments import with_files

    stack, findings = load(project.root / "stacks/Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert stack is not None, findings
    stack = with_files(project.root, stack)
    (environment,) = stack.config.environments
    made = environment_build(stack, library_of(project.root), environment, "ml-platform")
    (job,) = made.objects.reveal()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    wheels, volume = tmp_path / "wheels", tmp_path / "volume"
    volume.mkdir(exist_ok=True)
    if not (wheels / wheel_of_solver.name).exists():
        (wheels / wheel_of_solver.name).symlink_to(wheel_of_solver)
    words = [word.replace("/opt/environments", str(volume)) for word in (*container["command"], *container["args"])]
    done = subprocess.run(
        [sys.executable, *words[1:]],
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **only_from(wheels)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    assert environment.files is not None
    return done.returncode, done.stdout, volume / environment.files.digest


def says(environment: Path, code: str) -> str:
    """What the environment's Python prints."""
    program = [environment / "bin/python", "-c", code]
    return subprocess.run(program, capture_output=True, text=True, check=True, env={"PATH": os.defpath}).stdout.strip()


def test_a_list_is_solved_and_only_its_files_are_installed(
    conda: Any, channel: Channel, solver: tuple[Path, Path], run: Any, tmp_path: Path
) -> None:
    assert run("check", "dev").errors == ["ENV004"]
    lines = lock(conda, run)
    files = [line.partition("#")[0] for line in lines[2:]]
    version = "{}.{}.{}".format(*sys.version_info[:3])
    assert files == [
        "noarch/arrays-1.8-0.conda",
        "noarch/frames-2.1-0.conda",
        "noarch/hello-1.0-cpu_0.tar.bz2",
        f"linux-64/python-{version}-0.tar.bz2",
    ]
    assert run("check", "dev").errors == []
    assert lock(conda, run) == lines
    shown = run("environment", "show", "dev", "tabular").out
    assert re.search(r"hello +1\.0 +conda", shown)
    documents = json.loads(run("environment", "show", "dev", "tabular", "--json").out)
    assert documents["channels"] == [channel.url]
    assert documents["packages"][0] == {"name": "arrays", "version": "1.8", "source": "conda"}

    # A later version in the channel changes nothing.
    channel.add_module("frames", "2.2")
    code, said, environment = build(conda, tmp_path, solver[0])
    assert code == 0, said
    assert (environment / "modelyard.lock").read_text().split() == [
        *("arrays=1.8=0", "frames=2.1=0", "hello=1.0=cpu_0"),
        f"python={version}=0",
    ]
    assert says(environment, "import arrays, frames; print(arrays.VERSION, frames.VERSION)") == "1.8 2.1"
    assert subprocess.run([environment / "bin/hello"], capture_output=True, check=True).stdout == b"a CPU\n"
    assert not (environment / ".work").exists()
    code, said, _ = build(conda, tmp_path, solver[0])
    assert (code, len(said.splitlines()), environment.name in said) == (0, 1, True)


def test_a_file_that_differs_from_the_lock_is_not_installed(
    conda: Any, channel: Channel, solver: tuple[Path, Path], run: Any, tmp_path: Path
) -> None:
    lock(conda, run)
    channel.add("hello", "1.0", (), {"bin/hello": "#!/bin/sh\necho another\n"}, build="cpu_0")
    code, said, environment = build(conda, tmp_path, solver[0])
    assert code == 1
    assert re.search(r"hello-1\.0-cpu_0\.tar\.bz2 .*SHA-256", said)
    assert environment.name in said.splitlines()[-1]
    assert list(environment.parent.iterdir()) == []


def test_pip_adds_packages_and_keeps_the_versions_of_conda(
    conda: Any, solver: tuple[Path, Path], run: Any, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    wheel(wheels, "tools", "0.3", ("frames",))
    wheel(wheels, "frames", "2.1")
    wheel(wheels, "frames", "2.5")
    conda.edit(("hello=1.0]", "hello=1.0]\n      pip: [tools]"))
    lines = lock(conda, run)
    assert [line.split(" ")[0] for line in lines if "==" in line] == ["frames==2.1", "tools==0.3"]
    code, said, environment = build(conda, tmp_path, solver[0])
    assert code == 0, said
    assert "satisfied: frames==2.1" in said
    assert says(environment, "import frames, tools; print(frames.VERSION, tools.VERSION)") == "2.1 0.3"
    assert (environment / "bin/tools").exists()
    assert (environment / "modelyard.lock").read_text().split()[-2:] == ["frames==2.1", "tools==0.3"]


def test_pip_never_replaces_what_conda_installed(
    conda: Any, channel: Channel, solver: tuple[Path, Path], run: Any, tmp_path: Path
) -> None:
    # The channel has it under another name, like pytorch for pip's torch, so the lock does not show it.
    channel.add_module("frames", "2.1", package="pyframes")
    wheel(tmp_path / "wheels", "frames", "2.5")
    conda.edit(('"frames>=2,<3", hello=1.0]', "pyframes=2.1]\n      pip: [frames]"))
    lock(conda, run)
    code, said, environment = build(conda, tmp_path, solver[0])
    assert code == 1
    assert re.search(r"pip .*frames 2\.1 .*2\.5", said)
    assert list(environment.parent.iterdir()) == []


def test_the_platforms_cuda_chooses_builds_for_gpus(conda: Any, channel: Channel, run: Any) -> None:
    channel.add("hello", "1.0", ("__cuda >=11.2",), build="cuda112_1")
    channel.add("hello", "1.0", ("__cuda >=13",), build="cuda13_2")
    conda.edit(("hello=1.0]", '"hello=1.0=cuda*"]'))
    assert any("hello-1.0-cuda112_1" in line for line in lock(conda, run))
    assert run("check", "dev").errors == []


def test_the_solvers_error_is_shown_and_the_lock_is_not_changed(conda: Any, run: Any) -> None:
    before = lock(conda, run)
    conda.edit(("frames>=2,<3", "frames>=3"))
    result = run("environment", "lock", "dev", "tabular")
    assert result.code == 1
    assert "frames >=3" in result.words
    assert before == [re.sub(r"^http://[^/]+/", "", one) for one in (conda.root / LOCK).read_text().splitlines()]
    assert run("check", "dev").errors == ["ENV005"]


def test_a_channel_that_does_not_answer_is_an_error(conda: Any, channel: Channel, refused: Any) -> None:
    conda.edit((channel.url, "http://127.0.0.1:9/none"))
    words = refused("environment", "lock", "dev", "tabular", code=3).words
    assert "127.0.0.1:9/none" in words
    assert "mirror" in words.rpartition("→")[2]


def test_without_py_rattler_the_remedy_installs_it(conda: Any, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    result = refused("environment", "lock", "dev", "tabular", code=3)
    assert "pip install py-rattler==" in result.words
