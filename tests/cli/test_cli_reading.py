"""show, check and diff as a user runs them.

Some of their texts are in ``tests/golden/test_cli_reading.txt``.
"""

import json
import re
from typing import Any

import yaml


def test_show_a_stack(run: Any) -> None:
    result = run("show", "staging")
    for words in ("4 × NVIDIA A100 per worker", "multi_gpu", "192Gi", "autoscaled", "ray-worker-multi-gpu@v1"):
        assert words in result.words
    document = json.loads(run("show", "staging", "--json").out)
    worker = next(one for one in document["workloads"] if one["role"] == "rayWorker")
    assert (worker["memory"], worker["gpus"], worker["replicas"]) == ("192Gi", 4, None)
    assert document["gpu"]["perWorker"] == 4


def test_the_exit_code_of_check_is_that_of_the_worst_stack(project: Any, run: Any) -> None:
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    result = run("check", "--all")
    assert (result.code, result.errors) == (0, [])
    assert re.search(r" 1 warning, \d+ notes ", result.out.splitlines()[-1])
    project.edit(("model: A30", "model: T4"), stack="prod")
    result = run("check", "--all")
    assert (result.code, result.errors) == (1, ["GPU001"])
    assert "stacks/Pulumi.prod.yaml:10:5" in result.out
    project.edit(("replicas: 2", "replicas: -2"))
    assert run("check", "--all").code == 2


def test_an_applied_stack_has_no_findings(applied: Any, run: Any) -> None:
    applied("dev")
    assert json.loads(run("check", "dev", "--json").out)["findings"] == []


def test_diff_is_unified_and_by_target(run: Any) -> None:
    lines = run("diff", "dev", "--target", "ray-head").out.splitlines()
    assert lines[:2] == ["--- before/deployment-ray-head", "+++ after/deployment-ray-head"]
    assert not any("status" in line or "resourceVersion" in line for line in lines)
    fewer = run("diff", "dev", "--target", "ray-head", "--context", "0").out.splitlines()
    assert not any(line.startswith(" ") for line in fewer)
    document = json.loads(run("diff", "dev", "--json").out)
    assert len(document["diffs"]) == 5


def test_a_diff_shows_the_kind_of_objects_with_the_same_name(project: Any, run: Any) -> None:
    project.add("modelyard:flavors: [{name: vision, gpu: A10}]")
    project.add("modelyard:teams: [{name: vision, quotas: [{flavor: vision, cpu: 16, memory: 64Gi, gpus: 2}]}]")
    result = run("diff", "dev", "--target", "vision")
    heads = [line for line in result.out.splitlines() if line.startswith("+++")]
    assert sorted(heads) == [f"+++ after/{kind}/vision" for kind in ("LocalQueue", "ResourceFlavor")], result.err
    assert {"LocalQueue/vision", "ResourceFlavor/vision", "deployment-ray-head"} <= set(
        json.loads(run("diff", "dev", "--json").out)["diffs"]
    )


def test_a_long_changed_line_is_shown_whole(run: Any) -> None:
    query = json.loads(run("blame", "staging", "training-tasks", "autoscaling/queries", "--json").out)["after"]
    lines = run("diff", "staging", "--target", "training-tasks").out.splitlines()
    start = next(index for index, line in enumerate(lines) if "autoscaling/queries" in line)
    parts = [lines[start].partition("queries: ")[2]]
    for line in lines[start + 1 :]:
        if not line.startswith("+…"):
            break
        parts.append(line[2:])
    assert yaml.safe_load("".join(parts)) == query


def test_an_unknown_stack_or_file_is_refused(refused: Any, golden: Any) -> None:
    golden(*(refused("show", what, code=2) for what in ("nosuch.json", "stagin")))


def test_fields_of_a_gitops_tool_are_one_warning(project: Any, run: Any, golden: Any) -> None:
    for path in (project.root / "stacks/recorded/dev").glob("*ray-head.json"):
        path.write_text(path.read_text().replace("kubectl-client-side-apply", "argocd-controller"))
    result = run("check", "dev")
    assert result.words.count("OWN003") == 1
    golden(result)
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


def test_show_lists_the_pool_and_the_jobs_of_a_stack(project: Any, run: Any, golden: Any) -> None:
    project.add(POOL)
    result = run("show", "dev")
    assert result.code == 0, result.err
    golden(result)


def test_show_has_no_secrets_in_json(project: Any, run: Any) -> None:
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
