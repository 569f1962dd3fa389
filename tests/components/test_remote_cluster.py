"""What the program registers for a remote cluster: its own provider, its objects in order, nothing of the platform."""

from datetime import date
from pathlib import Path

from modelyard.catalog import load_library
from modelyard.cluster import load_recorded
from modelyard.cluster.engine_state import remote_of, state_objects_in
from modelyard.engine.applied import cluster_of
from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.plan.remotes import RemoteStart
from modelyard.stack import load
from modelyard.stack.jobs import Resource
from modelyard.stack.remote import Remote, RemoteQuota, StaticCluster
from modelyard.workloads.facts.remote import remote_clusters
from tests.support.component_engine import Build, existing

ROOT = Path(__file__).parents[2]
OBJECTS = {"Namespace", "ServiceAccount", "ResourceFlavor", "ClusterQueue", "LocalQueue"}


def plan(*names: str) -> Plan:
    stack, findings = load(ROOT / "stacks" / "Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    state, _ = load_recorded(ROOT, "dev")
    assert stack is not None, findings
    assert state is not None
    quota = RemoteQuota("8", "32Gi", 1)
    clusters = {name: StaticCluster("https://10.8.0.5:6443", name, "jobs", quota=quota) for name in names}
    resources = tuple(Resource(name, "runtime", remote=Remote(cluster=one)) for name, one in clusters.items())
    stack = stack._replace(config=stack.config._replace(resources=resources))
    starts = [
        RemoteStart(one, ClusterState("live", f"{one.name}-id", "v1.35.4", Confidential({}), (), ()))
        for one in remote_clusters(stack.config)
    ]
    return make_plan(stack, load_library(ROOT), state, today=date(2026, 11, 21), remotes=starts)


def test_each_cluster_has_a_provider_with_its_objects(build: Build) -> None:
    engine = build(plan("farm", "barn"))
    providers = [one for one in engine.registered if one.type == "pulumi:providers:kubernetes"]
    assert [(one.name, one.inputs["context"], "kubeconfig" in one.inputs) for one in providers] == [
        ("farm", "farm", False),
        ("barn", "barn", False),
    ]
    below = [one for one in engine.registered if one.parent.startswith("modelyard:index:RemoteCluster::")]
    kinds = {one.type.rpartition(":")[2] for one in below if one.parent.endswith("::farm")}
    assert kinds == {*OBJECTS, "Applied", "Cluster"}
    names = [(one.type, one.name) for one in engine.registered]
    assert len(names) == len(set(names))


def test_the_namespace_comes_first_and_objects_are_whole(build: Build) -> None:
    engine = build(plan("farm"))
    made = {one.type.rpartition(":")[2]: one for one in engine.registered if one.name.startswith("farm/")}
    assert "farm/jobs" in made["ServiceAccount"].depends_on
    assert "farm/jobs" in made["LocalQueue"].depends_on
    assert not [kind for kind in made if kind.endswith("Patch")]
    assert not [one for one in made.values() if one.retained]
    assert made["ClusterQueue"].before == ("approved:ClusterQueue/farm/remote-farm",)


def test_remote_clusters_do_not_change_the_home_cluster(build: Build) -> None:
    alone = {(one.type, one.name): one.inputs for one in build(existing("dev")).registered}
    both = {(one.type, one.name): one.inputs for one in build(plan("farm")).registered}
    assert {key: both[key] for key in alone} == alone


def test_the_state_distinguishes_the_clusters() -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}}
    start = "urn:pulumi:dev::modelyard::modelyard:index:Platform$modelyard:index:"
    far = {
        "type": "kubernetes:core/v1:Namespace",
        "inputs": body,
        "parent": f"{start}RemoteCluster::farm",
    }
    own = {**far, "parent": f"{start}OtherTargets::other-targets"}
    home = {
        "type": "pulumi-python:dynamic/modelyard:Cluster",
        "outputs": {"cluster": "farm-id"},
        "parent": f"{start}RemoteCluster::farm",
    }
    assert [remote_of(one) for one in (far, own, {})] == ["farm", "", ""]
    assert len(state_objects_in([far, own], "farm")) == len(state_objects_in([far, own])) == 1
    assert state_objects_in([own], "farm") == {}
    assert (cluster_of([far, home], "farm"), cluster_of([far, home])) == ("farm-id", None)
