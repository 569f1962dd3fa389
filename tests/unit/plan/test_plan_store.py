"""Saved plans: reading returns the same plan, and changes since then make it stale."""

import json
from pathlib import Path
from typing import Any

import pytest

from modelyard.hiding import Confidential
from modelyard.plan.store import PlanFileError, moved, plan_from_json, plan_to_json, seal, starting_state
from modelyard.report.json import json_text
from modelyard.report.style import Style
from modelyard.report.terminal import plan_text

EARLIER = Path(__file__).with_name("data") / "saved-by-earlier-version.json"


def site_of(sites: Any, name: str) -> Any:
    if name == "managed":
        dev = sites["dev"]
        nothing = dev._replace(state=dev.state._replace(objects=Confidential({}), pods=()))
        return nothing.asking(platform=dev.stack.config.platform._replace(mode="managed"))
    if name == "flipped":
        return sites["dev"].applied().asking(training="celery")
    return sites[name]


@pytest.mark.parametrize("name", ["dev", "prod", "staging", "managed", "flipped"])
def test_a_plan_survives_saving_and_reading(sites: Any, name: str) -> None:
    plan = site_of(sites, name).plan()
    text = json_text(plan_to_json(plan))
    again = plan_from_json(text, "plan.json")
    assert again == plan
    assert json_text(plan_to_json(again)) == text
    assert moved(again, plan) == ()


def test_a_plan_of_an_earlier_version_still_has_its_actions() -> None:
    """The file lacks the keys for these actions, so they are read from the codes of its findings."""
    text = EARLIER.read_text()
    assert not {"handsOver", "droppedRemotes"} & {*json.loads(text), *json.loads(text)["targets"][0]}
    plan = plan_from_json(text, "plan.json")
    assert (plan.changed, plan.pending) == ((), {"deployment-ray-head"})
    assert (plan.dropped_remotes, plan.acts) == (("far",), True)
    again = plan_from_json(json_text(plan_to_json(plan._replace(findings=()))), "plan.json")
    assert again == plan._replace(findings=())
    assert moved(plan, again) == ()


def test_a_remote_plan_of_an_earlier_version_reads_all_findings() -> None:
    document = json.loads(EARLIER.read_text())
    document["remotes"] = [{**document, "remote": "near", "findings": []}]
    document["targets"] = []
    document["findings"][0]["target"] = "near/deployment-ray-head"
    document["sha256"] = seal(document)
    plan = plan_from_json(json.dumps(document), "plan.json")
    assert (plan.pending, plan.dropped_remotes) == ({"near/deployment-ray-head"}, ("far",))
    assert [one.dropped_remotes for one in plan.remotes] == [()]


def test_the_same_state_gives_the_same_plan(dev: Any) -> None:
    assert plan_to_json(dev.plan()) == plan_to_json(dev.plan())


def objects(site: Any, **changes: Any) -> Any:
    """Replaces parts of each object; double underscores separate the names of a path."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        body = json.loads(json.dumps(body))
        for path, value in changes.items():
            at = body
            *above, last = path.split("__")
            for part in above:
                at = at[part]
            at[last] = value
        return body

    return site.having(change)


def test_fields_that_change_by_themselves_do_not_make_a_plan_stale(dev: Any) -> None:
    later = objects(
        dev,
        status={"replicas": 9},
        metadata__resourceVersion="999",
        metadata__generation=99,
        metadata__managedFields=[],
    )
    assert starting_state(later.plan()) == starting_state(dev.plan())


def test_a_changed_field_makes_a_plan_stale_and_is_named(dev: Any) -> None:
    later = objects(dev, spec__progressDeadlineSeconds=7)
    assert moved(dev.plan(), later.plan()) == tuple(
        f"{name} has changed since the plan was made (spec.progressDeadlineSeconds 600 → 7)"
        for name in sorted(starting_state(dev.plan()))
    )


def test_fields_that_a_plan_does_not_read_may_change(dev: Any) -> None:
    def noted(body: dict[str, Any]) -> dict[str, Any]:
        notes = {**body["metadata"].get("annotations", {}), "note": "moved"}
        return {**body, "metadata": {**body["metadata"], "annotations": notes, "labels": {"team": "search"}}}

    later = dev.having(noted)
    assert moved(dev.plan(), later.plan()) == ()
    assert starting_state(later.plan()) == starting_state(dev.plan())


def test_annotations_of_modelyard_make_a_plan_stale(dev: Any) -> None:
    later = dev.having(
        lambda body: {**body, "metadata": {**body["metadata"], "annotations": {"modelyard.dev/patches": "a@v1"}}}
    )
    differences = moved(dev.plan(), later.plan())
    assert any('metadata.annotations["modelyard.dev/patches"] nothing → a@v1' in one for one in differences)


def test_replicas_that_an_autoscaler_changes_do_not_make_a_plan_stale(staging: Any) -> None:
    def scaled(body: dict[str, Any]) -> dict[str, Any]:
        worker = body["metadata"]["name"] == "deployment-ray-model-training-worker"
        return {**body, "spec": {**body["spec"], "replicas": 2}} if worker else body

    later = staging.having(scaled)
    approved, now = staging.plan(), later.plan()
    assert approved != now
    assert moved(approved, now) == ()


def test_replicas_that_a_plan_holds_for_an_autoscaler_make_it_stale(prod: Any) -> None:
    """The step would reset them."""
    side = "deployment-model-training-tasks-gpu"
    scaling = prod.stack.config.autoscaling._replace(mode="annotations", max_replicas=3)
    site = prod.applied().asking(autoscaling=scaling)
    assert [finding.target for finding in site.plan().findings if finding.code == "AUT002"] == [side]

    def asleep(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "spec": {**body["spec"], "replicas": 0}} if body["metadata"]["name"] == side else body

    (difference,) = moved(site.plan(), site.having(asleep).plan())
    assert difference.endswith("has changed since the plan was made (spec.replicas 3 → 0)")


def test_replicas_that_no_patch_sets_may_change(dev: Any) -> None:
    def scaled(body: dict[str, Any]) -> dict[str, Any]:
        route = body["metadata"]["name"] == "deployment-api-server"
        return {**body, "spec": {**body["spec"], "replicas": 9}} if route else body

    assert moved(dev.plan(), dev.having(scaled).plan()) == ()


def test_another_order_of_changes_makes_a_plan_stale(dev: Any) -> None:
    plan = dev.plan()
    assert len(plan.steps) > 1
    (difference,) = moved(plan, plan._replace(steps=plan.steps[::-1]))
    assert difference.startswith(f"the order of changes was {plan.steps[0].target}, ")
    assert difference.endswith("other GPUs are free")


def secretive(site: Any, value: str) -> Any:
    """Adds a password and an address with a password to the environment of each container."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        body = json.loads(json.dumps(body))
        for container in body["spec"]["template"]["spec"]["containers"]:
            container.setdefault("env", []).append({"name": "DB_PASSWORD", "value": value})
            container["env"].append({"name": "BROKER", "value": f"amqp://ml:{value}@rabbit"})
        return body

    return site.having(change)


def test_a_plan_file_has_no_secrets(dev: Any) -> None:
    plan = secretive(dev, "hunter2").plan()
    text = json_text(plan_to_json(plan))
    assert "hunter2" not in text
    assert text.count("DB_PASSWORD") >= 2 * len(plan.targets)
    again = plan_from_json(text, "plan.json")
    assert moved(again, plan) == ()
    assert json_text(plan_to_json(again)) == text


def test_a_secret_that_a_patch_sets_is_not_in_a_plan_file(dev: Any, tmp_path: Any) -> None:
    env = "{template: {spec: {containers: [{name: ray-head, env: [{name: API_TOKEN, value: hunter2}]}]}}}"
    plan = dev.patched(tmp_path, env).plan()
    assert not plan.blocked
    assert any("hunter2" in str(target.applied.reveal()) for target in plan.targets)
    assert "hunter2" not in str([target.changes for target in plan.targets])
    text = json_text(plan_to_json(plan))
    assert "hunter2" not in text
    assert moved(plan_from_json(text, "plan.json"), plan) == ()
    shown = "\n".join(plan_text(plan, Style(colour=False)))
    assert "API_TOKEN" in shown
    assert "hunter2" not in shown


def test_replaced_arguments_are_shown_without_their_secrets(dev: Any, tmp_path: Any) -> None:
    def with_arguments(body: dict[str, Any]) -> dict[str, Any]:
        body = json.loads(json.dumps(body))
        for container in body["spec"]["template"]["spec"]["containers"]:
            container["args"] = ["serve", "--password", "hunter2", "--api-token=hunter2"]
        for entry in body["metadata"]["managedFields"]:
            for container in fields_of_containers(entry):
                container["f:args"] = {}
        return body

    args = "{template: {spec: {containers: [{name: ray-head, args: [run]}]}}}"
    plan = dev.having(with_arguments).patched(tmp_path, args).plan()
    (lost,) = (finding for finding in plan.findings if finding.code == "OWN007")
    assert "serve" in lost.detail
    assert "hunter2" not in json_text(plan_to_json(plan))


def fields_of_containers(entry: dict[str, Any]) -> list[dict[str, Any]]:
    template = entry["fieldsV1"].get("f:spec", {}).get("f:template", {})
    return list(template.get("f:spec", {}).get("f:containers", {}).values())


def test_a_changed_secret_does_not_make_a_plan_stale(dev: Any) -> None:
    assert moved(secretive(dev, "hunter2").plan(), secretive(dev, "hunter3").plan()) == ()


def test_another_cluster_makes_a_plan_stale(dev: Any) -> None:
    other = dev._replace(state=dev.state._replace(identity="another"))
    assert moved(dev.plan(), other.plan()) == (
        f"the plan was approved for cluster {dev.state.identity}, this is another",
    )
    unrecorded = dev.plan()._replace(cluster="")
    assert moved(unrecorded, other.plan())[0] == "the plan was approved for an empty cluster, this is another"


def test_changed_inputs_are_named(dev: Any) -> None:
    approved, now = dev.plan(), dev.plan()
    inputs = {**now.inputs, "modelyard": "9.9.9", "new@v1": "0" * 64}
    inputs.pop("ray-head@v1")
    inputs[dev.stack.file] = "f" * 64
    assert set(moved(approved, now._replace(inputs=inputs))) == {
        "input modelyard changed",
        "input new@v1 is new",
        "input ray-head@v1 is gone",
        f"input {dev.stack.file} changed",
    }


def test_every_patch_in_use_is_an_input_with_its_digest(dev: Any) -> None:
    plan = dev.plan()
    used = {patch for target in plan.targets for patch in target.patches}
    assert used <= plan.inputs.keys()
    for name in used:
        patch, version = name.split("@")
        assert plan.inputs[name] == dev.library.patches[patch][version].sha256


def refusal(document: Any) -> str:
    with pytest.raises(PlanFileError) as error:
        plan_from_json(json.dumps(document), "plan.json")
    return str(error.value)


@pytest.mark.parametrize(
    "path", ["stack", "cluster.identity", "targets.0.after", "targets.1.changes.0.after", "inputs"]
)
def test_any_change_of_a_plan_file_breaks_its_seal(dev: Any, path: str) -> None:
    document = plan_to_json(dev.plan())
    document = json.loads(json.dumps(document))
    *above, last = path.split(".")
    at: Any = document
    for part in above:
        at = at[int(part)] if part.isdigit() else at[part]
    at[last] = "changed"
    assert refusal(document) == refusal({**plan_to_json(dev.plan()), "sha256": ""})


@pytest.mark.parametrize("part", ["stack", "cluster", "targets", "steps", "findings", "inputs"])
def test_a_sealed_file_with_a_missing_or_wrong_part_is_an_error(dev: Any, part: str) -> None:
    for damage in ("gone", 5, [5], {"a": 5}):
        document = plan_to_json(dev.plan())
        if damage == "gone":
            del document[part]
        else:
            document[part] = damage
        document["sha256"] = seal(document)
        with pytest.raises(PlanFileError) as caught:
            plan_from_json(json.dumps(document), "plan.json")
        assert caught.value.summary.startswith("plan.json ")
        assert caught.value.remedy


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_a_sealed_plan_with_an_invalid_object_is_an_error(dev: Any, part: str) -> None:
    document = json.loads(json.dumps(plan_to_json(dev.plan())))
    document["targets"][0]["before"]["metadata"][part] = "text"
    document["sha256"] = seal(document)
    with pytest.raises(PlanFileError):
        plan_from_json(json.dumps(document), "plan.json")
