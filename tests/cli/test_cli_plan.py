"""Plans: what changes, in which order, and the exit codes. ``tests/golden/examples`` has the texts."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest

STACKS = ("dev", "prod", "staging")


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_shows_its_steps_in_order(run: Any, stack: str) -> None:
    result = run("plan", stack)
    assert (result.code, result.err) == (0, "")
    steps = json.loads(run("plan", stack, "--json").out)["steps"]
    turns = [line.split()[:3] for line in result.out.splitlines() if re.match(r"\d+\. ", line)]
    waits = [step["phase"] == "drain" for step in steps]
    assert sum(waits) == 1
    assert turns == [
        [f"{number}.", *(("…", "waits") if wait else ("~", step["target"]))]
        for number, (step, wait) in enumerate(zip(steps, waits, strict=True), 1)
    ]
    at = 0
    for step in steps:
        named = "waits" if step["phase"] == "drain" else step["target"]
        at = result.words.index(step["why"], result.words.index(named, at))


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_without_changes_is_one_line(applied: Any, run: Any, stack: str) -> None:
    applied(stack)
    result = run("plan", stack, "--detailed-exitcode")
    assert result.code == 0
    assert result.out.startswith(f"{stack}: no changes ")
    assert result.out.count("\n") == 1
    assert run("diff", stack).out == f"{stack}: no changes.\n"


def test_detailed_exit_code_of_changes_and_of_errors(project: Any, run: Any) -> None:
    assert run("plan", "dev", "--detailed-exitcode").code == 5
    project.edit(("model: A10", "model: L4"))
    assert run("plan", "dev", "--detailed-exitcode").code == 1


@pytest.mark.parametrize("command", ["plan dev", "plan dev --no-cost", "check dev", "diff dev", "render dev"])
def test_a_price_file_with_errors_is_an_error_with_or_without_costs(project: Any, run: Any, command: str) -> None:
    project.add("modelyard:prices: stacks/prices.yaml")
    result = run(*command.split())
    assert (result.code, result.errors) == (1, ["CFG103"])


def test_a_stack_named_twice_is_planned_once(run: Any) -> None:
    assert run("plan", "dev", "dev").out == run("plan", "dev").out


def test_a_plan_of_five_targets_fits_a_screen(run: Any) -> None:
    assert len(run("plan", "dev").out.splitlines()) <= 40


def test_identical_changes_are_shown_once(project: Any, run: Any) -> None:
    same = "the same as ray-worker@v1 on deployment-ray-model-training-worker"
    both = run("plan", "dev").out
    assert (same in both, both.count("terminationGracePeriodSeconds")) == (True, 1)
    assert re.search(rf"{same}, and\n +env +CELERY_TASK_TIME_LIMIT \+ 21600\n", both)
    project.edit(
        ("# Unused while training is ray", "#"),
        ("cpu: 8\n    memory: 32Gi\n    consumer", "cpu: 9\n    memory: 32Gi\n    consumer"),
    )
    apart = run("plan", "dev").out
    assert (same in apart, apart.count("terminationGracePeriodSeconds")) == (False, 2)
    # A target that is not shown is no reference.
    assert same not in run("plan", "dev", "--target", "tasks-gpu").out


def test_a_target_has_one_note_about_owners_with_all_its_fields(run: Any) -> None:
    fields = [one for one in json.loads(run("check", "dev", "--json").out)["findings"] if one["code"] == "OWN001"]
    assert len(fields) == 26
    lines = run("check", "dev", "--notes").out.splitlines()
    starts = [at for at, line in enumerate(lines) if "OWN001" in line]
    assert len(starts) == len({one["target"] for one in fields})
    assert all(later - start <= 4 for start, later in pairwise(starts))
    assert not [line for line in lines if line.endswith(" more")]
    assert sum(int(lines[start].split()[5]) for start in starts) == len(fields)
    assert lines[-1] == "1 stack checked: 4 notes"
    assert sum("→" in line for line in lines) == 1


@pytest.mark.parametrize("verb", ["plan", "check"])
def test_notes_are_shown_on_request(run: Any, verb: str) -> None:
    assert "OWN001" not in run(verb, "dev").out
    noted = run(verb, "dev", "--notes").words
    # No summary repeats the notes.
    assert noted.count("takes ownership") == noted.count("OWN001") == 4


def test_a_waived_finding_is_a_note_with_its_reason(project: Any, run: Any) -> None:
    project.edit(("model: A10", "model: A10G"))
    project.add("modelyard:waivers:\n  - {code: GPU001, reason: on order, expires: 2036-01-01, by: Ada}")
    assert "GPU001" not in run("plan", "dev").out
    result = run("check", "dev", "--notes")
    assert "waived GPU001" in result.words
    assert "waived: on order" in result.words
    # The waiver is for GPU001 only: that no node has the GPU is still an error.
    assert result.errors == ["RES101"]


def test_the_same_input_gives_the_same_bytes(run: Any) -> None:
    for words in (("plan", "--all", "--json"), ("check", "--all", "--json"), ("plan", "staging"), ("diff", "prod")):
        assert run(*words) == run(*words)


def test_plan_from_other_folders(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = run("plan", "dev").out
    monkeypatch.chdir(project.root / "stacks")
    assert run("plan", "dev").out == here
    monkeypatch.chdir("/")
    assert run("-C", str(project.root), "plan", "dev").out == here
    assert run("plan", "dev", "-C", str(project.root)).out == here


def test_plan_in_a_separate_process(process: Any) -> None:
    done = process("plan", "dev", "--detailed-exitcode")
    assert (done.returncode, done.stderr) == (5, "")
    assert "\x1b" not in done.stdout
    assert process("check", "prod", "--json").returncode == 0


def test_a_custom_patch_adds_a_sidecar(run: Any, project: Any) -> None:
    container = "{name: fluent-bit, image: 'images.example.com/fluent-bit:3.1'}"
    template = (
        "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n"
        f"spec: {{template: {{spec: {{containers: [{container}]}}}}}}\n"
    )
    project.patch("sidecar", template)
    done = run("plan", "dev", "--target", "api-server")
    assert "fluent-bit: image" in done.out
    assert "PAT014" not in done.out


@pytest.mark.parametrize(
    "words",
    [
        *(("plan",), ("check",), ("diff",), ("show",), ("size",), ("remote",), ("ledger",), ("job", "choices")),
        *(("blame", "rayWorker", "spec.replicas"), ("environment", "list"), ("pipeline", "show")),
    ],
    ids=" ".join,
)
def test_the_default_stack_is_that_of_the_variable_or_the_only_one(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    place = 2 if words[0] in ("job", "environment", "pipeline") else 1
    named = run(*words[:place], "dev", *words[place:])
    monkeypatch.setenv("MODELYARD_STACK", "dev")
    assert run(*words)[1:] == named[1:]
    monkeypatch.delenv("MODELYARD_STACK")
    without = run(*words)
    assert (without.code, "dev, prod, staging" in without.words) == (2, True)
    for other in ("prod", "staging"):
        (project.root / f"stacks/Pulumi.{other}.yaml").unlink()
    assert run(*words)[1:] == named[1:]


@pytest.mark.parametrize("words", [("plan",), ("show",), ("gpus", "--live"), ("blame", "ray-head", "replicas")])
def test_an_unknown_stack_in_the_variable(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    for other in ("prod", "staging"):
        (project.root / f"stacks/Pulumi.{other}.yaml").unlink()
    monkeypatch.setenv("MODELYARD_STACK", "nope")
    result = run(*words)
    assert result.code == 2
    assert "'nope'" in result.words
    assert "MODELYARD_STACK" in result.words


def test_a_single_word_is_a_resource_if_no_stack_has_its_name(project: Any, run: Any) -> None:
    project.edit(
        ("modelyard:training: ray", "modelyard:training: ray\n  modelyard:resources: [{name: chat, type: llm-serving}]")
    )
    named = run("size", "dev", "chat")
    assert "chat" in named.words
    for other in ("prod", "staging"):
        (project.root / f"stacks/Pulumi.{other}.yaml").unlink()
    assert run("size", "chat")[1:] == named[1:]
