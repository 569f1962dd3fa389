"""show, check and diff as a user runs them."""

import json
import re
from typing import Any

import pytest
import yaml


def test_show_a_stack(run: Any) -> None:
    result = run("show", "staging")
    for words in ("4 × NVIDIA A100 a worker", "multi_gpu", "192Gi", "autoscaled", "ray-worker-multi-gpu@v1"):
        assert words in result.words
    document = json.loads(run("show", "staging", "--json").out)
    worker = next(one for one in document["workloads"] if one["role"] == "rayWorker")
    assert (worker["memory"], worker["gpus"], worker["replicas"]) == ("192Gi", 4, None)
    assert document["gpu"]["perWorker"] == 4


def test_check_is_for_ci(project: Any, run: Any) -> None:
    project.edit(("timeout: 6h30m", "timeout: 1h"))
    result = run("check", "--all")
    assert result.code == 0
    assert re.fullmatch(r"3 stacks checked: 1 warning, \d+ notes", result.out.splitlines()[-1])
    project.edit(("model: A30", "model: T4"), stack="prod")
    result = run("check", "--all")
    assert (result.code, result.errors) == (1, ["GPU001"])
    assert "stacks/Pulumi.prod.yaml:10:5" in result.out
    project.edit(("replicas: 2", "replicas: -2"))
    assert run("check", "--all").code == 2


def test_a_platform_without_faults_checks_clean(applied: Any, run: Any) -> None:
    applied("dev")
    assert run("check", "dev").out == "1 stack checked: nothing is wrong\n"


def test_diff_is_unified_and_by_target(run: Any) -> None:
    lines = run("diff", "dev", "--target", "ray-head").out.splitlines()
    assert lines[:2] == ["--- before/deployment-ray-head", "+++ after/deployment-ray-head"]
    assert "-            memory: 8Gi" in lines
    assert "+            memory: 16Gi" in lines
    assert not any("status" in line or "resourceVersion" in line for line in lines)
    fewer = run("diff", "dev", "--target", "ray-head", "--context", "0").out.splitlines()
    assert not any(line.startswith(" ") for line in fewer)
    document = json.loads(run("diff", "dev", "--json").out)
    assert len(document["diffs"]) == 5


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


@pytest.mark.parametrize(("what", "hint"), [("nosuch.json", "The stacks are dev"), ("stagin", "did you mean staging?")])
def test_what_is_neither_a_stack_nor_a_file(refused: Any, what: str, hint: str) -> None:
    result = refused("show", what, code=2)
    assert f"error: there is neither a stack nor a file {what!r} → {hint}" in result.words


def test_many_fields_of_a_gitops_tool_are_one_warning(project: Any, run: Any) -> None:
    for path in (project.root / "stacks/recorded/dev").glob("*ray-head.json"):
        path.write_text(path.read_text().replace("kubectl-client-side-apply", "argocd-controller"))
    result = run("check", "dev")
    assert result.words.count("OWN003") == 1
    assert "argocd-controller holds 6 fields and will write them again at its next sync: rollingUpdate" in result.words
    assert result.out.splitlines()[-1] == "1 stack checked: 1 warning, 3 notes"
    found = json.loads(run("check", "dev", "--json").out)["findings"]
    assert sum(one["code"] == "OWN003" for one in found) == 6
