"""Differences between the recorded and the live platform in the values that a plan reads."""

import json
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.plan.recording import outdated

HEAD = "deployment-ray-head"


def live(site: Any, change: Any, name: str = HEAD) -> Any:
    """Returns the site with one changed object."""

    def only(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != name:
            return body
        copy = json.loads(json.dumps(body))
        change(copy)
        return dict(copy)

    return site.having(only)


def findings(site: Any, now: Any) -> list[Any]:
    return list(outdated(site.stack, site.state, now.state, now.plan().targets))


def test_an_unchanged_platform_has_no_findings(dev: Any) -> None:
    assert findings(dev, dev) == []


def replicas(body: dict[str, Any]) -> None:
    body["spec"]["replicas"] = 7


def by_another(body: dict[str, Any]) -> None:
    for entry in body["metadata"]["managedFields"]:
        entry["manager"] = entry["manager"].replace("kubectl-client-side-apply", "helm")


def test_a_changed_value_that_a_plan_reads_is_reported(dev: Any) -> None:
    (finding,) = findings(dev, live(dev, replicas))
    assert (finding.code, finding.severity.value, finding.target) == ("OWN010", "advice", HEAD)
    assert "spec.replicas: 1 → 7" in finding.detail
    assert finding.remedy.startswith("run: modelyard record dev")
    assert finding.stack == "dev"


def test_a_changed_owner_that_a_plan_reads_is_reported(dev: Any) -> None:
    (finding,) = findings(dev, live(dev, by_another))
    assert "owner of spec.strategy.rollingUpdate.maxSurge: kubectl-client-side-apply → helm" in finding.detail
    assert "and 4 more" in finding.detail


def noted(body: dict[str, Any]) -> None:
    body["metadata"].setdefault("annotations", {})["someone/else"] = "yes"


def later(body: dict[str, Any]) -> None:
    body["status"] = {"observedGeneration": 12}
    body["metadata"]["resourceVersion"] = "12"
    for entry in body["metadata"]["managedFields"]:
        entry["time"] = "2027-01-01T00:00:00Z"


@pytest.mark.parametrize("change", [noted, later])
def test_a_change_that_no_plan_reads_is_not_reported(dev: Any, change: Any) -> None:
    assert findings(dev, live(dev, change)) == []


def test_an_object_that_is_not_recorded_is_reported(dev: Any) -> None:
    objects = {key: body for key, body in dev.state.objects.reveal().items() if key.name != HEAD}
    before = dev._replace(state=dev.state._replace(objects=Confidential(objects)))
    (finding,) = findings(before, dev)
    assert finding.summary == f"{HEAD} is not recorded"


def test_new_missing_and_changed_nodes_are_reported(dev: Any) -> None:
    first, second, *rest = dev.state.nodes
    nodes = (first._replace(labels={**first.labels, "more": "yes"}), second._replace(name="new"), *rest)
    (finding,) = findings(dev, dev._replace(state=dev.state._replace(nodes=nodes)))
    assert finding.target == ""
    for words in (f"{first.name} changed", f"{second.name} is gone", "new is new"):
        assert words in finding.detail


def with_password(value: str) -> Any:
    def change(body: dict[str, Any]) -> None:
        env = body["spec"]["template"]["spec"]["containers"][0].setdefault("env", [])
        env.append({"name": "DB_PASSWORD", "value": value})

    return change


def test_a_hidden_secret_in_the_recorded_platform_is_not_a_change(dev: Any) -> None:
    recorded = live(dev, with_password("(hidden)"))
    assert findings(recorded, live(dev, with_password("hunter2"))) == []
    (finding,) = findings(dev, live(dev, with_password("hunter2")))
    assert "DB_PASSWORD" in finding.detail
    assert "hunter2" not in str(finding)
