"""``modelyard job``: what is said before any cluster is asked."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.api_server import api_server
from tests.support.pool_objects import node

JOBS = """
  modelyard:runtime: {image: "images.example.com/jobs:1"}
  modelyard:resources:
    - {name: deep, type: training, cpu: 4, memory: 24Gi, gpus: 1}
  modelyard:jobs:
    - {name: train, type: training, resource: deep, command: [python, train.py]}
    - {name: clicks, type: dataset}
"""


@pytest.fixture
def jobs(project: Any) -> Any:
    """The project whose stack dev has jobs."""
    project.edit(("config:\n", f"config:{JOBS}"))
    return project


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("dev", "clicks"), 1, "has no command, so it has nothing to run once"),
        (("dev", "trian"), 2, "dev has no job 'trian' → did you mean train?"),
        (("dev", "xyz"), 2, "→ the jobs with a command are train"),
        (("dev", "x.txt"), 2, "'x.txt' is neither a notebook nor the name of a job → only jobs of the stack, by their"),
        (("x.txt",), 2, "notebooks (.ipynb) can be submitted"),
        (("dev", "jobs/train"), 2, "'jobs/train' is neither a notebook nor the name of a job"),
        (("nope", "train"), 2, "unknown stack 'nope'"),
        (("train",), 2, "no stack was given"),
        (("dev", "train"), 3, "kubeconfig"),
    ],
)
def test_what_cannot_be_submitted(
    jobs: Any, run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int, said: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    result = run("job", "submit", *words)
    assert result.code == code, result.err
    assert said in " ".join(result.err.split())
    assert result.out == ""


def test_what_no_quota_ever_holds_is_not_submitted(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for ever: neither by itself nor as the stage of a pipeline."""
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    quota = "{flavor: a10, cpu: 64, memory: 512Gi, gpus: 2}"
    teams = f"""  modelyard:flavors:
    - {{name: a10, gpu: A10}}
  modelyard:teams:
    - {{name: vision, quotas: [{quota}]}}
  modelyard:pipelines:
    - {{name: nightly, stages: [{{name: fit, job: train}}]}}
"""
    large = JOBS.replace("type: training, cpu", "type: training, team: vision, workers: 4, cpu")
    project.edit(("config:\n", f"config:{large}{teams}"))
    for words in (("job", "submit", "dev", "train"), ("pipeline", "submit", "dev", "nightly")):
        result = run(*words)
        assert (result.code, result.errors) == (1, ["RES213"]), result.err
        assert "asks for 4 GPUs at once, but team vision never has more than 2" in result.words
    project.edit(("workers: 4", "workers: 2"))
    assert run("job", "submit", "dev", "train").code == 3


def test_a_stack_that_pins_the_template_of_ray_keeps_its_runs_and_has_none_that_grows(project: Any, run: Any) -> None:
    ray = JOBS.replace("resource: deep, command", "resource: deep, engine: ray, command")
    patches = "  modelyard:patches: [{name: job-ray, version: v1}]\n"
    project.edit(("config:\n", f"config:{ray}"))
    assert run("job", "render", "dev", "train").out.startswith("---\n# job-ray@v3\n")
    project.edit(("config:\n", f"config:\n{patches.replace('v1', 'v2')}"))
    later = run("job", "render", "dev", "train")
    project.edit(("version: v2", "version: v1"))
    pinned = run("job", "render", "dev", "train")
    assert pinned.out == later.out.replace("job-ray@v2", "job-ray@v1")
    assert run("check", "dev").code == 0
    project.edit(("engine: ray", "engine: ray, leastWorkers: 1"))
    for words in (("job", "render", "dev", "train"), ("check", "dev")):
        result = run(*words)
        assert (result.code, result.errors) == (1, ["RES211"]), result.err
        summary = "job train cannot have leastWorkers: job-ray@v1 starts a Ray cluster with all its workers"
        assert summary in result.words
    project.edit((patches, ""))
    grows = yaml.safe_load(run("job", "render", "dev", "train").out)
    assert grows["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] is True


@pytest.mark.parametrize("forbidden", [False, True])
def test_what_no_node_could_ever_hold_is_told_before_it_is_submitted(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forbidden: bool
) -> None:
    """An autoscaler may add such a node, so it is made all the same; the recorded nodes have one GPU."""
    pipelines = "  modelyard:pipelines: [{name: nightly, stages: [{name: fit, job: train}]}]\n"
    project.edit(("config:\n", f"config:{JOBS.replace('gpus: 1', 'gpus: 3')}{pipelines}"))
    with api_server(tmp_path) as cluster:
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        cluster.objects["nodes"] = [node("n1", gpus=2), node("n2", gpus=1)]
        if forbidden:
            cluster.forbidden.add("nodes")
        for words in (("job", "submit", "dev", "train"), ("pipeline", "submit", "dev", "nightly")):
            result = run(*words)
            assert "RES212" in result.err
            assert "job train can never run: no node takes a worker" in result.words
            # It is asked for all the same, and this server makes nothing.
            assert (result.code, "the API server answered 501" in result.err) == (1, True)
        waiver = "  modelyard:waivers: [{code: RES212, reason: nodes come, expires: 2099-01-01, by: ada}]\n"
        project.edit(("config:\n", f"config:\n{waiver}"))
        assert "RES212" not in run("job", "submit", "dev", "train").err
        project.edit((waiver, ""))
        cluster.forbidden.clear()
        cluster.objects["nodes"].append(node("n3", gpus=4))
        assert "RES212" not in run("job", "submit", "dev", "train").err


def test_a_run_is_printed_without_a_cluster(jobs: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    first, again = (run("job", "render", "dev", "train") for _ in range(2))
    assert (first.code, first.out) == (0, again.out), first.err
    (body,) = yaml.safe_load_all(first.out)
    assert (body["kind"], body["metadata"]["name"], body["metadata"]["namespace"]) == ("Job", "train", "ml-platform")
    (container,) = body["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "train.py"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] in (1, "1")
    document = json.loads(run("job", "render", "dev", "train", "--json").out)
    assert (document["run"], document["template"], document["objects"]) == ("train", "job-run@v1", [body])


def test_what_cannot_be_submitted_is_not_printed(jobs: Any, run: Any) -> None:
    result = run("job", "render", "dev", "clicks")
    assert (result.code, result.errors, result.out) == (1, ["RES214"], "")
    result = run("job", "render", "dev", "nobody")
    assert (result.code, result.err.splitlines()[0], result.out) == (2, "error: dev has no job 'nobody'", "")


def test_a_check_tells_of_a_job_without_an_image_on_its_line(project: Any, run: Any) -> None:
    line = "  - {name: nightly, type: training, command: [python, train.py]}"
    project.add(f"modelyard:jobs:\n{line}")
    found = json.loads(run("check", "dev", "--json").out)["findings"]
    about = [(one["severity"], one["summary"], one["line"]) for one in found if one["code"] == "RES214"]
    where = project.stack_file().read_text().splitlines().index(f"  {line}") + 1
    assert about == [("advice", "job nightly has no image, so it cannot be submitted", where)]
    project.add("modelyard:runtime: {image: 'registry.example/jobs:1'}\n")
    assert "RES214" not in run("check", "dev", "--json").out


def test_the_stack_may_be_named_by_the_environment(jobs: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELYARD_STACK", "dev")
    assert "has no command" in " ".join(run("job", "submit", "clicks").err.split())


def test_errors_are_json_where_json_is_asked_for(jobs: Any, run: Any) -> None:
    document = json.loads(run("job", "submit", "dev", "clicks", "--json").out)
    assert [one["code"] for one in document["findings"]] == ["RES214"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("- {name: it, type: training, command: []}", ":10:"),
        ("- {name: it, type: training, command: python}", ":10:"),
        ("- {name: it, type: training, trials: 0}", ":10:"),
        ("- {name: it, type: training, timeLimit: -1h}", ":10:"),
        ("- {name: it, type: training, env: {1x: a}}", ":10:"),
        ("- {name: it, type: training, engine: slurm}", ":10:"),
    ],
)
def test_bad_settings_are_told_with_their_place(project: Any, run: Any, line: str, place: str) -> None:
    project.edit(("config:\n", f"config:{JOBS}    {line}\n"))
    result = run("check", "dev")
    assert result.code == 2
    assert f"stacks/Pulumi.dev.yaml{place}" in result.err + result.out
