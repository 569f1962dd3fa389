"""Runs: one state for what a submission made."""

from typing import Any

import pytest

from modelyard.cluster.pool_objects import RunObjects
from modelyard.runs.pool.logs import of_part, sources
from modelyard.runs.pool.runs import Run, near_runs, runs_of
from tests.support.pool_objects import DONE, FAILED, LONG_AGO, RECENTLY, UP, condition, job, pod, spark, spec, stage

LATE = {"reason": "DeadlineExceeded", "message": "Job was active longer than specified deadline"}


def ray(name: str, suspend: bool = False, **status: Any) -> dict[str, Any]:
    """A RayJob with two workers of one GPU."""
    body = job(name, suspend=suspend)
    head = {"headGroupSpec": {"template": {"spec": spec(0)}}}
    workers = {"workerGroupSpecs": [{"replicas": 2, "template": {"spec": spec(1)}}]}
    body |= {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "spec": {"suspend": suspend, "rayClusterSpec": {**head, **workers}},
    }
    return body | {"status": status}


def runs(*bodies: dict[str, Any]) -> tuple[Run, ...]:
    kinds = [tuple(body for body in bodies if body["kind"] == kind) for kind in ("Job", "RayJob", "SparkApplication")]
    return runs_of(RunObjects(*kinds))


@pytest.mark.parametrize(
    ("body", "state", "reason"),
    [
        (job("a-1", suspend=True), "queued", ""),
        (job("a-1", suspend=True, queue=None), "suspended", ""),
        (job("a-1", active=1, ready=0), "starting", ""),
        (job("a-1", active=1, ready=1, startTime=LONG_AGO), "running", ""),
        (job("a-1", conditions=[condition("Complete")]), "succeeded", ""),
        (job("a-1", conditions=[condition("Failed", **LATE)]), "failed", "DeadlineExceeded"),
        (ray("a-1", suspend=True), "queued", ""),
        (ray("a-1", jobDeploymentStatus="Initializing"), "starting", ""),
        (ray("a-1", jobDeploymentStatus="Running", jobStatus="RUNNING"), "running", ""),
        (ray("a-1", jobDeploymentStatus="Complete", jobStatus="SUCCEEDED"), "succeeded", ""),
        (ray("a-1", jobDeploymentStatus="Failed", jobStatus="FAILED", reason="AppFailed"), "failed", "AppFailed"),
        (spark("a-1", suspend=True, state="SUSPENDED"), "queued", ""),
        (spark("a-1"), "starting", ""),
        (spark("a-1", state="SUBMITTED"), "starting", ""),
        (spark("a-1", state="SUBMISSION_FAILED"), "starting", ""),
        (spark("a-1", state="PENDING_RERUN"), "starting", ""),
        (spark("a-1", state="RUNNING"), "running", ""),
        (spark("a-1", state="SUCCEEDING"), "running", ""),
        (spark("a-1", state="COMPLETED"), "succeeded", ""),
        (spark("a-1", state="FAILED"), "failed", ""),
    ],
)
def test_states(body: dict[str, Any], state: str, reason: str) -> None:
    (run,) = runs(body)
    assert (run.state, run.reason) == (state, reason)


def test_a_deleted_object_is_cancelled_until_it_is_gone() -> None:
    body = job("a-1", active=1, ready=1)
    body["metadata"]["deletionTimestamp"] = RECENTLY
    (run,) = runs(body)
    assert (run.state, run.holds) == ("cancelled", 1)


def test_gpus_of_all_workers_and_of_ray_without_its_head() -> None:
    (plain,) = runs(job("a-1", workers=3, wants=spec(2), suspend=True))
    assert (plain.gpus, plain.holds, plain.parts[0].workers) == (6, 0, 3)
    (on_ray,) = runs(ray("b-1", jobDeploymentStatus="Running"))
    assert (on_ray.gpus, on_ray.holds, on_ray.parts[0].workers) == (2, 2, 2)
    grown = ray("g-1", jobDeploymentStatus="Running", rayClusterStatus={"readyWorkerReplicas": 3})
    assert [run.gpus for run in runs(grown)] == [2]
    grown["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] = True
    assert [(run.gpus, run.holds, run.parts[0].workers) for run in runs(grown)] == [(3, 3, 3)]


def test_gpus_and_times_of_sparks_executors() -> None:
    times = {"lastSubmissionAttemptTime": LONG_AGO, "terminationTime": None}
    (run,) = runs(spark("c-1", state="RUNNING", **times))
    assert (run.gpus, run.holds, run.parts[0].workers) == (6, 6, 3)
    assert (run.started, run.ended) == (LONG_AGO, "")
    ended = spark("c-1", state="FAILED", message="driver failed", **times | {"terminationTime": RECENTLY})
    (run,) = runs(ended)
    assert (run.ended, run.holds, run.parts[0].message) == (RECENTLY, 0, "driver failed")


def test_dynamic_executors_are_counted_as_they_run() -> None:
    body = spark("c-1", state="RUNNING")
    del body["spec"]["executor"]["instances"]
    body["spec"]["dynamicAllocation"] = {"enabled": True, "initialExecutors": 1, "minExecutors": 1, "maxExecutors": 9}
    assert runs(body)[0].gpus == 2
    body["status"]["executorState"] = {"e-1": "RUNNING", "e-2": "PENDING", "e-3": "COMPLETED", "e-4": "FAILED"}
    assert (runs(body)[0].gpus, runs(body)[0].parts[0].workers) == (4, 2)


def test_a_stage_on_spark_waits_for_those_before_it() -> None:
    body = stage("features", state="held", suspend=True)
    held = spark("nightly-1-features", suspend=True)
    held["metadata"] = body["metadata"]
    (run,) = runs(stage("", **UP), held)
    assert [(part.kind, part.stage, part.state) for part in run.stages] == [("SparkApplication", "features", "held")]
    held["metadata"]["annotations"] = {"modelyard.dev/released": "nightly-1"}
    assert runs(stage("", **UP), held)[0].state == "queued"


def test_trials_are_one_run() -> None:
    (run,) = runs(
        job("s-1-10", run="s-1", suspend=True),
        job("s-1-2", run="s-1", active=1, ready=1, startTime=LONG_AGO),
        job("s-1-0", run="s-1", conditions=[condition("Failed", **LATE)], startTime=LONG_AGO),
    )
    assert [part.name for part in run.parts] == ["s-1-0", "s-1-2", "s-1-10"]
    assert (run.state, run.gpus, run.holds, run.count("queued")) == ("running", 3, 1, 1)
    # While a part goes on, the run has no reason for an end that it has not come to.
    assert (run.reason, run.ended) == ("", "")


def test_runs_are_sorted_by_age_and_filtered_by_stack() -> None:
    found = runs(job("old-1"), job("new-1", since=RECENTLY), job("new-1", stack="prod", since=RECENTLY))
    assert [(run.name, run.stack) for run in found[:2]] == [("new-1", "dev"), ("new-1", "prod")]
    assert found[2].name == "old-1"


def test_a_run_of_a_notebook_has_the_name_of_its_job() -> None:
    body = job("train-abc12")
    del body["metadata"]["labels"]["modelyard.dev/run"]
    assert runs(body)[0].name == "train-abc12"


BEGINS = {"active": 1, "ready": 0, "startTime": LONG_AGO}


@pytest.mark.parametrize(
    ("leader", "first", "state"),
    [
        (UP, stage("prepare", state="on", **UP), "running"),
        (UP, stage("prepare", state="queued", suspend=True), "queued"),
        (UP, stage("prepare", state="on", **DONE), "running"),
        (FAILED, stage("prepare", state="on", **FAILED), "failed"),
        # What starts the stages has ended before them.
        (FAILED, stage("prepare", state="on", **UP), "running"),
        (FAILED, stage("prepare", state="on", **BEGINS), "starting"),
        (FAILED, stage("prepare", state="queued", suspend=True), "queued"),
        (DONE, stage("prepare", state="on", **UP), "running"),
        (FAILED, stage("prepare", state="on", **DONE), "failed"),
        # It has not done its work, and nothing else does.
        (DONE, stage("prepare", state="on", **DONE), "held"),
    ],
)
def test_a_pipelines_run_is_one(leader: dict[str, Any], first: dict[str, Any], state: str) -> None:
    (run,) = runs(first, stage("train", state="held", suspend=True, workers=2), stage("", **leader))
    assert (run.name, run.job, run.team, run.state) == ("nightly-1", "nightly", "vision", state)
    assert {part.stage: part.state for part in run.stages}["train"] == "held"
    # Whoever cancels it deletes what starts stages before the stages.
    assert run.parts[0].stage == ""
    assert (run.gpus, run.noun, run.count("held")) == (3, "stage", 1)


def test_a_pipelines_run_is_over_when_its_stages_are() -> None:
    train = stage("train", state="on", **UP)
    for leader in (DONE, FAILED):
        (run,) = runs(stage("prepare", state="on", **DONE), train, stage("", **leader))
        assert (run.over, run.holds, run.reason, run.ended) == (False, 1, "", "")
    (run,) = runs(stage("prepare", state="on", **DONE), stage("train", state="on", **DONE), stage("", **DONE))
    assert (run.over, run.state, run.holds) == (True, "succeeded", 0)
    (run,) = runs(stage("prepare", state="on", **FAILED), stage("train", state="held", suspend=True), stage("", **DONE))
    assert (run.over, run.state) == (True, "failed")


def test_the_team_of_stages_that_are_all_held_is_that_of_the_queue_they_go_into() -> None:
    (run,) = runs(stage("prepare", state="held", suspend=True), stage("", **UP))
    assert (run.team, run.state) == ("vision", "running")
    # Its pod has to be there before the run runs.
    assert runs(stage("prepare", state="held", suspend=True), stage("", **BEGINS))[0].state == "starting"
    # Where Kueue manages jobs without a queue, what starts the stages is in the namespace's own.
    leader = stage("", **UP)
    leader["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "default"
    assert runs(leader, stage("prepare", state="held", suspend=True))[0].team == "vision"
    plain = stage("prepare", state="held", suspend=True)
    del plain["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], plain["metadata"]["annotations"]
    assert runs(stage("", **UP), plain)[0].team is None


def test_a_build_of_an_environment_is_not_a_run() -> None:
    body = job("environment-x-1")
    body["metadata"]["labels"] = {"modelyard.dev/stack": "dev", "modelyard.dev/environment": "x"}
    assert runs(body) == ()


def test_lines_of_a_pipeline_begin_with_their_stage() -> None:
    (run,) = runs(stage("train", state="on", workers=2, **UP), stage("", **UP))
    pods = [
        worker("t0", "0", owner="nightly-1-train"),
        worker("t1", "1", owner="nightly-1-train"),
        worker("s", "", owner="nightly-1"),
    ]
    assert [(one.mark, one.pod) for one in sources(run, pods)] == [
        ("stages", "s"),
        ("train/0", "t0"),
        ("train/1", "t1"),
    ]


def test_near_names() -> None:
    found = runs(job("train-abc12"), job("serve-xyz99"))
    assert near_runs("train-abc21", found) == ["train-abc12"]
    assert near_runs("serve", found) == ["serve-xyz99"]
    assert near_runs("nothing-like-it", found) == []


def worker(name: str, index: str, since: str = LONG_AGO, owner: str = "a-1", **labels: str) -> dict[str, Any]:
    made = pod(name, "n", owner=("Job", owner, "u"), since=since)
    made["metadata"]["labels"] |= labels
    made["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": index} if index else {}
    return made


def test_the_last_pod_of_each_worker_has_its_log() -> None:
    (run,) = runs(job("a-1", workers=2))
    found = sources(run, [worker("again", "0", RECENTLY), worker("first", "0"), worker("other", "1")])
    assert [(one.worker, one.pod, one.container) for one in found] == [(0, "again", "job"), (1, "other", "job")]


def test_a_trials_number_is_its_workers() -> None:
    (run,) = runs(job("s-1-0", run="s-1"), job("s-1-1", run="s-1"))
    found = sources(run, [worker("b", "0", owner="s-1-1"), worker("a", "0", owner="s-1-0")])
    assert [(one.worker, one.pod) for one in found] == [(0, "a"), (1, "b")]


def test_rays_own_pods_come_before_its_workers() -> None:
    (run,) = runs(ray("r-1"))
    pods = [
        worker("w2", "", RECENTLY, "", **{"ray.io/node-type": "worker"}),
        worker("w1", "", LONG_AGO, "", **{"ray.io/node-type": "worker"}),
        worker("h", "", LONG_AGO, "", **{"ray.io/node-type": "head"}),
        worker("s", "", LONG_AGO, "r-1"),
    ]
    found = sources(run, pods)
    assert [(one.worker, one.mark, one.pod) for one in found] == [
        (None, "head", "h"),
        (None, "submitter", "s"),
        (0, "0", "w1"),
        (1, "1", "w2"),
    ]


def test_a_runs_stages_and_trials_are_found_by_their_own_names() -> None:
    (run,) = runs(stage("train", state="on"), stage("", **UP))
    assert [bool(run.named(name)) for name in ("nightly-1-train", "nightly-1", "train")] == [True, False, False]
    trials = [stage("train", state="on", run="nightly-1-train") for _ in range(2)]
    for at, trial in enumerate(trials):
        trial["metadata"]["name"] += f"-{at}"
    (run,) = runs(*trials, stage("", **UP))
    pods = [
        worker("a", "0", owner="nightly-1-train-0", **{"modelyard.dev/run": "nightly-1-train"}),
        worker("b", "0", owner="nightly-1-train-1", **{"modelyard.dev/run": "nightly-1-train"}),
        worker("s", "", owner="nightly-1"),
    ]
    assert [bool(run.named(name)) for name in ("nightly-1-train", "nightly-1-train-1")] == [True, True]
    assert of_part(run, "nightly-1-train", pods) == pods[:2]
    assert of_part(run, "nightly-1-train-1", pods) == pods[1:2]


def sparks(name: str, role: str, number: str = "") -> dict[str, Any]:
    labels = {"spark-role": role, "modelyard.dev/run": "a-1", **({"spark-exec-id": number} if number else {})}
    return worker(name, "", LONG_AGO, "", **labels)


def test_sparks_driver_comes_before_its_executors_which_have_sparks_numbers() -> None:
    pods = [sparks("a-1-exec-2", "executor", "2"), sparks("a-1-exec-1", "executor", "1"), sparks("d", "driver")]
    found = sources(runs(spark("a-1", state="RUNNING"))[0], pods)
    assert [(one.worker, one.mark, one.pod) for one in found] == [
        (None, "driver", "d"),
        (1, "1", "a-1-exec-1"),
        (2, "2", "a-1-exec-2"),
    ]


def test_lines_of_a_stage_on_spark() -> None:
    body = spark("a-1", state="RUNNING")
    body["metadata"] = stage("features", state="on")["metadata"] | {"name": "a-1"}
    (run,) = runs(stage("", **UP), body)
    found = sources(run, [sparks("e", "executor", "1"), sparks("d", "driver")])
    assert [(one.mark, one.pod) for one in found] == [("features/1", "e"), ("features/driver", "d")]
