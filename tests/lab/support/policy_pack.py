"""The project with its policies, and the violations that the engine reports."""

import shutil

from tests.lab.support.environment import ROOT, Done, Environment


def with_policies(env: Environment) -> None:
    """Copies the policies into the project and lets Python buffer its output, as users have it."""
    env.env.pop("PYTHONUNBUFFERED", None)
    shutil.copytree(ROOT / "policies", env.folder / "policies", ignore=shutil.ignore_patterns("__pycache__"))


def preview(env: Environment, *more: str) -> Done:
    return env.pulumi("preview", "--stack", env.name, "--policy-pack", "policies", *more, check=False)


def violations_of(done: Done) -> list[tuple[str, str]]:
    """Level and name of each violation in the output."""
    lines = [line.split() for line in done.stdout.splitlines() if line.lstrip().startswith("- [")]
    return sorted({(words[1].strip("[]"), words[2]) for words in lines})
