"""From config that follows the schema to the frozen values of ``config``. Defaults stand there, and only there."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final, TypeVar

from modelyard.stack import durations
from modelyard.stack.config import (
    Autoscaling,
    Celery,
    CeleryJobs,
    Config,
    Drain,
    Gpu,
    ModelService,
    PatchChoice,
    Path,
    Platform,
    Policy,
    RayHead,
    RayJobs,
    RayWorker,
    RuleChoice,
    Secret,
    Targets,
    Training,
    Waiver,
)
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import Job, Model, Resource, Runtime, Scale, Spark
from modelyard.stack.nodepools import NodePool
from modelyard.stack.notebooks import Notebooks
from modelyard.stack.partitions import Partition
from modelyard.stack.pipelines import Pipeline, Stage
from modelyard.stack.pool import Flavor, Priority, Quota, Team, Toleration, WorkerCluster
from modelyard.stack.remote import AwsAccount, AwsNetwork, Bucket, Cluster, Data, Place, Provider, Remote, RemoteQuota
from modelyard.stack.schema import PREFIX

RAY_DEFAULT_SINCE = (23, 7)
"""The platform release from which on Ray is the default backend of training."""

Made = TypeVar("Made")
Convert = Callable[[Any, str | None], Any]
"""From a value and, where it is a number, its source text."""


def _same(value: Any, _: str | None) -> Any:
    return value


def _line(value: Any, _: str | None) -> str:
    return " ".join(value.split())


def _count(value: Any, _: str | None) -> int:
    return int(value)


def _counts(value: Any, _: str | None) -> dict[str, int]:
    return {key: int(count) for key, count in value.items()}


def _flag(value: Any, _: str | None) -> bool:
    return value is True or value == "true"


def _quantity(value: Any, text: str | None) -> str:
    if isinstance(value, str):
        return value
    # A hexadecimal number's source text is no quantity; its value is.
    return text if text is not None and text[:2] not in ("0x", "0o") else str(value)


def _seconds(value: Any, _: str | None) -> int:
    return durations.seconds(value)


def _items(value: Any, _: str | None) -> tuple[str, ...]:
    return tuple(value)


def _date(value: Any, _: str | None) -> date:
    return date.fromisoformat(value)


_SIZE: Final[dict[str, tuple[str, Convert]]] = {
    "replicas": ("replicas", _count),
    "cpu": ("cpu", _quantity),
    "memory": ("memory", _quantity),
    "image": ("image", _same),
}
Fields = Mapping[str, tuple[str, Convert]]
"""By key of the file: field of the value, and how it is read."""

SECTIONS: Final[dict[str, tuple[str, Callable[..., Any], Fields]]] = {
    "platform": (
        "platform",
        Platform,
        {
            "release": ("release", _same),
            "mode": ("mode", _same),
            "namespace": ("namespace", _same),
            "cuda": ("cuda", _same),
            "imagesEmbedPtx": ("images_embed_ptx", _flag),
            "installers": ("installers", _items),
        },
    ),
    "gpu": (
        "gpu",
        Gpu,
        {"model": ("model", _same), "perWorker": ("per_worker", _count), "allocation": ("allocation", _same)},
    ),
    "modelService": (
        "model_service",
        ModelService,
        {**_SIZE, "volume": ("volume", _quantity), "gpu": ("gpu", _count)},
    ),
    "rayHead": ("ray_head", RayHead, {**_SIZE, "gpu": ("gpu", _count)}),
    "rayWorker": ("ray_worker", RayWorker, {**_SIZE, "gracePeriod": ("grace_period", _seconds)}),
    "celery": (
        "celery",
        Celery,
        {
            **_SIZE,
            "concurrency": ("concurrency", _count),
            "queue": ("queue", _same),
            "jobLimit": ("job_limit", _seconds),
            "gracePeriod": ("grace_period", _seconds),
            "consumerTimeout": ("consumer_timeout", _seconds),
        },
    ),
    "autoscaling": (
        "autoscaling",
        Autoscaling,
        {
            "mode": ("mode", _same),
            "maxReplicas": ("max_replicas", _count),
            "queries": ("queries", _same),
            "scrapeInterval": ("scrape_interval", _seconds),
            "prometheus": ("prometheus", _same),
            "pollingInterval": ("polling_interval", _seconds),
            "cooldownPeriod": ("cooldown_period", _seconds),
        },
    ),
    "notebooks": (
        "notebooks",
        Notebooks,
        {
            "image": ("image", _same),
            "claim": ("claim", _same),
            "path": ("path", _same),
            "environment": ("environment", _same),
            "cpu": ("cpu", _quantity),
            "memory": ("memory", _quantity),
            "timeLimit": ("time_limit", _seconds),
            "keep": ("keep", _seconds),
        },
    ),
    "runtime": ("runtime", Runtime, {"image": ("image", _same)}),
}
"""Sections that are flat mappings, by key of the file: field of the config, its type, its fields."""

DRAIN: Final[Fields] = {
    "enabled": ("enabled", _flag),
    "timeout": ("timeout", _seconds),
    "quiet": ("quiet", _seconds),
    "prometheus": ("prometheus", _same),
}
JOBS: Final[dict[str, tuple[Callable[..., Any], Fields]]] = {
    "ray": (RayJobs, {"jobs": ("jobs", _same), "query": ("query", _same)}),
    "celery": (
        CeleryJobs,
        {"management": ("management", _same), "virtualHost": ("virtual_host", _same), "query": ("query", _same)},
    ),
}
"""Below ``drain``, by side."""

TARGETS: Final[dict[str, str]] = {
    "apiServer": "api_server",
    "modelService": "model_service",
    "rayHead": "ray_head",
    "rayWorker": "ray_worker",
    "celery": "celery",
}
ENVIRONMENT: Final[Fields] = {
    **{key: (key, _same) for key in ("name", "python", "requirements", "image", "claim")},
    "indexSecret": ("index_secret", _same),
    **{key: (key, _items) for key in ("pip", "conda", "channels")},
}
SCALE: Final[Fields] = {
    "most": ("most", _count),
    "cpu": ("cpu", _count),
    "query": ("query", _same),
    "each": ("each", _quantity),
}
RESOURCE: Final[Fields] = {
    "name": ("name", _same),
    "type": ("type", _same),
    "workers": ("workers", _count),
    "cpu": ("cpu", _quantity),
    "memory": ("memory", _quantity),
    "gpus": ("gpus", _count),
    "gpu": ("gpu", _same),
    "partition": ("partition", _same),
    "slice": ("slice", _same),
    "grow": ("grow", _flag),
    "image": ("image", _same),
    "team": ("team", _same),
    "environment": ("environment", _same),
}
JOB: Final[Fields] = {
    "name": ("name", _same),
    "type": ("type", _same),
    "resource": ("resource", _same),
    "rows": ("rows", _quantity),
    "columns": ("columns", _count),
    "requestRate": ("request_rate", _quantity),
    "requestTime": ("request_time", _quantity),
    "within": ("within", _seconds),
    "batch": ("batch", _count),
    "sequence": ("sequence", _count),
    "command": ("command", _items),
    "image": ("image", _same),
    "environment": ("environment", _same),
    "env": ("env", _same),
    "team": ("team", _same),
    "priority": ("priority", _same),
    "engine": ("engine", _same),
    "leastWorkers": ("least_workers", _count),
    "together": ("together", _same),
    "trials": ("trials", _count),
    "timeLimit": ("time_limit", _seconds),
    "retries": ("retries", _count),
    "keep": ("keep", _seconds),
}
SPARK: Final[Fields] = {
    "version": ("version", _same),
    "mainClass": ("main_class", _same),
    "driverCpu": ("driver_cpu", _quantity),
    "driverMemory": ("driver_memory", _quantity),
    "overhead": ("overhead", _quantity),
    "mostExecutors": ("most_executors", _count),
    "leastExecutors": ("least_executors", _count),
    "idle": ("idle", _seconds),
    "serviceAccount": ("service_account", _same),
    "conf": ("conf", _same),
}
MODEL: Final[Fields] = {
    "parameters": ("parameters", _quantity),
    "precision": ("precision", _same),
    "size": ("size", _quantity),
    "layers": ("layers", _count),
    "keyValueHeads": ("key_value_heads", _count),
    "headSize": ("head_size", _count),
    "activation": ("activation", _quantity),
}
STAGE: Final[Fields] = {
    "name": ("name", _same),
    "job": ("job", _same),
    "rollout": ("rollout", _same),
    "needs": ("needs", _items),
    "reads": ("reads", _items),
    "writes": ("writes", _items),
}
PIPELINE: Final[Fields] = {"name": ("name", _same), "image": ("image", _same), "keep": ("keep", _seconds)}
PROVIDER: Final[Fields] = {
    "name": ("name", _same),
    "kind": ("kind", _same),
    "launcher": ("launcher", _same),
    "credentials": ("credentials", _same),
    "credentialsSecret": ("credentials_secret", _same),
}
AWS: Final[Fields] = {
    "account": ("account", _same),
    "machineImage": ("machine_image", _same),
    "rootDevice": ("root_device", _same),
    "disk": ("disk", _same),
    "key": ("key", _same),
}
AWS_NETWORK: Final[Fields] = {"region": ("region", _same), "vpc": ("vpc", _same), "subnet": ("subnet", _same)}
BUCKET: Final[Fields] = {"name": ("name", _same), "url": ("url", _same), "reachedBy": ("reached_by", _items)}
PLACE: Final[Fields] = {"bucket": ("bucket", _same), "prefix": ("prefix", _same)}
CLUSTER: Final[Fields] = {
    "controller": ("controller", _same),
    "context": ("context", _same),
    "namespace": ("namespace", _same),
    "credentials": ("credentials", _same),
    "credentialsSecret": ("credentials_secret", _same),
    "createNamespace": ("create_namespace", _same),
    "readSecret": ("read_secret", _same),
    "writeSecret": ("write_secret", _same),
}
REMOTE_QUOTA: Final[Fields] = {"cpu": ("cpu", _quantity), "memory": ("memory", _quantity), "gpus": ("gpus", _same)}
REMOTE: Final[Fields] = {
    "provider": ("provider", _same),
    "instanceType": ("instance_type", _same),
    "regionPrefix": ("region_prefix", _same),
    "timeLimit": ("time_limit", _seconds),
    "image": ("image", _same),
    "command": ("command", _items),
    "port": ("port", _count),
}
NODE_POOL: Final[Fields] = {
    "name": ("name", _same),
    "gpu": ("gpu", _same),
    "gpus": ("gpus", _count),
    "nodeClass": ("node_class", _same),
    "cloud": ("cloud", _same),
    "region": ("region", _same),
    "zones": ("zones", _items),
    "types": ("types", _items),
    "capacity": ("capacity", _same),
    "idle": ("idle", _seconds),
    "taint": ("taint", _flag),
    "labels": ("labels", _same),
}
FLAVOR: Final[Fields] = {
    "name": ("name", _same),
    "gpu": ("gpu", _same),
    "labels": ("labels", _same),
    "topology": ("topology", _items),
}
PARTITION: Final[Fields] = {
    "name": ("name", _same),
    "mode": ("mode", _same),
    "flavor": ("flavor", _same),
    "gpu": ("gpu", _same),
    "layout": ("layout", _counts),
    "strategy": ("strategy", _same),
    "replicas": ("replicas", _count),
    "rename": ("rename", _flag),
    "failRequestsGreaterThanOne": ("one_each", _flag),
}
TOLERATION: Final[Fields] = {key: (key, _same) for key in ("key", "operator", "value", "effect")}
QUOTA: Final[Fields] = {
    "flavor": ("flavor", _same),
    "cpu": ("cpu", _quantity),
    "memory": ("memory", _quantity),
    "gpus": ("gpus", _count),
    "borrow": ("borrow", _count),
    "lend": ("lend", _count),
    "resource": ("resource", _same),
}
WORKER_CLUSTER: Final[Fields] = {"name": ("name", _same), "secret": ("secret", _same)}
TEAM: Final[Fields] = {
    **{key: (key, _same) for key in ("name", "namespace", "cohort", "reclaim", "within")},
    "clusters": ("clusters", _items),
}
PRIORITY: Final[Fields] = {"name": ("name", _same), "value": ("value", _count), "description": ("description", _line)}
PATCH: Final[Fields] = {
    "name": ("name", _same),
    "version": ("version", _same),
    "params": ("params", _same),
    "enabled": ("enabled", _flag),
}
WAIVER: Final[Fields] = {
    "code": ("code", _same),
    "reason": ("reason", _line),
    "expires": ("expires", _date),
    "target": ("target", _same),
    "by": ("by", _same),
}

_OWN_KEYS: Final = {field: key for key, (field, _) in PARTITION.items()}
"""Keys of the section in which not every field is its key in other letters."""


def spelled(field: str) -> str:
    """The key of a stack file by the name of its field here: ``timeLimit`` for ``time_limit``."""
    return _OWN_KEYS.get(field) or re.sub(r"_(.)", lambda found: found[1].upper(), field)


def decode(config: Mapping[str, Any], texts: Mapping[Path, str], secrets: tuple[Path, ...]) -> Config:
    """The config of a stack file.

    Args:
        config: by key with its prefix, as the schema wants it.
        texts: source text of numbers, by path below ``config`` of the document.
        secrets: paths of encrypted values in it; all stand in parameters of patches.
    """
    made: dict[str, Any] = {}
    for section, (field, kind, fields) in SECTIONS.items():
        key = PREFIX + section
        if key in config:
            made[field] = kind(**_fields(config[key], fields, texts, (key,)))
    if (drain := config.get(PREFIX + "drain")) is not None:
        made["drain"] = _drain(drain, texts)
    if (targets := config.get(PREFIX + "targets")) is not None:
        made["targets"] = Targets(
            **{TARGETS[name]: getattr(Targets(), TARGETS[name])._replace(**given) for name, given in targets.items()}
        )
    sealed = frozenset(secrets)
    made["providers"] = tuple(
        _provider(_sealed(provider, path, sealed), texts, path)
        for index, provider in enumerate(config.get(PREFIX + "providers", ()))
        for path in [(PREFIX + "providers", index)]
    )
    made["buckets"] = tuple(
        Bucket(**_fields(bucket, BUCKET, texts, (PREFIX + "buckets", index)))
        for index, bucket in enumerate(config.get(PREFIX + "buckets", ()))
    )
    made["environments"] = tuple(
        Environment(**_fields(environment, ENVIRONMENT, texts, (PREFIX + "environments", index)))
        for index, environment in enumerate(config.get(PREFIX + "environments", ()))
    )
    made["resources"] = tuple(
        _resource(resource, texts, (PREFIX + "resources", index), sealed)
        for index, resource in enumerate(config.get(PREFIX + "resources", ()))
    )
    made["jobs"] = tuple(
        _job(job, texts, (PREFIX + "jobs", index)) for index, job in enumerate(config.get(PREFIX + "jobs", ()))
    )
    made["pipelines"] = tuple(
        _pipeline(pipeline, texts, (PREFIX + "pipelines", index))
        for index, pipeline in enumerate(config.get(PREFIX + "pipelines", ()))
    )
    made["node_pools"] = tuple(
        NodePool(**_fields(pool, NODE_POOL, texts, (PREFIX + "nodePools", index)))
        for index, pool in enumerate(config.get(PREFIX + "nodePools", ()))
    )
    made["flavors"] = tuple(
        _with_list(Flavor, flavor, FLAVOR, "tolerations", Toleration, TOLERATION, texts, (PREFIX + "flavors", index))
        for index, flavor in enumerate(config.get(PREFIX + "flavors", ()))
    )
    made["partitions"] = tuple(
        Partition(**_fields(partition, PARTITION, texts, (PREFIX + "partitions", index)))
        for index, partition in enumerate(config.get(PREFIX + "partitions", ()))
    )
    made["worker_clusters"] = tuple(
        WorkerCluster(**_fields(cluster, WORKER_CLUSTER, texts, (PREFIX + "workerClusters", index)))
        for index, cluster in enumerate(config.get(PREFIX + "workerClusters", ()))
    )
    made["teams"] = tuple(
        _with_list(Team, team, TEAM, "quotas", Quota, QUOTA, texts, (PREFIX + "teams", index))
        for index, team in enumerate(config.get(PREFIX + "teams", ()))
    )
    made["priorities"] = tuple(
        Priority(**_fields(priority, PRIORITY, texts, (PREFIX + "priorities", index)))
        for index, priority in enumerate(config.get(PREFIX + "priorities", ()))
    )
    made["patches"] = tuple(
        _patch(patch, (PREFIX + "patches", index), secrets)
        for index, patch in enumerate(config.get(PREFIX + "patches", ()))
    )
    made["waivers"] = tuple(
        Waiver(**_fields(waiver, WAIVER, texts, (PREFIX + "waivers", index)))
        for index, waiver in enumerate(config.get(PREFIX + "waivers", ()))
    )
    if (policy := config.get(PREFIX + "policy")) is not None:
        made["policy"] = Policy({code: RuleChoice(**choice) for code, choice in policy.get("rules", {}).items()})
    if (version := config.get(PREFIX + "kubernetesVersion")) is not None:
        made["kubernetes_version"] = version
    if (prices := config.get(PREFIX + "prices")) is not None:
        made["prices"] = prices
    return Config(config.get(PREFIX + "training") or default_training(made["platform"].release), **made)


def default_training(release: str) -> Training:
    """The backend that a release trains on unless told otherwise."""
    year, month = release.split(".")
    return "ray" if (int(year), int(month)) >= RAY_DEFAULT_SINCE else "celery"


def _fields(given: Mapping[str, Any], fields: Fields, texts: Mapping[Path, str], path: Path) -> dict[str, Any]:
    made = {}
    for key, value in given.items():
        field, convert = fields[key]
        made[field] = convert(value, texts.get((*path, key)))
    return made


def _drain(given: Mapping[str, Any], texts: Mapping[Path, str]) -> Drain:
    path: Path = (PREFIX + "drain",)
    flat = {key: value for key, value in given.items() if key in DRAIN}
    sides = {
        side: kind(**_fields(given[side], fields, texts, (*path, side)))
        for side, (kind, fields) in JOBS.items()
        if side in given
    }
    return Drain(**_fields(flat, DRAIN, texts, path), **sides)


def _with_list(
    kind: Callable[..., Made],
    given: Mapping[str, Any],
    fields: Fields,
    key: str,
    part: Callable[..., Any],
    parts: Fields,
    texts: Mapping[Path, str],
    path: Path,
) -> Made:
    """A value of which ``key`` is a list of others."""
    flat = {name: value for name, value in given.items() if name != key}
    items = enumerate(given.get(key, ()))
    made = tuple(part(**_fields(item, parts, texts, (*path, key, index))) for index, item in items)
    return kind(**_fields(flat, fields, texts, path), **{key: made})


def _provider(given: Mapping[str, Any], texts: Mapping[Path, str], path: Path) -> Provider:
    flat = {key: value for key, value in given.items() if key in PROVIDER}
    aws, at = given.get("aws"), (*path, "aws")
    account = None
    if aws is not None:
        account = _with_list(AwsAccount, aws, AWS, "networks", AwsNetwork, AWS_NETWORK, texts, at)
    return Provider(**_fields(flat, PROVIDER, texts, path), aws=account)


def _resource(given: Mapping[str, Any], texts: Mapping[Path, str], path: Path, secrets: frozenset[Path]) -> Resource:
    flat = {key: value for key, value in given.items() if key in RESOURCE}
    remote = given.get("remote")
    scale = given.get("scale")
    return Resource(
        **_fields(flat, RESOURCE, texts, path),
        scale=None if scale is None else Scale(**_fields(scale, SCALE, texts, (*path, "scale"))),
        remote=None if remote is None else _remote(remote, texts, (*path, "remote"), secrets),
    )


def _remote(given: Mapping[str, Any], texts: Mapping[Path, str], path: Path, secrets: frozenset[Path]) -> Remote:
    flat = {key: value for key, value in given.items() if key in REMOTE}
    cluster = given.get("cluster")
    at = (*path, "cluster")
    model = given.get("model")
    data = {key: Place(**_fields(value, PLACE, {}, path)) for key, value in given.get("data", {}).items()}
    return Remote(
        None if model is None else Place(**_fields(model, PLACE, {}, path)),
        None if cluster is None else _cluster(_sealed(cluster, at, secrets), texts, at),
        **_fields(flat, REMOTE, texts, path),
        data=Data(**data),
    )


def _cluster(given: Mapping[str, Any], texts: Mapping[Path, str], path: Path) -> Cluster:
    flat = {key: value for key, value in given.items() if key in CLUSTER}
    quota = given.get("quota")
    return Cluster(
        **_fields(flat, CLUSTER, texts, path),
        quota=None if quota is None else RemoteQuota(**_fields(quota, REMOTE_QUOTA, texts, (*path, "quota"))),
    )


def _job(given: Mapping[str, Any], texts: Mapping[Path, str], path: Path) -> Job:
    flat = {key: value for key, value in given.items() if key in JOB}
    model = Model(**_fields(given.get("model", {}), MODEL, texts, (*path, "model")))
    spark = Spark(**_fields(given.get("spark", {}), SPARK, texts, (*path, "spark")))
    return Job(**_fields(flat, JOB, texts, path), model=model, spark=spark)


def _pipeline(given: Mapping[str, Any], texts: Mapping[Path, str], path: Path) -> Pipeline:
    flat = {key: value for key, value in given.items() if key in PIPELINE}
    artifacts = given.get("artifacts")
    return Pipeline(
        **_fields(flat, PIPELINE, texts, path),
        stages=tuple(
            Stage(**_fields(stage, STAGE, texts, (*path, "stages", index)))
            for index, stage in enumerate(given["stages"])
        ),
        artifacts=None if artifacts is None else Place(**_fields(artifacts, PLACE, {}, path)),
        inputs={name: Place(**_fields(place, PLACE, {}, path)) for name, place in given.get("inputs", {}).items()},
    )


def _patch(given: Mapping[str, Any], path: Path, secrets: tuple[Path, ...]) -> PatchChoice:
    made = _fields(given, PATCH, {}, path)
    if secrets and "params" in made:
        made["params"] = _sealed(made["params"], (*path, "params"), frozenset(secrets))
    return PatchChoice(**made)


def _sealed(value: Any, path: Path, secrets: frozenset[Path]) -> Any:
    """The value with a ``Secret`` in the place of each encrypted one."""
    if path in secrets:
        return Secret((str(path[0]).removeprefix(PREFIX), *path[1:]))
    if isinstance(value, dict):
        return {key: _sealed(inner, (*path, key), secrets) for key, inner in value.items()}
    if isinstance(value, list):
        return [_sealed(inner, (*path, index), secrets) for index, inner in enumerate(value)]
    return value
