"""Choosing among all stacks of a project: by label, by what changed, and in parts for several machines."""

import json
import shutil
from typing import Any

import pytest

EVERY = {"dev", "staging", "prod"}


def chosen(run: Any, *words: str) -> list[str]:
    result = run("ledger", "--json", *words)
    assert result.code == 0, result.text
    return [one["stack"] for one in json.loads(result.out)["stacks"]]


@pytest.mark.parametrize(
    ("labels", "stacks"),
    [
        (("region=eu",), ["dev", "staging"]),
        (("region=eu", "tier=canary"), ["dev"]),
        (("region=us",), ["prod"]),
    ],
)
def test_labels_choose_stacks(run: Any, labelled: Any, labels: tuple[str, ...], stacks: list[str]) -> None:
    assert chosen(run, *(word for label in labels for word in ("--label", label))) == stacks


def test_an_unreadable_stack_file_is_chosen_so_that_its_errors_are_reported(run: Any, labelled: Any) -> None:
    labelled.edit(("replicas: 2", "replicas: -2"), stack="dev")
    result = run("check", "--label", "region=us")
    assert result.code == 2
    assert "CFG012" in result.out


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_the_parts_contain_each_stack_once(run: Any, project: Any, parts: int) -> None:
    shards = [chosen(run, "--shard", f"{part}/{parts}") for part in range(1, parts + 1)]
    together = [name for shard in shards for name in shard]
    assert len(together) == len(EVERY)
    assert set(together) == EVERY
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize(
    ("file", "old", "new", "stacks"),
    [
        ("stacks/Pulumi.dev.yaml", "replicas: 2", "replicas: 3", {"dev"}),
        ("stacks/Pulumi.dev.yaml", "config:", "# a comment\nconfig:", set()),
        ("patches/ray-worker-multi-gpu/v1/schema.json", "{", "{ ", {"staging"}),
        ("patches/ray-head/v1/patch.yaml.j2", "containers:", "containers: ", EVERY),
        ("stacks/recorded/prod/cluster.json", "{", "{ ", {"prod"}),
        ("policies/policy.yaml", "", "rules: {}\n", EVERY),
        ("README.md", "", "New.\n", set()),
    ],
)
def test_a_change_chooses_the_stacks_whose_inputs_differ(
    run: Any, committed: Any, file: str, old: str, new: str, stacks: set[str]
) -> None:
    path = committed.root / file
    path.parent.mkdir(exist_ok=True)
    text = path.read_text() if old else ""
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else new)
    assert set(chosen(run, "--changed-since", "main")) == stacks


def test_a_new_stack_has_changed_and_a_deleted_one_is_not_chosen(run: Any, committed: Any) -> None:
    committed.stack_file("new").write_bytes(committed.stack_file().read_bytes())
    shutil.copytree(committed.root / "stacks/recorded/dev", committed.root / "stacks/recorded/new")
    committed.stack_file("prod").unlink()
    assert chosen(run, "--changed-since", "main") == ["new"]


def test_all_options_apply_together(run: Any, labelled: Any, committed: Any) -> None:
    for name in ("dev", "staging", "prod"):
        committed.add('modelyard:kubernetesVersion: "1.34"', stack=name)
    words = ("--changed-since", "main", "--label", "region=eu", "--shard")
    assert [chosen(run, *words, shard) for shard in ("1/2", "2/2")] == [["dev"], ["staging"]]


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--label", "region=eur"),
        ("check", "--label", "rgion=eu"),
        ("verify", "--label", "tier="),
        ("render", "--label", "region=us", "--label", "tier=canary"),
        ("drift", "--changed-since", "main", "--label", "region=eur"),
        ("waves", "--changed-since", "main", "--label", "owner=ada"),
    ],
)
def test_a_label_that_no_stack_has_is_an_error(
    refused: Any, labelled: Any, committed: Any, golden: Any, words: tuple[str, ...]
) -> None:
    golden(refused(*words, code=2))


def test_a_label_of_a_project_without_labels_is_an_error(refused: Any, project: Any, golden: Any) -> None:
    golden(refused("plan", "--label", "region=eu", code=2))


def test_a_label_of_unchanged_stacks_only_is_not_an_error(run: Any, labelled: Any, committed: Any) -> None:
    assert chosen(run, "--changed-since", "main", "--label", "region=eu") == []


@pytest.mark.parametrize("verb", ["plan", "check", "render", "ledger", "verify", "drift"])
def test_no_matching_stack_is_not_an_error(run: Any, committed: Any, verb: str) -> None:
    result = run(verb, "--changed-since", "main")
    assert result.code == 0, result.text
    assert "no stacks" in result.err
    assert json.loads(run(verb, "--changed-since", "main", "--json").out)["formatVersion"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--shard", "0/2"),
        ("--shard", "3/2"),
        ("--shard", "half"),
        ("--label", "region"),
        ("--changed-since", "nope"),
        ("dev", "--label", "region=eu"),
    ],
)
def test_options_without_a_meaning_are_refused(refused: Any, committed: Any, words: tuple[str, ...]) -> None:
    assert len(refused("plan", *words, code=2).err.splitlines()) >= 2


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--all", "--base", ""),
        ("render", "dev", "--base", " "),
        ("preview", "--base", ""),
        ("preview", "--head", ""),
        ("plan", "--changed-since", ""),
    ],
)
def test_an_empty_variable_of_ci_chooses_no_other_commit(refused: Any, committed: Any, words: tuple[str, ...]) -> None:
    assert words[-2] in refused(*words, code=2).err


def test_show_lists_labels(run: Any, labelled: Any) -> None:
    assert "labels      region=eu, tier=canary" in run("show", "dev").out
    assert json.loads(run("show", "dev", "--json").out)["labels"] == {"region": "eu", "tier": "canary"}
