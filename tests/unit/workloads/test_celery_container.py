"""What a Celery worker's container states otherwise than the stack."""

from typing import Any

import pytest

from modelyard.findings import Severity
from modelyard.stack.config import Celery, CeleryVariables, Config, Gpu, Platform, Stack
from modelyard.workloads import stack_facts, workloads
from modelyard.workloads.rules import check_container

CONFIG = Config("celery", Platform("23.10"), Gpu("A10"), celery=Celery(queue="gpu"))
OWN = ["celery", "--app=training", "worker", "--queues=$(CELERY_QUEUES)", "--concurrency=$(CELERY_WORKER_CONCURRENCY)"]


def stack(config: Config = CONFIG) -> Stack:
    return Stack("dev", "stacks/Pulumi.dev.yaml", "", config, None, {})


def container(args: list[str], command: list[str] | None = None, **env: str) -> dict[str, Any]:
    return {"name": "it", "command": command, "args": args, "env": [{"name": n, "value": v} for n, v in env.items()]}


@pytest.mark.parametrize(
    ("found", "keys"),
    [
        (container(OWN, CELERY_QUEUES="gpu", CELERY_WORKER_CONCURRENCY="1"), []),
        (container([]), []),
        (container(OWN), []),
        (container(OWN, CELERY_QUEUES="cpu,gpu"), []),
        (container(OWN, CELERY_QUEUES="cpu", CELERY_WORKER_CONCURRENCY="2"), ["concurrency", "queue"]),
        (container([], CELERY_TASK_TIME_LIMIT="60"), ["jobLimit"]),
        (container(["worker", "-c", "4", "-Qcpu"]), ["concurrency", "queue"]),
        (container(["worker", "--time-limit", "21600", "-c1"]), []),
        # An option wins over a variable, the last one over the others, and that of a shell is none.
        (container(["worker", "--concurrency=4"], CELERY_WORKER_CONCURRENCY="1"), ["concurrency"]),
        (container(["worker", "--concurrency=4", "--concurrency=1"], CELERY_WORKER_CONCURRENCY="4"), []),
        (container(["celery -A app worker --concurrency=4"], ["sh", "-c"]), ["concurrency"]),
        (container(["-c", "4"], ["python"]), []),
        (container(["worker", "--concurrency"]), []),
        ({"name": "it", "env": [{"name": "CELERY_QUEUES", "valueFrom": {"fieldRef": {}}}]}, []),
    ],
)
def test_each_container_error_is_reported(found: dict[str, Any], keys: list[str]) -> None:
    findings = check_container(stack(), "celery", found)
    assert [one.field.removeprefix("celery.") for one in findings] == keys
    assert all(one.code == "CEL009" for one in findings)
    assert all((one.severity is Severity.ERROR) is one.field.endswith("concurrency") for one in findings)


def test_only_the_worker_of_the_active_backend_is_checked() -> None:
    wrong = container(["worker", "--concurrency=4"])
    (idle,) = check_container(stack(CONFIG._replace(training="ray")), "celery", wrong)
    assert idle.severity is Severity.ADVICE
    assert check_container(stack(), "rayWorker", wrong) == check_container(stack(), "apiServer", wrong) == ()


def test_names_and_arguments_are_the_stack_s() -> None:
    celery = CONFIG.celery._replace(
        variables=CeleryVariables(queue="TOPIC", job_limit=""), arguments=("worker", "-Q", "{queue}", "-c{concurrency}")
    )
    config = CONFIG._replace(celery=celery)
    own = stack_facts(stack(config), workloads(config))["celery"]
    assert (own["queue"], own["concurrency"], own["jobLimit"]) == ("gpu", 1, 21600)
    assert own["variables"] == {"queue": "TOPIC", "concurrency": "CELERY_WORKER_CONCURRENCY", "jobLimit": ""}
    assert own["arguments"] == ["worker", "-Q", "gpu", "-c1"]
    (found,) = check_container(stack(config), "celery", container([], TOPIC="cpu"))
    assert found.summary.startswith("TOPIC of ")
