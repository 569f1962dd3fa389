"""``preview --live`` on a real API server, with an account that may only read."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modelyard.names import FIELD_MANAGER
from tests.lab.support.account_rights import Account
from tests.lab.support.environment import NAMESPACE, Environment, environment


def git(env: Environment, *words: str) -> None:
    identity = ("-c", "user.name=dev", "-c", "user.email=dev@example.com")
    subprocess.run(["git", *identity, "-C", str(env.folder), *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A recorded platform that was never applied to, and a branch that changes one size."""
    with environment("dev", tmp_path_factory.mktemp("preview-live")) as env:
        env.env["PULUMI_BACKEND_URL"] = f"file://{env.folder / 'none'}"
        env.modelyard("record", "dev")
        git(env, "init", "--quiet", "--initial-branch", "main")
        git(env, "add", "stacks", "patches", "Pulumi.yaml")
        git(env, "commit", "--quiet", "--message", "one")
        git(env, "checkout", "--quiet", "-b", "feature")
        text = env.stack_file.read_text()
        env.stack_file.write_text(text.replace("memory: 32Gi", "memory: 40Gi", 1))
        yield env


def previewed(env: Environment, *words: str, **more: str) -> dict[str, Any]:
    done = env.modelyard("preview", *words, "--json", check=False, env=more)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_account_with_read_rights_sees_the_changes_of_the_branch(dev: Environment) -> None:
    expected = previewed(dev)
    account = Account(dev.lab, "read", dev.folder.parent)
    before = [item["metadata"]["resourceVersion"] for item in dev.found("apis/apps/v1/…/deployments")]
    found = previewed(dev, "--live", KUBECONFIG=str(account.kubeconfig))
    assert found["offline"] == []
    assert found["changes"] == expected["changes"]
    (stack,) = found["stacks"]
    assert stack["pending"]["objects"] > 1
    assert [item["metadata"]["resourceVersion"] for item in dev.found("apis/apps/v1/…/deployments")] == before


def test_changes_applied_meanwhile_are_no_longer_pending(dev: Environment) -> None:
    (before,) = previewed(dev, "--live")["stacks"]
    git(dev, "stash", "--quiet")
    target = max(dev.plan().targets, key=lambda one: len(one.changes))
    git(dev, "stash", "pop", "--quiet")
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{target.key.name}"
    query = f"fieldManager={FIELD_MANAGER}&force=true"
    answer = dev.lab.request(
        "PATCH", f"{path}?{query}", target.applied.reveal(), content_type="application/apply-patch+yaml"
    )
    assert answer.status == 200, answer
    found = previewed(dev, "--live")
    (after,) = found["stacks"]
    assert before["pending"]["objects"] - after["pending"]["objects"] == 1
    assert found["changes"] == previewed(dev)["changes"]


def test_an_account_without_rights_gets_the_offline_preview(dev: Environment, tmp_path: Path) -> None:
    account = Account(dev.lab, "jobs", tmp_path)
    found = previewed(dev, "--live", KUBECONFIG=str(account.kubeconfig))
    ((stack, why),) = ((one["stack"], one["why"]) for one in found["offline"])
    assert stack == "dev"
    assert account.user in why
    assert found["changes"] == previewed(dev)["changes"]
