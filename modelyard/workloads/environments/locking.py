"""Makes a lock: the resolvers report which files they would install, and nothing is installed.

Conda's list is solved first; pip then resolves its own list, constrained to the Python packages that conda brings.

Only wheels are used, so no package's code runs while its lock is made or while it is built. They are for the platform
of GPU nodes, whatever machine makes the lock; but pip evaluates markers such as ``python_version < "3.11"`` for the
Python that runs it, so that must be the environment's Python.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import which
from typing import Any, Final

from modelyard.files import parse_json, read_file
from modelyard.findings import Failure
from modelyard.hiding import hidden_text
from modelyard.stack.environments import Environment, Files
from modelyard.temporary import temporary_folder, write_private
from modelyard.workloads.environments.conda import SOLVER_VERSION, Solved, channels_of, constraints, pinned, spelled
from modelyard.workloads.environments.locks import MAX_BYTES, locked

GLIBC: Final = ("2_28", "2_27", "2_26", "2_24", "2_17")
"""Newest C library that wheels may need, and older ones: 2.28 is that of Debian 10 and RHEL 8 (PEP 600 tags)."""
PLATFORMS: Final = (
    *(f"manylinux_{one}_x86_64" for one in GLIBC),
    *("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"),
)
_PIP: Final = (
    "import sys; sys.path[:] = filter(None, sys.path); import runpy; runpy.run_module('pip', run_name='__main__')"
)
"""Runs pip as ``-m pip`` does, without the current folder in the module path: a project may have a ``pip.py``."""
LONGEST: Final = 900
"""Seconds after which a resolver is stopped."""
LAST_LINES: Final = 12
"""Last lines of pip's output that an error repeats."""


_RETRYING: Final = "WARNING: Retrying "
"""Start of pip's lines about an index that does not answer; each attempt has one."""
_SOME: Final = re.compile(r"\(from versions: (?!none\))")
"""pip's text for a package with versions in an index: the index did answer in the end."""
_CONFLICT: Final = re.compile(r"^The conflict is caused by:\n(?:[ \t]+\S.*\n?)+", re.MULTILINE)
_OUT_OF_REACH: Final = "check that pip reaches its index from this machine (pip config list shows which)"


class LockingError(Failure):
    """Says why there is no lock, and what to do; ``out_of_reach``: the cause is a tool or an index, not the list."""

    def __init__(self, summary: str, remedy: str, *, out_of_reach: bool = False) -> None:
        super().__init__(summary, remedy)
        self.out_of_reach = out_of_reach


def resolved(environment: Environment, files: Files, cuda: str) -> str:
    """Returns the text of a lock of the environment's lists.

    pip's packages come from the indexes of its configuration and its variables, as for ``pip install``.

    Args:
        environment: the environment with the lists.
        files: its project files.
        cuda: CUDA of the platform, as ``11.7``: for conda's GPU builds.

    Raises:
        LockingError: a tool is not installed here, or no versions fit together.
    """
    chosen: tuple[Solved, ...] = ()
    if environment.conda:
        chosen = _solved(environment, cuda)
    wheels = _wheels(environment, files, tuple(constraints(chosen))) if files.requirements else {}
    made = locked(environment.python, files.made_of, wheels, chosen)
    if len(made.encode()) > MAX_BYTES:
        remedy = "split the Python environment into smaller ones"
        raise LockingError(f"the lock has {len(made.encode()):,} bytes; the limit is {MAX_BYTES:,}", remedy)
    return made


def _wheels(environment: Environment, files: Files, held: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Returns version and SHA-256 of pip's files, by package name; pip keeps to the versions in ``held``."""
    interpreter = _interpreter(environment.python)
    with temporary_folder() as folder:
        listed, report, fixed = (folder / name for name in ("requirements.txt", "report.json", "held.txt"))
        write_private(listed, "".join(f"{one}\n" for one in files.requirements))
        write_private(fixed, "".join(f"{one}\n" for one in held))
        command = [
            *(interpreter, "-c", _PIP, "install", "--dry-run", "--ignore-installed", "--no-input"),
            *("--disable-pip-version-check", "--only-binary", ":all:", "--implementation", "cp"),
            *("--python-version", environment.python, *(f"--platform={one}" for one in PLATFORMS)),
            *("--target", str(folder / "target"), "--report", str(report), "--requirement", str(listed)),
            *("--constraint", str(fixed)),
        ]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            summary = f"pip did not end within {LONGEST // 60} minutes"
            raise LockingError(summary, "allow fewer versions in its list") from None
        if done.returncode:
            # pip prints conflicting packages in its progress output, and the failure in its errors.
            why = _CONFLICT.search(done.stdout)
            output = f"{done.stderr or done.stdout}\n{why[0] if why is not None and done.stderr else ''}"
            output = hidden_text(_end_of(output, str(listed), environment.requirements))
            summary = f"pip cannot resolve Python environment {environment.name}:\n{output}"
            if _RETRYING in done.stderr and why is None and _SOME.search(done.stderr) is None:
                raise LockingError(summary, _OUT_OF_REACH, out_of_reach=True)
            raise LockingError(summary, "correct its list")
        return _files(parse_json(read_file(report)))


def _interpreter(version: str) -> str:
    """Returns a Python of the version that has pip, on the platform of the locks."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        here = f"{platform.system()} {platform.machine()}"
        raise LockingError(
            f"{here} cannot make a lock for Linux x86_64: pip would leave out packages that only Linux needs",
            "lock it in CI, or in a container with the image of the Python environment",
            out_of_reach=True,
        )
    own = "{}.{}".format(*sys.version_info[:2]) == version
    for found in (sys.executable if own else None, which(f"python{version}")):
        if found and _has_pip(found):
            return found
    remedy = (
        f"install Python {version} with pip, or lock it in CI or in a container with the Python environment's image"
    )
    summary = f"a lock for Python {version} needs that Python with pip, which is not on PATH"
    raise LockingError(summary, remedy, out_of_reach=True)


def _has_pip(interpreter: str) -> bool:
    command = [interpreter, "-c", "import pip"]
    done = subprocess.run(command, cwd=os.sep, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def _files(report: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Returns version and SHA-256 of each package's file in pip's report (pip documentation, installation report)."""
    found = {}
    for one in report["install"]:
        metadata, archive = one["metadata"], one["download_info"].get("archive_info", {})
        sha = archive.get("hashes", {}).get("sha256", "")
        if not sha:
            summary = f"{metadata['name']} {metadata['version']} comes without a SHA-256"
            raise LockingError(summary, "use an index that provides hashes, as PyPI does")
        found[metadata["name"]] = metadata["version"], sha
    return found


def _end_of(text: str, path: str, name: str | None) -> str:
    """Returns the end of pip's output, without the name of our own file."""
    text = text.replace(path, name) if name is not None else text.replace(f"-r {path}", "the list")
    lines = [line for line in text.splitlines() if line.strip()]
    # All attempts print equal lines.
    again = [line for line in lines if line.startswith(_RETRYING)][1:]
    return "\n".join([line for line in lines if line not in again][-LAST_LINES:])


# From here: conda's own solver as a library (py-rattler), in a separate process (``solver``), chooses conda's files for
# a list. modelyard does not depend on it: only conda lists need it. What GPU nodes have and no channel can know is
# passed to the solver as virtual packages, so every machine makes an equal lock.
CONDA_PLATFORMS: Final = ("linux-64", "noarch")
CONDA_GLIBC: Final = "2.28"
"""C library of nodes and images: that of Debian 10 and RHEL 8, as for wheels."""
_UNSENT: Final = "error sending request"
"""Error of the solver's HTTP client if a server does not answer."""


def _solved(environment: Environment, cuda: str) -> tuple[Solved, ...]:
    """Returns conda's files of an environment, by their names."""
    asked = {
        "solver": SOLVER_VERSION,
        "channels": list(channels_of(environment)),
        "specs": [f"python {environment.python}.*", *map(spelled, environment.conda)],
        "platforms": list(CONDA_PLATFORMS),
        "virtual": [
            ("__unix", "0", "0"),
            ("__linux", "4.18", "0"),
            ("__glibc", CONDA_GLIBC, "0"),
            ("__archspec", "1", "x86_64"),
            ("__cuda", cuda, "0"),
        ],
    }
    answer = _answer(asked)
    if "version" in answer:
        here = f"version {answer['version']} is installed" if answer["version"] else "it is not installed"
        raise LockingError(
            f"locking a conda list needs py-rattler {SOLVER_VERSION}, but {here}",
            f"{sys.executable} -m pip install py-rattler=={SOLVER_VERSION}",
            out_of_reach=True,
        )
    if "error" in answer:
        summary = f"conda's solver cannot resolve Python environment {environment.name}:\n{answer['error'].strip()}"
        if _UNSENT in answer["error"]:
            remedy = "make the channel reachable from this machine, or use a mirror"
            raise LockingError(summary, remedy, out_of_reach=True)
        raise LockingError(summary, "correct its list or its channels")
    files = [Solved(one["url"], one["sha256"], one["python"]) for one in answer["files"]]
    for one in files:
        if pinned(one.line) is None:
            file = one.url.rpartition("/")[2]
            raise LockingError(f"{file} has no SHA-256 or an unusual address", "use another channel")
    return tuple(sorted(files, key=lambda one: one.url.rpartition("/")[2]))


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer of ``solver``; -P prevents modules next to it from shadowing others."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("solver.py"))]
    try:
        done = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        summary = f"conda's solver did not end within {LONGEST // 60} minutes"
        raise LockingError(summary, "allow fewer versions in its list") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        remedy = f"install py-rattler {SOLVER_VERSION} again"
        raise LockingError(f"conda's solver does not run: {last}", remedy, out_of_reach=True)
    answer: dict[str, Any] = parse_json(done.stdout)
    return answer
