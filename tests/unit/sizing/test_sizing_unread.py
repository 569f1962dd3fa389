"""Sizes that nothing reads are told, and those that are read change the estimate."""

from typing import Any, get_args

import pytest

from modelyard.findings import Severity
from modelyard.hardware import resolve
from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.stack.jobs import Job, JobType, Model
from modelyard.stack.shape import field_of
from modelyard.workloads.sizing import check_jobs, sized
from modelyard.workloads.sizing.formulas import estimate
from modelyard.workloads.sizing.rules import MODEL, SIZES, read, unread

WHOLE = Model("7G", "fp8", "9Gi", 32, 8, 128, "2Gi")
FULL = Job("it", "dataset", None, "50M", 40, "20", "2", 3600, 64, 4096, WHOLE)
KEYS = (*SIZES, *(f"model.{key}" for key in MODEL))
MORE: dict[str, Any] = {
    "rows": "90M",
    "columns": 90,
    "requestRate": "90",
    "requestTime": "9",
    "within": 9000,
    "batch": 90000,
    "sequence": 9000,
    "model.parameters": "90G",
    "model.precision": "fp32",
    "model.size": "90Gi",
    "model.layers": 90,
    "model.keyValueHeads": 90,
    "model.headSize": 900,
    "model.activation": "9Gi",
}


def changed(job: Job, key: str, value: Any) -> Job:
    field = field_of(key.removeprefix("model."))
    return job._replace(model=job.model._replace(**{field: value})) if "." in key else job._replace(**{field: value})


@pytest.mark.parametrize("kind", get_args(JobType))
@pytest.mark.parametrize("without", [(), ("model.parameters",), ("model.size",)], ids=lambda keys: "".join(keys))
def test_what_is_read_changes_the_estimate_and_the_rest_does_not(kind: JobType, without: tuple[str, ...]) -> None:
    gpu = resolve("A100-SXM4-80GB")
    job = FULL._replace(type=kind)
    for key in without:
        job = changed(job, key, None)
    before = estimate(job, gpu)
    # A key that is not said yet and would change what the others mean is no case of this one.
    keys = [key for key in KEYS if key not in without]
    moved = {key for key in keys if estimate(changed(job, key, MORE[key]), gpu) != before}
    assert moved == set(read(job)) - set(without)
    assert set(unread(job)) == set(keys) - set(read(job))


def test_an_unset_key_is_not_reported() -> None:
    for kind in get_args(JobType):
        assert unread(Job("it", kind)) == ()


@pytest.mark.parametrize(
    ("job", "field", "summary", "remedy"),
    [
        (
            Job("clicks", "dataset", None, "1M", 10, "20", batch=8, sequence=512, model=Model("70G")),
            "jobs[0].requestRate",
            "job clicks ignores requestRate, batch, sequence and model.parameters, because it is a dataset job",
            "drop them, or correct the type: a dataset job is sized by rows and columns",
        ),
        (
            Job("fit", "training", None, "1M", 10, batch=8, model=Model(size="2Gi")),
            "jobs[0].batch",
            "job fit ignores batch and model.size, because it is a training job",
            "drop them, or correct the type: a training job is sized by rows and columns",
        ),
        (
            Job("net", "training", None, "1M", batch=8, model=Model("7G")),
            "jobs[0].rows",
            "job net ignores rows, because it is a training job of a model with parameters",
            "drop it, or correct the type: a training job of a model with parameters is sized by batch, "
            "model.parameters and model.activation",
        ),
        (
            Job("chat", "llm-serving", model=Model("7G", size="14G")),
            "jobs[0].model.parameters",
            "job chat ignores model.parameters, because it is an llm-serving job",
            "drop it, or correct the type: an llm-serving job is sized by requestRate, requestTime, sequence, "
            "model.layers, model.keyValueHeads, model.headSize and model.size",
        ),
        (
            Job("own", "runtime", None, "1M"),
            "jobs[0].rows",
            "job own ignores rows, because it is a runtime job",
            "drop it, or correct the type: a runtime job is sized by its resource alone",
        ),
    ],
)
def test_all_keys_are_named_in_one_advice(job: Job, field: str, summary: str, remedy: str) -> None:
    config = Config("ray", Platform("23.10"), Gpu("A10"), jobs=(job,))
    stack = Stack("dev", "stacks/Pulumi.dev.yaml", "", config, None, {})
    (found,) = [one for one in check_jobs(stack, sized(config)) if one.code == "RES225"]
    assert (found.severity, found.field, found.summary, found.remedy) == (Severity.ADVICE, field, summary, remedy)
