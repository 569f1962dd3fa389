"""Changes on their whole way, with git for real. What an apply leaves is what its plan says; the lab applies it."""

import json
from pathlib import Path

import pytest

from tests.ci.support.machine import Repository, machine
from tests.ci.support.whole_loop import OWNER, Loop, begin, go_round

pytestmark = pytest.mark.slow

WORKER = "deployment.ml-platform.deployment-ray-model-training-worker.json"


def test_a_change_goes_from_branch_to_cluster(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    begin(repository)
    loop = Loop(tmp_path, repository, machine(tmp_path))
    recorded = repository.folder / "stacks" / "recorded" / "dev"

    def apply(stack: str) -> bool:
        plan = json.loads(loop.modelyard("plan", stack, "--json"))
        changed = [target for target in plan["targets"] if target["changes"]]
        for target in changed:
            name = f"{target['kind'].lower()}.{target['namespace']}.{target['name']}.json"
            (recorded / name).write_text(json.dumps(target["after"]))
        if changed:
            repository.commit("Record what was applied")
        return bool(changed)

    go_round(loop, apply)
    worker = json.loads((recorded / WORKER).read_text())
    key, _, value = OWNER.partition(": ")
    assert worker["spec"]["template"]["metadata"]["annotations"][key] == value
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("worktree", "list").count("\n") == 0
    merges = repository.git("log", "--merges", "--format=%s", "main").splitlines()
    assert merges == ["Merge size", "Merge promote", "Merge upgrade"]
