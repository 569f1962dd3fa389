"""Turns a job's resource into a Spark application: heaps and their overhead, GPUs of executors and of tasks.

The memory of a resource is that of its pods, as everywhere in modelyard. A Spark pod has a JVM heap and an overhead for
everything else, including Python workers; together they are the pod's memory.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any, Final

from modelyard import quantity
from modelyard.stack.jobs import Job, Spark

MI: Final = 2**20
LEAST_OVERHEAD: Final = 384
"""MiB. Apache Spark documentation, configuration, spark.executor.memoryOverhead: at least 384 MiB."""
LEAST_HEAP: Final = 450
"""MiB. With less than one and a half times its reserved 300 MiB, Spark does not start (UnifiedMemoryManager)."""
FACTORS: Final[Mapping[str, str]] = {"Python": "0.4", "Scala": "0.1"}
"""Overhead by kind of application, as a fraction of the heap. Apache Spark documentation, running on Kubernetes,
spark.kubernetes.memoryOverheadFactor: 0.1, and 0.4 for non-JVM jobs."""
DISCOVERY: Final = "/opt/spark/examples/src/main/scripts/getGpusResources.sh"
"""Path in Spark's own image of the script that reports an executor's GPUs."""
_LONG: Final = 10
"""Factor on the idle time of executors that hold data others may need; Spark's own default is infinite."""


def kind_of(job: Job) -> str:
    """Returns Python, or Scala for every JVM application."""
    return "Python" if job.command and job.command[0].endswith(".py") else "Scala"


def heap_of(memory: Fraction, job: Job) -> tuple[int, int]:
    """Returns the heap and the overhead, in MiB, of a pod with this many bytes; together they are the pod's memory."""
    whole = int(memory // MI)
    factor = quantity.parse(job.spark.overhead or FACTORS[kind_of(job)])
    overhead = max(LEAST_OVERHEAD, whole - int(whole / (1 + factor)))
    return whole - overhead, overhead


def driver_of(spark: Spark) -> dict[str, Fraction]:
    """Returns what the driver requests; never a GPU."""
    return {"cpu": quantity.parse(spark.driver_cpu), "memory": quantity.parse(spark.driver_memory)}


def spark_facts(job: Job, workers: int, cpu: Fraction, memory: Fraction, gpus: int) -> dict[str, Any]:
    """Returns what the template of a Spark application needs besides the run; the job has a command and a version.

    ``workers`` are its executors; the pod of each has these cores, bytes and GPUs.
    """
    spark, driver = job.spark, driver_of(job.spark)
    heap, overhead = heap_of(memory, job)
    driver_heap, driver_overhead = heap_of(driver["memory"], job)
    cores = ceil(cpu)
    return {
        "version": spark.version,
        "kind": kind_of(job),
        "mainClass": spark.main_class,
        "application": job.command[0],
        "arguments": list(job.command[1:]),
        "serviceAccount": spark.service_account,
        "conf": {**(_gpu_conf(cores, gpus) if gpus else {}), **_idle_conf(spark), **spark.conf},
        "driver": {
            "cores": ceil(driver["cpu"]),
            "cpu": quantity.cpu(driver["cpu"]),
            "memory": f"{driver_heap}m",
            "overhead": f"{driver_overhead}m",
        },
        "executor": {
            "instances": workers,
            "cores": cores,
            "cpu": quantity.cpu(cpu),
            "memory": f"{heap}m",
            "overhead": f"{overhead}m",
        },
        "mostExecutors": spark.most_executors,
        "leastExecutors": spark.least_executors,
        # Milliseconds, as the operator expects.
        "shuffleTimeout": spark.idle * _LONG * 1000,
    }


def _gpu_conf(cores: int, gpus: int) -> dict[str, str]:
    """Returns the settings that give each task its part of the executor's GPUs."""
    at_once = ceil(Fraction(cores, gpus))
    share = Fraction(1, at_once)
    return {
        "spark.executor.resource.gpu.amount": str(gpus),
        "spark.executor.resource.gpu.vendor": "nvidia.com",
        "spark.executor.resource.gpu.discoveryScript": DISCOVERY,
        # Rounded down: slightly more than its share, and one task fewer would fit.
        "spark.task.resource.gpu.amount": "1" if at_once == 1 else f"{int(share * 10000) / 10000:g}",
    }


def _idle_conf(spark: Spark) -> dict[str, str]:
    """Returns the settings that remove idle executors, with their GPUs."""
    if spark.most_executors is None:
        return {}
    return {
        "spark.dynamicAllocation.executorIdleTimeout": f"{spark.idle}s",
        "spark.dynamicAllocation.cachedExecutorIdleTimeout": f"{spark.idle * _LONG}s",
    }
