"""A stack with remote resources, which tests edit."""

from collections.abc import Callable

import pytest

from modelyard.stack import Stack, load_text

FAR = """    - name: far
      type: training
      cpu: 16
      memory: 64Gi
      gpus: 8
      remote:
        provider: amazon
        instanceType: p4d.24xlarge
        regionPrefix: us-
        timeLimit: 6h
        image: registry.example/trainer:3
        command: [train, "--note=it's $HOME"]
        data: {shared: {bucket: lake, prefix: datasets/churn}}
        model: {bucket: lake, prefix: models}
"""
"""A resource that trains on a machine of AWS."""
TEXT = (
    """config:
  modelyard:platform: {release: "23.10", namespace: ml}
  modelyard:gpu: {model: A10}
  modelyard:providers:
    - {name: lam, kind: lambda, credentialsSecret: lambda}
    - {name: amazon, kind: aws, credentials: {secure: AAAA}}
  modelyard:buckets:
    - {name: lake, url: "s3://acme-lake", reachedBy: [platform, lam, amazon]}
    - {name: pond, url: "gs://acme-pond", reachedBy: [platform, lam]}
  modelyard:resources:
"""
    + FAR
    + """    - name: away
      type: runtime
      cpu: 4
      memory: 16Gi
      gpus: 1
      remote:
        provider: lam
        instanceType: gpu_1x_a10
        regionPrefix: us-west
        timeLimit: 90m
        image: registry.example/trainer:3
        command: [run]
        data: {transfer: {bucket: pond, prefix: out}}
        model: {bucket: pond, prefix: models}
  modelyard:jobs:
    - {name: churn, type: training, resource: far}
    - {name: own, type: runtime, resource: away}
"""
)


@pytest.fixture
def text() -> str:
    """The stack's file."""
    return TEXT


@pytest.fixture
def stack() -> Callable[..., Stack]:
    """The stack with texts of its file replaced; each must be there."""

    def made(*changes: tuple[str, str]) -> Stack:
        text = TEXT
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        loaded, findings = load_text(text, "dev", "stacks/Pulumi.dev.yaml")
        assert loaded is not None, findings
        return loaded

    return made
