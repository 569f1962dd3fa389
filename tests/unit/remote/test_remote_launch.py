"""The documents that SkyPilot and dstack launch, and the rights that go with them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from modelyard.stack import Stack
from modelyard.workloads.remote.launch import launch_files, launches
from modelyard.workloads.remote.values import Launch

Make = Callable[..., Stack]
FORMS = json.loads((Path(__file__).with_name("launchers.schema.json")).read_text())


def launch(stack: Stack, index: int) -> Launch:
    (made,) = launches(stack, stack.config.resources[index])
    return made


def document(stack: Stack, index: int, name: str) -> Any:
    made = launch(stack, index)
    return yaml.safe_load(launch_files(made)[f"{made.job}/{name}"])


def test_a_skypilot_task_terminates_its_machine(stack: Make) -> None:
    task = document(stack(), 1, "skypilot.yaml")
    assert list(Draft202012Validator(FORMS["skypilotTask"]).iter_errors(task)) == []
    assert list(Draft202012Validator(FORMS["skypilotResources"]).iter_errors(task["resources"])) == []
    resources = task["resources"]
    assert (resources["infra"], resources["instance_type"]) == ("lambda/us-west-1", "gpu_1x_a10")
    assert resources["image_id"] == "docker:registry.example/trainer:3"
    assert resources["autostop"] == {"idle_minutes": 5, "down": True, "wait_for": "jobs"}
    assert task["secrets"] == {"READ_ACCESS_TOKEN": None, "WRITE_ACCESS_TOKEN": None}
    assert "timeout --signal=TERM --kill-after=60 5400 sh" in task["run"]
    # A setup of its own would be outside the time limit.
    assert "setup" not in task


def test_a_dstack_task_has_a_limit_and_leaves_no_idle_machine(stack: Make) -> None:
    task = document(stack(("kind: lambda, ", "kind: lambda, launcher: dstack, ")), 1, "task.dstack.yml")
    assert list(Draft202012Validator(FORMS["dstackTask"]).iter_errors(task)) == []
    assert (task["backends"], task["regions"], task["instance_types"]) == (["lambda"], ["us-west-1"], ["gpu_1x_a10"])
    assert (task["max_duration"], task["idle_duration"], task["spot_policy"]) == ("5400s", "0s", "on-demand")
    assert task["env"][2:] == ["READ_ACCESS_TOKEN", "WRITE_ACCESS_TOKEN"]


def test_a_dstack_fleet_matches_its_task(stack: Make) -> None:
    on_dstack = stack(("kind: lambda, ", "kind: lambda, launcher: dstack, "))
    fleet, task = (document(on_dstack, 1, f"{name}.dstack.yml") for name in ("fleet", "task"))
    assert list(Draft202012Validator(FORMS["dstackFleet"]).iter_errors(fleet)) == []
    assert task["fleets"] == [fleet["name"]]
    assert (fleet["nodes"], fleet["idle_duration"]) == ("0..1", "0s")
    # What the fleet may have and what the task asks for have to agree, or the run is ended.
    shared = ("resources", "backends", "regions", "instance_types", "spot_policy", "idle_duration")
    assert {key: task[key] for key in shared} == {key: fleet[key] for key in shared}
    made = launch(on_dstack, 1)
    said = re.findall("^# (dstack apply .*)$", launch_files(made)[f"{made.job}/task.dstack.yml"], re.MULTILINE)
    assert [words.split()[-1] for words in said] == ["fleet.dstack.yml", "task.dstack.yml"]
    assert list(Draft202012Validator(FORMS["dstackFleet"]).iter_errors({**fleet, "node": 1}))


SERVING = (
    ("type: runtime\n      cpu", "type: llm-serving\n      cpu"),
    ("type: runtime, resource: away", "type: llm-serving, resource: away"),
    ("command: [run]", "command: [serve]\n        port: 8000"),
)


def test_a_serving_task_of_skypilot_opens_no_port_and_shows_a_tunnel(stack: Make) -> None:
    made = launch(stack(*SERVING), 1)
    text = launch_files(made)["own/skypilot.yaml"]
    task = yaml.safe_load(text)
    # Ports of its resources would be open to everybody.
    assert "ports" not in task["resources"]
    assert ": ssh -N -L 8000:localhost:8000 dev-own\n" in text
    assert "localhost" not in launch_files(launch(stack(), 1))["own/skypilot.yaml"]


def test_a_serving_task_of_dstack_forwards_its_port(stack: Make) -> None:
    made = launch(stack(("kind: lambda, ", "kind: lambda, launcher: dstack, "), *SERVING), 1)
    text = launch_files(made)["own/task.dstack.yml"]
    task = yaml.safe_load(text)
    assert list(Draft202012Validator(FORMS["dstackTask"]).iter_errors(task)) == []
    assert task["ports"] == [8000]
    assert ": dstack attach dev-own\n" in text


def test_the_schemas_reject_a_wrong_document(stack: Make) -> None:
    task = document(stack(), 1, "skypilot.yaml")
    assert list(Draft202012Validator(FORMS["skypilotTask"]).iter_errors({**task, "command": "x"}))
    assert list(Draft202012Validator(FORMS["skypilotResources"]).iter_errors({**task["resources"], "instances": 1}))
    assert list(Draft202012Validator(FORMS["dstackTask"]).iter_errors({"type": "task", "max_time": "1h"}))


def test_pulumi_gets_the_script_and_the_rights(stack: Make) -> None:
    assert set(launch_files(launch(stack(), 0))) == {
        "churn/job.sh",
        "churn/read.rights.json",
        "churn/write.rights.json",
        "churn/import.sh",
    }


def test_a_transfer_is_exported_and_shared_storage_is_not(stack: Make) -> None:
    assert "own/export.sh" in launch_files(launch(stack(), 1))
    shared = stack(("transfer", "shared"))
    assert "own/export.sh" not in launch_files(launch(shared, 1))


def test_rights_cover_one_prefix(stack: Make) -> None:
    files = launch_files(launch(stack(), 0))
    read, write = (json.loads(files[f"churn/{name}.rights.json"])["Statement"] for name in ("read", "write"))
    assert read[0]["Action"] == ["s3:GetObject"]
    assert read[0]["Resource"] == ["arn:aws:s3:::acme-lake/datasets/churn/*"]
    assert [action for one in read for action in one["Action"]] == ["s3:GetObject", "s3:ListBucket"]
    own = [one for one in write if one["Action"] != ["s3:ListBucket"]]
    assert sorted(one["Action"][0] for one in own) == ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
    assert {tuple(one["Resource"]) for one in own} == {("arn:aws:s3:::acme-lake/models/churn/*",)}
    (listing,) = (one for one in write if one["Action"] == ["s3:ListBucket"])
    assert listing["Condition"]["StringLike"]["s3:prefix"] == ["models/churn/", "models/churn/*"]
    google = json.loads(launch_files(launch(stack(), 1))["own/read.rights.json"])
    (rule,) = google["accessBoundary"]["accessBoundaryRules"]
    assert rule["availablePermissions"] == ["inRole:roles/storage.objectViewer"]
    assert "buckets/acme-pond/objects/out/" in rule["availabilityCondition"]["expression"]
    google = json.loads(launch_files(launch(stack(), 1))["own/write.rights.json"])
    (rule,) = google["accessBoundary"]["accessBoundaryRules"]
    assert rule["availablePermissions"] == ["inRole:roles/storage.objectUser"]
    assert "buckets/acme-pond/objects/models/own/" in rule["availabilityCondition"]["expression"]


def test_each_job_has_its_own_launch_and_prefix(stack: Make) -> None:
    two = stack(("    - {name: own,", "    - {name: more, type: runtime, resource: away}\n    - {name: own,"))
    made = list(launches(two, two.config.resources[1]))
    assert [(one.name, one.model.url) for one in made if one.model] == [
        ("dev-more", "gs://acme-pond/models/more"),
        ("dev-own", "gs://acme-pond/models/own"),
    ]


@pytest.mark.parametrize("name", ["a" * 63, "b" * 62 + "c"])
def test_names_of_machines_are_short_and_unique(stack: Make, name: str) -> None:
    made = launch(stack(("name: own", f"name: {name}")), 1)
    other = launch(stack(("name: own", f"name: {name[:-1]}")), 1)
    assert len(made.name) <= 40
    assert made.name != other.name


def test_no_file_holds_a_credential(stack: Make) -> None:
    for index in (0, 1):
        assert "AAAA" not in "".join(launch_files(launch(stack(), index)).values())
