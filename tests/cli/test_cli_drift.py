"""Drift on the command line: text, JSON and exit codes, with a given state and given live objects.

Reports are in ``tests/golden/test_cli_drift.txt``.
"""

import copy
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from modelyard.cli import fleet
from modelyard.cluster.connection import ClusterError
from modelyard.cluster.recorded import load_recorded
from modelyard.engine.applied import AppliedStack
from modelyard.engine.failure import EngineError, NothingAppliedError, other_cluster
from modelyard.hiding import Confidential
from modelyard.kube import merge
from modelyard.plan.drift import AppliedObject, kept
from modelyard.plan.project import plan_recorded
from tests.conformance.steps import update
from tests.support.cli_project import Project, Run
from tests.support.hostile_text import EVIL, harmless

STACKS = ("dev", "prod", "staging")
SERVICE, HEAD = "deployment-model-service", "deployment-ray-head"
DEPLOYMENT = merge.MergeSchema.kubernetes("1.35").of("apps/v1", "Deployment")
LATER = "2026-11-22T03:04:05Z"
Live = dict[Any, dict[str, Any]]


class World:
    """The engine's state and the cluster of each stack."""

    def __init__(self, project: Project) -> None:
        from datetime import date

        self.applied: dict[str, AppliedStack | Exception] = {}
        self.live: dict[str, Live] = {}
        self.cluster: dict[str, str] = {}
        self.broken: Exception | None = None
        for name in STACKS:
            plan = plan_recorded(project.root, project.stack_file(name), date(2026, 11, 21)).plan
            state, _ = load_recorded(project.root, name)
            assert plan is not None
            assert state is not None
            targets = tuple(AppliedObject(target.key, Confidential(kept(target)), True) for target in plan.targets)
            self.applied[name] = AppliedStack(plan.cluster, targets)
            self.cluster[name] = state.identity
            self.live[name] = {target.key: target.after.reveal() for target in plan.targets}

    def edit(self, stack: str, name: str, manager: str = "kubectl-edit", **spec: Any) -> None:
        """Changes an object as another field manager."""
        (key,) = (key for key in self.live[stack] if key.name == name)
        new = copy.deepcopy(self.live[stack][key])
        new["spec"] |= spec
        body = update(self.live[stack][key], new, manager, DEPLOYMENT)
        for entry in body["metadata"]["managedFields"]:
            entry["time"] = LATER if entry["manager"] == manager else entry.get("time", "")
        self.live[stack][key] = body

    def drop(self, stack: str, name: str) -> None:
        """Deletes an object."""
        self.live[stack] = {key: body for key, body in self.live[stack].items() if key.name != name}


@pytest.fixture
def world(project: Project, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(project)

    def applied_stack(_root: Any, stack: str, *, history: bool) -> AppliedStack:
        assert history
        found = made.applied[stack]
        if isinstance(found, Exception):
            raise found
        return found

    def connect(context: str, named: str) -> str:
        assert named
        if made.broken is not None:
            raise made.broken
        return context

    def present(client: str, _keys: Any) -> tuple[str, Mapping[Any, Any]]:
        return made.cluster[client], made.live[client]

    monkeypatch.setattr("modelyard.engine.applied.applied_stack", applied_stack)
    monkeypatch.setattr("modelyard.cluster.connection.connect", connect)
    monkeypatch.setattr("modelyard.cluster.present.present", present)
    monkeypatch.setattr("modelyard.cli.drift.need_engine", lambda: None)
    return made


def applied_of(world: World, stack: str) -> AppliedStack:
    applied = world.applied[stack]
    assert isinstance(applied, AppliedStack)
    return applied


def never(stack: str) -> NothingAppliedError:
    return NothingAppliedError(f"Pulumi's state has no stack {stack}", "check PULUMI_BACKEND_URL")


def test_what_drift_shows(world: World, run: Run, golden: Callable[..., None]) -> None:
    """Each stack has drifted in another way; the first section has none."""
    nothing = run("drift", "--all")
    world.edit("dev", SERVICE, replicas=7)
    world.drop("dev", HEAD)
    world.applied["staging"] = applied_of(world, "staging")._replace(failed=True)
    # A field that was removed has no owner any more.
    (key,) = (key for key in world.live["prod"] if key.name == SERVICE)
    template = copy.deepcopy(world.live["prod"][key]["spec"]["template"])
    del template["spec"]["containers"][0]["resources"]["limits"]["cpu"]
    world.edit("prod", SERVICE, template=template)
    drifted = run("drift", "--all")
    assert (nothing.code, drifted.code) == (0, 1)
    golden(nothing, drifted)


def test_an_apply_that_failed_counts_as_drift(world: World, run: Run) -> None:
    world.applied["dev"] = applied_of(world, "dev")._replace(failed=True)
    result = run("drift", "dev", "--json")
    document = json.loads(result.out)
    assert (result.code, document["drifted"], document["stacks"][0]["state"]) == (1, True, "drifted")


def test_one_drifted_stack_of_many_is_drift(world: World, run: Run) -> None:
    world.edit("prod", SERVICE, replicas=9)
    result = run("drift", "--all", "--json")
    assert result.code == 1
    assert [one["state"] for one in json.loads(result.out)["stacks"]] == ["same", "drifted", "same"]


def test_several_processes_show_the_same_as_one(world: World, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    world.edit("prod", SERVICE, replicas=9)
    world.drop("dev", HEAD)
    world.applied["staging"] = EngineError("no engine", "install it")
    alone = run("drift", "--all")
    monkeypatch.setattr(fleet, "WORTH_A_POOL", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    assert run("drift", "--all") == alone
    assert alone.code == 3


@pytest.mark.parametrize("words", [("dev",), ("dev", "--json"), ("dev", "prod")])
def test_a_stack_that_was_never_applied_is_an_error(world: World, run: Run, words: tuple[str, ...]) -> None:
    world.applied["dev"] = never("dev")
    result = run("drift", *words)
    assert result.code == 3
    assert "check PULUMI_BACKEND_URL" in result.words


def test_with_all_stacks_some_may_not_be_applied_yet(world: World, run: Run) -> None:
    world.applied["prod"] = never("prod")
    result = run("drift", "--all")
    assert result.code == 0
    document = json.loads(run("drift", "--all", "--json").out)
    assert [one["state"] for one in document["stacks"]] == ["same", "nothing", "same"]
    world.applied |= {name: never(name) for name in STACKS}
    assert run("drift", "--all").code == 3


def test_a_stack_that_was_destroyed_has_nothing_to_compare(world: World, run: Run) -> None:
    world.applied["dev"] = AppliedStack(None, ())
    result = run("drift", "dev")
    assert (result.code, result.out.count("\n")) == (0, 1)
    (stack,) = json.loads(run("drift", "dev", "--json").out)["stacks"]
    assert stack["state"] == "nothing"


@pytest.mark.parametrize("error", [EngineError("the engine is ill", "heal it"), ClusterError("no cluster", "heal it")])
def test_an_unreachable_stack_does_not_hide_the_others(world: World, run: Run, error: Exception) -> None:
    world.edit("prod", SERVICE, replicas=9)
    if isinstance(error, EngineError):
        world.applied["dev"] = error
    else:
        world.broken = error
    result = run("drift", "--all")
    assert result.code == 3
    assert f"{error}\n→ heal it\n" in result.out
    assert ("prod: 1 of 5 " in result.out) == isinstance(error, EngineError)


def test_a_stack_is_not_compared_with_another_cluster(world: World, run: Run) -> None:
    world.cluster["dev"] = "another"
    result = run("drift", "dev", "--json")
    assert result.code == 3
    (stack,) = json.loads(result.out)["stacks"]
    last = applied_of(world, "dev").cluster
    assert last is not None
    error = other_cluster("dev", remote="", context="dev", applied_to=last, points_to="another")
    assert (stack["state"], stack["cluster"], stack["targets"]) == ("unknown", last, [])
    assert (stack["reason"], stack["remedy"]) == (error.summary, error.remedy)


def test_an_unfinished_apply_of_a_target_is_drift(world: World, run: Run) -> None:
    applied = applied_of(world, "dev")
    first, *rest = applied.targets
    world.applied["dev"] = applied._replace(targets=(first._replace(finished=False), *rest))
    result = run("drift", "dev")
    assert result.code == 1
    assert f"~ {first.key.name}\n" in result.out
    (stack,) = json.loads(run("drift", "dev", "--json").out)["stacks"]
    assert [one["name"] for one in stack["targets"] if one["state"] == "unfinished"] == [first.key.name]


def test_the_document_has_the_published_form(world: World, run: Run, valid: Callable[..., list[str]]) -> None:
    world.edit("dev", SERVICE, replicas=7)
    world.drop("dev", HEAD)
    world.applied |= {"prod": never("prod"), "staging": EngineError("ill", "heal it")}
    result = run("drift", "--all", "--json")
    assert (result.code, result.err) == (3, "")
    document = json.loads(result.out)
    assert valid(document, "drift") == []
    assert document["drifted"] is True
    dev, prod, staging = document["stacks"]
    assert [one["state"] for one in document["stacks"]] == ["drifted", "nothing", "unknown"]
    assert (prod["remedy"], staging["reason"]) == ("check PULUMI_BACKEND_URL", "ill")
    states = {target["name"]: target["state"] for target in dev["targets"]}
    assert (len(states), states[SERVICE], states[HEAD]) == (5, "changed", "gone")
    (field,) = (field for target in dev["targets"] for field in target["fields"])
    assert {name: field[name] for name in ("field", "applied", "live")} == {
        "field": "spec.replicas",
        "applied": 2,
        "live": 7,
    }
    (owner,) = field["owners"]
    assert (owner["manager"], owner["operation"], owner["time"]) == ("kubectl-edit", "Update", LATER)
    for damage in ({"drifted": 1}, {"more": 1}, {"stacks": [{**dev, "state": "fine"}]}):
        assert valid(document | damage, "drift") != []


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_names_of_the_cluster_cannot_steer_a_terminal(world: World, run: Run, form: tuple[str, ...]) -> None:
    world.edit("dev", SERVICE, EVIL, replicas=7, paused=True)
    result = run("drift", "dev", *form)
    assert result.code == 1
    harmless(result.out)


def test_bad_input_is_reported_without_an_engine(project: Project, refused: Run) -> None:
    assert "--all" in refused("drift", code=2).err
    assert "'nope'" in refused("drift", "nope", code=2).err
    project.edit(("model: A10", "modle: A10"))
    assert sorted(refused("drift", "--all", code=2).errors) == ["CFG008"]


def test_no_line_is_wider_than_the_terminal(world: World, fits: Callable[..., None]) -> None:
    world.edit("dev", SERVICE, "a-controller-with-a-rather-long-name-for-a-field-manager", replicas=7)
    world.drop("dev", HEAD)
    world.applied["staging"] = never("staging")
    world.applied["prod"] = EngineError("the state of the stack cannot be reached for some reason", "run pulumi login")
    fits("drift", "--all", code=3)
