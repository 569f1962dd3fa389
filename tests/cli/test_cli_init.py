"""A new project: ``modelyard init`` in an empty folder."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator

import modelyard
from modelyard.catalog import load_library
from modelyard.cli.starter import stack_text
from modelyard.policy.loading import policies_of
from tests.support.cli_project import ROOT, Project, Run, tree

FILES = {
    ".github/workflows/modelyard.yml",
    ".gitignore",
    "Pulumi.yaml",
    "__main__.py",
    "patches/patches.lock",
    "policies/PulumiPolicy.yaml",
    "policies/__main__.py",
    "policies/assertions/no-surge.yaml",
    "policies/policy.yaml",
    "requirements.in",
    "stacks/Pulumi.dev.yaml",
    "stacks/stack.schema.json",
}


@pytest.fixture
def empty(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where the command line runs."""
    folder = tmp_path / "gpu platform"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def written(folder: Path) -> set[str]:
    return {name for name, content in tree(folder).items() if content is not None}


def test_init_writes_a_project(run: Run, empty: Path, golden: Callable[..., None]) -> None:
    done = run("init")
    assert (done.code, done.err) == (0, "")
    assert written(empty) == FILES
    assert set(re.findall(r"^wrote (.*)$", done.out, re.MULTILINE)) == FILES
    # The project is named after its folder.
    assert yaml.safe_load((empty / "Pulumi.yaml").read_text())["name"] == "gpu-platform"
    golden(done)


def test_new_stacks_pass_check_and_fmt(run: Run, empty: Path) -> None:
    assert run("init", "--stacks", "dev, staging,prod").code == 0
    checked = run("check", "--all", "--json")
    assert checked.code == 0
    assert {(one["stack"], one["code"]) for one in json.loads(checked.out)["findings"]} == {
        (name, "CFG101") for name in ("dev", "staging", "prod")
    }
    assert run("fmt", "--check").code == 0


def test_a_stack_file_fits_its_schema(run: Run, empty: Path) -> None:
    run("init")
    file = empty / "stacks" / "Pulumi.dev.yaml"
    name = file.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    schema = json.loads((file.parent / name).read_text())
    Draft202012Validator(schema).validate(yaml.safe_load(file.read_text()))
    assert (file.parent / name).read_text() == run("schema", "stack").out
    assert not Draft202012Validator(schema).is_valid(yaml.safe_load(file.read_text().replace("perWorker: 1", "x: 1")))


@pytest.mark.parametrize("name", ["yes", "1", "1e3", "null", "a.b-c_d"])
def test_the_context_of_a_new_stack_is_text(name: str) -> None:
    assert yaml.safe_load(stack_text(name))["config"]["kubernetes:context"] == name


def test_the_lock_has_every_built_in_patch_and_the_rule_is_valid(run: Run, empty: Path) -> None:
    run("init")
    library = load_library(empty)
    assert library.findings == ()
    assert {name: list(own) for name, own in library.patches.items()} == {
        name: list(own) for name, own in load_library(ROOT).patches.items()
    }
    assert (empty / "patches/patches.lock").read_text() == (ROOT / "patches/patches.lock").read_text()
    policies = policies_of(empty)
    assert (policies.findings, list(policies.rules)) == ((), ["POL900"])


def test_a_new_project_plans_as_this_repository(run: Run, empty: Path, project: Project) -> None:
    run("init", "--name", "modelyard")
    (project.root / "stacks/recorded").rename(empty / "stacks/recorded")
    try:
        (empty / "stacks/Pulumi.dev.yaml").write_text((ROOT / "stacks/Pulumi.dev.yaml").read_text())
        here = json.loads(run("plan", "dev", "--json").out)
    finally:
        (empty / "stacks/recorded").rename(project.root / "stacks/recorded")
    there = json.loads(run("-C", str(project.root), "plan", "dev", "--json").out)
    assert here["targets"] == json.loads(json.dumps(there["targets"]).replace('"patches/', '"modelyard/patches/'))


def test_existing_files_are_listed_and_nothing_is_written(run: Run, empty: Path) -> None:
    (empty / "Pulumi.yaml").write_text("mine")
    (empty / "policies").write_text("a file")
    (empty / "stacks").symlink_to(empty.parent)
    before = tree(empty)
    done = run("init")
    assert done.code == 2
    lines = {line.strip() for line in done.err.splitlines()}
    assert {"Pulumi.yaml", "policies", "stacks"} <= lines
    assert "patches/patches.lock" not in lines
    assert tree(empty) == before


def test_a_failure_leaves_nothing_behind(run: Run, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def full(path: object, *words: object, **more: object) -> int:
        if str(path).endswith("policy.yaml"):
            raise OSError(28, "No space left on device", str(path))
        return real(path, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", full)
    done = run("init")
    monkeypatch.undo()
    assert done.code == 2
    assert "policy.yaml" in done.err
    assert tree(empty) == {}


def test_an_existing_ignore_file_stays(run: Run, empty: Path) -> None:
    (empty / ".gitignore").write_text("mine\n")
    done = run("init")
    assert done.code == 0
    assert "Add to .gitignore: .venv/, .pulumi/, __pycache__/" in done.out
    assert (empty / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize(
    "words",
    [("--stacks", ""), ("--stacks", ","), ("--stacks", "a/b"), ("--name", "a b"), ("--name", ""), ("-C", "nowhere")],
)
def test_bad_arguments_write_nothing(run: Run, empty: Path, words: tuple[str, ...]) -> None:
    assert run("init", *words).code == 2
    assert tree(empty) == {}


def test_init_for_gitlab(run: Run, empty: Path) -> None:
    assert run("init", "--ci", "gitlab").code == 0
    assert written(empty) == FILES - {".github/workflows/modelyard.yml"} | {".gitlab-ci.yml"}
    schema = json.loads((ROOT / "tests/ci/schemas/gitlab-ci.json").read_text())
    Draft7Validator(schema).validate(yaml.safe_load((empty / ".gitlab-ci.yml").read_text()))
    assert f"modelyard=={modelyard.__version__}\n" in (empty / "requirements.in").read_text()
    assert "://" not in (empty / "requirements.in").read_text()


def test_a_pipeline_is_written_only_at_the_root_of_a_repository(run: Run, empty: Path) -> None:
    (empty.parent / ".git").mkdir()
    assert run("init", "--ci", "github").code == 2
    assert run("init").code == 0
    assert written(empty) == FILES - {".github/workflows/modelyard.yml", "requirements.in"}


def test_actions_have_the_versions_of_the_examples(run: Run, empty: Path) -> None:
    run("init")
    used = re.compile(r"uses: (\S+@[0-9a-f]{40}) # (\S+)")
    examples = "".join(path.read_text() for path in (ROOT / "examples/ci/github").iterdir())
    mine = used.findall((empty / ".github/workflows/modelyard.yml").read_text())
    assert len(mine) == 4
    assert set(mine) <= set(used.findall(examples))
