"""``apply --json`` and ``destroy --json``: standard output is one JSON document, however the run ends."""

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from modelyard.engine.failure import failure
from modelyard.plan.store import STALE
from tests.lab.support.environment import NAMESPACE, Done, Environment, environment
from tests.lab.support.fault_proxy import Reply, Request, When, fault_proxy

SCHEMAS = {
    name: json.loads((Path(__file__).parents[2] / "modelyard" / "report" / f"{name}.schema.json").read_text())
    for name in ("findings", "outputs")
}
HEAD = "deployment-ray-head"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with environment("dev", tmp_path_factory.mktemp("endings")) as env:
        yield env


@pytest.fixture
def dev(shared: Environment) -> Iterator[Environment]:
    text = shared.stack_file.read_text()
    yield shared
    shared.stack_file.write_text(text)


def document(done: Done, code: int, schema: str = "findings", part: str = "") -> Any:
    """The only document on standard output, validated against its published schema."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    resources = [(each["$id"], Resource.from_contents(each)) for each in SCHEMAS.values()]
    registry: Any = Registry().with_resources(resources)
    reference = SCHEMAS[schema]["$id"] + (f"#/$defs/{part}" if part else "")
    assert list(Draft202012Validator({"$ref": reference}, registry=registry).iter_errors(found)) == []
    return found


def apply(env: Environment, *words: str, **variables: str) -> Done:
    return env.modelyard("apply", *(words or ("dev", "--yes")), "--json", check=False, env=variables)


def test_destroy_of_a_stack_that_was_never_applied(dev: Environment) -> None:
    done = dev.modelyard("destroy", "dev", "--yes", "--json", check=False)
    assert document(done, 3)["error"]["summary"] == "Pulumi's state has no stack dev"


def test_an_apply_with_and_without_changes(dev: Environment) -> None:
    assert document(apply(dev), 0, "outputs", "apply")["result"] == "succeeded"
    dev.settle()
    again = document(apply(dev), 0, "outputs", "apply")
    assert again["changes"] == {"same": 5}


def test_a_plan_with_errors(dev: Environment) -> None:
    dev.edit("model: A10", "model: T4")
    found = document(apply(dev), 1)
    assert any(finding["severity"] == "error" for finding in found["findings"])


def test_a_stack_file_that_cannot_be_read(dev: Environment) -> None:
    dev.edit("model: A10", "modle: A10")
    assert "CFG008" in {finding["code"] for finding in document(apply(dev), 2)["findings"]}


def test_an_apply_without_a_confirmation(dev: Environment) -> None:
    dev.edit("    cpu: 2\n", "    cpu: 3\n")
    assert document(apply(dev, "dev"), 2)["findings"] == []
    assert [target.name for target in dev.plan().changed] == [HEAD]


def test_a_stale_plan(dev: Environment) -> None:
    dev.edit("    cpu: 2\n", "    cpu: 3\n")
    dev.modelyard("plan", "dev", "--live", "--out", "plan.json")
    moved = '{"spec": {"progressDeadlineSeconds": 700}}'
    dev.lab.kubectl("patch", "deployment", HEAD, "--namespace", NAMESPACE, "--patch", moved)
    assert document(apply(dev, "--plan", "plan.json"), 4)["error"]["summary"].startswith(STALE)


def test_credentials_that_may_only_read(dev: Environment) -> None:
    dev.edit("    cpu: 2\n", "    cpu: 3\n")
    found = document(apply(dev, KUBECONFIG=str(dev.lab.kubeconfig_of("viewer"))), 1)
    assert {each["code"] for each in found["findings"] if each["severity"] == "error"} == {"OWN009"}


def test_an_error_of_the_engine_during_a_step(dev: Environment, tmp_path: Path) -> None:
    """The right to patch is removed between the plan and the step."""
    dev.edit("    cpu: 2\n", "    cpu: 3\n")

    def forbid(request: Request, when: When) -> Reply | None:
        step = f"PATCH deployments/{HEAD} by pulumi-kubernetes"
        if (request.name, when) != (step, "before"):
            return None
        return Reply(403, "Forbidden", f'deployments.apps "{HEAD}" is forbidden: User "kubernetes-admin" cannot patch')

    with fault_proxy(dev.lab, tmp_path) as proxy:
        proxy.meddle = forbid
        found = document(apply(dev, KUBECONFIG=str(proxy.kubeconfig)), 3)
    assert "is forbidden" in found["error"]["summary"]
    assert found["error"]["remedy"] == failure("dev", [found["error"]["summary"]], "").remedy


def test_an_engine_that_does_not_run(dev: Environment, tmp_path: Path) -> None:
    (tmp_path / "pulumi").write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexit 1\n")
    (tmp_path / "pulumi").chmod(0o755)
    document(apply(dev, PATH=f"{tmp_path}:{dev.env['PATH']}"), 3)
    assert (tmp_path / "asked").exists()


def test_an_unreachable_cluster(dev: Environment, tmp_path: Path) -> None:
    dead = tmp_path / "kubeconfig"
    dead.write_text(dev.lab.kubeconfig.read_text().replace(dev.lab.server, "https://127.0.0.1:1"))
    for verb in ("apply", "destroy"):
        done = dev.modelyard(verb, "dev", "--yes", "--json", check=False, env={"KUBECONFIG": str(dead)})
        assert os.strerror(errno.ECONNREFUSED) in document(done, 3)["error"]["summary"]


def test_a_successful_destroy(dev: Environment) -> None:
    done = dev.modelyard("destroy", "dev", "--yes", "--json")
    assert document(done, 0, "outputs", "apply")["changes"] == {"delete": 5}
