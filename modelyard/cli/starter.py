"""The files of a new project, as texts by path. Its components and patches come from the installed package."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Literal

from modelyard import __version__
from modelyard.catalog.lock import LOCK, lock_text
from modelyard.cli.schema import printed

Ci = Literal["github", "gitlab", "none"]
_CI_FILES: Mapping[Ci, str] = {"github": ".github/workflows/modelyard.yml", "gitlab": ".gitlab-ci.yml"}
IGNORED = ".gitignore"


def project_files(project: str, stacks: Iterable[str], built_in: Mapping[str, str], ci: Ci) -> dict[str, str]:
    """Every file of a new project.

    Args:
        project: its name.
        stacks: the names of its stacks.
        built_in: the SHA-256 of the built-in patch versions to use, by ``name/version``.
        ci: the CI system to write a pipeline for.
    """
    return {
        "Pulumi.yaml": template("Pulumi.yaml", PROJECT=project),
        "__main__.py": template("program.txt"),
        **{f"stacks/Pulumi.{name}.yaml": stack_text(name) for name in stacks},
        "stacks/stack.schema.json": printed("stack"),
        LOCK: lock_text(built_in),
        "policies/PulumiPolicy.yaml": template("PulumiPolicy.yaml", PROJECT=project),
        "policies/__main__.py": template("policy-program.txt"),
        "policies/policy.yaml": template("policy.yaml"),
        "policies/assertions/no-surge.yaml": template("example-rule.yaml"),
        IGNORED: template("gitignore"),
        **dict(_ci_files(ci)),
    }


def stack_text(name: str) -> str:
    """The stack file of a new stack, with values to change."""
    return template("stack.yaml", STACK=name)


def _ci_files(ci: Ci) -> Iterator[tuple[str, str]]:
    if ci in _CI_FILES:
        yield "requirements.in", template("requirements.in", VERSION=__version__)
        yield _CI_FILES[ci], template(f"{ci}.yml")


def template(name: str, **values: str) -> str:
    """The text of a template, with values for its ``@NAMES@``."""
    text = files("modelyard.cli").joinpath("templates", name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text
