"""Stack files whose names are not those of stacks: told by every verb that looks at all stacks, and never obeyed."""

import json
import subprocess
from typing import Any

import pytest

HOSTILE = "Pulumi.<img src=x onerror=alert(1)>|`**\x1b[31m\n::error::x.yaml"


@pytest.fixture(params=["Pulumi.QA 1.yaml", "Pulumi.qa.yml", "pulumi.qa.yaml", HOSTILE], ids=["space", "yml", "p", "x"])
def misnamed(project: Any, request: Any) -> str:
    (project.root / "stacks" / request.param).write_bytes(project.stack_file("dev").read_bytes())
    return str(request.param)


@pytest.mark.parametrize(
    "words", [("check", "--all"), ("plan", "--all"), ("render", "--all"), ("plan", "--all", "--json")]
)
def test_a_misnamed_file_is_an_error_of_verbs_that_look_at_all_stacks(misnamed: str, run: Any, words: Any) -> None:
    result = run(*words)
    assert result.code == 2
    assert "is not the name of a stack file" in result.words
    assert "name it Pulumi.<stack>.yaml" in result.words
    assert "\x1b" not in result.text
    assert not [line for line in result.text.splitlines() if line.startswith("::")]
    assert run("check", "dev").code == 0


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github"])
def test_ci_systems_are_told_of_it(misnamed: str, run: Any, form: str) -> None:
    result = run("check", "--all", "--format", form)
    assert result.code == 2
    assert "is not the name of a stack file" in result.out
    assert not [line for line in result.out.splitlines() if line.startswith("::error::x")]


def test_a_preview_tells_of_one_that_comes(project: Any, misnamed: str, run: Any) -> None:
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
    for head in ((), ("--head", "feature")):
        result = run("preview", "--base", "main", *head, "--format", "json")
        assert result.code == 2
        document = json.loads(result.out)
        assert len(document["stacks"]) == 1
        for form in ("text", "markdown", "html"):
            shown = run("preview", "--base", "main", *head, "--format", form)
            assert shown.code == 2
            assert "is not the name of a stack file" in " ".join(shown.out.split())
            assert form == "text" or "<img" not in shown.out
            assert "\x1b" not in shown.out


def test_other_files_beside_stacks_are_nobodys(project: Any, run: Any) -> None:
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml.orig", "prices.yaml", "Pulumi.dev.json"):
        (project.root / "stacks" / name).write_text("{")
    assert run("check", "--all").code == 0
