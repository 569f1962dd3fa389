"""Why a run waits or failed: every cause that is there is told, with what would help."""

from datetime import timedelta
from typing import Any

import pytest

from modelyard.cluster.pool_objects import FarObjects, PoolObjects, RunObjects
from modelyard.runs.pool import Diagnosis, runs_of, why
from modelyard.runs.pool.diagnosis import Cause
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
        return why(run._replace(remote=remote), pods or (), PoolObjects(**everything), side, NOW)

    return call


def words(found: Diagnosis) -> str:
    parts = [found.summary, *(part for cause in found.causes for part in (cause.summary, *cause.details)), *found.helps]
    return "\n".join(parts)


def test_quota_that_another_run_of_the_team_holds(ask: Any) -> None:
    waiting, holder = job("late-22222", suspend=True, since=RECENTLY), job("early-11111", workers=2)
    found = ask(
        waiting,
        workloads=[workload(waiting, waits(SHORT)), workload(holder, queue="team-vision")],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    said = words(found)
    assert found.summary == "waits for its GPUs for 2m"
    assert "place 1 of 1 in queue team-vision" in said
    assert "it asks for 1 GPU" in said
    assert "a10: 2 used of 2; may not borrow" in said
    assert SHORT in said
    assert "its queue is held by early-11111 of vision (2 GPUs for 3h)" in said
    assert found.helps[-1] == "or end one of the team's own: modelyard job cancel dev early-11111"


def test_a_remote_cluster_has_queues_and_no_teams(ask: Any) -> None:
    waiting, holder = job("late-22222", suspend=True, since=RECENTLY), job("early-11111", workers=2)
    there: dict[str, Any] = {"remote": "far", "local_queues": [local_queue(queue="remote-far")]}
    held = ask(
        waiting,
        workloads=[workload(waiting, waits(SHORT)), workload(holder, queue="remote-far")],
        queues=[cluster_queue("remote-far", 2, 2)],
        **there,
    )
    assert held.helps == (
        "it starts when quota comes free; its queue is held by early-11111 of queue remote-far (2 GPUs for 3h)",
        "or end one of those in its queue: modelyard job cancel dev early-11111 --remote far",
    )
    never = ask(waiting, workloads=[workload(waiting)], queues=[cluster_queue("remote-far", 0, 0)], **there)
    assert never.helps == ("raise the quota of queue remote-far: it can never have 1",)
    lost = ask(waiting, workloads=[workload(waiting)], remote="far", local_queues=[])
    assert lost.helps == ("make the queues there: modelyard apply dev",)
    idle = ask(job("a-1", suspend=True, queue=None), remote="far")
    assert idle.helps == ("submit it again: modelyard job submit dev a",)
    assert not [found for found in (held, never, lost, idle) if "team" in words(found)]


def test_whoever_holds_other_gpus_does_not_keep_it_waiting(ask: Any) -> None:
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
    assert found.helps == (
        "it starts when quota comes free; its queue is held by early-11111 of vision (1 GPU for 3h)",
        "or end one of the team's own: modelyard job cancel dev early-11111",
    )


def test_slices_that_are_held_are_told_by_their_name(ask: Any) -> None:
    slice_of_one = spec(resource="nvidia.com/mig-1g.6gb")
    waiting, holder = job("late-22222", suspend=True, wants=slice_of_one), job("early-11111", wants=slice_of_one)
    queue = cluster_queue("team-vision")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["name"] = "nvidia.com/mig-1g.6gb"
    found = ask(
        waiting, workloads=[workload(waiting, waits("no")), workload(holder, queue="team-vision")], queues=[queue]
    )
    assert "held by early-11111 of vision (1 nvidia.com/mig-1g.6gb for 3h)" in words(found)


def test_who_stands_before_it(ask: Any) -> None:
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
    assert "place 3 of 3 in queue team-vision, behind c-33333 of vision, a-11111 of vision" in words(found)


def test_many_of_one_run_before_it_are_counted(ask: Any) -> None:
    waiting = job("b-22222", suspend=True)
    trials = [job(f"s-11111-{number}", run="s-11111", suspend=True, since="2026-11-22T08:00:00Z") for number in (0, 1)]
    found = ask(
        waiting,
        workloads=[workload(one, waits(SHORT)) for one in (waiting, *trials)],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    assert "place 3 of 3 in queue team-vision, behind s-11111 of vision (2 workloads)" in words(found)


def test_quota_that_others_of_the_cohort_hold(ask: Any) -> None:
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
    assert "a10: 0 used of 1; may borrow 1 more" in words(found)
    assert any("its cohort is held by x-99999 of speech (3 GPUs" in text for text in found.helps)
    assert not any("cancel" in text for text in found.helps)


@pytest.mark.parametrize(("limit", "lent", "most"), [(None, 2, 4), (1, 2, 3), (5, 2, 4)])
def test_more_than_a_team_can_ever_have(ask: Any, limit: int | None, lent: int, most: int) -> None:
    body = job("big-11111", suspend=True, workers=most + 1)
    found = ask(
        body,
        workloads=[workload(body, waits(SHORT))],
        queues=[cluster_queue("team-vision", 2, cohort="r", limit=limit), cluster_queue("lender", lent, cohort="r")],
    )
    assert f"ask for {most} GPUs at most, or raise the quota of vision" in words(found)


def test_a_flavor_of_which_nobody_has_gpus_is_not_named(ask: Any) -> None:
    """Kueue wants a line for GPUs of flavors for other pods too: 0, which nobody lends more."""
    body, queue = job("a-11111", suspend=True), cluster_queue("team-vision", 2, 2, cohort="r")
    bare = cluster_queue("team-vision", 0, flavor="any")["spec"]["resourceGroups"][0]["flavors"]
    queue["spec"]["resourceGroups"][0]["flavors"] += bare
    others = [workload(body, waits(SHORT))]
    said = words(ask(body, workloads=others, queues=[queue, cluster_queue("team-speech", 2, cohort="r")]))
    assert "a10: 2 used of 2" in said
    assert "any:" not in said
    lent = [queue, cluster_queue("team-speech", 2, cohort="r", flavor="any")]
    assert "any: 0 used of 0; may borrow" in words(ask(body, workloads=others, queues=lent))


def test_a_team_without_gpus_is_told_so(ask: Any) -> None:
    body = job("a-11111", suspend=True)
    found = ask(body, workloads=[workload(body, waits(SHORT))], queues=[cluster_queue("team-vision", 0)])
    assert found.helps[0] == "raise the quota of vision: it can never have 1"


def test_nothing_is_called_impossible_that_is_not(ask: Any) -> None:
    """Fewer workers may do, and a cohort may have quotas of its own."""
    body = job("big-11111", suspend=True, workers=4)
    smaller = workload(body, waits(SHORT))
    smaller["spec"]["podSets"][0]["minCount"] = 2
    queue = [cluster_queue("team-vision", 2)]
    assert not any("never" in text for text in ask(body, workloads=[smaller], queues=queue).helps)
    assert any("never have 4" in text for text in ask(body, workloads=[workload(body)], queues=queue).helps)
    cohort = {"metadata": {"name": "r"}, "spec": {"parentName": "everybody"}}
    tree = {"queues": [cluster_queue("team-vision", 2, cohort="r")], "cohorts": [cohort]}
    assert not any("never" in text for text in ask(body, workloads=[workload(body)], **tree).helps)


@pytest.mark.parametrize(
    ("objects", "said", "help_"),
    [
        ({"kueue": False}, "it waits for Kueue, and the cluster has none", "install Kueue"),
        ({"unread": ("workloads",)}, "these credentials may not read workloads", "ask for the right"),
        ({}, "Kueue has not taken notice of it yet", "see whether Kueue runs"),
    ],
)
def test_where_kueue_says_nothing(ask: Any, objects: Any, said: str, help_: str) -> None:
    found = ask(job("a-11111", suspend=True), **objects)
    assert said in words(found)
    assert help_ in words(found)


def test_a_queue_that_there_is_not_or_that_admits_nothing(ask: Any) -> None:
    body = job("a-11111", suspend=True)
    for there in ([local_queue("other")], []):
        found = ask(body, workloads=[workload(body)], local_queues=there)
        assert "namespace vision has no queue vision" in words(found)
        assert found.helps[0] == "make the team's queues: modelyard apply dev"
    # Who may not read them knows the stack's own.
    unread = ask(body, workloads=[workload(body)], local_queues=[], unread=("localqueues",))
    assert "place 1 of 1 in queue team-vision" in words(unread)
    inactive = condition("Active", False, message="references missing ResourceFlavor(s): a10")
    found = ask(body, workloads=[workload(body)], queues=[cluster_queue("team-vision", active=inactive)])
    assert "queue team-vision admits nothing: references missing ResourceFlavor(s): a10" in words(found)


def test_nodes_without_room_are_told_by_reason_and_taints(ask: Any) -> None:
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
    (cause,) = [one for one in found.causes if one.about == "nodes"]
    assert cause.summary == "the nodes have room for 1 of 2 workers now"
    assert set(cause.details) == {"tainted: has the taint spot", "cordoned: is cordoned", "a30: has NVIDIA-A30"}
    # Both would be there if the other pod had gone.
    assert not any("even when empty" in text for text in found.helps)


def test_workers_that_no_node_could_ever_hold(ask: Any) -> None:
    body = job("a-11111", suspend=True, wants=spec(1, cpu="32"))
    found = ask(body, workloads=[workload(body, waits(SHORT))], queues=[cluster_queue("team-vision", 4)])
    assert "n1: 16 of 16 CPU free, a pod needs 32" in words(found)
    assert "the nodes hold 0 of 1 worker even when empty" in words(found)


def test_a_cordoned_node_that_could_hold_a_worker_is_to_be_uncordoned(ask: Any) -> None:
    body = job("a-11111", suspend=True)
    nodes = [node("n1"), node("n2", "NVIDIA-A30"), node("n3", gpus=0), node("n4")]
    for one in nodes:
        one["spec"] |= {
            "unschedulable": True,
            "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
        }
    nodes[3]["spec"]["taints"].append({"key": "spot", "effect": "NoSchedule"})
    work = [workload(body, waits(SHORT))]
    found = ask(body, workloads=work, queues=[cluster_queue("team-vision", 4)], nodes=nodes)
    assert "the nodes hold 0 of 1 worker even when empty: uncordon n1, add nodes, or ask for less" in words(found)


@pytest.mark.parametrize(
    ("workers", "busy", "now", "help_"),
    [
        (4, 0, "2 of 4 workers now left: 2 now, 2 when empty right: 2 now, 2 when empty", "hold 2 of 4 workers even"),
        (2, 1, "1 of 2 workers now left: 1 now, 2 when empty right: 1 now, 2 when empty", "starts when 2 workers have"),
        (2, 0, "", ""),
    ],
)
def test_workers_together_want_room_on_nodes_with_one_value(
    ask: Any, workers: int, busy: int, now: str, help_: str
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
    said = words(found).replace("\n", " ")
    assert ("nodes with one example.com/rack have room for" in said) is bool(now)
    assert now in said
    assert help_ in said


def test_preempted_by_whom(ask: Any) -> None:
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
    assert "it was stopped in favour of x-99999 of speech" in words(found)


def test_words_that_kueue_repeats_are_told_once(ask: Any) -> None:
    body, late = job("a-11111", suspend=True), "Exceeded the PodsReady timeout vision/job-a-11111-x"
    evicted = condition("Evicted", reason="PodsReadyTimeout", message=late)
    work = workload(body, waits(late), evicted)
    found = ask(body, workloads=[work], queues=[cluster_queue("team-vision")])
    assert words(found).count(late) == 1
    assert "tries it again" not in words(found)
    work["status"]["requeueState"] = {"count": 2, "requeueAt": (NOW + timedelta(seconds=40)).isoformat()}
    found = ask(body, workloads=[work], queues=[cluster_queue("team-vision")])
    assert "Kueue tries it again in 40s, and not before" in words(found)


def test_a_pod_whose_volume_there_is_not(ask: Any) -> None:
    text = '0/1 nodes are available: persistentvolumeclaim "workspace" not found. not found'
    pods = [
        pod("a-0", None, run="a-11111", phase="Pending", conditions=[condition("PodScheduled", False, message=text)])
    ]
    found = ask(job("a-11111", active=1, ready=0), pods)
    assert found.helps == ("make the PersistentVolumeClaim workspace in namespace vision",)


def test_pods_that_have_no_node(ask: Any) -> None:
    body = job("a-11111", active=1, ready=0)
    unscheduled = [condition("PodScheduled", False, message="0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")]
    pods = [
        pod("a-0", None, spec(1), run="a-11111", phase="Pending", conditions=unscheduled),
        pod("other", "n1", spec(2)),
    ]
    found = ask(body, pods, workloads=[workload(body, queue="team-vision")], queues=[cluster_queue("team-vision")])
    said = words(found)
    assert found.summary == "has its quota and does not run yet"
    assert "1 pod of it has no node" in said
    assert "n1: 0 of 2 GPUs free, a pod needs 1" in said
    assert "modelyard gpus --live dev" in said


def test_images_that_cannot_be_pulled(ask: Any) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    pods = [pod("a-0", "n1", phase="Pending", containerStatuses=[{"name": "job", "state": waiting}])]
    found = ask(job("a-11111", active=1), pods)
    assert "a-0: ImagePullBackOff" in words(found)
    assert "correct the image's name, or the right to pull it" in found.helps


def ended(reason: str, code: int) -> dict[str, Any]:
    state = {"terminated": {"reason": reason, "exitCode": code, "finishedAt": RECENTLY}}
    return {"containerStatuses": [{"name": "job", "state": state}]}


@pytest.mark.parametrize(
    ("pods", "condition_", "said", "help_"),
    [
        ([("Error", 1)], "BackoffLimitExceeded", "a-0: Error, exit code 1", "modelyard job logs dev a-11111"),
        ([("OOMKilled", 137)], "BackoffLimitExceeded", "OOMKilled, exit code 137", "more memory"),
        ([], "DeadlineExceeded", "it ran longer than its time limit", "raise the job's timeLimit"),
    ],
)
def test_why_it_failed(ask: Any, pods: list[tuple[str, int]], condition_: str, said: str, help_: str) -> None:
    body = job("a-11111", conditions=[condition("Failed", reason=condition_, message="m")], startTime=LONG_AGO)
    made = [pod(f"a-{at}", "n1", phase="Failed", **ended(*one)) for at, one in enumerate(pods)]
    found = ask(body, made)
    assert found.summary.startswith("has failed after ")
    assert said in words(found)
    assert any(help_ in text for text in found.helps), found.helps


def test_an_application_of_spark_that_ran_too_long(ask: Any) -> None:
    body = spark("etl-11111", state="FAILED", message="driver pod failed")
    driver = pod(
        "etl-11111-driver", "n1", phase="Failed", run="etl-11111", reason="DeadlineExceeded", message="too long"
    )
    found = ask(body, [driver])
    assert "it failed\ndriver pod failed" in words(found)
    assert "1 pod failed, the first of them etl-11111-driver: DeadlineExceeded (too long)" in words(found)
    assert found.helps == ("raise the job's timeLimit, or have it continue from a checkpoint",)


def test_an_application_of_spark_waits_for_quota_of_all_its_executors(ask: Any) -> None:
    waiting = spark("etl-11111", suspend=True)
    work = workload(job("etl-11111", workers=3, wants=spec(2)), waits(SHORT))
    work["metadata"]["ownerReferences"][0]["uid"] = waiting["metadata"]["uid"]
    found = ask(waiting, workloads=[work], queues=[cluster_queue("team-vision", 2, 2)])
    assert "it asks for 6 GPUs" in words(found)


def test_a_pod_that_its_node_took_away(ask: Any) -> None:
    gone = condition(
        "DisruptionTarget", reason="DeletionByTaintManager", message="Taint manager: deleting due to NoExecute"
    )
    body = job("a-11111", conditions=[condition("Failed", reason="BackoffLimitExceeded")])
    found = ask(body, [pod("a-0", "n1", phase="Failed", conditions=[gone], **ended("Error", 143))])
    assert "a-0: DeletionByTaintManager, exit code 143 (Taint manager: deleting due to NoExecute)" in words(found)
    assert found.helps[0].startswith("its node took the pods away")


def test_a_search_that_runs_in_part(ask: Any) -> None:
    first = job("s-11111-0", run="s-11111", active=1, ready=1, startTime=LONG_AGO)
    second = job("s-11111-1", run="s-11111", suspend=True)
    found = ask(
        first,
        trials=[second],
        workloads=[workload(first, queue="team-vision"), workload(second, waits(SHORT))],
        queues=[cluster_queue("team-vision", 1, 1)],
    )
    assert found.summary == "runs in part: 1 of 2 trials for 3h"
    assert "place 1 of 1" in words(found)


def test_the_rest_of_a_search_waits_for_what_began_of_it_and_is_not_told_to_end_that(ask: Any) -> None:
    trials = [job(f"s-11111-{at}", run="s-11111", active=1, ready=1, startTime=LONG_AGO) for at in range(2)]
    rest = job("s-11111-2", run="s-11111", suspend=True)
    found = ask(
        trials[0],
        trials=[trials[1], rest],
        workloads=[*(workload(one, queue="team-vision") for one in trials), workload(rest, waits(SHORT))],
        queues=[cluster_queue("team-vision", 2, 2)],
    )
    assert found.helps == ("it starts when quota comes free; its queue is held by s-11111 of vision (2 GPUs for 3h)",)


def test_logs_are_not_named_where_no_pod_is_left(ask: Any) -> None:
    body = job("a-11111", conditions=[condition("Failed", reason="BackoffLimitExceeded")])
    found = ask(body, [])
    assert "its pods are gone" in words(found)
    assert not any("logs" in text for text in found.helps)


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


def explain(far: Config, body: dict[str, Any], there: dict[str, FarObjects] | None = None, **objects: Any) -> Diagnosis:
    (run,) = runs_of(RunObjects((body,), ()))
    given = {name: tuple(bodies) for name, bodies in objects.items()}
    local = {"local_queues": (local_queue(),), "queues": (cluster_queue("team-vision"),), "kueue": True}
    return why(run, (), PoolObjects(**{"nodes": (), "pods": (), **local, **given}), far, NOW, there or {})  # type: ignore[arg-type]


def test_a_run_that_no_other_cluster_has_taken_yet(far: Config) -> None:
    body = job("a-11111", suspend=True)
    checks = [{"name": "dispatch-vision", "state": "Pending", "message": "The workload is pending on the workers"}]
    asked = ["cluster-farm", "cluster-cloud"]
    known = [worker_cluster("farm"), worker_cluster("cloud")]
    work = dispatched(body, nominatedClusterNames=asked, admissionChecks=checks)
    found = explain(far, body, workloads=[work], worker_clusters=known)
    (cause,) = found.causes
    assert cause.summary == "it has its quota here, and none of farm, cloud has taken it yet"
    assert cause.details == ("The workload is pending on the workers",)
    assert found.helps == (
        "ask farm what it lacks: kubectl --namespace vision describe workload job-a-11111-x",
        "ask cloud what it lacks: kubectl --context 'a cloud' --namespace vision describe workload job-a-11111-x",
    )
    alone = explain(far, body, workloads=[dispatched(body, nominatedClusterNames=asked[:1])], worker_clusters=known)
    assert alone.causes[0].summary == "it has its quota here, and farm has not taken it yet"
    nobody = explain(far, body, workloads=[dispatched(body)], worker_clusters=known)
    assert [one.summary for one in nobody.causes] == ["it has its quota here, and Kueue has asked no other cluster yet"]


def test_a_cluster_that_somebody_looked_at_says_itself_why_it_has_not_taken_a_run(far: Config) -> None:
    body = job("a-11111", suspend=True)
    work = dispatched(body, nominatedClusterNames=["cluster-farm"])
    copy = workload(body, waits(SHORT))
    homeless = workload(body, waits("LocalQueue vision doesn't exist"))
    taken = dispatched(body)

    def said(*there: dict[str, Any]) -> tuple[tuple[str, ...], str]:
        found = explain(far, body, {"farm": FarObjects(there, ())}, workloads=[work], worker_clusters=CONNECTED)
        return found.causes[0].details, found.helps[0]

    assert said(copy) == ((f"farm: {SHORT}",), "it starts when quota comes free in farm, or raise the team's there")
    queue = "make the team's queue in farm: LocalQueue vision in namespace vision"
    assert said(homeless) == (("farm: LocalQueue vision doesn't exist",), queue)
    assert said()[0] == ("farm: it has no copy yet",)
    assert "see that farm has the namespace vision" in said()[1]
    assert said(workload(job("b-22222"), waits(SHORT)))[0] == ("farm: it has no copy yet",)
    assert said(taken)[0] == ()


CONNECTED = [worker_cluster("farm"), worker_cluster("cloud")]


def test_clusters_that_kueue_does_not_reach_are_told_with_its_words(far: Config) -> None:
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
    assert found.causes[:2] == (
        Cause("queue", "Kueue does not reach worker cluster farm", (secret,)),
        Cause("queue", "Kueue does not reach worker cluster cloud", ("pods is forbidden",)),
    )
    assert found.helps[0].startswith("put a kubeconfig for farm that Kueue takes into Secret farm-kubeconfig")
    assert found.helps[1].startswith("correct the address of cloud in Secret cloud-kubeconfig")
    # The clusters are why the queue admits nothing.
    assert "references inactive AdmissionCheck" in words(found)
    assert not any("describe clusterqueue" in text for text in found.helps)


def test_a_cluster_that_the_stack_has_and_kueue_does_not_know(far: Config) -> None:
    body = job("a-11111", suspend=True)
    given: dict[str, Any] = {"workloads": [dispatched(body)], "worker_clusters": [worker_cluster("farm")]}
    found = explain(far, body, **given)
    assert "Kueue knows no worker cluster cloud" in words(found)
    assert found.helps[0] == "make it known: modelyard apply dev"
    assert "Kueue knows no" not in words(explain(far, body, **given, unread=("multikueueclusters",)))


def test_nodes_here_are_not_asked_for_room_for_what_runs_elsewhere(far: Config, config: Config) -> None:
    body = job("a-11111", suspend=True)
    given: dict[str, Any] = {"workloads": [workload(body, waits(SHORT))], "nodes": [node("a30", "NVIDIA-A30")]}
    given["flavors"] = [flavor()]
    assert "the nodes have room for 0 of 1 worker" in words(explain(config, body, **given))
    assert "the nodes" not in words(explain(far, body, worker_clusters=CONNECTED, **given))
    # Also after the team has come home: this run has not.
    body["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert "the nodes" not in words(explain(config, body, **given))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"active": 1, "ready": 1}, "it runs in farm: its pods and their logs are there"),
        ({"active": 1, "ready": 0}, "it runs in farm: its pods and their logs are there"),
        (
            {"conditions": [condition("Failed", reason="BackoffLimitExceeded")]},
            "it ran in farm, where Kueue deletes a run's pods as soon as it has ended, and their logs with them",
        ),
    ],
)
def test_the_pods_of_a_run_that_another_cluster_has(far: Config, status: Any, said: str) -> None:
    body = job("a-11111", **status)
    found = explain(far, body, workloads=[dispatched(body, clusterName="cluster-farm")], worker_clusters=CONNECTED)
    assert [cause.summary for cause in found.causes if cause.about == "pods"] == [said]
    assert any("read along while it runs" in text for text in found.helps) == ("conditions" in status)


def test_trials_that_wait_are_for_every_cluster_of_their_team(far: Config) -> None:
    first = job("s-11111-0", run="s-11111", active=1, ready=1)
    second = job("s-11111-1", run="s-11111", suspend=True)
    works = (dispatched(first, clusterName="cluster-farm"), dispatched(second, nominatedClusterNames=["cluster-farm"]))
    lost = worker_cluster("cloud", "ClientConnectionFailed", "connection refused")
    (run,) = runs_of(RunObjects((first, second), ()))
    pool = PoolObjects(
        (), (), works, local_queues=(local_queue(),), kueue=True, worker_clusters=(worker_cluster("farm"), lost)
    )
    said = words(why(run, (), pool, far, NOW))
    assert "it runs in farm" in said
    assert said.count("Kueue does not reach worker cluster cloud") == 1
    assert "it has its quota here, and farm has not taken it yet" in said


def test_a_cluster_of_nobodys_stack_keeps_its_name(far: Config) -> None:
    body = job("a-11111", active=1, ready=1)
    found = explain(far, body, workloads=[dispatched(body, clusterName="cluster-west")])
    assert "it runs in cluster-west" in words(found)


def test_pods_of_the_other_cluster_say_what_keeps_them_from_starting(far: Config) -> None:
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
        {"farm": FarObjects((), pods)},
        workloads=[dispatched(body, clusterName="cluster-farm")],
        worker_clusters=[lost],
        nodes=[node("n1", gpus=0)],
    )
    said = words(found)
    assert "1 pod of it has no node\n0/2 nodes are available" in said
    assert "a-1: ImagePullBackOff" in said
    # What is known of it here may be old.
    assert "Kueue does not reach worker cluster farm\nconnection refused" in said
    # Whose nodes those are is not told from here.
    assert "gpus --live" not in said
    assert "the nodes have room" not in said


def test_what_runs_or_has_succeeded_has_nothing_wrong(ask: Any) -> None:
    found = ask(job("a-11111", active=1, ready=1, startTime=LONG_AGO))
    assert (found.summary, found.causes, found.helps) == ("runs for 3h", (), ())
    done = job("a-11111", conditions=[condition("Complete")], startTime=LONG_AGO, completionTime=RECENTLY)
    assert ask(done).summary == "has succeeded after 2h58m"


@pytest.mark.parametrize(
    ("leader", "first", "summary", "said"),
    [
        ([], "held", "waits for ever", "is gone, so nothing starts them"),
        ([stage("", **DONE)], "held", "waits for ever", "has succeeded, so nothing starts them"),
        ([stage("", **FAILED)], "on", "runs for 3h", "has failed, so nothing starts 1 stage"),
        ([stage("", **FAILED)], "queued", "waits for its GPUs (1 stage)", "has failed, so nothing starts 1 stage"),
    ],
)
def test_stages_that_nothing_starts_any_more(ask: Any, leader: Any, first: Any, summary: str, said: str) -> None:
    found = ask(
        stage("prepare", state=first, suspend=first != "on", **UP),
        trials=[*leader, stage("train", state="held", suspend=True)],
    )
    assert found.summary == summary
    assert found.helps[-1] == "submit it again: modelyard pipeline submit dev nightly"
    assert f"the Job that starts its stages {said}" in words(found)


def test_nothing_is_given_up_while_the_stages_are_being_started(ask: Any) -> None:
    held = stage("train", state="held", suspend=True)
    assert ask(stage("prepare", state="on", **UP), trials=[held, stage("", **UP)]).causes == ()
    begins = ask(held, trials=[stage("", active=1, ready=0)])
    # Its pod has no quota: nothing queues it.
    assert begins.summary == "does not run yet"
    assert "none of its 1 pod has been made yet" in words(begins)


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


def test_a_stage_waits_since_its_turn_came_and_not_since_the_run_was_submitted(ask: Any) -> None:
    train = stage("train", state="queued", suspend=True)
    # Kueue made its Workload with the run, three hours ago.
    train["spec"]["template"]["metadata"]["labels"]["modelyard.dev/stage"] = "train"
    work = released(workload(train, waits(SHORT)), "spec", "queueName")
    queues = [cluster_queue("team-vision", 2, 2)]
    found = ask(train, trials=[RUNS], workloads=[work], queues=queues)
    assert found.summary == "waits for its GPUs for 5m (1 stage)"
    # Kueue has not looked at it yet.
    path = ("metadata", "annotations", "modelyard.dev/released")
    assert ask(released(train, *path), trials=[RUNS]).summary == "waits for its GPUs for 5m (1 stage)"
    # Of any other run the queue's name is as old as the run, whatever else was written.
    alone = job("late-bcd23", suspend=True)
    again = released(workload(alone, waits(SHORT)), "spec", "queueName")
    assert ask(alone, workloads=[again], queues=queues).summary == "waits for its GPUs for 3h"


def test_a_run_that_lost_its_quota_waits_since_then(ask: Any) -> None:
    body = job("late-bcd23", suspend=True)
    evicted = condition("Evicted", reason="Preempted", message="Preempted") | {"lastTransitionTime": RECENTLY}
    found = ask(body, workloads=[workload(body, waits(SHORT), evicted)], queues=[cluster_queue("team-vision", 2, 2)])
    assert found.summary == "waits for its GPUs for 2m"


def test_a_stage_that_holds_the_quota_is_told_with_its_run(ask: Any) -> None:
    ours, theirs = job("late-bcd23", suspend=True), job("nightly-2-train")
    theirs["spec"]["template"]["metadata"]["labels"] |= {
        "modelyard.dev/pipeline-run": "nightly-2",
        "modelyard.dev/stage": "train",
    }
    works = [workload(theirs, queue="team-vision"), workload(ours, waits(SHORT))]
    found = ask(ours, workloads=works, queues=[cluster_queue("team-vision", 1, 1)])
    assert "its queue is held by nightly-2 (stage train) of vision (1 GPU" in words(found)
    assert "modelyard job cancel dev nightly-2" in found.helps[-1].split(": ")


def test_a_pipeline_is_submitted_again_as_one(ask: Any) -> None:
    train = stage("train", state="queued", suspend=True)
    work = workload(train, waits(SHORT))
    work["spec"]["active"] = False
    assert ask(train, trials=[RUNS], workloads=[work]).helps == (
        "correct what kept it from starting, and submit it again: modelyard pipeline submit dev nightly",
    )
