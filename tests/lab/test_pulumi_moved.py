"""A state of an earlier version, with resources below other components, is used without a change."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from modelyard.kube.state import ObjectKey
from tests.lab.support.environment import NAMESPACE, Environment, comparable, environment

PLATFORM = "modelyard:index:Platform$modelyard:index:"
SCALERS = {"ray-training": "RayCluster::ray-cluster", "celery-training": "CeleryTraining::celery-training"}
"""KEDA's objects, and their earlier parent components."""


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The platform ``dev`` with training that KEDA scales, applied."""
    with environment("dev", tmp_path_factory.mktemp("moved")) as env:
        env.lab.install_crds()
        document = yaml.safe_load(env.stack_file.read_text())
        scaled = {"mode": "keda", "maxReplicas": 2, "prometheus": "http://prometheus:9090", "cooldownPeriod": "7h"}
        document["config"]["modelyard:autoscaling"] = scaled
        env.stack_file.write_text(yaml.safe_dump(document))
        env.init()
        env.up()
        env.settle()
        yield env


def exported(env: Environment) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(env.pulumi("stack", "export", "--stack", "dev").stdout)
    return found


def scaler_of(resource: dict[str, Any]) -> str:
    """The KEDA object of a resource of the state, or of its record; empty for other resources."""
    name: str = resource["urn"].rpartition("::")[2].rpartition("/")[2]
    return name if name in SCALERS and resource["type"].endswith((":ScaledObject", ":Applied")) else ""


def parents(env: Environment) -> dict[str, str]:
    """The parent component of each KEDA object and of its record."""
    return {
        f"{each['type'].rpartition(':')[2]} {each['urn'].rpartition('::')[2]}": each["parent"].rpartition(":index:")[2]
        for each in exported(env)["deployment"]["resources"]
        if scaler_of(each)
    }


def scalers(env: Environment) -> dict[str, Any]:
    found = {name: env.get(ObjectKey("keda.sh/v1alpha1", "ScaledObject", NAMESPACE, name)) for name in SCALERS}
    return {name: {**comparable(body), "uid": body["metadata"]["uid"]} for name, body in found.items() if body}


def test_keda_objects_move_below_autoscaling_without_a_change(dev: Environment) -> None:
    now = {
        f"{kind} {prefix}{name}": "Autoscaling::autoscaling"
        for kind, prefix in (("ScaledObject", ""), ("Applied", "scaledobject/"))
        for name in SCALERS
    }
    assert parents(dev) == now
    state = json.dumps(exported(dev))
    for name, parent in SCALERS.items():
        kind, _, _ = parent.partition("::")
        for below, resource in (
            ("kubernetes:keda.sh/v1alpha1:ScaledObject", name),
            ("modelyard:index:Applied", f"scaledobject/{name}"),
        ):
            urn = f"{PLATFORM}Autoscaling${below}::{resource}"
            assert state.count(urn) > 0
            state = state.replace(urn, f"{PLATFORM}{kind}${below}::{resource}")
    old = json.loads(state)
    for each in old["deployment"]["resources"]:
        if name := scaler_of(each):
            each["parent"] = f"{each['parent'].partition(PLATFORM)[0]}{PLATFORM}{SCALERS[name]}"
    # A state lists a resource after its parent.
    above = (":Stack", ":Platform", ":RayCluster", ":CeleryTraining")
    old["deployment"]["resources"].sort(key=lambda each: not each["type"].endswith(above))
    file = dev.folder / "old.json"
    file.write_text(json.dumps(old))
    dev.pulumi("stack", "import", "--stack", "dev", "--file", str(file))
    assert set(parents(dev).values()) == set(SCALERS.values())

    before = scalers(dev)
    assert before.keys() == SCALERS.keys()
    run = dev.up()
    assert run.changed == []
    assert "unchanged" in run.output
    assert not any(word in run.output for word in (" created", " deleted", " replaced"))
    assert scalers(dev) == before
    assert parents(dev) == now
    assert dev.plan().changed == ()
