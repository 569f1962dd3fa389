"""A stack with remote resources, and a job of AWS."""

from datetime import UTC, datetime

from modelyard.workloads.remote.aws_job import Place, RemoteJob

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
JOB = RemoteJob(
    name="train-7",
    account="123456789012",
    region="eu-west-1",
    instance_type="g5.2xlarge",
    subnet="subnet-0a1b",
    vpc="vpc-0a1b",
    image="210987654321.dkr.ecr.eu-central-1.amazonaws.com/team/train:7",
    command=("train", "--name", "it's $HOME; `id`\n*", ""),
    read=Place("ml-data", "sets/7/"),
    write=Place("ml-models", "jobs/train-7/"),
    launched=datetime(2026, 11, 22, 9, 30, tzinfo=UTC),
    limit=3601,
)
