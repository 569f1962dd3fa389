"""A GPU is judged wherever a stack file names it, for what runs there."""

from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.hardware import resolve, verdict
from modelyard.hardware.verdict import GpuUse
from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.stack.jobs import Job, JobType, Notebooks, Resource, Runtime
from modelyard.stack.pool import Flavor, NodePool, Partition
from modelyard.stack.remote import Remote, StaticCluster
from modelyard.workloads.gpu_uses import check_gpu_uses, resource_use
from modelyard.workloads.rules import check

ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
BASE = Config("ray", Platform("23.10"), Gpu("A10"))
CLUSTER = Remote(cluster=StaticCluster("https://gpu.example.com:6443", context="gpus"))


def resource(kind: JobType, gpu: str | None = None, **changes: Any) -> dict[str, Any]:
    return {"resources": (Resource("mine", kind, gpus=1, gpu=gpu, **changes),)}


def pool(gpu: str) -> dict[str, Any]:
    return {"node_pools": (NodePool("pool", gpu, 8, "gpu"),)}


def divided(cuda: str | None) -> dict[str, Any]:
    """A resource on slices of an H100, whose images have a CUDA version."""
    partition = Partition("sevenths", "mig", gpu="h100-sxm5-80gb", layout={"1g.10gb": 7})
    return {"partitions": (partition,)} | resource("llm-serving", image="l:1", partition="sevenths", cuda=cuda)


def found(**changes: Any) -> list[tuple[str, Severity, str]]:
    stack = Stack("dev", "stacks/Pulumi.dev.yaml", "", BASE._replace(**changes), None, {})
    return [(one.code, one.severity, one.field) for one in check_gpu_uses(stack)]


@pytest.mark.parametrize(
    ("changes", "findings"),
    [
        # Training needs the A10's throughput, whatever its image; serving and other jobs are warned.
        (resource("training", "K80"), [("GPU001", ERROR)]),
        (resource("training", "K80", image="trainer:1"), [("GPU005", ADVICE), ("GPU001", ERROR)]),
        (resource("training", "L4", image="trainer:1"), [("GPU001", ERROR)]),
        (resource("training", "A30", image="trainer:1"), []),
        (resource("llm-serving", "L4", image="llm:1"), [("GPU001", WARNING)]),
        (resource("llm-serving", "A10G", image="llm:1"), [("GPU001", WARNING)]),
        (resource("runtime", "T4", image="mine:1"), [("GPU001", WARNING)]),
        (resource("llm-serving", "rtx-pro-4500-bw", image="llm:1", cuda="12.8"), [("GPU004", WARNING)]),
        # The CUDA version is that of the images that run there: stated, unknown, or the platform's.
        (resource("llm-serving", "h100-sxm5-80gb", image="llm:1"), [("GPU005", ADVICE)]),
        (resource("llm-serving", "h100-sxm5-80gb", image="llm:1", cuda="12.4"), []),
        (resource("llm-serving", "h100-sxm5-80gb", image="llm:1", cuda="11.7"), [("GPU005", ERROR)]),
        (resource("llm-serving", "h100-sxm5-80gb", image="llm:1") | {"runtime": Runtime(cuda="12.4")}, []),
        (resource("llm-serving", "h100-sxm5-80gb"), [("GPU005", ERROR)]),
        (resource("llm-serving", "h100-sxm5-80gb") | {"runtime": Runtime("llm:1", "12.4")}, []),
        (resource("llm-serving", "h100-sxm5-80gb") | {"platform": Platform("23.10", cuda="12.4")}, []),
        (resource("llm-serving", "K80", image="llm:1", cuda="12.4"), [("GPU005", ERROR), ("GPU001", WARNING)]),
        # A static remote cluster is no exception; a rented machine has its own rule.
        (resource("training", "K80", remote=CLUSTER), [("GPU005", ADVICE), ("GPU001", ERROR)]),
        (resource("llm-serving", "L4", remote=CLUSTER), [("GPU001", WARNING)]),
        (resource("training", "K80", remote=Remote(provider="cloud")), []),
        # The stack's own GPU is judged at gpu.model; a resource's images may add to it.
        (resource("llm-serving", image="llm:1"), []),
        (resource("llm-serving", image="llm:1", cuda="10.2"), [("GPU005", ERROR)]),
        (resource("llm-serving", image="llm:1") | {"runtime": Runtime(cuda="10.2")}, [("GPU005", ERROR)]),
        (resource("llm-serving", image="llm:1") | {"runtime": Runtime(cuda="12.4")}, []),
        (resource("llm-serving") | {"runtime": Runtime(cuda="10.2")}, []),
        # Places have no use of their own: a flavor is for notebooks or jobs, a pool for training.
        ({"flavors": (Flavor("old", "T4"),)}, [("GPU001", WARNING)]),
        ({"flavors": (Flavor("old", "K80"),), "notebooks": Notebooks("n:1", cuda="12.4")}, [("GPU005", ERROR)]),
        ({"flavors": (Flavor("own", "A10"), Flavor("cpu"))}, []),
        ({"partitions": (Partition("shared", "time-slicing", gpu="T4", replicas=2),)}, [("GPU001", WARNING)]),
        # A stated CUDA version is compared with the GPUs that the images use: that of a partition, not of the stack.
        ({"flavors": (Flavor("new", "h100-sxm5-80gb"),)}, [("GPU005", ADVICE)]),
        ({"flavors": (Flavor("new", "h100-sxm5-80gb"),), "runtime": Runtime(cuda="12.4")}, []),
        ({"flavors": (Flavor("new", "h100-sxm5-80gb"),), "runtime": Runtime(cuda="11.7")}, []),
        (divided("12.4"), []),
        (divided("11.7"), [("GPU005", ERROR)]),
        (divided(None), [("GPU005", ADVICE)]),
        (divided(None) | {"runtime": Runtime(cuda="11.7")}, [("GPU005", ERROR)]),
        (pool("A10G"), [("GPU001", ERROR)]),
        (pool("A10G") | resource("llm-serving", "A10G", image="llm:1"), [("GPU001", WARNING)]),
        (pool("a100-sxm4-80gb") | {"gpu": Gpu("A100")}, []),
        # Notebooks run on the stack's GPU where no flavor says otherwise.
        ({"notebooks": Notebooks("n:1", cuda="10.2")}, [("GPU005", ERROR)]),
        # Names that mean no GPU have findings of their own.
        (resource("training", "A11"), []),
        ({"gpu": Gpu("A11")} | resource("training", image="t:1", cuda="12.4"), []),
    ],
)
def test_each_place_and_use(changes: dict[str, Any], findings: list[tuple[str, Severity]]) -> None:
    assert [one[:2] for one in found(**changes)][: len(findings)] == findings
    assert len(found(**changes)) >= len(findings)
    if not findings:
        assert found(**changes) == []


def test_one_finding_covers_all_resources_whose_images_have_the_cuda_version_of_runtime() -> None:
    resources = tuple(Resource(name, "llm-serving", gpus=1, image="llm:1") for name in ("one", "two"))
    assert found(resources=resources, runtime=Runtime(cuda="10.2")) == [("GPU005", ERROR, "runtime.cuda")]


def test_findings_are_at_the_field_of_the_gpu() -> None:
    stack = Stack("dev", "stacks/Pulumi.dev.yaml", "", BASE._replace(**resource("training", "K80")), None, {})
    (finding,) = check(stack)[:1]
    assert (finding.code, finding.severity, finding.field) == ("GPU001", ERROR, "resources[0].gpu")
    assert finding.summary.startswith("resource mine: K80")


def test_a_job_with_an_image_has_its_own_cuda_version() -> None:
    one = Resource("mine", "training", gpus=1, gpu="h100-sxm5-80gb")
    without = BASE._replace(resources=(one,), jobs=(Job("fit", "training", "mine"),))
    assert resource_use(without, one) == GpuUse("11.7")
    own = without._replace(jobs=(Job("fit", "training", "mine", image="trainer:1"),))
    assert resource_use(own, one) == GpuUse(None, platform=False)


def test_the_reason_names_what_is_not_set(golden: Any) -> None:
    gpu = resolve("h100-sxm5-80gb")
    assert gpu is not None
    golden(verdict(gpu, GpuUse(None, platform=False)).reason)
