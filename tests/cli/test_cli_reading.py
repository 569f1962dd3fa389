"""show, check and diff as a user runs them."""

import json
import re
from typing import Any

import pytest
import yaml


def test_show_a_stack(run: Any) -> None:
    result = run("show", "staging")
    for words in ("4 × NVIDIA A100 per worker", "multi_gpu", "192Gi", "autoscaled", "ray-worker-multi-gpu@v1"):
        assert words in result.words
    document = json.loads(run("show", "staging", "--json").out)
    worker = next(one for one in document["workloads"] if one["role"] == "rayWorker")
    assert (worker["memory"], worker["gpus"], worker["replicas"]) == ("192Gi", 4, None)
    assert document["gpu"]["perWorker"] == 4


def test_check_is_for_ci(project: Any, run: Any) -> None:
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    result = run("check", "--all")
    assert result.code == 0
    assert re.fullmatch(
        r"3 stacks checked: 1 warning, \d+ notes \(list them with --notes\)", result.out.splitlines()[-1]
    )
    project.edit(("model: A30", "model: T4"), stack="prod")
    result = run("check", "--all")
    assert (result.code, result.errors) == (1, ["GPU001"])
    assert "stacks/Pulumi.prod.yaml:10:5" in result.out
    project.edit(("replicas: 2", "replicas: -2"))
    assert run("check", "--all").code == 2


def test_a_platform_without_faults_checks_clean(applied: Any, run: Any) -> None:
    applied("dev")
    assert run("check", "dev").out == "1 stack checked: no findings\n"


def test_diff_is_unified_and_by_target(run: Any) -> None:
    lines = run("diff", "dev", "--target", "ray-head").out.splitlines()
    assert lines[:2] == ["--- before/deployment-ray-head", "+++ after/deployment-ray-head"]
    assert not any("status" in line or "resourceVersion" in line for line in lines)
    fewer = run("diff", "dev", "--target", "ray-head", "--context", "0").out.splitlines()
    assert not any(line.startswith(" ") for line in fewer)
    document = json.loads(run("diff", "dev", "--json").out)
    assert len(document["diffs"]) == 5


def test_objects_of_one_name_are_told_apart_in_a_diff(project: Any, run: Any) -> None:
    project.add("modelyard:flavors: [{name: vision, gpu: A10}]")
    project.add("modelyard:teams: [{name: vision, quotas: [{flavor: vision, cpu: 16, memory: 64Gi, gpus: 2}]}]")
    result = run("diff", "dev", "--target", "vision")
    heads = [line for line in result.out.splitlines() if line.startswith("+++")]
    assert sorted(heads) == [f"+++ after/{kind}/vision" for kind in ("LocalQueue", "ResourceFlavor")], result.err
    assert {"LocalQueue/vision", "ResourceFlavor/vision", "deployment-ray-head"} <= set(
        json.loads(run("diff", "dev", "--json").out)["diffs"]
    )


def test_a_long_line_that_changes_is_shown_whole(run: Any) -> None:
    query = json.loads(run("blame", "staging", "training-tasks", "autoscaling/queries", "--json").out)["after"]
    lines = run("diff", "staging", "--target", "training-tasks").out.splitlines()
    start = next(index for index, line in enumerate(lines) if "autoscaling/queries" in line)
    parts = [lines[start].partition("queries: ")[2]]
    for line in lines[start + 1 :]:
        if not line.startswith("+…"):
            break
        parts.append(line[2:])
    assert yaml.safe_load("".join(parts)) == query


@pytest.mark.parametrize(("what", "hint"), [("nosuch.json", "the stacks are dev"), ("stagin", "did you mean staging?")])
def test_what_is_neither_a_stack_nor_a_file(refused: Any, what: str, hint: str) -> None:
    result = refused("show", what, code=2)
    assert f"error: neither a stack nor a file is named {what!r} → {hint}" in result.words


def test_many_fields_of_a_gitops_tool_are_one_warning(project: Any, run: Any) -> None:
    for path in (project.root / "stacks/recorded/dev").glob("*ray-head.json"):
        path.write_text(path.read_text().replace("kubectl-client-side-apply", "argocd-controller"))
    result = run("check", "dev")
    assert result.words.count("OWN003") == 1
    assert "argocd-controller holds 6 fields and will write them again at its next sync: rollingUpdate" in result.words
    assert result.out.splitlines()[-1] == "1 stack checked: 1 warning, 3 notes (list them with --notes)"
    found = json.loads(run("check", "dev", "--json").out)["findings"]
    assert sum(one["code"] == "OWN003" for one in found) == 6


POOL = """modelyard:runtime: {image: "images.example.com/jobs:1"}
modelyard:nodePools: [{name: burst, gpu: A10G, gpus: 8, nodeClass: default}]
modelyard:flavors: [{name: a10, gpu: A10}]
modelyard:partitions: [{name: small, mode: mig, gpu: a100-80gb, layout: {1g.10gb: 7}}]
modelyard:teams:
  - name: vision
    namespace: vision-ml
    cohort: lab
    quotas: [{flavor: a10, cpu: 16, memory: 64Gi, gpus: 2, borrow: 1}]
modelyard:priorities: [{name: urgent, value: 1000}]
modelyard:providers: [{name: rented, kind: lambda, credentialsSecret: rented-access}]
modelyard:buckets: [{name: lake, url: "s3://acme-lake", reachedBy: [platform, rented]}]
modelyard:environments: [{name: tabular, python: "3.11", pip: [six]}]
modelyard:resources:
  - {name: deep, type: training, workers: 2, cpu: 4, memory: 24Gi, gpus: 1, team: vision}
  - name: away
    type: training
    remote: {provider: rented, command: [train, --fast]}
  - name: far
    type: training
    remote: {cluster: {controller: "https://10.8.0.5:6443", context: far, quota: {cpu: 8, memory: 32Gi, gpus: 1}}}
modelyard:jobs:
  - name: fit
    type: training
    resource: deep
    command: [python, train.py, --token, unheard-of]
    env: {API_KEY: as-secret}
  - {name: clicks, type: dataset}
  - {name: churn, type: training, resource: away}
  - {name: idle, type: training, resource: far}
modelyard:pipelines: [{name: nightly, stages: [{name: train, job: fit}]}]"""


def test_show_tells_the_pool_and_the_jobs_of_a_stack(project: Any, run: Any) -> None:
    project.add(POOL)
    result = run("show", "dev")
    assert result.code == 0, result.err
    rows = {" ".join(line.split()) for line in result.out.splitlines()}
    assert {
        "burst A10G 0–8 on-demand default",
        "small a100-80gb mig 7 × 1g.10gb",
        "vision vision-ml lab - a10: 2 GPUs, 16 CPU, 64Gi, borrow 1",
        "urgent 1000",
        "rented lambda skypilot",
        "lake s3://acme-lake platform, rented",
        "far modelyard-remote far 1 GPU, 8 CPU, 32Gi far",
        "tabular 3.11 images.example.com/jobs:1 no",
        "deep training 2 4 24Gi 1 vision this cluster",
        "fit training deep vision python train.py --token (hidden)",
        "clicks dataset its own - in the pods of its resource",
        "churn training away - train --fast",
        "idle training far - never: a remote cluster runs commands",
        "nightly train",
    } <= rows
    assert "WORKER CLUSTER" not in result.out


def test_show_tells_them_for_machines_without_secrets(project: Any, run: Any) -> None:
    project.add(POOL)
    text = run("show", "dev", "--json").out
    assert "unheard-of" not in text
    assert "as-secret" not in text
    document = json.loads(text)
    assert (document["jobs"][0]["timeLimit"], document["workerClusters"]) == (21600, [])
    assert document["teams"][0]["quotas"][0]["borrow"] == 1
    assert document["providers"][0]["credentialsSecret"] == "rented-access"
    assert document["remoteClusters"][0]["resources"] == ["far"]
    assert document["environments"][0]["locked"] is None
    assert document["resources"][0]["size"] == {
        "workers": 2,
        "cpu": "4",
        "memory": "24Gi",
        "gpus": 1,
        "gpuResource": "nvidia.com/gpu",
    }
