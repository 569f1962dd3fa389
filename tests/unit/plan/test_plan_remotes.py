"""Remote clusters of a stack: each has its own plan within the plan of the stack."""

import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelyard.catalog import Library, load_library
from modelyard.cluster import Answer, Question, load_recorded
from modelyard.hiding import Confidential
from modelyard.kube.state import ClusterState, ObjectKey, StateObject
from modelyard.plan import Plan
from modelyard.plan.build import make_plan
from modelyard.plan.destroy import destroy_plan, unscaled
from modelyard.plan.project import plan_recorded
from modelyard.plan.remote_live import live_remotes
from modelyard.plan.remotes import RemoteStart, check_dropped, dropped_remotes
from modelyard.plan.store import moved, plan_from_json, plan_to_json
from modelyard.report.terminal import plan_text
from modelyard.stack import Stack, load
from modelyard.stack.jobs import Job, Resource
from modelyard.stack.remote import Remote, RemoteQuota, StaticCluster
from modelyard.workloads.facts.remote import remote_clusters
from tests.support.api_server import api_server
from tests.support.project_copies import FAR as REMOTE
from tests.support.project_copies import copied

ROOT = Path(__file__).parents[3]
TODAY = date(2026, 11, 22)
FARM = StaticCluster("https://10.8.0.5:6443", "farm", "far-jobs", quota=RemoteQuota("64", "256Gi", 8))
EMPTY = ClusterState("recorded", "farm-id", "v1.35.4", Confidential({}), (), ())
SPACE = ObjectKey("v1", "Namespace", "", "far-jobs")


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(ROOT)


def remote_resource(name: str = "far", **changes: Any) -> Resource:
    cluster = FARM._replace(**changes)
    return Resource(name, "runtime", cpu="4", memory="16Gi", gpus=1, remote=Remote(cluster=cluster))


def stack(*resources: Resource) -> Stack:
    loaded, findings = load(ROOT / "stacks" / "Pulumi.dev.yaml", "stacks/Pulumi.dev.yaml")
    assert loaded is not None, findings
    return loaded._replace(config=loaded.config._replace(resources=resources or (remote_resource(),)))


def plan(library: Library, made: Stack, state: ClusterState = EMPTY, ask: Any = None) -> Plan:
    own, _ = load_recorded(ROOT, "dev")
    assert own is not None
    starts = [RemoteStart(one, state, ask) for one in remote_clusters(made.config)]
    return make_plan(made, library, own, today=TODAY, remotes=starts)


def names(made: Plan) -> list[str]:
    (remote,) = made.remotes
    return [f"{target.key.kind} {target.name}" for target in remote.targets]


def after(made: Plan) -> ClusterState:
    (remote,) = made.remotes
    return EMPTY._replace(objects=Confidential({target.key: target.after.reveal() for target in remote.targets}))


def test_a_remote_cluster_gets_only_objects_for_remote_jobs(library: Library) -> None:
    assert names(plan(library, stack())) == [
        "Namespace far/far-jobs",
        "ResourceFlavor far/remote-far-nodes",
        "ClusterQueue far/remote-far",
        "LocalQueue far/far",
        "ServiceAccount far/remote-job",
    ]
    bare = stack(remote_resource(quota=None, create_namespace=False))
    assert names(plan(library, bare)) == ["ServiceAccount far/remote-job"]


def test_a_remote_cluster_does_not_change_the_plan_of_the_home_cluster(library: Library) -> None:
    own, _ = load_recorded(ROOT, "dev")
    assert own is not None
    alone = make_plan(stack(), library, own, today=TODAY)
    assert plan(library, stack())._replace(remotes=()) == alone


def test_resources_with_one_context_share_a_cluster_but_not_a_queue(library: Library) -> None:
    both = plan(library, stack(remote_resource(), remote_resource("near", quota=RemoteQuota("8", "32Gi"))))
    assert [name for name in names(both) if "LocalQueue" in name] == ["LocalQueue far/far", "LocalQueue far/near"]
    apart = plan(library, stack(remote_resource(), remote_resource("near", context="other")))
    assert [one.remote for one in apart.remotes] == ["far", "near"]


def test_applied_objects_do_not_change(library: Library) -> None:
    first = plan(library, stack())
    again = plan(library, stack(), after(first))
    assert [target.action for target in again.remotes[0].targets] == ["none"] * 5
    assert {target.action for target in first.remotes[0].targets} == {"create"}


def test_dropped_objects_are_deleted_and_the_namespace_last(library: Library) -> None:
    there = after(plan(library, stack()))
    held = {key: StateObject(managed=True) for key in there.objects.reveal()}
    gone = plan(library, stack(remote_resource(quota=None, create_namespace=False)), there._replace(state_objects=held))
    (remote,) = gone.remotes
    deleted = [target.name for target in remote.targets if target.action == "delete"]
    assert deleted == ["far/far", "far/remote-far", "far/remote-far-nodes", "far/far-jobs"]
    assert remote.steps[-1].why == "is deleted with all its jobs"


def test_objects_of_a_missing_namespace_are_not_sent_to_the_api_server(library: Library) -> None:
    asked: list[str] = []

    def ask(questions: Sequence[Question]) -> Sequence[Answer]:
        bodies = [dict(question) for question in questions if not isinstance(question, tuple)]
        asked.extend(body["kind"] for body in bodies)
        return [Answer(Confidential(body), ()) for body in bodies]

    plan(library, stack(), ask=ask)
    assert sorted(asked) == ["ClusterQueue", "Namespace", "ResourceFlavor"]
    asked.clear()
    plan(
        library,
        stack(),
        EMPTY._replace(objects=Confidential({SPACE: {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}})),
        ask,
    )
    assert {"LocalQueue", "ServiceAccount"} <= set(asked)


def test_an_object_of_another_owner_blocks_the_whole_plan(library: Library) -> None:
    theirs = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "far-jobs"}}
    made = plan(library, stack(), EMPTY._replace(objects=Confidential({SPACE: theirs})))
    (found,) = [one for one in made.findings if one.target == "far/far-jobs" and one.blocks]
    assert (found.code, found.summary) == (
        "OWN004",
        "on far: far-jobs exists already and does not belong to this stack",
    )
    assert found.remedy.startswith("set createNamespace to false")
    assert made.blocked
    given = plan(
        library, stack(remote_resource(create_namespace=False)), EMPTY._replace(objects=Confidential({SPACE: theirs}))
    )
    assert [one for one in given.findings if one.target.startswith("far/")] == []


def test_a_saved_plan_contains_all_clusters_and_names_the_changed_one(library: Library) -> None:
    made = plan(library, stack())
    text = json.dumps(plan_to_json(made))
    read = plan_from_json(text, "plan.json")
    assert plan_to_json(read) == plan_to_json(made)
    assert [target.name for target in read.remotes[0].targets] == [target.name for target in made.remotes[0].targets]
    assert moved(made, made) == ()
    elsewhere = plan(library, stack(), EMPTY._replace(identity="another"))
    (said,) = moved(made, elsewhere)
    assert said.startswith("on far: ")
    assert {"farm-id,", "another"} <= set(said.split())
    assert moved(made, made._replace(remotes=())) == ("remote cluster far is gone",)


def test_a_deleted_queue_with_jobs_is_reported(library: Library) -> None:
    there = after(plan(library, stack()))
    status = {
        ("ClusterQueue", "remote-far"): {"reservingWorkloads": 1, "pendingWorkloads": 2},
        ("LocalQueue", "far"): {"reservingWorkloads": 1, "pendingWorkloads": 2},
    }
    busy = {
        key: {**body, "status": status[key.kind, key.name]} if (key.kind, key.name) in status else body
        for key, body in there.objects.reveal().items()
    }
    busy_state = there._replace(
        objects=Confidential(busy), state_objects={key: StateObject(managed=True) for key in busy}
    )
    told = [
        one for one in plan(library, stack(remote_resource(quota=None)), busy_state).findings if one.code == "QUE013"
    ]
    assert sorted((one.target, *re.findall(r"\d+ runs?", one.summary)) for one in told) == [
        ("far/far", "2 runs"),
        ("far/remote-far", "1 run"),
    ]
    assert all(one.summary.startswith("on far: ") for one in told)
    assert all("modelyard job list dev --remote far" in one.remedy for one in told)


def test_the_text_shows_the_remote_cluster_separately(library: Library) -> None:
    lines = plan_text(plan(library, stack()))
    at = lines.index("remote cluster far · https://10.8.0.5:6443")
    assert lines[at + 1] == (
        "against stacks/recorded/dev@far (Kubernetes v1.35.4, cluster farm-id), namespace far-jobs"
    )
    assert any("Namespace far/far-jobs" in line for line in lines[at:])
    assert not any("far/" in line for line in lines[:at])


def test_a_dropped_cluster_is_reported_with_the_deleted_objects() -> None:
    clusters = {"": {}, "far": {SPACE: StateObject(managed=True)}, "near": {}}
    gone = dropped_remotes(clusters, ())
    assert gone == {"far": ("far-jobs",)}
    (found,) = check_dropped(stack(), gone)
    assert (found.code, "far-jobs" in found.summary) == ("REM014", True)
    assert dropped_remotes(clusters, ["far"]) == {}


def test_dropping_a_cluster_is_a_change_to_apply(library: Library) -> None:
    """Deletions in a dropped cluster are not targets of the plan, but the plan must not report that nothing changes."""
    made = plan(library, stack(), after(plan(library, stack())))
    same = tuple(one._replace(action="none", changes=()) for one in made.targets)
    still = made._replace(targets=same, findings=())
    assert (still.dropped_remotes, still.acts) == ((), False)
    leaving = still._replace(dropped_remotes=("near",))
    assert leaving.acts
    read = plan_from_json(json.dumps(plan_to_json(leaving)), "saved.json")
    assert (read.dropped_remotes, read.acts) == (("near",), True)


def test_jobs_do_not_change_the_objects_of_a_remote_cluster(library: Library) -> None:
    made = stack()
    busy = made._replace(config=made.config._replace(jobs=(Job("own", "runtime", "far", command=("run",)),)))
    assert names(plan(library, busy)) == names(plan(library, made))


def test_a_remote_cluster_without_a_recorded_platform_starts_empty(tmp_path: Path) -> None:
    copied(tmp_path)
    file = tmp_path / "stacks" / "Pulumi.dev.yaml"
    file.write_text(file.read_text() + REMOTE)
    made = plan_recorded(tmp_path, file, TODAY).plan
    assert made is not None
    (remote,) = made.remotes
    assert {target.action for target in remote.targets} == {"create"}
    assert made.dropped_remotes == ()
    assert not [one for one in made.findings if one.code.startswith("CFG1")]


def test_a_live_plan_reads_objects_in_the_state(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = {"metadata": {"name": "serve", "namespace": "far-jobs"}, "spec": {"replicas": 2}}
    key = ObjectKey("apps/v1", "Deployment", "far-jobs", "serve")
    with api_server(tmp_path) as server:
        server.objects["deployments"] = [earlier]
        server.answers["/api/v1/namespaces/kube-system"] = {"metadata": {"uid": "farm-id"}}
        server.answers["/version"] = {"gitVersion": "v1.35.4"}
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
        url = yaml.safe_load(server.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        made = stack(remote_resource(controller=url, context="dev", quota=None))
        own = EMPTY._replace(identity="home-id")
        (unknown,), _ = live_remotes(made, library, own, None)
        (known,), _ = live_remotes(made, library, own, {"far": {key: StateObject(managed=True)}})
    assert (unknown.state.identity, unknown.state.objects.reveal(), unknown.state.state_objects) == (
        "farm-id",
        {},
        None,
    )
    assert known.state.state_objects == {key: StateObject(managed=True)}
    assert known.state.objects.reveal() == {key: {**earlier, "apiVersion": "apps/v1", "kind": "Deployment"}}


def test_the_plan_of_a_destroy_has_every_cluster(library: Library) -> None:
    own, _ = load_recorded(ROOT, "dev")
    assert own is not None
    far = after(plan(library, stack()))
    strange = ObjectKey("example.com/v9", "Gone", "far-jobs", "gone")
    held = {key: StateObject(managed=True) for key in (*far.objects.reveal(), strange)}
    states = {"": own._replace(state_objects={}), "far": far._replace(state_objects=held)}
    made = destroy_plan(stack(), library, states, ["near"])
    (remote,) = made.remotes
    assert {(one.name, one.action) for one in remote.targets} == {
        (f"far/{key.name}", "delete") for key in far.objects.reveal()
    }
    assert made.dropped_remotes == ("near",)
    assert [(one.code, one.target, one.blocks) for one in made.findings] == [("PAT008", "far/gone", False)]


def test_a_destroy_unscales_only_what_a_deleted_object_scaled(library: Library) -> None:
    body = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "it", "namespace": "ml-platform"},
        "spec": {"scaleTargetRef": {"name": "workers"}},
    }
    key = ObjectKey("keda.sh/v1alpha1", "ScaledObject", "ml-platform", "it")
    own, _ = load_recorded(ROOT, "dev")
    assert own is not None
    state = own._replace(objects=Confidential({key: body}), state_objects={key: StateObject(managed=True)})
    made = destroy_plan(stack(), library, {"": state})
    assert [one.name for one in unscaled(made)] == ["workers"]
    restored = tuple(one._replace(action="restore") for one in made.targets)
    assert [*unscaled(made._replace(targets=restored))] == []
