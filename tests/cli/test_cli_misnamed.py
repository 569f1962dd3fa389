"""Files whose names resemble those of stack files: commands on all stacks report them, and never read them."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HOSTILE = "Pulumi.<img src=x onerror=alert(1)>|`**\x1b[31m\n::error::x.yaml"


@pytest.fixture(params=["Pulumi.QA 1.yaml", "Pulumi.qa.yml", "pulumi.qa.yaml", HOSTILE], ids=["space", "yml", "p", "x"])
def misnamed(project: Any, request: Any) -> str:
    (project.root / "stacks" / request.param).write_bytes(project.stack_file("dev").read_bytes())
    return str(request.param)


COMMANDS = (
    *(("check", "--all"), ("plan", "--all"), ("render", "--all"), ("plan", "--all", "--json")),
    *(("check", "--all", "--format", form) for form in ("json", "sarif", "junit", "github")),
)


def test_a_misnamed_file_is_an_error_of_commands_on_all_stacks(misnamed: str, run: Any) -> None:
    for words in COMMANDS:
        result = run(*words)
        assert (result.code, "CFG001" in result.text) == (2, True), result
        assert "Pulumi.<stack>.yaml" in html.unescape(result.words)
        assert "\x1b" not in result.text
        # No name of a file is a command to a CI system.
        assert not [line for line in result.text.splitlines() if re.match("::(?!error file=)", line)]
    assert run("check", "dev").code == 0


@pytest.mark.parametrize(("file", "name"), [("Pulumi.qa.yml", "qa"), ("pulumi.qa.yaml", "qa"), ("Pulumi.QA.yml", "qa")])
def test_a_stack_whose_file_is_misnamed_is_unknown_and_the_remedy_names_the_file(
    project: Any, run: Any, file: str, name: str
) -> None:
    (project.root / "stacks" / file).write_bytes(project.stack_file("dev").read_bytes())
    result = run("check", name)
    assert result.code == 2
    assert f"rename stacks/{file} to Pulumi.{name}.yaml" in result.err


@pytest.mark.parametrize("file", ["Pulumi.my stack.yaml", "Pulumi.dev (1).yaml"])
def test_a_summary_names_a_misnamed_file_as_it_is(project: Any, run: Any, file: str) -> None:
    (project.root / "stacks" / file).write_bytes(project.stack_file("dev").read_bytes())
    assert file in run("check", "--all").out.splitlines()[-1]


def test_preview_reports_an_added_file(project: Any, misnamed: str, run: Any, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *identity, "-C", str(project.root), *words], check=True, capture_output=True)

    file = project.root / "stacks" / misnamed
    content = file.read_bytes()
    file.unlink()
    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    file.write_bytes(content)
    git("checkout", "--quiet", "-b", "feature")
    git("add", "--all")
    git("commit", "--quiet", "--message", "two")
    outputs = {ending: tmp_path / f"preview.{ending}" for ending in ("json", "txt", "md", "html")}
    for head in ((), ("--head", "feature")):
        words = [word for output in outputs.values() for word in ("--output", str(output))]
        assert run("preview", "--base", "main", *head, *words).code == 2
        texts = {ending: output.read_text() for ending, output in outputs.items()}
        (stack,) = json.loads(texts.pop("json"))["stacks"]
        assert [one["code"] for one in stack["findings"]["new"]] == ["CFG001"]
        for ending, text in texts.items():
            assert "CFG001" in text
            assert ending == "txt" or "<img" not in text
            assert "\x1b" not in text


def test_other_files_next_to_stack_files_are_ignored(project: Any, run: Any) -> None:
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml.orig", "prices.yaml", "Pulumi.dev.json"):
        (project.root / "stacks" / name).write_text("{")
    assert run("check", "--all").code == 0


def test_the_only_file_is_misnamed(project: Any, run: Any) -> None:
    for file in (project.root / "stacks").glob("Pulumi.*.yaml"):
        file.rename(file.with_suffix(".YAML"))
    result = run("check", "--all")
    assert (result.code, {*result.errors}) == (2, {"CFG001"})
    assert "stacks/Pulumi.dev.YAML" in result.text
