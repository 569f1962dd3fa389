"""Why a run waits or failed: every cause, with a remedy.

The diagnoses, word for word, are in ``tests/golden/test_pool_why.txt``.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from modelyard.cluster.pool_objects import PoolObjects, RunObjects, WorkerClusterObjects
from modelyard.hiding import Confidential
from modelyard.runs.pool import Diagnosis, runs_of, why
from modelyard.runs.pool.kueue import REPLACES
from modelyard.stack.config import Config
from modelyard.stack.pool import Team, WorkerCluster
from tests.support.example_stacks import environments
from tests.support.pool_objects import (
    DONE,
    FAILED,
    LONG_AGO,
    NOW,
    RECENTLY,
    UP,
    cluster_queue,
    condition,
    flavor,
    job,
    local_queue,
    node,
    pod,
    spark,
    spec,
    stage,
    waits,
    workload,
)

SHORT = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a10, 1 more needed"
)


@pytest.fixture(scope="module")
def config() -> Config:
    return environments()["dev"][0].config._replace(teams=(Team("vision", ()), Team("speech", ())))


@pytest.fixture
def ask(config: Config) -> Any:
    """Asks why the first Job does not run, in a pool of these objects."""

    def call(
        body: dict[str, Any],
        pods: list[Any] | None = None,
        *,
        trials: Any = (),
        remote: str = "",
        **objects: Any,
    ) -> Diagnosis:
        (run,) = [one for one in runs_of(RunObjects((body, *trials), ())) if one.stack == "dev"]
        given = {name: tuple(bodies) if isinstance(bodies, list) else bodies for name, bodies in objects.items()}
        everything: dict[str, Any] = {
            "nodes": (node("n1"),),
            "pods": tuple(pods or ()),
            "local_queues": (local_queue(),),
            "flavors": (flavor(),),
            "kueue": True,
            **given,
        }
        # A remote cluster knows none of the stack's teams.
        side = config._replace(teams=()) if remote else config
        return why(run._replace(remote=remote), pods or (), PoolObjects(**everything), config=side, now=NOW)

    return call


Golden = Callable[..., None]


def told(found: Diagnosis) -> str:
    lines = [found.summary]
    for cause in found.causes:
        lines += [f"{cause.about}: {cause.summary}", *(f"    {detail}" for detail in cause.details)]
    return "".join(f"{line}\n" for line in (*lines, *(f"→ {text}" for text in found.helps)))


def test_quota_that_another_run_of_the_team_holds(ask: Any, golden: Golden) -> None:
    waiting, holder = job("late-22222", suspend=True, since=RECENTLY), job("early-11111", workers=2)
    found = ask(
        waiting,
        workloads=[workload(waiting, waits(SHORT)), workload(holder, queue="team-vision")],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    assert [cause.about for cause in found.causes] == ["queue", "quota"]
    golden(told(found))


def test_a_remote_cluster_has_queues_and_no_teams(ask: Any, golden: Golden) -> None:
    waiting, holder = job("late-22222", suspend=True, since=RECENTLY), job("early-11111", workers=2)
    there: dict[str, Any] = {"remote": "far", "local_queues": [local_queue(queue="remote-far")]}
    held = ask(
        waiting,
        workloads=[workload(waiting, waits(SHORT)), workload(holder, queue="remote-far")],
        queues=[cluster_queue("remote-far", 2, 2)],
        **there,
    )
    never = ask(waiting, workloads=[workload(waiting)], queues=[cluster_queue("remote-far", 0, 0)], **there)
    lost = ask(waiting, workloads=[workload(waiting)], remote="far", local_queues=[])
    idle = ask(job("a-1", suspend=True, queue=None), remote="far")
    all_of_them = [told(found) for found in (held, never, lost, idle)]
    assert not [text for text in all_of_them if "team" in text]
    golden(*all_of_them)


def test_runs_on_other_gpus_are_not_a_cause(ask: Any, golden: Golden) -> None:
    a10 = {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A10"}}
    waiting = job("late-22222", suspend=True, since=RECENTLY, wants=spec(**a10))
    holder, slices = job("early-11111"), job("cut-33333", wants=spec(resource="nvidia.com/mig-1g.6gb"))
    whole = job("other-44444")
    queue = cluster_queue("team-vision", 1, 1)
    (group,) = queue["spec"]["resourceGroups"]
    for name, resource in (("a30", "nvidia.com/gpu"), ("cut", "nvidia.com/mig-1g.6gb")):
        group["flavors"].append({"name": name, "resources": [{"name": resource, "nominalQuota": 4}]})
    found = ask(
        waiting,
        workloads=[
            workload(waiting, waits(SHORT)),
            workload(slices, queue="team-vision", flavor="cut"),
            workload(whole, queue="team-vision", flavor="a30"),
            workload(holder, queue="team-vision"),
        ],
        queues=[queue],
        flavors=[flavor(), flavor("a30", **{"nvidia.com/gpu.product": "NVIDIA-A30"}), flavor("cut", slices="yes")],
    )
    assert not any(name in text for name in ("cut-33333", "other-44444") for text in found.helps)
    golden(told(found))


def test_held_slices_are_named(ask: Any, golden: Golden) -> None:
    slice_of_one = spec(resource="nvidia.com/mig-1g.6gb")
    waiting, holder = job("late-22222", suspend=True, wants=slice_of_one), job("early-11111", wants=slice_of_one)
    queue = cluster_queue("team-vision")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["name"] = "nvidia.com/mig-1g.6gb"
    works = [workload(waiting, waits("no")), workload(holder, queue="team-vision")]
    golden(told(ask(waiting, workloads=works, queues=[queue])))


def test_runs_ahead_in_the_queue(ask: Any, golden: Golden) -> None:
    waiting = job("b-22222", suspend=True)
    before = [job("a-11111", suspend=True, since="2026-11-22T08:00:00Z"), job("c-33333", suspend=True)]
    found = ask(
        waiting,
        workloads=[
            workload(waiting, waits(SHORT)),
            workload(before[0], waits(SHORT)),
            workload(before[1], waits(SHORT), priority=5),
        ],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    golden(told(found))


def test_many_of_one_run_before_it_are_counted(ask: Any, golden: Golden) -> None:
    waiting = job("b-22222", suspend=True)
    trials = [job(f"s-11111-{number}", run="s-11111", suspend=True, since="2026-11-22T08:00:00Z") for number in (0, 1)]
    found = ask(
        waiting,
        workloads=[workload(one, waits(SHORT)) for one in (waiting, *trials)],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    golden(told(found))


def test_quota_that_others_of_the_cohort_hold(ask: Any, golden: Golden) -> None:
    waiting, other = job("a-11111", suspend=True), job("x-99999", queue="speech", namespace="speech", workers=3)
    found = ask(
        waiting,
        workloads=[workload(waiting, waits(SHORT)), workload(other, queue="team-speech")],
        queues=[
            cluster_queue("team-vision", 1, cohort="r", limit=1),
            cluster_queue("team-speech", 2, 3, cohort="r", borrowed=1),
        ],
        local_queues=[local_queue(), local_queue("speech", "speech", "team-speech")],
    )
    assert not any("cancel" in text for text in found.helps)
    golden(told(found))


@pytest.mark.parametrize(("limit", "lent", "most"), [(None, 2, 4), (1, 2, 3), (5, 2, 4)])
def test_a_request_above_the_quota_of_the_team(
    ask: Any, golden: Golden, limit: int | None, lent: int, most: int
) -> None:
    body = job("big-11111", suspend=True, workers=most + 1)
    found = ask(
        body,
        workloads=[workload(body, waits(SHORT))],
        queues=[cluster_queue("team-vision", 2, cohort="r", limit=limit), cluster_queue("lender", lent, cohort="r")],
    )
    assert any(f"at most {most} GPUs" in text for text in found.helps)
    golden(told(found))


def test_a_flavor_without_gpus_is_not_named(ask: Any, golden: Golden) -> None:
    """Kueue wants a line for GPUs of flavors for other pods too: 0, which nobody lends more."""
    body, queue = job("a-11111", suspend=True), cluster_queue("team-vision", 2, 2, cohort="r")
    bare = cluster_queue("team-vision", 0, flavor="any")["spec"]["resourceGroups"][0]["flavors"]
    queue["spec"]["resourceGroups"][0]["flavors"] += bare
    others = [workload(body, waits(SHORT))]
    unnamed = ask(body, workloads=others, queues=[queue, cluster_queue("team-speech", 2, cohort="r")])
    assert "any:" not in told(unnamed)
    lent = [queue, cluster_queue("team-speech", 2, cohort="r", flavor="any")]
    golden(told(unnamed), told(ask(body, workloads=others, queues=lent)))


def test_a_team_without_gpus(ask: Any, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    golden(told(ask(body, workloads=[workload(body, waits(SHORT))], queues=[cluster_queue("team-vision", 0)])))


def raises_the_quota(found: Any) -> bool:
    return any("raise the quota" in text for text in found.helps)


def test_a_run_that_fits_with_fewer_workers_or_in_its_cohort_needs_no_higher_quota(ask: Any) -> None:
    body = job("big-11111", suspend=True, workers=4)
    smaller = workload(body, waits(SHORT))
    smaller["spec"]["podSets"][0]["minCount"] = 2
    queue = [cluster_queue("team-vision", 2)]
    assert not raises_the_quota(ask(body, workloads=[smaller], queues=queue))
    assert raises_the_quota(ask(body, workloads=[workload(body)], queues=queue))
    cohort = {"metadata": {"name": "r"}, "spec": {"parentName": "everybody"}}
    tree = {"queues": [cluster_queue("team-vision", 2, cohort="r")], "cohorts": [cohort]}
    assert not raises_the_quota(ask(body, workloads=[workload(body)], **tree))


def test_a_run_without_a_message_of_kueue(ask: Any, golden: Golden) -> None:
    cases: tuple[dict[str, Any], ...] = ({"kueue": False}, {"unread": ("workloads",)}, {})
    golden(*(told(ask(job("a-11111", suspend=True), **objects)) for objects in cases))


def test_a_missing_or_stopped_queue(ask: Any, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    found = [ask(body, workloads=[workload(body)], local_queues=there) for there in ([local_queue("other")], [])]
    # Who may not read them knows the stack's own.
    unread = ask(body, workloads=[workload(body)], local_queues=[], unread=("localqueues",))
    inactive = condition("Active", False, message="references missing ResourceFlavor(s): a10")
    idle = ask(body, workloads=[workload(body)], queues=[cluster_queue("team-vision", active=inactive)])
    golden(*map(told, (*found, unread, idle)))


def test_nodes_without_room_are_grouped_by_reason_and_taints(ask: Any, golden: Golden) -> None:
    body = job("a-11111", suspend=True, workers=2)
    tainted, cordoned = node("tainted"), node("cordoned")
    tainted["spec"]["taints"] = [{"key": "spot", "effect": "NoSchedule"}]
    cordoned["spec"]["unschedulable"] = True
    found = ask(
        body,
        workloads=[workload(body, waits(SHORT))],
        queues=[cluster_queue("team-vision", 4)],
        nodes=[node("n1"), tainted, cordoned, node("a30", "NVIDIA-A30")],
        pods=(pod("x", "n1", spec(1)),),
    )
    # Both would be there if the other pod had gone.
    assert not any("empty" in text for text in found.helps)
    golden(told(found))


def test_workers_that_no_node_could_ever_hold(ask: Any, golden: Golden) -> None:
    body = job("a-11111", suspend=True, wants=spec(1, cpu="32"))
    golden(told(ask(body, workloads=[workload(body, waits(SHORT))], queues=[cluster_queue("team-vision", 4)])))


def test_a_cordoned_node_that_could_hold_a_worker(ask: Any, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    nodes = [node("n1"), node("n2", "NVIDIA-A30"), node("n3", gpus=0), node("n4")]
    for one in nodes:
        one["spec"] |= {
            "unschedulable": True,
            "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
        }
    nodes[3]["spec"]["taints"].append({"key": "spot", "effect": "NoSchedule"})
    work = [workload(body, waits(SHORT))]
    golden(told(ask(body, workloads=work, queues=[cluster_queue("team-vision", 4)], nodes=nodes)))


@pytest.mark.parametrize(("workers", "busy", "lacks"), [(4, False, True), (2, True, True), (2, False, False)])
def test_workers_together_want_room_on_nodes_with_one_value(
    ask: Any, golden: Golden, workers: int, busy: bool, lacks: bool
) -> None:
    """Four GPUs are free in the first two cases, or two; the nodes without the label are nowhere."""
    body = job("a-11111", suspend=True, workers=workers)
    work = workload(body, waits('topology "racks" allows to fit only 2 out of 4 pod(s)'))
    work["spec"]["podSets"][0]["topologyRequest"] = {"required": "example.com/rack"}
    nodes = [node(f"{rack}-{number}", gpus=1) for rack in ("left", "right") for number in (1, 2)]
    for one in nodes:
        one["metadata"]["labels"]["example.com/rack"] = one["metadata"]["name"].partition("-")[0]
    taken = [pod(f"x-{rack}", f"{rack}-1", spec(1)) for rack in ("left", "right")] if busy else []
    found = ask(
        body,
        workloads=[work],
        queues=[cluster_queue("team-vision", 8)],
        nodes=[*nodes, node("nowhere", gpus=8)],
        pods=tuple(taken),
    )
    assert ("example.com/rack" in told(found)) is lacks
    golden(told(found))


def test_the_run_that_preempted_it(ask: Any, golden: Golden) -> None:
    body, other = job("a-11111", suspend=True), job("x-99999", queue="speech", namespace="speech")
    message = (
        "Preempted to accommodate a workload (UID: 1, JobUID: uid-of-x-99999) due to reclamation within the cohort; "
        "preemptor path: /r/team-speech; preemptee path: /r/team-vision"
    )
    other["metadata"]["uid"] = "0a1b"
    message = message.replace("uid-of-x-99999", "0a1b")
    found = ask(
        body,
        workloads=[
            workload(body, waits(SHORT), condition("Evicted", reason="Preempted", message=message)),
            workload(other, queue="team-speech"),
        ],
        queues=[cluster_queue("team-vision", cohort="r"), cluster_queue("team-speech", 2, 2, cohort="r")],
        local_queues=[local_queue(), local_queue("speech", "speech", "team-speech")],
    )
    golden(told(found))


def test_repeated_messages_of_kueue_are_shown_once(ask: Any, golden: Golden) -> None:
    body, late = job("a-11111", suspend=True), "Exceeded the PodsReady timeout vision/job-a-11111-x"
    evicted = condition("Evicted", reason="PodsReadyTimeout", message=late)
    work = workload(body, waits(late), evicted)
    found = ask(body, workloads=[work], queues=[cluster_queue("team-vision")])
    assert told(found).count(late) == 1
    work["status"]["requeueState"] = {"count": 2, "requeueAt": (NOW + timedelta(seconds=40)).isoformat()}
    again = ask(body, workloads=[work], queues=[cluster_queue("team-vision")])
    assert [len(one.causes) for one in (found, again)] == [3, 4]
    golden(told(found), told(again))


def test_a_pod_with_a_missing_volume(ask: Any, golden: Golden) -> None:
    text = '0/1 nodes are available: persistentvolumeclaim "workspace" not found. not found'
    pods = [
        pod("a-0", None, run="a-11111", phase="Pending", conditions=[condition("PodScheduled", False, message=text)])
    ]
    golden(told(ask(job("a-11111", active=1, ready=0), pods)))


def test_pods_without_a_node(ask: Any, golden: Golden) -> None:
    body = job("a-11111", active=1, ready=0)
    unscheduled = [condition("PodScheduled", False, message="0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")]
    pods = [
        pod("a-0", None, spec(1), run="a-11111", phase="Pending", conditions=unscheduled),
        pod("other", "n1", spec(2)),
    ]
    work = workload(body, queue="team-vision")
    golden(told(ask(body, pods, workloads=[work], queues=[cluster_queue("team-vision")])))


def test_images_that_cannot_be_pulled(ask: Any, golden: Golden) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    pods = [pod("a-0", "n1", phase="Pending", containerStatuses=[{"name": "job", "state": waiting}])]
    golden(told(ask(job("a-11111", active=1), pods)))


def ended(reason: str, code: int) -> dict[str, Any]:
    state = {"terminated": {"reason": reason, "exitCode": code, "finishedAt": RECENTLY}}
    return {"containerStatuses": [{"name": "job", "state": state}]}


@pytest.mark.parametrize(
    ("reason", "pods"),
    [
        ("BackoffLimitExceeded", {"Error": 1}),
        ("BackoffLimitExceeded", {"OOMKilled": 137}),
        ("DeadlineExceeded", {}),
    ],
    ids=["error", "memory", "deadline"],
)
def test_the_reason_of_a_failed_run(ask: Any, golden: Golden, reason: str, pods: dict[str, int]) -> None:
    body = job("a-11111", conditions=[condition("Failed", reason=reason, message="m")], startTime=LONG_AGO)
    golden(told(ask(body, [pod("a-0", "n1", phase="Failed", **ended(*one)) for one in pods.items()])))


@pytest.mark.parametrize(
    ("notes", "limit", "again"),
    [
        (
            {"notebook": "/home/jovyan/work/a b.ipynb", "result": "/home/jovyan/work/a b.train-1.ipynb"},
            "raise notebooks.timeLimit in the stack file",
            "submit it again: modelyard job submit dev 'a b.ipynb'",
        ),
        ({"function": "train"}, "raise time_limit of the call", "call train again"),
    ],
    ids=["notebook", "function"],
)
def test_remedies_of_notebooks_and_calls(ask: Any, notes: dict[str, str], limit: str, again: str) -> None:
    body = job("notebook-1", conditions=[condition("Failed", reason="DeadlineExceeded")], startTime=LONG_AGO)
    body["metadata"]["annotations"] = {f"modelyard.dev/{key}": value for key, value in notes.items()}
    ends = {"OOMKilled": 137, "Evicted": 1}
    helps = ask(body, [pod(reason, "n1", phase="Failed", **ended(reason, code)) for reason, code in ends.items()]).helps
    assert helps[0].startswith("raise notebooks.memory")
    assert helps[1].startswith(limit)
    assert helps[2].endswith(again)


def test_an_application_of_spark_that_ran_too_long(ask: Any, golden: Golden) -> None:
    body = spark("etl-11111", state="FAILED", message="driver pod failed")
    driver = pod(
        "etl-11111-driver", "n1", phase="Failed", run="etl-11111", reason="DeadlineExceeded", message="too long"
    )
    golden(told(ask(body, [driver])))


def test_an_application_of_spark_waits_for_quota_of_all_its_executors(ask: Any, golden: Golden) -> None:
    waiting = spark("etl-11111", suspend=True)
    work = workload(job("etl-11111", workers=3, wants=spec(2)), waits(SHORT))
    work["metadata"]["ownerReferences"][0]["uid"] = waiting["metadata"]["uid"]
    golden(told(ask(waiting, workloads=[work], queues=[cluster_queue("team-vision", 2, 2)])))


def test_a_pod_evicted_by_its_node(ask: Any, golden: Golden) -> None:
    gone = condition(
        "DisruptionTarget", reason="DeletionByTaintManager", message="Taint manager: deleting due to NoExecute"
    )
    body = job("a-11111", conditions=[condition("Failed", reason="BackoffLimitExceeded")])
    golden(told(ask(body, [pod("a-0", "n1", phase="Failed", conditions=[gone], **ended("Error", 143))])))


def test_a_search_that_runs_in_part(ask: Any, golden: Golden) -> None:
    first = job("s-11111-0", run="s-11111", active=1, ready=1, startTime=LONG_AGO)
    second = job("s-11111-1", run="s-11111", suspend=True)
    found = ask(
        first,
        trials=[second],
        workloads=[workload(first, queue="team-vision"), workload(second, waits(SHORT))],
        queues=[cluster_queue("team-vision", 1, 1)],
    )
    golden(told(found))


def test_waiting_trials_are_not_told_to_end_running_trials(ask: Any, golden: Golden) -> None:
    trials = [job(f"s-11111-{at}", run="s-11111", active=1, ready=1, startTime=LONG_AGO) for at in range(2)]
    rest = job("s-11111-2", run="s-11111", suspend=True)
    found = ask(
        trials[0],
        trials=[trials[1], rest],
        workloads=[*(workload(one, queue="team-vision") for one in trials), workload(rest, waits(SHORT))],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    assert len(found.helps) == 1
    golden(told(found))


def test_a_run_that_grows_asks_only_for_what_it_does_not_have(ask: Any, golden: Golden) -> None:
    body = job("g-11111", workers=2, active=2, ready=2, startTime=LONG_AGO)
    ended, has = workload(body, condition("Finished"), queue="team-vision"), workload(body, queue="team-vision")
    asks = workload(body, waits(SHORT))
    asks["spec"]["podSets"][0]["count"] = 3
    for number, one in enumerate((ended, has, asks)):
        one["metadata"]["name"] = f"slice-{number}"
    asks["metadata"]["annotations"] = {REPLACES: "vision/slice-1"}
    gated = pod("g-2", None, spec(schedulingGates=[{"name": "kueue.x-k8s.io/elastic-job"}]), phase="Pending")
    other = workload(job("other-22222"), queue="team-vision")
    found = ask(body, [gated], workloads=[asks, has, ended, other], queues=[cluster_queue("team-vision", 3, 3)])
    golden(told(found))
    # What it asked for is whole again when it has lost its quota.
    has["status"]["conditions"].append(condition("Finished"))
    body["spec"]["suspend"] = True
    again = ask(body, workloads=[asks, has], queues=[cluster_queue("team-vision", 2, 0)])
    assert [cause for cause in again.causes if cause.summary.endswith(" asks for 3 GPUs")]


def test_logs_are_not_offered_if_no_pod_is_left(ask: Any, golden: Golden) -> None:
    body = job("a-11111", conditions=[condition("Failed", reason="BackoffLimitExceeded")])
    found = ask(body, [])
    assert not any("logs" in text for text in found.helps)
    golden(told(found))


def dispatched(body: dict[str, Any], *, reserved: bool = True, **status: Any) -> dict[str, Any]:
    """Its Workload, which other clusters were asked to run."""
    made = workload(body, queue="team-vision") if reserved else workload(body)
    held = [condition("QuotaReserved", reserved), condition("Admitted", "clusterName" in status)]
    return {**made, "status": {**made["status"], "conditions": held, **status}}


def worker_cluster(name: str, reason: str = "", message: str = "") -> dict[str, Any]:
    """A MultiKueueCluster of a stack; with a reason, one that Kueue does not reach."""
    source = {"kubeConfig": {"locationType": "Secret", "location": f"{name}-kubeconfig"}}
    active = condition("Active", not reason, reason=reason or "Active", message=message)
    return {
        "metadata": {"name": f"cluster-{name}"},
        "spec": {"clusterSource": source},
        "status": {"conditions": [active]},
    }


@pytest.fixture
def far(config: Config) -> Config:
    """The same stack, whose team sends its jobs to two clusters."""
    clusters = (WorkerCluster("farm", "farm-kubeconfig"), WorkerCluster("cloud", "cloud-kubeconfig", "a cloud"))
    team = Team("vision", (), clusters=("farm", "cloud"))
    return config._replace(teams=(team, Team("speech", ())), worker_clusters=clusters)


def explain(
    far: Config, body: dict[str, Any], there: dict[str, WorkerClusterObjects] | None = None, **objects: Any
) -> Diagnosis:
    (run,) = runs_of(RunObjects((body,), ()))
    given = {name: tuple(bodies) for name, bodies in objects.items()}
    local = {"local_queues": (local_queue(),), "queues": (cluster_queue("team-vision"),), "kueue": True}
    return why(
        run, (), PoolObjects(**{"nodes": (), "pods": (), **local, **given}), config=far, now=NOW, by_cluster=there or {}
    )  # type: ignore[arg-type]


def test_a_run_that_no_other_cluster_has_taken_yet(far: Config, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    checks = [{"name": "dispatch-vision", "state": "Pending", "message": "The workload is pending on the workers"}]
    asked = ["cluster-farm", "cluster-cloud"]
    known = [worker_cluster("farm"), worker_cluster("cloud")]
    work = dispatched(body, nominatedClusterNames=asked, admissionChecks=checks)
    read = {"cloud": WorkerClusterObjects(Confidential((dispatched(body),)), Confidential(()))}
    found = explain(far, body, read, workloads=[work], worker_clusters=known)
    alone = explain(far, body, workloads=[dispatched(body, nominatedClusterNames=asked[:1])], worker_clusters=known)
    nobody = explain(far, body, workloads=[dispatched(body)], worker_clusters=known)
    assert [len(one.causes) for one in (found, alone, nobody)] == [1, 1, 1]
    golden(told(found), told(alone), told(nobody))


def test_a_cluster_that_was_read_has_its_own_reason(far: Config, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    work = dispatched(body, nominatedClusterNames=["cluster-farm"])
    copy = workload(body, waits(SHORT))
    homeless = workload(body, waits("LocalQueue vision doesn't exist"))
    another = workload(job("b-22222"), waits(SHORT))

    def found(*there: dict[str, Any]) -> Diagnosis:
        return explain(
            far,
            body,
            {"farm": WorkerClusterObjects(None if there is None else Confidential(there), Confidential(()))},
            workloads=[work],
            worker_clusters=CONNECTED,
        )

    assert found(another) == found()
    assert found(dispatched(body)).causes[0].details == ()
    golden(*map(told, (found(copy), found(homeless), found())))


CONNECTED = [worker_cluster("farm"), worker_cluster("cloud")]


def test_clusters_that_kueue_cannot_reach_have_its_message(far: Config, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    secret = 'load client config failed: Secret "farm-kubeconfig" not found'
    inactive = condition("Active", False, message="references inactive AdmissionCheck(s): dispatch-vision.")
    found = explain(
        far,
        body,
        workloads=[dispatched(body, reserved=False)],
        queues=[cluster_queue("team-vision", active=inactive)],
        worker_clusters=[
            worker_cluster("farm", "BadKubeConfig", secret),
            worker_cluster("cloud", "ClientConnectionFailed", "pods is forbidden"),
        ],
    )
    # The clusters are why the queue admits nothing.
    assert not any("describe clusterqueue" in text for text in found.helps)
    golden(told(found))


def test_a_cluster_of_the_stack_that_kueue_does_not_know(far: Config, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    given: dict[str, Any] = {"workloads": [dispatched(body)], "worker_clusters": [worker_cluster("farm")]}
    found, unread = explain(far, body, **given), explain(far, body, **given, unread=("multikueueclusters",))
    assert "knows no" not in told(unread)
    golden(told(found), told(unread))


def test_local_nodes_are_not_checked_for_runs_of_other_clusters(far: Config, config: Config, golden: Golden) -> None:
    body = job("a-11111", suspend=True)
    given: dict[str, Any] = {"workloads": [workload(body, waits(SHORT))], "nodes": [node("a30", "NVIDIA-A30")]}
    given["flavors"] = [flavor()]
    at_home, sent = explain(config, body, **given), explain(far, body, worker_clusters=CONNECTED, **given)
    # Also after the team has come home: this run has not.
    body["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    still_away = explain(config, body, **given)
    abouts = [[cause.about for cause in found.causes] for found in (at_home, sent, still_away)]
    assert ["nodes" in about for about in abouts] == [True, False, False]
    assert not any("the nodes" in told(found) for found in (sent, still_away))
    golden(told(at_home))


@pytest.mark.parametrize(
    "status",
    [
        {"active": 1, "ready": 1},
        {"active": 1, "ready": 0},
        {"conditions": [condition("Failed", reason="BackoffLimitExceeded")]},
    ],
    ids=["running", "starting", "failed"],
)
def test_the_pods_of_a_run_that_another_cluster_has(far: Config, golden: Golden, status: Any) -> None:
    body = job("a-11111", **status)
    found = explain(far, body, workloads=[dispatched(body, clusterName="cluster-farm")], worker_clusters=CONNECTED)
    assert [cause.about for cause in found.causes].count("pods") == 1
    golden(told(found))


def test_trials_that_wait_are_for_every_cluster_of_their_team(far: Config, golden: Golden) -> None:
    first = job("s-11111-0", run="s-11111", active=1, ready=1)
    second = job("s-11111-1", run="s-11111", suspend=True)
    works = (dispatched(first, clusterName="cluster-farm"), dispatched(second, nominatedClusterNames=["cluster-farm"]))
    lost = worker_cluster("cloud", "ClientConnectionFailed", "connection refused")
    (run,) = runs_of(RunObjects((first, second), ()))
    pool = PoolObjects(
        (), (), works, local_queues=(local_queue(),), kueue=True, worker_clusters=(worker_cluster("farm"), lost)
    )
    said = told(why(run, (), pool, config=far, now=NOW))
    assert said.count(" cloud ") == 1
    golden(said)


def test_a_cluster_outside_the_stack_keeps_its_name(far: Config, golden: Golden) -> None:
    body = job("a-11111", active=1, ready=1)
    golden(told(explain(far, body, workloads=[dispatched(body, clusterName="cluster-west")])))


def test_pods_of_another_cluster_have_their_reasons(far: Config, golden: Golden) -> None:
    body = job("a-11111", active=1, ready=0)
    body["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    unscheduled = [condition("PodScheduled", False, message="0/2 nodes are available")]
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    pods = (
        pod("a-0", None, spec(1), phase="Pending", conditions=unscheduled),
        pod("a-1", "n1", phase="Pending", containerStatuses=[{"name": "job", "state": waiting}]),
    )
    lost = worker_cluster("farm", "ClientConnectionFailed", "connection refused")
    found = explain(
        far,
        body,
        {"farm": WorkerClusterObjects(Confidential(()), Confidential(pods))},
        workloads=[dispatched(body, clusterName="cluster-farm")],
        worker_clusters=[lost],
        nodes=[node("n1", gpus=0)],
    )
    # What is known of it here may be old; whose nodes those are is not told from here.
    assert "gpus --live" not in told(found)
    golden(told(found))


def test_running_and_succeeded_runs_have_no_cause(ask: Any, golden: Golden) -> None:
    runs = job("a-11111", active=1, ready=1, startTime=LONG_AGO)
    done = job("a-11111", conditions=[condition("Complete")], startTime=LONG_AGO, completionTime=RECENTLY)
    golden(told(ask(runs)), told(ask(done)))


@pytest.mark.parametrize(
    ("leader", "first"),
    [([], "held"), ([stage("", **DONE)], "held"), ([stage("", **FAILED)], "on"), ([stage("", **FAILED)], "queued")],
    ids=["gone", "succeeded", "failed-one-runs", "failed-one-queued"],
)
def test_stages_whose_starter_is_gone(ask: Any, golden: Golden, leader: Any, first: Any) -> None:
    found = ask(
        stage("prepare", state=first, suspend=first != "on", **UP),
        trials=[*leader, stage("train", state="held", suspend=True)],
    )
    golden(told(found))


def test_stages_being_started_are_not_reported(ask: Any, golden: Golden) -> None:
    held = stage("train", state="held", suspend=True)
    assert ask(stage("prepare", state="on", **UP), trials=[held, stage("", **UP)]).causes == ()
    # Its pod has no quota: nothing queues it.
    golden(told(ask(held, trials=[stage("", active=1, ready=0)])))


RELEASED, RUNS = "2026-11-22T11:55:00Z", stage("", **UP)


def released(body: dict[str, Any], *path: str) -> dict[str, Any]:
    """The same with a field that somebody wrote five minutes ago, and one of another time that nobody asks for."""
    first, second = ({f"f:{name}": {} for name in (name,)} for name in (path[-1], "other"))
    for name in reversed(path[:-1]):
        first, second = {f"f:{name}": first}, {f"f:{name}": second}
    body["metadata"]["managedFields"] = [
        {"manager": "a", "time": RELEASED, "fieldsV1": first},
        {"manager": "b", "time": RECENTLY, "fieldsV1": second},
    ]
    return body


def test_a_stage_waits_since_its_turn_came(ask: Any, golden: Golden) -> None:
    train = stage("train", state="queued", suspend=True)
    # Kueue made its Workload with the run, three hours ago.
    train["spec"]["template"]["metadata"]["labels"]["modelyard.dev/stage"] = "train"
    work = released(workload(train, waits(SHORT)), "spec", "queueName")
    queues = [cluster_queue("team-vision", 2, 2)]
    found = ask(train, trials=[RUNS], workloads=[work], queues=queues)
    # Kueue has not looked at it yet.
    path = ("metadata", "annotations", "modelyard.dev/released")
    unseen = ask(released(train, *path), trials=[RUNS])
    assert found.summary == unseen.summary
    # Of any other run the queue's name is as old as the run, whatever else was written.
    alone = job("late-bcd23", suspend=True)
    again = released(workload(alone, waits(SHORT)), "spec", "queueName")
    golden(*map(told, (found, unseen, ask(alone, workloads=[again], queues=queues))))


def test_a_run_that_lost_its_quota_waits_since_then(ask: Any, golden: Golden) -> None:
    body = job("late-bcd23", suspend=True)
    evicted = condition("Evicted", reason="Preempted", message="Preempted") | {"lastTransitionTime": RECENTLY}
    work = workload(body, waits(SHORT), evicted)
    golden(told(ask(body, workloads=[work], queues=[cluster_queue("team-vision", 2, 2)])))


def test_a_stage_that_holds_the_quota_is_shown_with_its_run(ask: Any, golden: Golden) -> None:
    ours, theirs = job("late-bcd23", suspend=True), job("nightly-2-train")
    theirs["spec"]["template"]["metadata"]["labels"] |= {
        "modelyard.dev/pipeline-run": "nightly-2",
        "modelyard.dev/stage": "train",
    }
    works = [workload(theirs, queue="team-vision"), workload(ours, waits(SHORT))]
    found = ask(ours, workloads=works, queues=[cluster_queue("team-vision", 1, 1)])
    golden(told(found))


def test_a_pipeline_is_submitted_again_as_one(ask: Any, golden: Golden) -> None:
    train = stage("train", state="queued", suspend=True)
    work = workload(train, waits(SHORT))
    work["spec"]["active"] = False
    golden(told(ask(train, trials=[RUNS], workloads=[work])))
