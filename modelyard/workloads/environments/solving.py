"""Chooses conda's files for a list with conda's own solver as a library (py-rattler), in a separate process.

modelyard does not depend on it: only conda lists need it. What GPU nodes have and no channel can know is passed to the
solver as virtual packages, so every machine makes an equal lock.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from modelyard.files import parse_json
from modelyard.findings import Failure
from modelyard.workloads.environments.conda import SOLVER_VERSION, Solved, pinned, spelled

PLATFORMS: Final = ("linux-64", "noarch")
GLIBC: Final = "2.28"
"""C library of nodes and images: that of Debian 10 and RHEL 8, as for wheels."""
LONGEST: Final = 900
"""Seconds after which the solver is stopped."""


_UNSENT: Final = "error sending request"
"""Error of the solver's HTTP client if a server does not answer."""


class SolvingError(Failure):
    """Says why nothing is chosen, and what to do; ``out_of_reach``: due to the solver or a channel, not the list."""

    def __init__(self, summary: str, remedy: str, *, out_of_reach: bool = False) -> None:
        super().__init__(summary, remedy)
        self.out_of_reach = out_of_reach


def solved(name: str, python: str, specs: Sequence[str], channels: Sequence[str], cuda: str) -> tuple[Solved, ...]:
    """Returns the files of an environment, by their names.

    Args:
        name: name of the environment.
        python: minor version of the Python that comes from a channel.
        specs: the packages, as conda writes them.
        channels: names or URLs, the first wins.
        cuda: newest CUDA that the platform's drivers run, as ``11.7``; GPU builds ask for it.

    Raises:
        SolvingError: py-rattler is not installed, or the channels have nothing that fits together.
    """
    asked = {
        "solver": SOLVER_VERSION,
        "channels": list(channels),
        "specs": [f"python {python}.*", *(spelled(one) for one in specs)],
        "platforms": list(PLATFORMS),
        "virtual": [
            ("__unix", "0", "0"),
            ("__linux", "4.18", "0"),
            ("__glibc", GLIBC, "0"),
            ("__archspec", "1", "x86_64"),
            ("__cuda", cuda, "0"),
        ],
    }
    answer = _answer(asked)
    if "version" in answer:
        here = f"version {answer['version']} is installed" if answer["version"] else "it is not installed"
        raise SolvingError(
            f"locking a conda list needs py-rattler {SOLVER_VERSION}, but {here}",
            f"{sys.executable} -m pip install py-rattler=={SOLVER_VERSION}",
            out_of_reach=True,
        )
    if "error" in answer:
        summary = f"conda's solver cannot resolve environment {name}:\n{answer['error'].strip()}"
        if _UNSENT in answer["error"]:
            remedy = "make the channel reachable from this machine, or use a mirror"
            raise SolvingError(summary, remedy, out_of_reach=True)
        raise SolvingError(summary, "correct its list or its channels")
    files = [Solved(one["url"], one["sha256"], one["python"]) for one in answer["files"]]
    for one in files:
        if pinned(one.line) is None:
            file = one.url.rpartition("/")[2]
            raise SolvingError(f"{file} has no SHA-256 or an unusual address", "use another channel")
    return tuple(sorted(files, key=lambda one: one.url.rpartition("/")[2]))


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Returns the program's answer; -P prevents modules next to it from shadowing others."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("solver.py"))]
    try:
        done = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        summary = f"conda's solver did not end within {LONGEST // 60} minutes"
        raise SolvingError(summary, "ask for fewer versions") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        remedy = f"install py-rattler {SOLVER_VERSION} again"
        raise SolvingError(f"conda's solver does not run: {last}", remedy, out_of_reach=True)
    answer: dict[str, Any] = parse_json(done.stdout)
    return answer
