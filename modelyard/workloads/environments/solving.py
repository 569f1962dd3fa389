"""Choosing conda's files for a list: conda's own solver as a library (py-rattler), in a process of its own.

modelyard does not depend on it: who has no conda list needs none. What GPU nodes have and no channel can know is passed
to the solver as virtual packages, so a lock is the same whatever machine makes it.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from modelyard.workloads.environments.conda import SOLVER_VERSION, Solved, pinned, spelled

PLATFORMS: Final = ("linux-64", "noarch")
GLIBC: Final = "2.28"
"""Of nodes and images: that of Debian 10 and RHEL 8, as for wheels."""
LONGEST: Final = 900
"""Seconds after which the solver is given up."""


_UNSENT: Final = "error sending request"
"""What the solver's HTTP client says where nobody answers."""


class SolvingError(Exception):
    """Says why nothing is chosen, and what to do; ``out_of_reach``: the solver or a channel, not the list, is why."""

    def __init__(self, summary: str, remedy: str, *, out_of_reach: bool = False) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy
        self.out_of_reach = out_of_reach


def solved(name: str, python: str, specs: Sequence[str], channels: Sequence[str], cuda: str) -> tuple[Solved, ...]:
    """The files of an environment, by their names.

    Args:
        name: of the environment.
        python: minor version, of the Python that comes from a channel.
        specs: the packages, as conda writes them.
        channels: names or addresses, the first wins.
        cuda: newest CUDA that the drivers of the platform run, as ``11.7``; builds for GPUs ask for it.

    Raises:
        SolvingError: py-rattler is not here, or the channels have nothing that goes together.
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
        here = f"py-rattler {answer['version']} is here" if answer["version"] else "it is not installed"
        raise SolvingError(
            f"a conda list is locked by py-rattler {SOLVER_VERSION}, and {here}",
            f"{sys.executable} -m pip install py-rattler=={SOLVER_VERSION}",
            out_of_reach=True,
        )
    if "error" in answer:
        summary = f"conda's solver finds no lock for environment {name}:\n{answer['error'].strip()}"
        if _UNSENT in answer["error"]:
            remedy = "make the channel reachable from this machine, or name a mirror"
            raise SolvingError(summary, remedy, out_of_reach=True)
        raise SolvingError(summary, "correct its list or its channels")
    files = [Solved(one["url"], one["sha256"], one["python"]) for one in answer["files"]]
    for one in files:
        if pinned(one.line) is None:
            file = one.url.rpartition("/")[2]
            raise SolvingError(f"{file} comes without a SHA-256 or from an odd address", "take it from another channel")
    return tuple(sorted(files, key=lambda one: one.url.rpartition("/")[2]))


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What the program says; -P keeps the modules beside it from standing in for others."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("solver.py"))]
    try:
        done = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        summary = f"conda's solver did not end within {LONGEST // 60} minutes"
        raise SolvingError(summary, "ask for fewer versions") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        remedy = f"install py-rattler {SOLVER_VERSION} again"
        raise SolvingError(f"conda's solver does not run: {last}", remedy, out_of_reach=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
