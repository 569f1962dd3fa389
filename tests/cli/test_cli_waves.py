"""``modelyard waves``: which stacks are chosen, the formats, and what is refused. tests/ci runs what it writes.

What it prints is in ``tests/golden/test_cli_waves.txt``.
"""

import json
import subprocess
from typing import Any

import pytest
import yaml

from modelyard.report import waves as report

REPOSITORY = "https://git.example.com/platform.git"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "CI_PROJECT_URL", "BITBUCKET_GIT_HTTP_ORIGIN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def labelled(labelled: Any, committed: Any) -> Any:
    """The stacks with labels, in a commit."""
    return committed


def waves(run: Any, *words: str) -> list[list[str]]:
    result = run("waves", "--json", *words)
    assert result.code == 0, result.text
    return [wave["stacks"] for wave in json.loads(result.out)["waves"]]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), [["dev", "prod", "staging"]]),
        (("--canary", "dev"), [["dev"], ["prod", "staging"]]),
        (("--canary", "tier=canary", "--by", "region"), [["dev"], ["staging"], ["prod"]]),
        (("--label", "region=eu", "--canary", "staging"), [["staging"], ["dev"]]),
        (("--percent", "50,100"), [["dev", "prod"], ["staging"]]),
        (("--changed-since", "main"), []),
    ],
)
def test_stacks_are_split(run: Any, labelled: Any, words: tuple[str, ...], found: list[list[str]]) -> None:
    assert waves(run, *words) == found


def test_a_canary_without_a_change_is_reported(run: Any, labelled: Any, golden: Any) -> None:
    labelled.add('modelyard:kubernetesVersion: "1.34"', stack="prod")
    words = ("--changed-since", "main", "--canary", "dev")
    assert waves(run, *words) == [["prod"]]
    golden(run("waves", *words))


def test_json_follows_its_schema(run: Any, valid: Any) -> None:
    words = (
        "--canary",
        "dev",
        "--timeout",
        "15m",
        "--bake",
        "30m",
        "--query",
        "max(errors) < 1",
        "--max-failures",
        "1",
    )
    document = json.loads(run("waves", *words, "--json").out)
    assert valid(document, "outputs", "waves") == []
    assert (document["timeoutSeconds"], document["bakeSeconds"], document["maxFailures"]) == (900, 1800, 1)
    assert document["queries"] == ["max(errors) < 1"]


def test_text_lists_the_waves_and_their_gate(run: Any, labelled: Any, golden: Any) -> None:
    gate = ("--query", "max(errors) < 1", "--bake", "30m", "--max-failures", "1")
    texts = [
        run("waves", *words)
        for words in (
            (),
            ("--canary", "tier=canary", "--by", "region", *gate),
            ("--percent", "50,100"),
            ("--changed-since", "main"),
        )
    ]
    assert [one.code for one in texts] == [0] * len(texts)
    golden(*texts)


def test_operator_objects_wait_for_the_wave_before(run: Any, labelled: Any) -> None:
    words = ("--canary", "dev", "--by", "region", "--format", "operator", "--repo-url", REPOSITORY)
    objects = {one["spec"]["stack"]: one for one in yaml.safe_load_all(run("waves", *words).out) if one}
    head = subprocess.run(["git", "-C", str(labelled.root), "rev-parse", "HEAD"], capture_output=True, check=True)
    assert {name: [one["name"] for one in body["spec"].get("prerequisites", [])] for name, body in objects.items()} == {
        "organization/modelyard/dev": [],
        "organization/modelyard/staging": ["modelyard-dev"],
        "organization/modelyard/prod": ["modelyard-staging"],
    }
    assert {body["spec"]["commit"] for body in objects.values()} == {head.stdout.decode().strip()}
    assert {body["spec"]["projectRepo"] for body in objects.values()} == {REPOSITORY}


@pytest.mark.parametrize("url", [REPOSITORY, "git@code.example.com:acme/platform.git", "ssh://git@code.example.com/a"])
def test_operator_objects_begin_with_the_whole_command(run: Any, labelled: Any, url: str) -> None:
    words = ("waves", "--format", "operator", "--repo-url", url, "--organization", "acme")
    assert run(*words).out.splitlines()[1] == f"# modelyard {' '.join(words)}"


def test_bad_options_are_refused(refused: Any, labelled: Any, golden: Any) -> None:
    cases = (
        ("--canary", "nope"),
        ("--canary", "tier=nope"),
        ("--by", "regoin"),
        ("--percent", "50"),
        ("--percent", "60,50,100"),
        ("--percent", "0,100"),
        ("--percent", "50,100", "--by", "region"),
        ("--query", "max(errors)"),
        ("--format", "operator"),
        ("--format", "operator", "--repo-url", "foo"),
        ("--organization", "a b"),
        ("--format", "operator", "--repo-url", REPOSITORY, "--bake", "1h"),
        ("--format", "operator", "--repo-url", REPOSITORY, "--timeout", "1h"),
        ("--format", "github", "--changed-since", "main"),
        ("--format", "github", "--query", 'errors{a="${{ secrets.A }}"} > 1'),
        ("--format", "github", "--json"),
        ("--out", "stacks/Pulumi.dev.yaml"),
    )
    golden(*(refused("waves", *words, code=2) for words in cases))


@pytest.mark.parametrize("form", ["github", "gitlab"])
def test_a_wave_with_too_many_stacks_for_a_ci_system_is_refused(
    run: Any, golden: Any, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(report, "MATRIX", {form: 2})
    result = run("waves", "--format", form)
    assert result.code == 2
    golden(result)
    assert run("waves", "--canary", "dev", "--format", form).code == 0


def test_too_many_stacks_with_one_label_cannot_be_split_by_percent_too(
    run: Any, labelled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MATRIX", {"github": 1})
    result = run("waves", "--by", "region", "--format", "github")
    assert result.code == 2
    assert result.err.rstrip().endswith("instead of --by")


def test_a_stack_file_with_errors_ends_the_run(run: Any, project: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"), stack="dev")
    result = run("waves")
    assert (result.code, result.errors) == (2, ["CFG012"])
