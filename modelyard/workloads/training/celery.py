"""Celery training: replicas that each take one job at a time from a queue of the broker."""

from collections.abc import Mapping
from typing import Any, Final

from modelyard.findings import Finding, Severity
from modelyard.hardware.limits import CELERY_GPUS, CONSUMER_TIMEOUT_SECONDS, JOB_SECONDS
from modelyard.hardware.rules.shared import PodSizes
from modelyard.hardware.rules.workloads import grace_finding, no_worker_finding, size_findings
from modelyard.patterns import regex
from modelyard.stack.config import WORKERS, CeleryVariables, Config, Stack
from modelyard.stack.durations import text
from modelyard.workloads.facts.fact import Fact, written
from modelyard.workloads.training.backend import Backend, BackendQueries, Broker, JobSource, NoJobSource

_SECTION = "celery"
_REFERENCE = regex(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
"""A variable in a container's arguments."""
_QUEUE_OPTIONS = ("--queues", "-Q")
_PLACE = regex(r"\{(?:queue|concurrency|jobLimit)\}")


def rules(stack: Stack) -> list[Finding]:
    """Returns what is wrong with Celery training on this stack, except with its pods."""
    return [*_concurrency(stack), *_job_limit(stack), *_consumer_timeout(stack), *_allocation(stack)]


def pod_findings(stack: Stack, pods: PodSizes) -> list[Finding]:
    """Returns what is wrong with Celery replicas with these pods."""
    return [
        *size_findings(stack, pods),
        *grace_finding(stack, "CEL003", pods, _longest_job(stack)),
        *_idle_gpus(stack, pods),
        *no_worker_finding(stack, "CEL008", pods),
    ]


def _longest_job(stack: Stack) -> int:
    """How many seconds a job may run. A job limit above the platform's has no effect: another finding reports it."""
    return min(stack.config.celery.job_limit, JOB_SECONDS)


def _concurrency(stack: Stack) -> list[Finding]:
    concurrency = stack.config.celery.concurrency
    if concurrency == 1:
        return []
    return [
        stack.finding(
            "CEL001",
            Severity.ERROR,
            (_SECTION, "concurrency"),
            f"{_SECTION}.concurrency is {concurrency}, but a replica trains exactly one job at a time",
            detail="Each replica trains one job: two jobs in one pod would share its GPU.",
            remedy=f"set {_SECTION}.concurrency to 1; {_SECTION}.replicas adds concurrent jobs",
            target=stack.config.targets.celery.name,
        )
    ]


def _job_limit(stack: Stack) -> list[Finding]:
    limit = stack.config.celery.job_limit
    if limit <= JOB_SECONDS:
        return []
    return [
        stack.finding(
            "CEL002",
            Severity.ERROR,
            (_SECTION, "jobLimit"),
            f"{_SECTION}.jobLimit is {text(limit)}, but training jobs run for at most {text(JOB_SECONDS)}",
            detail="The platform ends a training job after six hours, even if the worker's limit is higher.",
            remedy=f"set {_SECTION}.jobLimit to {text(JOB_SECONDS)} or less; split longer training into several jobs",
            target=stack.config.targets.celery.name,
        )
    ]


def _consumer_timeout(stack: Stack) -> list[Finding]:
    celery, longest = stack.config.celery, _longest_job(stack)
    path = (_SECTION, "consumerTimeout")
    detail = (
        "RabbitMQ closes the channel of a consumer that does not acknowledge a delivery in time: "
        "the job returns to the queue while it still trains, and trains twice."
    )
    remedy = (
        f"raise consumer_timeout of the broker (or x-consumer-timeout of the queue {celery.queue}) to "
        f"{longest * 1000} ms or more, and set {'.'.join(path)}: {text(longest)} or more"
    )
    if celery.consumer_timeout is None:
        if longest <= CONSUMER_TIMEOUT_SECONDS:
            return []
        return [
            stack.finding(
                "CEL005",
                Severity.WARNING,
                path,
                f"{'.'.join(path)} is not set, and RabbitMQ's default of {text(CONSUMER_TIMEOUT_SECONDS)} "
                f"(since 3.8.17) is shorter than the job limit of {text(longest)}",
                detail=detail,
                remedy=remedy,
                target=stack.config.targets.celery.name,
            )
        ]
    if celery.consumer_timeout >= longest:
        return []
    return [
        stack.finding(
            "CEL004",
            Severity.ERROR,
            path,
            f"{'.'.join(path)} is {text(celery.consumer_timeout)}, but a training job may run for {text(longest)}",
            detail=detail,
            remedy=remedy,
            target=stack.config.targets.celery.name,
        )
    ]


def _allocation(stack: Stack) -> list[Finding]:
    allocation, target = stack.config.gpu.allocation, stack.config.targets.celery.name
    if allocation == "partial":
        return [
            stack.finding(
                "CEL006",
                Severity.ERROR,
                ("gpu", "allocation"),
                "gpu.allocation partial needs Ray: a Celery replica trains one job on a whole GPU",
                detail="The stack expects two jobs per GPU; with Celery, one of the two waits.",
                remedy=f"set gpu.allocation to single and {_SECTION}.replicas to the number of concurrent jobs, "
                f"or training to ray",
                target=target,
            )
        ]
    if allocation == "multi_gpu":
        return [
            stack.finding(
                "CEL006",
                Severity.WARNING,
                ("gpu", "allocation"),
                "gpu.allocation multi_gpu needs Ray: a Celery replica trains its job on one GPU",
                detail="Jobs take longer, and a model that needs the memory of several GPUs does not fit.",
                remedy="no action needed if one GPU is enough; otherwise set training to ray",
                target=target,
            )
        ]
    return []


def _idle_gpus(stack: Stack, pods: PodSizes) -> list[Finding]:
    gpus = pods.gpus
    if gpus <= CELERY_GPUS:
        return []
    return [
        stack.finding(
            "CEL007",
            Severity.WARNING,
            (_SECTION, "gpus"),
            f"a Celery replica has {gpus} GPUs, but its job uses one and leaves {gpus - CELERY_GPUS} idle",
            detail="Each Celery replica trains one job at a time, and jobs on several GPUs need Ray.",
            remedy=f"give it one GPU and raise {_SECTION}.replicas, or set training to ray",
            target=pods.deployment,
        )
    ]


def container_findings(stack: Stack, container: Mapping[str, Any]) -> list[Finding]:
    """Returns what a worker's arguments and variables state otherwise than the stack."""
    celery, names = stack.config.celery, stack.config.celery.variables
    deployment = stack.config.targets.celery.name
    settings = _settings(container)
    words = _words(container, settings)
    stated = (
        ("concurrency", ("--concurrency", "-c"), names.concurrency, str(celery.concurrency)),
        ("queue", _QUEUE_OPTIONS, names.queue, celery.queue),
        ("jobLimit", ("--time-limit",), names.job_limit, str(celery.job_limit)),
    )
    found = []
    for key, options, variable, wanted in stated:
        value = _option(words, options)
        place = options[0] if value is not None else variable
        value = settings.get(variable) if value is None else value
        if value is None or wanted in value.split(","):
            continue
        found.append(
            stack.finding(
                "CEL009",
                Severity.ERROR if key == "concurrency" else Severity.WARNING,
                (_SECTION, key),
                f"{place} of {deployment} is {value[:60]}, but {_SECTION}.{key} is {wanted}",
                detail="The worker uses its container's arguments and variables, not the stack file.",
                remedy=f"correct {_SECTION}.{key}, or set {_SECTION}.arguments so that the worker follows it",
                target=deployment,
            )
        )
    return found


def queue_of(container: Mapping[str, Any]) -> str | None:
    """Returns what a worker's arguments, or else its variable with the usual name, state as its queue; None without."""
    settings = _settings(container)
    value = _option(_words(container, settings), _QUEUE_OPTIONS)
    return settings.get(CeleryVariables().queue) if value is None else value


def _settings(container: Mapping[str, Any]) -> dict[str, str]:
    return {one["name"]: str(one["value"]) for one in container.get("env") or () if "value" in one}


def _words(container: Mapping[str, Any], settings: Mapping[str, str]) -> list[str]:
    """Returns a container's command line after the word ``worker``, with the variables that it refers to."""
    line = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
    line = [_REFERENCE.sub(lambda found: settings.get(found[1], found[0]), word) for word in line]
    words = [part for word in line for part in (word.split() if " " in word else [word])]
    return words[words.index("worker") + 1 :] if "worker" in words else []


def _option(words: list[str], options: tuple[str, ...]) -> str | None:
    """Returns the last value of an option, None without one, or if it refers to an unknown variable."""
    value = None
    for at, word in enumerate(words):
        name, equals, rest = word.partition("=")
        if name in options:
            value = rest if equals else next(iter(words[at + 1 :]), None)
        elif word[:2] in options and len(word) > 2 and not word.startswith("--"):
            value = word[2:]
    return None if value is None or "$" in value else value


def _arguments(config: Config) -> list[str]:
    """Returns the container's arguments with the stack's settings."""
    celery = config.celery
    known = {"{queue}": celery.queue, "{concurrency}": str(celery.concurrency), "{jobLimit}": str(celery.job_limit)}
    return [_PLACE.sub(lambda found: known[found[0]], word) for word in celery.arguments]


def _jobs(stack: Stack) -> JobSource:
    config = stack.config
    if config.drain.celery.management is not None:
        return Broker(config.drain.celery.management, config.drain.celery.virtual_host, config.celery.queue)
    return NoJobSource(
        "drain.celery sets neither management (the broker's management API) nor query",
        "set drain.celery.management: http://broker.example.com:15672",
    )


CELERY: Final = Backend(
    name="celery",
    title="Celery",
    worker=WORKERS["celery"],
    unit="replica",
    sizes=lambda config: config.celery,
    target=lambda config: config.targets.celery,
    gpus=lambda _: CELERY_GPUS,
    allocations=lambda _: ("single",),
    longest_job=lambda config: config.celery.job_limit,
    rules=rules,
    pod_rules=pod_findings,
    jobs=_jobs,
    query=lambda config: config.drain.celery.query,
    queue=lambda config: config.celery.queue,
    facts=(
        written("celery.queue", lambda config: config.celery.queue),
        written("celery.concurrency", lambda config: config.celery.concurrency),
        written("celery.jobLimit", lambda config: config.celery.job_limit),
        written("celery.variables.queue", lambda config: config.celery.variables.queue),
        written("celery.variables.concurrency", lambda config: config.celery.variables.concurrency),
        written("celery.variables.jobLimit", lambda config: config.celery.variables.job_limit),
        Fact(
            "celery.arguments",
            _arguments,
            (_SECTION, "arguments"),
            meaning="Arguments of the container, with the settings in place of {queue}, {concurrency} and {jobLimit}; "
            "empty if the stack sets none.",
        ),
    ),
    container_rules=container_findings,
    queries=BackendQueries(
        valid='(sum(max_over_time(rabbitmq_queue_messages_ready{queue="%(queue)s"}[30m])) or vector(0))'
        ' + (sum(max_over_time(rabbitmq_queue_messages_unacked{queue="%(queue)s"}[30m])) or vector(0))',
        vendor='max_over_time(rabbitmq_queue_messages_unacked{queue="%(queue)s"}[30m])'
        '&max_over_time(rabbitmq_queue_messages_ready{queue="%(queue)s"}[30m])',
        keda='max_over_time(((sum(rabbitmq_queue_messages_ready{queue="%(queue)s"}) or vector(0))'
        ' + (sum(rabbitmq_queue_messages_unacked{queue="%(queue)s"}) or vector(0)))[30m:15s])',
    ),
)
