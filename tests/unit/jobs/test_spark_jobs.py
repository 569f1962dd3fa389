"""Jobs on Spark: what a submission makes of them, and what is wrong with them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import Library, load_library
from modelyard.runs.jobs import Submission, check_spark, job_submission
from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.stack.jobs import Job, Resource, Runtime, Spark
from modelyard.stack.pool import Flavor, Team, TeamQuota
from modelyard.workloads.facts.spark import heap_of, spark_facts
from modelyard.workloads.sizing import sized

ROOT = Path(__file__).parents[3]
MI = 2**20
WIDE = Resource("wide", "dataset", workers=3, cpu="4", memory="14Gi", gpus=1, team="vision")
MAKE = Job(
    "make", "dataset", "wide", command=("local:///app/make.py", "--day", "1"), engine="spark", spark=Spark("3.5.7")
)


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library(ROOT)


def stack(job: Job = MAKE, resource: Resource = WIDE) -> Stack:
    config = Config(
        "ray",
        Platform("23.10", namespace="ml-platform"),
        Gpu("A10"),
        runtime=Runtime("images.example.com/spark:3.5.7"),
        resources=(resource,),
        jobs=(job,),
        flavors=(Flavor("a10", "A10"),),
        teams=(Team("vision", (TeamQuota("a10", "16", "128Gi", 4),)),),
    )
    return Stack("dev", "stacks/Pulumi.dev.yaml", "", config, None, {})


def made(library: Library, *given: Any) -> Submission:
    return job_submission(stack(*given), library, "make", "make-x7k2p")


def told(*given: Any) -> list[tuple[str, str, str]]:
    asked = stack(*given)
    return [(one.code, one.field, one.summary) for one in check_spark(asked, sized(asked.config))]


def test_the_workers_of_the_resource_are_executors_and_the_driver_has_no_gpu(library: Library) -> None:
    submission = made(library)
    assert submission.template == "job-spark@v1"
    (body,) = submission.objects.reveal()
    spec = body["spec"]
    assert (spec["type"], spec["mode"], spec["suspend"]) == ("Python", "cluster", True)
    assert body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "vision"
    assert (spec["mainApplicationFile"], spec["arguments"]) == ("local:///app/make.py", ["--day", "1"])
    executor, driver = spec["executor"], spec["driver"]
    assert (executor["instances"], executor["cores"], executor["coreRequest"]) == (3, 4, "4")
    assert executor["gpu"] == {"name": "nvidia.com/gpu", "quantity": 1}
    assert (executor["memory"], executor["memoryOverhead"]) == ("10240m", "4096m")
    assert "gpu" not in driver
    # Together 4Gi.
    assert (driver["cores"], driver["memory"], driver["memoryOverhead"]) == (1, "2925m", "1171m")
    # Spark has no time limit of an application; with its driver everything ends.
    assert driver["template"]["spec"]["activeDeadlineSeconds"] == MAKE.time_limit
    assert "dynamicAllocation" not in spec


@pytest.mark.parametrize(
    ("cores", "gpus", "share"), [(4, 1, "0.25"), (3, 1, "0.3333"), (1, 1, "1"), (4, 4, "1"), (3, 2, "0.5"), (2, 4, "1")]
)
def test_tasks_share_the_gpus_of_their_executor(cores: int, gpus: int, share: str) -> None:
    conf = spark_facts(MAKE, 1, Fraction(cores), Fraction(14 * 2**30), gpus)["conf"]
    assert conf["spark.executor.resource.gpu.amount"] == str(gpus)
    assert conf["spark.task.resource.gpu.amount"] == share
    # Spark takes no part between a half and a whole, and runs so many tasks on a GPU as parts fit.
    assert float(share) <= 0.5 or float(share) == 1


def test_a_job_without_gpus_has_no_gpu_settings(library: Library) -> None:
    (body,) = made(library, MAKE, WIDE._replace(gpus=None)).objects.reveal()
    assert "gpu" not in body["spec"]["executor"]
    assert "sparkConf" not in body["spec"]


def test_heap_and_overhead_together_are_the_memory_of_the_pod() -> None:
    for mebibytes in (512, 1000, 4096, 100_000):
        for command in (("x.py",), ("x.jar",)):
            heap, overhead = heap_of(Fraction(mebibytes * MI), MAKE._replace(command=command))
            assert heap + overhead == mebibytes
            assert overhead >= 384
    assert heap_of(Fraction(11_000 * MI), MAKE._replace(command=("x.jar",))) == (10_000, 1_000)
    assert heap_of(Fraction(6_000 * MI), MAKE._replace(spark=Spark("3.5.7", overhead="0.5"))) == (4_000, 2_000)


def test_idle_executors_are_removed(library: Library) -> None:
    job = MAKE._replace(spark=Spark("3.5.7", most_executors=8, idle=90))
    (body,) = made(library, job, WIDE._replace(team=None)).objects.reveal()
    assert body["spec"]["dynamicAllocation"] == {
        "enabled": True,
        "initialExecutors": 0,
        "minExecutors": 0,
        "maxExecutors": 8,
        "shuffleTrackingEnabled": True,
        "shuffleTrackingTimeout": 900_000,
    }
    assert body["spec"]["sparkConf"]["spark.dynamicAllocation.executorIdleTimeout"] == "90s"
    assert "instances" not in body["spec"]["executor"]


@pytest.mark.parametrize(
    ("job", "resource", "code", "field", "words"),
    [
        (MAKE._replace(spark=Spark()), WIDE, "RES220", "jobs[0].spark", "the Spark version"),
        (MAKE._replace(command=()), WIDE, "RES220", "jobs[0]", "without a command"),
        (MAKE._replace(command=("x.jar",)), WIDE, "RES220", "jobs[0].command", "has no main class"),
        (MAKE._replace(engine="job"), WIDE, "RES220", "jobs[0].spark", "its engine is job"),
        (
            MAKE._replace(spark=Spark("3.5.7", conf={"spark.executor.memory": "8g"})),
            WIDE,
            "RES220",
            "jobs[0].spark.conf.spark.executor.memory",
            "which modelyard sets",
        ),
        (
            MAKE._replace(spark=Spark("3.5.7", most_executors=4)),
            WIDE,
            "RES220",
            "jobs[0].spark.mostExecutors",
            "vision",
        ),
        (
            MAKE._replace(spark=Spark("3.5.7", most_executors=1, least_executors=2)),
            WIDE,
            "RES220",
            "jobs[0].spark.mostExecutors",
            "vision",
        ),
        (
            MAKE._replace(spark=Spark("3.5.7", most_executors=1, least_executors=2)),
            WIDE._replace(team=None),
            "RES220",
            "jobs[0].spark.leastExecutors",
            "at most 1 executors and at least 2",
        ),
        (MAKE, WIDE._replace(partition="halves"), "RES220", "jobs[0].resource", "GPU slices of wide"),
        (MAKE, WIDE._replace(memory="800Mi"), "RES221", "jobs[0]", "a heap of 416Mi"),
        (
            MAKE._replace(spark=Spark("3.5.7", driver_memory="512Mi")),
            WIDE,
            "RES221",
            "jobs[0].spark.driverMemory",
            "a heap of 128Mi",
        ),
    ],
)
def test_a_spark_job_that_cannot_run_is_reported_and_not_submitted(
    library: Library, job: Job, resource: Resource, code: str, field: str, words: str
) -> None:
    ((found, where, summary),) = told(job, resource)
    assert (found, where) == (code, field)
    assert words in summary
    assert made(library, job, resource).objects.reveal() == ()


def test_a_sound_one_has_no_findings() -> None:
    assert told() == []
    conf = {"spark.sql.shuffle.partitions": "200", "spark.executor.extraJavaOptions": "-Xss4m"}
    assert told(MAKE._replace(spark=Spark("3.5.7", conf=conf))) == []
