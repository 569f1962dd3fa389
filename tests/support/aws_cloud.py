"""The AWS services that components ask, and what components register, looked at by type."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pulumi
from pulumi.runtime.settings import SETTINGS

from modelyard.stack.aws import Access, Aws, NodeGroup
from tests.support.component_engine import Engine, Registered

AWS = Aws(
    name="vision",
    account="123456789012",
    region="eu-central-1",
    zones=("eu-central-1a", "eu-central-1b"),
    public=("203.0.113.0/24",),
    admins=("arn:aws:iam::123456789012:role/platform",),
    gpus=(NodeGroup("l40s", ("g6e.2xlarge", "g6e.4xlarge"), 0, 4), NodeGroup("a100", ("p4d.24xlarge",), spot=True)),
    access=(Access("ml", "train", ("sets/",), ("models/",)), Access("ml", "serve", ("models/",))),
    tags={"team": "vision"},
)


class Cloud(pulumi.runtime.Mocks):
    """Gives what only AWS knows; everything else is what was asked for."""

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        known = {
            "arn": f"arn:aws:mock::{args.name}",
            "name": args.name,
            "latestVersion": 3,
            "endpoint": "https://cluster.example",
            "certificateAuthority": {"data": "Q0E="},
            "repositoryUrl": "registry.example/vision",
        }
        return f"{args.name}-id", {**known, **args.inputs}

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"no component may ask AWS for {args.token}")


def registered(declare: Callable[[], object]) -> Engine:
    engine = Engine()
    engine.mocks = Cloud()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        pulumi.runtime.set_mocks(engine.mocks, project="modelyard", stack="dev", monitor=engine)
        SETTINGS.callbacks = engine
        pulumi.runtime.test(lambda: declare() and None)()
    finally:
        loop.close()
    return engine


def of(found: list[Registered], kind: str) -> list[Registered]:
    there = [one for one in found if one.type.endswith(f":{kind}")]
    assert there, f"no {kind} among {sorted({one.type for one in found})}"
    return there


def statements(policy: str) -> list[dict[str, Any]]:
    return list(json.loads(policy)["Statement"])
