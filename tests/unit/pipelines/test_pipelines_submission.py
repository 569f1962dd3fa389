"""What a submission of a pipeline makes."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import Library, load_library
from modelyard.cluster.answer import Created
from modelyard.cluster.pool_objects import KEPT
from modelyard.kube.state import key_of
from modelyard.report.pipeline import pipeline_document, pipeline_text
from modelyard.runs.jobs import Submission
from modelyard.runs.pipelines import (
    Since,
    check_pipelines,
    jumping,
    kept_by,
    pipeline_run_name,
    pipeline_submission,
    summary,
)
from modelyard.stack.config import Stack, Waiver
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Pipeline, Runtime, Spark, Stage
from modelyard.stack.pool import Partition
from modelyard.workloads.sizing import sized
from tests.support.pipeline_stacks import ASSISTANT, CHAT, DEEP, LOAD, NIGHTLY, TRAIN, stack, with_stages

ROOT = Path(__file__).parents[3]
RUN = "nightly-x7k2p"
QUEUE = "kueue.x-k8s.io/queue-name"


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(ROOT)


def made(library: Library, given: Stack | None = None, pipeline: Pipeline = NIGHTLY) -> Submission:
    return pipeline_submission(given or stack(pipeline), library, pipeline, run=RUN)


def steps(submission: Submission) -> list[dict[str, Any]]:
    (container,) = submission.objects.reveal()[0]["spec"]["template"]["spec"]["containers"]
    run, text = container["args"]
    assert run == RUN
    return list(json.loads(text))


def test_every_stage_is_made_and_held(library: Library) -> None:
    submission = made(library)
    assert not any(one.blocks for one in submission.findings)
    kinds = [(body["kind"], body["metadata"]["name"]) for body in submission.objects.reveal()]
    assert kinds == [
        ("Job", RUN),
        ("ServiceAccount", RUN),
        ("Role", RUN),
        ("RoleBinding", RUN),
        ("Job", f"{RUN}-prepare"),
        ("Job", f"{RUN}-train"),
        ("Service", f"{RUN}-train"),
    ]
    assert {body["metadata"]["namespace"] for body in submission.objects.reveal()} == {"vision-ml"}
    stages = [body for body in submission.objects.reveal()[4:] if body["kind"] == "Job"]
    for body in stages:
        assert body["spec"]["suspend"] is True
        assert body["metadata"]["labels"][QUEUE] == "modelyard-held"
        assert body["metadata"]["labels"]["modelyard.dev/pipeline-run"] == RUN
        # Gone before the run, it could not be told from one that failed.
        assert "ttlSecondsAfterFinished" not in body["spec"]
    assert submission.template == "pipeline-run@v1, job-run@v1"


def test_the_pod_that_starts_them_asks_for_no_gpu_and_may_touch_only_the_run(library: Library) -> None:
    leader, _, role, _, *_ = made(library).objects.reveal()
    assert leader["spec"]["ttlSecondsAfterFinished"] == 7200
    assert "suspend" not in leader["spec"]
    spec = leader["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert set(container["resources"]["limits"]) == {"cpu", "memory"}
    assert spec["serviceAccountName"] == RUN
    compile(container["command"][2], "stages", "exec")
    assert role["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["deployments"],
            "resourceNames": ["resource-chat"],
            "verbs": ["get", "patch"],
        },
        {
            "apiGroups": ["batch"],
            "resources": ["jobs"],
            "resourceNames": [f"{RUN}-prepare", f"{RUN}-train"],
            "verbs": ["get", "patch"],
        },
    ]


def test_what_starts_a_stage(library: Library) -> None:
    prepare, train, serve = steps(made(library))
    assert [one["needs"] for one in (prepare, train, serve)] == [[], ["prepare"], ["train"]]
    assert train["path"] == "/apis/batch/v1/namespaces/vision-ml/jobs"
    assert train["objects"] == [f"{RUN}-train"]
    assert train["release"] == {
        "metadata": {"annotations": {"modelyard.dev/released": RUN}, "labels": {QUEUE: "vision"}}
    }
    annotations = serve["release"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["modelyard.dev/model"] == f"s3://acme-lake/pipelines/{RUN}/model"
    assert serve["objects"] == ["resource-chat"]


def test_stages_know_the_addresses_of_what_they_read_and_write(library: Library) -> None:
    objects = {body["metadata"]["name"]: body for body in made(library).objects.reveal() if body["kind"] == "Job"}
    env = {
        name: {one["name"]: one.get("value") for one in body["spec"]["template"]["spec"]["containers"][0]["env"]}
        for name, body in objects.items()
    }
    written = f"s3://acme-lake/pipelines/{RUN}/data-set"
    assert env[f"{RUN}-prepare"]["INPUT_RAW"] == "s3://acme-lake/clicks"
    assert env[f"{RUN}-prepare"]["OUTPUT_DATA_SET"] == written
    assert env[f"{RUN}-train"]["INPUT_DATA_SET"] == written
    assert env[f"{RUN}-train"]["PIPELINE_RUN"] == RUN


def test_without_a_team_a_stage_is_only_suspended(library: Library) -> None:
    plain = with_stages(Stage("fit", "fit", writes=("model",)))
    given = stack(plain, resources=(DEEP._replace(team=None), CHAT))
    submission = made(library, given, plain)
    assert QUEUE not in submission.objects.reveal()[4]["metadata"]["labels"]
    assert submission.objects.reveal()[4]["spec"]["suspend"] is True
    (step,) = steps(submission)
    assert step["release"]["spec"] == {"suspend": False}


def test_all_trials_of_a_search_are_one_stage(library: Library) -> None:
    jobs = (LOAD, TRAIN._replace(trials=3), ASSISTANT)
    resources = tuple(
        one._replace(workers=1) if one.name == TRAIN.resource else one for one in stack().config.resources
    )
    submission = made(library, stack(jobs=jobs, resources=resources))
    assert steps(submission)[1]["objects"] == [f"{RUN}-train-{number}" for number in range(3)]
    assert summary(NIGHTLY, sized(stack(jobs=jobs).config)).most_gpus == 3


def test_a_ray_stage_is_followed_as_a_ray_job(library: Library) -> None:
    submission = made(library, stack(jobs=(LOAD, TRAIN._replace(engine="ray"), ASSISTANT)))
    step = steps(submission)[1]
    assert (step["kind"], step["path"]) == ("RayJob", "/apis/ray.io/v1/namespaces/vision-ml/rayjobs")
    (body,) = [one for one in submission.objects.reveal() if one["kind"] == "RayJob"]
    assert body["spec"]["suspend"] is True


def test_stages_of_another_cluster_are_marked_before_they_are_queued(library: Library) -> None:
    given = stack(resources=(DEEP._replace(workers=1), CHAT))
    (team,) = given.config.teams
    away = given._replace(config=given.config._replace(teams=(team._replace(clusters=("farm",)),)))
    stages = [body for body in made(library, away).objects.reveal()[4:] if body["kind"] == "Job"]
    assert len(stages) == 2
    # A Job's managedBy can be set only when it is made, and Kueue would look at the queue, which comes later.
    assert {body["spec"]["managedBy"] for body in stages} == {"kueue.x-k8s.io/multikueue"}
    assert "managedBy" not in made(library, away).objects.reveal()[0]["spec"]
    several = away._replace(config=away.config._replace(resources=(DEEP, CHAT)))
    refused = made(library, several)
    assert refused.objects.reveal() == ()
    assert [one.code for one in refused.findings] == ["QUE011"]


def test_a_spark_stage_is_held_and_followed(library: Library) -> None:
    spark = TRAIN._replace(engine="spark", command=("local:///app/train.py",), spark=Spark("3.5.7"))
    submission = made(library, stack(jobs=(LOAD, spark, ASSISTANT)))
    step = steps(submission)[1]
    assert step["path"] == "/apis/sparkoperator.k8s.io/v1beta2/namespaces/vision-ml/sparkapplications"
    (body,) = [one for one in submission.objects.reveal() if one["kind"] == "SparkApplication"]
    assert body["spec"]["suspend"] is True
    assert "timeToLiveSeconds" not in body["spec"]
    assert body["metadata"]["labels"][QUEUE] == "modelyard-held"
    env = {one["name"]: one["value"] for one in body["spec"]["driver"]["env"]}
    assert env["OUTPUT_MODEL"] == f"s3://acme-lake/pipelines/{RUN}/model"


@pytest.mark.parametrize("engine", ["job", "ray", "spark"])
def test_the_pods_of_a_stage_have_a_label_of_their_run(library: Library, engine: Any) -> None:
    spark = {"command": ("local:///app/train.py",), "spark": Spark("3.5.7")} if engine == "spark" else {}
    train = TRAIN._replace(engine=engine, **spark)
    *_, body = [
        one
        for one in made(library, stack(jobs=(LOAD, train, ASSISTANT))).objects.reveal()
        if one["metadata"]["name"] == f"{RUN}-train" and one["kind"] != "Service"
    ]
    spec = body["spec"]
    match engine:
        case "ray":
            cluster = spec["rayClusterSpec"]
            pods = [group["template"]["metadata"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
        case "spark":
            pods = [spec["driver"], spec["executor"]]
        case _:
            pods = [spec["template"]["metadata"]]
    for one in (*pods, body["metadata"]):
        labels = {name.partition("/")[2]: value for name, value in one["labels"].items()}
        assert (labels["run"], labels["pipeline-run"], labels["stage"]) == (f"{RUN}-train", RUN, "train")
    # It stands in no queue that is there, and says which it goes into.
    assert body["metadata"]["annotations"]["modelyard.dev/queue"] == "vision"


def test_the_workers_of_a_stage_find_each_other_by_their_run(library: Library) -> None:
    (service,) = [one for one in made(library).objects.reveal() if one["kind"] == "Service"]
    assert service["spec"]["selector"] == {"modelyard.dev/run": f"{RUN}-train"}


def test_a_spark_job_that_cannot_run_blocks_its_pipeline(library: Library) -> None:
    spark = TRAIN._replace(engine="spark", command=("local:///app/train.py",))
    submission = made(library, stack(jobs=(LOAD, spark, ASSISTANT)))
    assert submission.objects.reveal() == ()
    assert [one.code for one in submission.findings] == ["RES220"]


def test_a_stage_takes_no_whole_gpu_where_its_slice_is_not_there(library: Library) -> None:
    sliced = {"resources": (DEEP._replace(gpus=None, partition="small", slice="2g.20gb"), CHAT)}
    given = stack(partitions=(Partition("small", "mig", gpu="a100-80gb", layout={"1g.10gb": 7}),), **sliced)
    submission = made(library, given)
    assert (submission.objects.reveal(), [one.code for one in submission.findings]) == ((), ["PAR011"])
    # Whoever waives that has no slice either.
    given = given._replace(config=given.config._replace(waivers=(Waiver("PAR011", "soon", date(2027, 1, 1)),)))
    submission = pipeline_submission(given, library, NIGHTLY, run=RUN, today=date(2026, 12, 24))
    assert (submission.objects.reveal(), [one.code for one in submission.findings]) == ((), ["RES214"])


def test_slices_are_not_counted_as_gpus() -> None:
    small = Partition("small", "mig", gpu="a100-80gb", layout={"1g.10gb": 7})
    given = stack(resources=(DEEP._replace(gpus=None, partition="small"), CHAT), partitions=(small,))
    shown = summary(NIGHTLY, sized(given.config))
    assert (shown.most_gpus, shown.gpu_seconds) == (0, 0)
    text = "\n".join(pipeline_text("dev", shown))
    assert "1 × nvidia.com/mig-1g.10gb" in text


def test_a_waiver_for_a_job_holds_for_its_stage(library: Library) -> None:
    clash = stack(jobs=(LOAD, TRAIN._replace(least_workers=1, engine="ray", together="rack"), ASSISTANT))
    assert [one.code for one in made(library, clash).findings] == ["RES211"]
    waived = clash._replace(config=clash.config._replace(waivers=(Waiver("RES211", "tried", date(2027, 1, 1)),)))
    assert pipeline_submission(waived, library, NIGHTLY, run=RUN, today=date(2026, 12, 24)).objects.reveal()
    assert not pipeline_submission(waived, library, NIGHTLY, run=RUN, today=date(2027, 1, 2)).objects.reveal()


def test_the_image_of_an_environment_is_one_for_a_stage_too() -> None:
    python = Environment("tabular", "3.11", ("six",), image="images.example.com/python:3.11")
    jobs = (LOAD._replace(environment="tabular"), TRAIN._replace(environment="tabular"), ASSISTANT)
    given = stack(NIGHTLY._replace(image="python:3.12"), jobs=jobs, environments=(python,), runtime=Runtime())
    # Of the environment nothing is wrong: the only error is the stage that rolls out to a resource without pods.
    (error,) = (one for one in check_pipelines(given, sized(given.config)) if one.blocks)
    assert (error.code, "serve" in error.summary) == ("PIP002", True)


def test_a_pipeline_with_errors_makes_no_objects(library: Library) -> None:
    pipeline = with_stages(Stage("a", "fit", needs=("b",)), Stage("b", "fit", needs=("a",)))
    submission = made(library, None, pipeline)
    assert submission.objects.reveal() == ()
    assert [one.code for one in submission.findings] == ["PIP005"]


def test_errors_of_other_pipelines_do_not_count(library: Library) -> None:
    wrong = with_stages(Stage("a", "nope"))._replace(name="other")
    assert made(library, stack(wrong, NIGHTLY)).objects.reveal()


def accepted(made: Submission) -> list[Created]:
    """The API server's answers if it changes nothing."""
    bodies = made.objects.reveal()
    labels = [body["metadata"].get("labels", {}) for body in bodies]
    waits = [bool(body.get("spec", {}).get("suspend")) for body in bodies]
    return [Created(key_of(body, ""), "", *rest) for body, *rest in zip(bodies, labels, waits, strict=True)]


def queued(one: Created) -> Created:
    return one._replace(labels={**one.labels, QUEUE: "default"})


def test_a_queue_that_the_cluster_adds_would_start_a_stage_too_early(library: Library) -> None:
    plain = with_stages(Stage("fit", "fit"))
    asked = made(library, stack(plain, resources=(DEEP._replace(team=None), CHAT)), plain)
    answers = accepted(asked)
    assert jumping(asked, answers) is None
    answers[0] = queued(answers[0])
    assert jumping(asked, answers) is None
    answers[4] = queued(answers[4])
    finding = jumping(asked, answers)
    assert finding is not None
    assert finding.code == "PIP013"
    assert re.search(rf"Job {RUN}-fit .* queue default", finding.summary)


def test_a_cluster_that_holds_what_is_in_no_queue_would_start_nothing(library: Library) -> None:
    asked = made(library)
    first, *rest = accepted(asked)
    finding = jumping(asked, [first._replace(suspended=True), *rest])
    assert finding is not None
    assert (finding.code, "including the Job" in finding.summary) == ("PIP013", True)


@pytest.mark.parametrize(
    ("starter", "kept"),
    [
        ({}, {}),
        ({"metadata": {"annotations": {KEPT: '{"model": "nightly-first"}'}}}, {"model": "nightly-first"}),
        ({"metadata": {"annotations": {KEPT: '{"model": "../../other", "data": 1}'}}}, {}),
        ({"metadata": {"annotations": {KEPT: "[]"}}}, {}),
        ({"metadata": {"annotations": {KEPT: "{"}}}, {}),
    ],
)
def test_artifacts_that_a_run_took_from_earlier_runs(starter: dict[str, Any], kept: dict[str, str]) -> None:
    assert kept_by(starter) == kept


def test_a_run_continued_twice_reads_the_artifacts_of_the_first(library: Library) -> None:
    second = pipeline_submission(stack(), library, NIGHTLY, run="nightly-second", since=Since("train", "nightly-first"))
    kept = kept_by(second.first.reveal())
    third = pipeline_submission(stack(), library, NIGHTLY, run=RUN, since=Since("train", "nightly-second", kept))
    (job,) = [body for body in third.objects.reveal()[1:] if body["kind"] == "Job"]
    env = {one["name"]: one.get("value") for one in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["INPUT_DATA_SET"] == "s3://acme-lake/pipelines/nightly-first/data-set"
    assert kept_by(third.first.reveal()) == kept


def test_a_run_continues_from_an_earlier_one(library: Library) -> None:
    submission = pipeline_submission(stack(), library, NIGHTLY, run=RUN, since=Since("train", "nightly-early"))
    assert [(one["name"], one["needs"]) for one in steps(submission)] == [("train", []), ("serve", ["train"])]
    (job,) = [body for body in submission.objects.reveal()[1:] if body["kind"] == "Job"]
    env = {one["name"]: one.get("value") for one in job["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["INPUT_DATA_SET"] == "s3://acme-lake/pipelines/nightly-early/data-set"
    assert env["OUTPUT_MODEL"] == f"s3://acme-lake/pipelines/{RUN}/model"
    annotations = steps(submission)[1]["release"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["modelyard.dev/model"] == f"s3://acme-lake/pipelines/{RUN}/model"


def test_names_leave_room_for_the_longest_stage() -> None:
    pipeline = with_stages(Stage("s" * 24, "fit"))._replace(name="p" * 63)
    name = pipeline_run_name(pipeline)
    assert len(f"{name}-{'s' * 24}") <= 54
    assert name.startswith("pppp")


def test_what_a_run_takes_at_most() -> None:
    found = summary(NIGHTLY, sized(stack().config))
    assert [one.stage.name for one in found.stages] == ["prepare", "train", "serve"]
    assert (found.most_gpus, found.most_by) == (2, ("train",))
    assert (found.gpu_seconds, found.longest) == (2 * 21600, 3600 + 21600)


def test_the_pod_beside_the_workers_is_shown_too() -> None:
    spark = TRAIN._replace(engine="spark", command=("local:///a.py",), spark=Spark("3.5.7", driver_cpu="1500m"))
    shown = summary(NIGHTLY, sized(stack(jobs=(LOAD, spark, ASSISTANT)).config))
    rows = [line.split() for line in pipeline_text("dev", shown)]
    assert rows[rows.index(["+", "driver", "1", "1500m", "4Gi", "0"]) - 1][:2] == ["train", "fit"]
    stages = pipeline_document("dev", "x", shown)["stages"]
    assert [one["head"] for one in stages] == [None, {"what": "driver", "cpu": 1.5, "memory": 4 * 2**30}, None]
    ray = summary(NIGHTLY, sized(stack(jobs=(LOAD, TRAIN._replace(engine="ray"), ASSISTANT)).config))
    assert pipeline_document("dev", "x", ray)["stages"][1]["head"] == {"what": "head", "cpu": 2.0, "memory": 2**34}


def test_executors_that_come_and_go_count_as_many_as_there_may_be() -> None:
    spark = TRAIN._replace(engine="spark", command=("local:///a.py",), spark=Spark("3.5.7", most_executors=8))
    shown = summary(NIGHTLY, sized(stack(jobs=(LOAD, spark, ASSISTANT)).config))
    assert (shown.stages[1].workers, shown.most_gpus) == (8, 8)
