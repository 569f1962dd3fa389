"""The objects of a stack in the engine's state, read without the engine's library."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.engine_state import StateError, ask_engine, component_of, state_objects, state_objects_in
from modelyard.hiding import Confidential
from modelyard.kube.state import ObjectKey, StateObject

HEAD = ObjectKey("apps/v1", "Deployment", "ml", "head")
REQUEST = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "head", "namespace": "ml"}}
PATCH = {"type": "kubernetes:apps/v1:DeploymentPatch", "inputs": REQUEST}
WHOLE = {"type": "kubernetes:apps/v1:Deployment", "inputs": REQUEST}
NOTED = {
    "type": "pulumi-python:dynamic/modelyard:Ledger",
    "outputs": {"record": json.dumps({"formatVersion": 1, "key": HEAD, "ledger": "noted"})},
}
HANDED = {**NOTED, "type": "pulumi-python:dynamic/modelyard:Handover"}


def applied(**more: Any) -> dict[str, Any]:
    return {"type": "modelyard:index:Applied", "outputs": {"request": json.dumps(REQUEST), **more}}


def test_a_patched_object_has_its_ledger_and_its_role() -> None:
    assert state_objects_in([PATCH, NOTED, HANDED, applied(role="rayHead")]) == {
        HEAD: StateObject(False, Confidential("noted"), "rayHead")
    }


def test_a_whole_object_is_the_stacks() -> None:
    assert state_objects_in([WHOLE, applied(role="rayHead")]) == {HEAD: StateObject(True, Confidential(""), "rayHead")}


def test_a_whole_object_that_a_refresh_dropped_is_the_stacks_still() -> None:
    note = applied(role="rayHead", mode="managed")
    assert state_objects_in([note]) == {HEAD: StateObject(True, Confidential(""), "rayHead", forgotten=True)}
    assert (
        state_objects_in([note, WHOLE])
        == state_objects_in([WHOLE, note])
        == {HEAD: StateObject(True, Confidential(""), "rayHead")}
    )
    assert state_objects_in([applied(role="rayHead", mode="existing")]) == {}


def test_a_state_of_before_there_were_roles() -> None:
    assert state_objects_in([NOTED, applied()]) == {HEAD: StateObject(False, Confidential("noted"), "")}


def test_objects_pending_deletion_do_not_count() -> None:
    assert state_objects_in([{**WHOLE, "delete": True}, {**NOTED, "delete": True}]) == {}


def engine(folder: Path, script: str) -> None:
    program = folder / "pulumi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return tmp_path


def test_a_stack_that_was_never_applied_has_nothing(tools: Path) -> None:
    engine(tools, "echo \"error: no stack named 'dev' found\" >&2; exit 255")
    assert state_objects(tools, "dev") == {}


def test_a_state_without_resources(tools: Path) -> None:
    engine(tools, """echo '{"version": 3, "deployment": {"manifest": {}}}'""")
    assert state_objects(tools, "dev") == {}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'error: could not open bucket' >&2; exit 1", "could not open bucket"),
        ("exit 3", "ended with 3"),
        ("echo '{}'", "lacks 'deployment'"),
        ("echo '[]'", "content is invalid"),
        ("""echo '{"deployment": {"resources": [{"type": "x/modelyard:Ledger", "outputs": {}}]}}'""", "lacks 'record'"),
    ],
)
def test_a_state_that_cannot_be_read(tools: Path, script: str, said: str) -> None:
    engine(tools, script)
    with pytest.raises(StateError, match=said):
        state_objects(tools, "dev")


@pytest.mark.parametrize(
    ("variables", "passed"),
    [
        ({}, "empty"),
        ({"PULUMI_CONFIG_PASSPHRASE": "word"}, "word"),
        ({"PULUMI_CONFIG_PASSPHRASE_FILE": "file"}, "unset"),
        ({"PULUMI_CONFIG_PASSPHRASE_FILE": ""}, "empty"),
    ],
)
def test_the_passphrase_of_the_environment(
    tools: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], passed: str
) -> None:
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    engine(tools, 'w=${PULUMI_CONFIG_PASSPHRASE-unset}; echo "${w:-empty}"')
    assert ask_engine(tools, "version").stdout.decode().strip() == passed


def test_no_engine(tools: Path) -> None:
    with pytest.raises(StateError, match="not on PATH"):
        state_objects(tools, "dev")


@pytest.mark.parametrize(
    ("kinds", "component"),
    [
        ("modelyard:index:ModelService", "ModelService::m"),
        ("acme:index:Site$modelyard:index:RemoteCluster", "RemoteCluster::m"),
        ("modelyard:index:Platform$modelyard:index:ModelService", ""),
        ("acme:index:Site$modelyard:index:Platform$modelyard:index:RemoteCluster", ""),
        ("modelyard:index:Platform", ""),
        ("acme:index:ModelService", ""),
    ],
)
def test_a_component_outside_a_platform_has_its_own_objects(kinds: str, component: str) -> None:
    assert component_of({"parent": f"urn:pulumi:dev::it::{kinds}::m"}) == component
    assert component_of({}) == ""
