"""What verbs print, word for word: one file a command in ``tests/golden``. ``make golden`` writes them again.

Wording is pinned here and nowhere else; other tests look at codes and facts.
"""

import os
import re
from pathlib import Path

import pytest

from tests.support.cli_project import Project, Run

GOLDEN = Path(__file__).parents[1] / "golden"
POOL = (GOLDEN / "pool.yaml").read_text(encoding="utf-8")
MISTAKES = {
    "hardware": (("model: A10", "model: L4"), ("memory: 32Gi", "memory: 8Gi")),
    "config": (("release:", "relase: 1\n    release:"), ("cpu: 8", "cpu: eight")),
}
"""Edits of the stack file, by the families of their findings."""

EXAMPLES = [
    *(f"{verb} {stack}" for stack in ("dev", "staging", "prod") for verb in ("plan", "show", "diff")),
    "plan --all",
    "plan --matrix --all",
    "check --all --notes",
    "check dev --json",
    "blame dev ray-model memory",
    "ledger dev",
    "promote dev staging",
    "patches",
    "patches ray-worker",
    "gpus --supported",
    "gpus a100-80gb",
    "explain GPU001",
    "size dev",
    "remote dev",
]
OF_A_POOL = [
    "plan dev",
    "show dev",
    "size dev",
    "pipeline show dev",
    "pipeline render dev nightly",
    "job render dev fit",
    "job choices dev",
    "environment list dev",
]


@pytest.mark.parametrize("command", EXAMPLES)
def test_of_the_examples(command: str, run: Run) -> None:
    compare("examples", command, run)


@pytest.mark.parametrize("command", OF_A_POOL)
def test_of_a_pool(command: str, run: Run, project: Project) -> None:
    project.add(POOL)
    compare("pool", command, run)


@pytest.mark.parametrize("command", ["check dev", "plan dev", "check dev --format junit"])
@pytest.mark.parametrize("family", MISTAKES)
def test_of_mistakes(family: str, command: str, run: Run, project: Project) -> None:
    project.edit(*MISTAKES[family])
    compare(f"mistakes-{family}", command, run)


def compare(folder: str, command: str, run: Run) -> None:
    """Holds what a command prints against its file, or writes the file where ``GOLDEN=write`` is set."""
    result = run(*command.split())
    made = f"$ modelyard {command}\n{result.out}{result.err}exit {result.code}\n"
    path = GOLDEN / folder / f"{re.sub(r'[^a-z0-9]+', '-', command.lower()).strip('-')}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8"), "make golden writes it again; read the difference in review"
