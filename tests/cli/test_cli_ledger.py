"""``modelyard ledger`` on recorded platforms. ``tests/golden/test_cli_ledger.txt`` has what it prints."""

import json
from collections.abc import Callable
from typing import Any

SERVICE = "stacks/recorded/dev/deployment.ml-platform.deployment-model-service.json"


def test_no_fields_before_the_first_apply(run: Any) -> None:
    result = run("ledger", "--all")
    assert result.code == 0
    assert [line.partition(":")[0] for line in result.out.splitlines()] == ["dev", "prod", "staging"]


def test_fields_of_an_applied_stack(run: Any, applied: Callable[[str], None], golden: Callable[..., None]) -> None:
    applied("dev")
    golden(run("ledger", "dev"))
    (stack,) = json.loads(run("ledger", "dev", "--json").out)["stacks"]
    assert (stack["stack"], stack["source"], len(stack["targets"])) == ("dev", "recorded", 5)
    (service,) = [target for target in stack["targets"] if target["name"] == "deployment-model-service"]
    assert service["patches"] == ["model-service@v1"]
    (replicas,) = [field for field in service["fields"] if field["field"] == "spec.replicas"]
    assert (replicas["state"], replicas["before"], replicas["now"]) == ("held", 1, 2)
    assert [owner["manager"] for owner in replicas["owners"]] == ["kubectl-client-side-apply"]


def test_an_unreadable_ledger_is_reported(project: Any, run: Any, applied: Callable[[str], None]) -> None:
    applied("dev")
    path = project.root / SERVICE
    body = json.loads(path.read_text())
    body["metadata"]["annotations"]["modelyard.dev/ledger"] = '{"formatVersion": 9}'
    path.write_text(json.dumps(body))
    assert "formatVersion 9" in run("ledger", "dev").words
    assert "OWN012" in run("plan", "dev", "--notes").out
    del body["metadata"]["managedFields"]
    path.write_text(json.dumps(body))
    assert run("plan", "dev").code == 0


def test_stacks_that_cannot_be_read(project: Any, refused: Any) -> None:
    assert "'nope'" in refused("ledger", "nope", code=2).words
    (project.root / "stacks/recorded/dev/cluster.json").unlink()
    assert "recorded platform" in refused("ledger", "dev", code=2).words


def test_no_line_is_wider_than_the_terminal(fits: Callable[..., None], applied: Callable[[str], None]) -> None:
    applied("dev")
    fits("ledger", "dev")
