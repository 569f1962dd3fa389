"""What patches set where the name says that it is a secret: no verb shows it, but for the one that writes the files."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

SECRET, OTHER = "hunter2", "hunter3"
PATCH = """# target: deployment-ray-head
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - name: ray-head
          args: [--password, {{ phrase }}]
          env:
            - {name: DB_PASSWORD, value: "{{ phrase }}"}
            - {name: PLAIN, value: "seen"}
"""


@pytest.fixture
def secret(project: Any, run: Any) -> None:
    """A patch that sets one, in one stack another one than in the others, on a branch of its own."""
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("commit", "--quiet", "-m", "one"),
    ):
        who = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
        subprocess.run(["git", "-C", str(project.root), *who, *words], check=True, capture_output=True)
    schema = json.dumps({"type": "object", "properties": {"phrase": {"type": "string", "default": SECRET}}})
    project.patch("zz-mine", PATCH, "description: mine\noverrides: [ray-head]\n", schema)
    project.add("modelyard:patches: [{name: zz-mine, params: {phrase: " + OTHER + "}}]")
    assert run("plan", "dev").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("blame", "dev", "ray-head", "env[name=DB_PASSWORD].value"),
        ("blame", "dev", "ray-head", "containers[name=ray-head].args"),
        ("blame", "dev", "ray-head", "containers"),
        ("diff", "dev"),
        ("plan", "dev"),
        ("plan", "--all", "--matrix"),
        ("preview", "--base", "main"),
    ],
    ids=" ".join,
)
def test_no_verb_shows_a_secret_that_a_patch_sets(run: Any, secret: None, words: tuple[str, ...]) -> None:
    for form in ((), ("--json",)):
        result = run(*words, *form)
        assert result.code == 0, result.text
        assert "(hidden)" in result.text
        assert SECRET not in result.text
        assert OTHER not in result.text


def test_no_comment_or_page_shows_a_secret_that_a_patch_sets(run: Any, secret: None, tmp_path: Path) -> None:
    files = [tmp_path / f"preview.{ending}" for ending in ("md", "html")]
    run("preview", "--base", "main", *(word for file in files for word in ("--output", str(file))))
    for file in files:
        text = file.read_text()
        assert "(hidden)" in text
        assert "hunter" not in text


def test_a_parameter_that_becomes_a_secret_is_hidden_too(run: Any, secret: None) -> None:
    assert "seen" in run("blame", "dev", "ray-head", "env[name=PLAIN].value").out
    document = json.loads(run("blame", "dev", "ray-head", "env[name=DB_PASSWORD].value", "--json").out)
    (setting,) = document["settings"]
    assert [(source["param"], source["value"]) for source in setting["sources"]] == [("phrase", "(hidden)")]


def test_rendered_files_contain_the_secret(run: Any, secret: None) -> None:
    assert OTHER in run("render", "dev", "--print").out
