"""What verbs print, word for word: one file a command in ``tests/golden``. ``make golden`` writes them again.

Wording is pinned here and nowhere else; other tests look at codes and facts.
"""

import re

import pytest

from tests.support.cli_project import Project, Run
from tests.support.golden import GOLDEN, hold

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
    "check --all --format sarif",
    "check --all --notes --format github",
    "blame dev ray-model memory",
    "ledger dev",
    "promote dev staging",
    "promote prod dev",
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


IN_MISTAKES = [
    "check dev",
    "plan dev",
    *(f"check dev --format {form}" for form in ("junit", "sarif", "github")),
]


@pytest.fixture(autouse=True)
def no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_STEP_SUMMARY", "MODELYARD_DOCS_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", EXAMPLES)
def test_of_the_examples(command: str, run: Run) -> None:
    compare("examples", command, run)


@pytest.mark.parametrize("command", OF_A_POOL)
def test_of_a_pool(command: str, run: Run, project: Project) -> None:
    project.add(POOL)
    compare("pool", command, run)


@pytest.mark.parametrize("command", IN_MISTAKES)
@pytest.mark.parametrize("family", MISTAKES)
def test_of_mistakes(family: str, command: str, run: Run, project: Project) -> None:
    project.edit(*MISTAKES[family])
    compare(f"mistakes-{family}", command, run)


def test_every_file_is_of_a_command() -> None:
    commands = {"examples": EXAMPLES, "pool": OF_A_POOL} | {f"mistakes-{family}": IN_MISTAKES for family in MISTAKES}
    files = {path.relative_to(GOLDEN).as_posix() for folder in commands for path in GOLDEN.glob(f"{folder}/*")}
    assert files == {file_of(folder, command) for folder, of_it in commands.items() for command in of_it}


def compare(folder: str, command: str, run: Run) -> None:
    hold(file_of(folder, command), str(run(*command.split())))


def file_of(folder: str, command: str) -> str:
    return f"{folder}/{re.sub(r'[^a-z0-9]+', '-', command.lower()).strip('-')}.txt"
