"""The AWS services that components ask, and what components register, looked at by type."""

import json
from typing import Any

import pulumi

from tests.support.component_engine import Registered


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


def of(found: list[Registered], kind: str) -> list[Registered]:
    there = [one for one in found if one.type.endswith(f":{kind}")]
    assert there, f"no {kind} among {sorted({one.type for one in found})}"
    return there


def statements(policy: str) -> list[dict[str, Any]]:
    return list(json.loads(policy)["Statement"])
