"""The project with its policies, and what the engine says of them."""

import shutil

from tests.lab.support.environment import ROOT, Done, Environment


def with_policies(env: Environment) -> None:
    """Puts the policies into the project, and makes Python buffer its output as it does for everybody."""
    env.env.pop("PYTHONUNBUFFERED", None)
    shutil.copytree(ROOT / "policies", env.folder / "policies", ignore=shutil.ignore_patterns("__pycache__"))


def preview(env: Environment, *more: str) -> Done:
    return env.pulumi("preview", "--stack", env.name, "--policy-pack", "policies", *more, check=False)


def told(done: Done) -> list[tuple[str, str]]:
    """Level and name of each violation in the output."""
    lines = [line.split() for line in done.stdout.splitlines() if line.lstrip().startswith("- [")]
    return sorted({(words[1].strip("[]"), words[2]) for words in lines})
