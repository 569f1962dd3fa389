"""The tables of facts: each path once, with its value and its source."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from modelyard.explanations import explanations
from modelyard.stack import load
from modelyard.stack.config import Config, Gpu, Platform, Stack, StackPath, Target, Targets
from modelyard.stack.jobs import Notebooks, NotebookServers, NotebookUser
from modelyard.stack.pool import Team
from modelyard.stack.schema import schema_text
from modelyard.workloads import FACTS, Facts, fact_at, source_of, stack_facts, workloads
from modelyard.workloads.facts.fact import FLAG, Fact, tree_of, values_of
from modelyard.workloads.facts.remote import REMOTE
from tests.support.project_copies import ROOT

STACKS = ("dev", "staging", "prod")
ROLES = ("apiServer.", "modelService.", "rayHead.", "rayWorker.", "celery.")
SERVERS = NotebookServers("registry/lab:1", "jupyter", users=(NotebookUser("ada"),))


def loaded(name: str) -> Stack:
    stack, findings = load(ROOT / "stacks" / f"Pulumi.{name}.yaml", f"stacks/Pulumi.{name}.yaml")
    assert stack is not None, findings
    return stack


def config(**changes: Any) -> Config:
    return Config("ray", Platform("23.10"), Gpu("A10"))._replace(**changes)


def facts(one: Config) -> Facts:
    return stack_facts(Stack("dev", "stacks/Pulumi.dev.yaml", "", one, None, {}), ())


def leaves(known: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in known.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{before}{name}.")
        else:
            yield before + name


def in_schema(path: StackPath) -> bool:
    """Whether the schema of stack files has a path."""
    schema = json.loads(schema_text())
    here = {"properties": schema["properties"]["config"]["properties"]}
    for part in (f"modelyard:{path[0]}", *path[1:]) if path else ():
        if part not in here.get("properties", {}):
            return False
        here = here["properties"][part]
        if "$ref" in here:
            here = {**schema["$defs"][here["$ref"].rpartition("/")[2]], **here}
    return True


@pytest.mark.parametrize("name", STACKS)
def test_the_tables_have_every_fact_of_a_stack_and_no_other(name: str) -> None:
    stack = loaded(name)
    known = stack_facts(stack, workloads(stack.config))
    assert set(leaves(known)) == FACTS.keys()
    values = {path: fact_at(known, path) for path in FACTS}
    assert all(FACTS[path].can_be(value) for path, value in values.items())
    assert all((type(value) is bool) == (FACTS[path].values == FLAG) for path, value in values.items())
    json.dumps(known)


def test_a_cluster_without_the_platforms_workloads_has_none_of_their_facts() -> None:
    assert set(leaves(facts(config()))) == {path for path in FACTS if not path.startswith(ROLES)}
    assert fact_at(facts(config()), "gpu.products") == []


@pytest.mark.parametrize("fact", FACTS.values(), ids=lambda fact: fact.path)
def test_a_fact_has_a_source_or_a_reason_for_none(fact: Fact[Any]) -> None:
    assert bool(fact.source) != bool(fact.why)
    assert in_schema(fact.source)
    assert fact.meaning or fact.source == tuple(fact.path.split("."))
    assert all(in_schema(one.source) for one in fact.other_sources)


@pytest.mark.parametrize(
    ("path", "ray", "celery"),
    [
        ("rayWorker.replicas", ("rayWorker", "replicas"), ("training",)),
        ("celery.replicas", ("training",), ("celery", "replicas")),
        ("rayWorker.maxReplicas", ("autoscaling", "maxReplicas"), ("training",)),
        ("celery.active", ("training",), ("training",)),
        ("celery.gpus", (), ()),
        ("rayWorker.gpus", ("gpu", "perWorker"), ("gpu", "perWorker")),
        ("modelService.gpus", (), ()),
        ("modelService.active", (), ()),
        ("modelService.maxReplicas", ("autoscaling", "maxReplicas"), ("autoscaling", "maxReplicas")),
        ("gpu.several", ("gpu", "perWorker"), ("gpu", "perWorker")),
        ("ray.available", ("platform", "release"), ("platform", "release")),
        ("pool.shared", ("teams",), ("teams",)),
        ("resources.pods", ("resources",), ("resources",)),
        ("notebooks.servers.spaces", ("notebooks", "servers", "users"), ("notebooks", "servers", "users")),
        ("stack.name", (), ()),
        ("autoscaling", ("autoscaling",), ("autoscaling",)),
    ],
)
def test_the_source_of_a_fact(path: str, ray: StackPath, celery: StackPath) -> None:
    for training, expected in (("ray", ray), ("celery", celery)):
        one = config(training=training)
        assert source_of(path, one) == expected


WITHOUT = Platform("23.10", without=("rayWorker",))
SET = Targets()._replace(ray_worker=Target("", "worker", stateful_set="ray-workers"))
RAY_CLUSTER = Targets()._replace(ray_head=Target("", "head", ray_cluster="ray"))


@pytest.mark.parametrize(
    ("path", "changes", "source"),
    [
        ("ray.available", {"platform": WITHOUT}, ("platform", "without")),
        ("rayWorker.deployment", {}, ("targets", "rayWorker", "deployment")),
        ("rayWorker.deployment", {"targets": SET}, ("targets", "rayWorker", "statefulSet")),
        ("rayHead.deployment", {"targets": RAY_CLUSTER}, ("targets", "rayHead", "rayCluster")),
        ("celery.deployment", {"targets": SET}, ("targets", "celery", "deployment")),
    ],
)
def test_the_source_of_a_fact_that_another_key_decides(
    path: str, changes: Mapping[str, Any], source: StackPath
) -> None:
    assert source_of(path, config(**changes)) == source


def test_servers_are_in_the_namespaces_of_their_teams() -> None:
    one = config(notebooks=Notebooks(servers=SERVERS), teams=(Team("vision", namespace="eyes", quotas=()),))
    known = facts(one)["notebooks"]["servers"]
    assert (known["declared"], known["spaces"]) == (True, ["eyes"])
    assert known["users"] == [{"name": "ada", "namespace": "eyes"}]
    assert (known["project"], known["cpu"], known["kernelIdle"]) == ("/home/jovyan/work", "1", 3600)


def test_the_rows_of_a_table_become_nested_dictionaries() -> None:
    table: tuple[Fact[int], ...] = (Fact("a.b", lambda one: one, ()), Fact("a.c.d", lambda one: one + 1, ()))
    assert values_of(tree_of(table), 1) == {"a": {"b": 1, "c": {"d": 2}}}


def test_the_explanation_of_an_unknown_fact_lists_all() -> None:
    why = explanations()["PAT012"].body.partition("**Example.**")[0].partition("named by dotted paths:")[2]
    own, _, workload = why.partition("for each of")
    roles, _, words = workload.partition(":")
    named = [re.findall(r"`([\w.]+)`", text) for text in (own, roles, words)]
    assert {*named[0], *(f"{role}.{word}" for role in named[1] for word in named[2])} == FACTS.keys()


def test_facts_of_a_remote_cluster_begin_with_its_name_in_their_sources() -> None:
    assert {(fact.path.partition(".")[0], fact.source[0]) for fact in REMOTE} == {("remote", "remote")}
