"""The hooks for pre-commit: which files they take, and that their commands do what a hook must."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from modelyard.cli.parser import VERBS, verb_parser
from modelyard.workloads.environments.locks import lock_file

ROOT = Path(__file__).resolve().parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}


def files() -> list[str]:
    """The project's files as git names them."""
    found = (path for folder in ("stacks", "patches", "policies", "components") for path in (ROOT / folder).rglob("*"))
    return sorted(
        path.relative_to(ROOT).as_posix() for path in found if path.is_file() and "__pycache__" not in path.parts
    )


@pytest.mark.parametrize("hook", HOOKS.values(), ids=list(HOOKS))
def test_a_hook_runs_an_existing_verb(hook: dict[str, str]) -> None:
    program, verb, *words = shlex.split(hook["entry"])
    assert program == "modelyard"
    assert verb in VERBS
    verb_parser(verb).parse_args(words)


def test_fmt_runs_for_exactly_the_files_that_it_can_format() -> None:
    from modelyard.cli.fmt import _all

    pattern = re.compile(HOOKS["modelyard-fmt"]["files"])
    assert [name for name in files() if pattern.search(name)] == sorted(file.shown for file in _all(ROOT))


@pytest.mark.parametrize(
    "name", ["Pulumi.yaml", "patches/patches.lock", "stacks/recorded/dev/cluster.json", "docs/a.yaml"]
)
def test_fmt_does_not_change_other_files(name: str) -> None:
    assert not re.search(HOOKS["modelyard-fmt"]["files"], name)


def test_check_runs_for_every_file_of_a_plan() -> None:
    pattern = re.compile(HOOKS["modelyard-check"]["files"])
    left = [name for name in files() if not pattern.search(name)]
    program = ("components/", "stacks/__main__.py", "stacks/.venv/")  # what Pulumi runs; no plan reads it
    assert all(name.startswith(program) for name in left), left
    more = ("hardware.yaml", lock_file("torch"), "environments/torch.txt", "stacks/prices.yaml")
    assert all(map(pattern.search, more))
    assert HOOKS["modelyard-check"]["pass_filenames"] is False


@pytest.mark.parametrize("prefix", ["", "infra/ml/"])
def test_hooks_work_for_a_project_in_a_subfolder(prefix: str) -> None:
    for hook in HOOKS.values():
        assert re.search(hook["files"], f"{prefix}stacks/Pulumi.dev.yaml")
        assert re.search(hook["files"], f"{prefix}patches/mine/v2/meta.yaml")
