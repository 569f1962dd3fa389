"""The keys of every section of a stack file, as in ``stack.schema.json``, and how each value is read."""

from typing import Final

from modelyard.stack.config import (
    Autoscaling,
    Celery,
    CeleryJobs,
    CeleryVariables,
    Config,
    Drain,
    Gpu,
    ModelService,
    PatchChoice,
    Platform,
    Policy,
    RayHead,
    RayJobs,
    RayWorker,
    RuleChoice,
    Targets,
    Waiver,
)
from modelyard.stack.environments import Environment
from modelyard.stack.jobs import (
    Job,
    Model,
    Notebooks,
    NotebookServers,
    NotebookUser,
    Pipeline,
    Resource,
    Runtime,
    Scale,
    Spark,
    Stage,
)
from modelyard.stack.pool import Flavor, NodePool, Partition, Priority, Quota, Team, Toleration, WorkerCluster
from modelyard.stack.remote import (
    AwsAccount,
    AwsNetwork,
    Bucket,
    Cluster,
    Copying,
    Data,
    Place,
    Provider,
    Remote,
    RemoteQuota,
    controller_url,
)
from modelyard.stack.shape import (
    Convert,
    Each,
    Named,
    Shape,
    count,
    counts,
    day,
    flag,
    items,
    line,
    quantity,
    same,
    seconds,
)

_SIZE: Final[dict[str, Convert]] = {"replicas": count, "cpu": quantity, "memory": quantity, "image": same}

# The platform's own workloads

PLATFORM: Final = Shape(
    Platform,
    {
        "release": same,
        "mode": same,
        "namespace": same,
        "cuda": same,
        "imagesEmbedPtx": flag,
        "installers": items,
        "without": items,
    },
)
GPU: Final = Shape(Gpu, {"model": same, "perWorker": count, "allocation": same})
MODEL_SERVICE: Final = Shape(ModelService, {**_SIZE, "volume": quantity, "gpu": count})
RAY_HEAD: Final = Shape(RayHead, {**_SIZE, "gpu": count})
RAY_WORKER: Final = Shape(RayWorker, {**_SIZE, "gracePeriod": seconds})
CELERY: Final = Shape(
    Celery,
    {
        **_SIZE,
        "concurrency": count,
        "queue": same,
        "jobLimit": seconds,
        "gracePeriod": seconds,
        "consumerTimeout": seconds,
        "variables": Shape(CeleryVariables, {"queue": same, "concurrency": same, "jobLimit": same}),
        "arguments": items,
    },
)
AUTOSCALING: Final = Shape(
    Autoscaling,
    {
        "mode": same,
        "maxReplicas": count,
        "queries": same,
        "scrapeInterval": seconds,
        "prometheus": same,
        "pollingInterval": seconds,
        "cooldownPeriod": seconds,
    },
)
DRAIN: Final = Shape(
    Drain,
    {
        "enabled": flag,
        "timeout": seconds,
        "quiet": seconds,
        "prometheus": same,
        "ray": Shape(RayJobs, {"jobs": same, "query": same}),
        "celery": Shape(CeleryJobs, {"management": same, "virtualHost": same, "query": same}),
    },
)
TARGETS: Final = Shape(
    Targets,
    {
        # If only the container is named, the object keeps its own name.
        key: Shape(
            default._replace,
            dict.fromkeys(("deployment", "statefulSet", "rayCluster", "rayService", "group", "container"), same),
        )
        for key, default in (
            ("apiServer", Targets().api_server),
            ("modelService", Targets().model_service),
            ("rayHead", Targets().ray_head),
            ("rayWorker", Targets().ray_worker),
            ("celery", Targets().celery),
        )
    },
)

# Jobs and what they run on

ENVIRONMENT: Final = Shape(
    Environment,
    {
        **dict.fromkeys(("name", "python", "requirements", "image", "claim", "indexSecret"), same),
        **dict.fromkeys(("pip", "conda", "channels"), items),
    },
)
NOTEBOOK_USER: Final = Shape(NotebookUser, {"name": same, "team": same})
NOTEBOOK_SERVERS: Final = Shape(
    NotebookServers,
    {
        **dict.fromkeys(("image", "login", "project"), same),
        "cpu": quantity,
        "memory": quantity,
        "kernelIdle": seconds,
        "users": Each(NOTEBOOK_USER),
    },
)
NOTEBOOKS: Final = Shape(
    Notebooks,
    {
        "image": same,
        "cuda": same,
        "claim": same,
        "path": same,
        "environment": same,
        "cpu": quantity,
        "memory": quantity,
        "timeLimit": seconds,
        "keep": seconds,
        "servers": NOTEBOOK_SERVERS,
    },
)
RUNTIME: Final = Shape(Runtime, {"image": same, "cuda": same})
SCALE: Final = Shape(Scale, {"most": count, "cpu": count, "query": same, "each": quantity})
MODEL: Final = Shape(
    Model,
    {
        "parameters": quantity,
        "precision": same,
        "size": quantity,
        "layers": count,
        "keyValueHeads": count,
        "headSize": count,
        "activation": quantity,
    },
)
SPARK: Final = Shape(
    Spark,
    {
        "version": same,
        "mainClass": same,
        "driverCpu": quantity,
        "driverMemory": quantity,
        "overhead": quantity,
        "mostExecutors": count,
        "leastExecutors": count,
        "idle": seconds,
        "serviceAccount": same,
        "conf": same,
    },
)
JOB: Final = Shape(
    Job,
    {
        "name": same,
        "type": same,
        "resource": same,
        "rows": quantity,
        "columns": count,
        "requestRate": quantity,
        "requestTime": quantity,
        "within": seconds,
        "batch": count,
        "sequence": count,
        "model": MODEL,
        "command": items,
        "image": same,
        "environment": same,
        "env": same,
        "team": same,
        "priority": same,
        "engine": same,
        "spark": SPARK,
        "leastWorkers": count,
        "together": same,
        "trials": count,
        "timeLimit": seconds,
        "retries": count,
        "keep": seconds,
    },
)

# Remote GPUs

PLACE: Final = Shape(Place, {"bucket": same, "prefix": same})
BUCKET: Final = Shape(Bucket, {"name": same, "url": same, "reachedBy": items})
AWS_NETWORK: Final = Shape(AwsNetwork, {"region": same, "vpc": same, "subnet": same})
AWS: Final = Shape(
    AwsAccount,
    {
        "account": same,
        "networks": Each(AWS_NETWORK),
        "machineImage": same,
        "rootDevice": same,
        "disk": same,
        "key": same,
    },
)
PROVIDER: Final = Shape(
    Provider,
    {"name": same, "kind": same, "launcher": same, "credentials": same, "credentialsSecret": same, "aws": AWS},
)
REMOTE_QUOTA: Final = Shape(RemoteQuota, {"cpu": quantity, "memory": quantity, "gpus": count})
CLUSTER: Final = Shape(
    Cluster,
    {
        "controller": lambda address, _: controller_url(address),
        "context": same,
        "namespace": same,
        "credentials": same,
        "credentialsSecret": same,
        "createNamespace": same,
        "quota": REMOTE_QUOTA,
        "readSecret": same,
        "writeSecret": same,
    },
)
COPYING: Final = Shape(Copying, {"claim": same, "path": same, "secret": same, "image": same})
DATA: Final = Shape(Data, {"shared": PLACE, "transfer": PLACE})
REMOTE: Final = Shape(
    Remote,
    {
        "model": PLACE,
        "cluster": CLUSTER,
        "provider": same,
        "instanceType": same,
        "regionPrefix": same,
        "timeLimit": seconds,
        "image": same,
        "command": items,
        "port": count,
        "data": DATA,
        "exportFrom": COPYING,
        "importTo": COPYING,
    },
)
RESOURCE: Final = Shape(
    Resource,
    {
        "name": same,
        "type": same,
        "workers": count,
        "cpu": quantity,
        "memory": quantity,
        "gpus": count,
        "gpu": same,
        "remote": REMOTE,
        "partition": same,
        "slice": same,
        "grow": flag,
        "scale": SCALE,
        "port": count,
        "image": same,
        "cuda": same,
        "team": same,
        "environment": same,
    },
)
STAGE: Final = Shape(
    Stage, {"name": same, "job": same, "rollout": same, "needs": items, "reads": items, "writes": items}
)
PIPELINE: Final = Shape(
    Pipeline,
    {
        "name": same,
        "stages": Each(STAGE),
        "artifacts": PLACE,
        "inputs": Named(PLACE),
        "image": same,
        "keep": seconds,
    },
)

# The pool

NODE_POOL: Final = Shape(
    NodePool,
    {
        "name": same,
        "gpu": same,
        "gpus": count,
        "nodeClass": same,
        "cloud": same,
        "region": same,
        "zones": items,
        "types": items,
        "capacity": same,
        "idle": seconds,
        "taint": flag,
        "labels": same,
    },
)
TOLERATION: Final = Shape(Toleration, dict.fromkeys(("key", "operator", "value", "effect"), same))
FLAVOR: Final = Shape(
    Flavor, {"name": same, "gpu": same, "labels": same, "tolerations": Each(TOLERATION), "topology": items}
)
PARTITION: Final = Shape(
    Partition,
    {
        "name": same,
        "mode": same,
        "flavor": same,
        "gpu": same,
        "layout": counts,
        "strategy": same,
        "replicas": count,
        "rename": flag,
        "failRequestsGreaterThanOne": flag,
    },
)
WORKER_CLUSTER: Final = Shape(WorkerCluster, {"name": same, "secret": same, "context": same})
QUOTA: Final = Shape(
    Quota,
    {
        "flavor": same,
        "cpu": quantity,
        "memory": quantity,
        "gpus": count,
        "borrow": count,
        "lend": count,
        "resource": same,
    },
)
TEAM: Final = Shape(
    Team,
    {
        **dict.fromkeys(("name", "namespace", "cohort", "reclaim", "within"), same),
        "quotas": Each(QUOTA),
        "clusters": items,
    },
)
PRIORITY: Final = Shape(Priority, {"name": same, "value": count, "description": line})

# The project's own settings

PATCH: Final = Shape(PatchChoice, {"name": same, "version": same, "params": same, "enabled": flag})
WAIVER: Final = Shape(Waiver, {"code": same, "reason": line, "expires": day, "target": same, "by": same})
RULE: Final = Shape(RuleChoice, {"level": same, "params": same})
POLICY: Final = Shape(Policy, {"rules": Named(RULE)})

CONFIG: Final = Shape(
    Config,
    {
        "training": same,
        "kubernetesVersion": same,
        "labels": same,
        "prices": same,
        "platform": PLATFORM,
        "gpu": GPU,
        "modelService": MODEL_SERVICE,
        "rayHead": RAY_HEAD,
        "rayWorker": RAY_WORKER,
        "celery": CELERY,
        "autoscaling": AUTOSCALING,
        "notebooks": NOTEBOOKS,
        "runtime": RUNTIME,
        "drain": DRAIN,
        "targets": TARGETS,
        "policy": POLICY,
        "providers": Each(PROVIDER),
        "buckets": Each(BUCKET),
        "environments": Each(ENVIRONMENT),
        "resources": Each(RESOURCE),
        "jobs": Each(JOB),
        "pipelines": Each(PIPELINE),
        "nodePools": Each(NODE_POOL),
        "flavors": Each(FLAVOR),
        "partitions": Each(PARTITION),
        "workerClusters": Each(WORKER_CLUSTER),
        "teams": Each(TEAM),
        "priorities": Each(PRIORITY),
        "patches": Each(PATCH),
        "waivers": Each(WAIVER),
    },
)
"""Everything under ``modelyard:``, keys without the prefix."""
