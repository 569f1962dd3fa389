"""A stack with a pipeline, as the tests change it."""

from typing import Any

from modelyard.stack.config import Config, Gpu, Platform, Stack
from modelyard.stack.jobs import Job, Pipeline, Resource, Runtime, Stage
from modelyard.stack.pool import Flavor, Team, TeamQuota
from modelyard.stack.remote import Bucket, BucketPart

DEEP = Resource("deep", "training", workers=2, cpu="4", memory="24Gi", gpus=1, team="vision")
CHAT = Resource("chat", "serving", cpu="4", memory="16Gi", gpus=1, team="vision")
LOAD = Job("clicks", "dataset", command=("python", "prepare.py"), team="vision", time_limit=3600)
TRAIN = Job("fit", "training", "deep", command=("python", "train.py"))
ASSISTANT = Job("assistant", "serving", "chat")
PREPARE = Stage("prepare", "clicks", reads=("raw",), writes=("data-set",))
FIT = Stage("train", "fit", needs=("prepare",), reads=("data-set",), writes=("model",))
SERVE = Stage("serve", rollout="chat", needs=("train",), reads=("model",))
NIGHTLY = Pipeline(
    "nightly", (SERVE, PREPARE, FIT), BucketPart("lake", "pipelines"), {"raw": BucketPart("lake", "clicks")}, keep=7200
)
LAKE = Bucket("lake", "s3://acme-lake", ("platform",))


def stack(*pipelines: Pipeline, **changes: Any) -> Stack:
    config = Config(
        "ray",
        Platform("23.10", namespace="ml-platform"),
        Gpu("A10"),
        buckets=(LAKE,),
        runtime=Runtime("images.example.com/jobs:1"),
        resources=(DEEP, CHAT),
        jobs=(LOAD, TRAIN, ASSISTANT),
        pipelines=pipelines or (NIGHTLY,),
        flavors=(Flavor("a10", "A10"),),
        teams=(Team("vision", (TeamQuota("a10", "16", "128Gi", 4),), "vision-ml"),),
    )
    return Stack("dev", "stacks/Pulumi.dev.yaml", "", config._replace(**changes), None, {})


def with_stages(*stages: Stage, **changes: Any) -> Pipeline:
    return NIGHTLY._replace(stages=stages, **changes)
