"""Where the recorded platform is not the live one any more, in what a plan reads of it."""

import json
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.plan.recording import outdated

HEAD = "deployment-ray-head"


def live(site: Any, change: Any, name: str = HEAD) -> Any:
    """The site with one object changed."""

    def only(body: dict[str, Any]) -> dict[str, Any]:
        if body["metadata"]["name"] != name:
            return body
        copy = json.loads(json.dumps(body))
        change(copy)
        return dict(copy)

    return site.having(only)


def findings(site: Any, now: Any) -> list[Any]:
    return list(outdated(site.stack, site.state, now.state, now.plan().targets))


def test_nothing_is_said_of_what_is_as_it_was(dev: Any) -> None:
    assert findings(dev, dev) == []


def replicas(body: dict[str, Any]) -> None:
    body["spec"]["replicas"] = 7


def by_another(body: dict[str, Any]) -> None:
    for entry in body["metadata"]["managedFields"]:
        entry["manager"] = entry["manager"].replace("kubectl-client-side-apply", "helm")


def test_a_value_that_a_plan_reads_is_told_with_the_way_out(dev: Any) -> None:
    (finding,) = findings(dev, live(dev, replicas))
    assert (finding.code, finding.severity.value, finding.target) == ("OWN010", "advice", HEAD)
    assert "spec.replicas: 1 → 7" in finding.detail
    assert finding.remedy.startswith("run: modelyard record dev")
    assert finding.stack == "dev"


def test_an_owner_that_a_plan_reads_is_told(dev: Any) -> None:
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
def test_what_no_plan_reads_is_not_told(dev: Any, change: Any) -> None:
    assert findings(dev, live(dev, change)) == []


def test_an_object_that_is_not_recorded_is_told(dev: Any) -> None:
    objects = {key: body for key, body in dev.state.objects.reveal().items() if key.name != HEAD}
    before = dev._replace(state=dev.state._replace(objects=Confidential(objects)))
    (finding,) = findings(before, dev)
    assert finding.summary == f"{HEAD} is not recorded"


def test_nodes_that_came_went_or_changed_are_told(dev: Any) -> None:
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


def test_a_secret_is_neither_told_nor_missed_in_a_recording(dev: Any) -> None:
    recorded = live(dev, with_password("(hidden)"))
    assert findings(recorded, live(dev, with_password("hunter2"))) == []
    (finding,) = findings(dev, live(dev, with_password("hunter2")))
    assert "DB_PASSWORD" in finding.detail
    assert "hunter2" not in str(finding)
