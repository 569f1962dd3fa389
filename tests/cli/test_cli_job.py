"""``modelyard job submit`` and ``modelyard job render``, mostly without a cluster.

``tests/golden/test_cli_job.txt`` has the refusals.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.api_server import api_server
from tests.support.pool_objects import node
from tests.support.setting_errors import setting_errors

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


REFUSED = {
    1: ("dev clicks",),
    2: (
        "dev trian",
        "dev xyz",
        "dev x.txt",
        "x.txt",
        "dev jobs/train",
        "nope train",
        "train",
        "dev train -p a=1",
        "dev train --wait --team x",
        "dev train --flavor a10",
        "train dev",
    ),
    3: ("dev train",),
}


def test_refused_submissions(
    jobs: Any, refused: Any, golden: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    results = [
        refused("job", "submit", *words.split(), code=code)
        for code, arguments in REFUSED.items()
        for words in arguments
    ]
    assert {result.out for result in results} == {""}
    golden(*results)


def test_a_job_without_a_command_as_json_of_the_stack_in_the_variable(
    jobs: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELYARD_STACK", "dev")
    document = json.loads(run("job", "submit", "clicks", "--json").out)
    assert [one["code"] for one in document["findings"]] == ["RES214"]


def test_a_job_that_exceeds_its_quota_is_not_submitted(project: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait forever, by itself or as a stage of a pipeline."""
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
        assert "4 GPUs" in result.words
    project.edit(("workers: 4", "workers: 2"))
    assert run("job", "submit", "dev", "train").code == 3


def test_a_pinned_ray_template_keeps_its_runs_and_cannot_grow(project: Any, run: Any) -> None:
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
        assert "leastWorkers: job-ray@v1" in result.words
    project.edit((patches, ""))
    grows = yaml.safe_load(run("job", "render", "dev", "train").out)
    assert grows["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] is True


@pytest.mark.parametrize("forbidden", [False, True])
def test_a_job_that_fits_no_node_is_submitted_with_a_finding(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forbidden: bool
) -> None:
    """An autoscaler may add such a node. The recorded nodes have one GPU."""
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
            # The submission reaches the server, which creates nothing.
            assert (result.code, "API server answered 501" in result.err) == (1, True)
        waiver = "  modelyard:waivers: [{code: RES212, reason: nodes come, expires: 2099-01-01, by: ada}]\n"
        project.edit(("config:\n", f"config:\n{waiver}"))
        assert "RES212" not in run("job", "submit", "dev", "train").err
        project.edit((waiver, ""))
        cluster.forbidden.clear()
        cluster.objects["nodes"].append(node("n3", gpus=4))
        assert "RES212" not in run("job", "submit", "dev", "train").err


def test_warnings_about_a_run_are_printed_where_it_is_submitted_or_rendered(
    project: Any, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    large = JOBS.replace("resource: deep,", "resource: deep, model: {parameters: 7G},").replace("cpu: 4", "cpu: 1")
    small = "    - {name: other, type: training, resource: deep, command: [a]}\n"
    pipelines = "  modelyard:pipelines: [{name: nightly, stages: [{name: fit, job: train}]}]\n"
    project.edit(("config:\n", f"config:{large}{small}{pipelines}"))
    verbs = [(group, verb) for group in ("job", "pipeline") for verb in ("render", "submit")]
    names = {"job": "train", "pipeline": "nightly"}
    with api_server(tmp_path) as cluster:
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
        monkeypatch.setenv("no_proxy", "*")
        for waiver in ("", "  modelyard:waivers: [{code: RES204, reason: measured, expires: 2099-01-01, by: ada}]\n"):
            project.edit(("config:\n", f"config:\n{waiver}"))
            for group, verb in verbs:
                result = run(group, verb, "dev", names[group])
                assert ("RES204" in result.err) is (not waiver), (group, verb, result.err)


def test_render_needs_no_cluster(jobs: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_job_that_cannot_be_submitted_is_not_rendered(jobs: Any, run: Any) -> None:
    result = run("job", "render", "dev", "clicks")
    assert (result.code, result.errors, result.out) == (1, ["RES214"], "")
    result = run("job", "render", "dev", "nobody")
    assert (result.code, "'nobody'" in result.err, result.out) == (2, True, "")


def test_check_notes_a_job_without_an_image(project: Any, run: Any) -> None:
    line = "  - {name: nightly, type: training, command: [python, train.py]}"
    project.add(f"modelyard:jobs:\n{line}")
    found = json.loads(run("check", "dev", "--json").out)["findings"]
    (note,) = [one for one in found if one["code"] == "RES214"]
    where = project.stack_file().read_text().splitlines().index(f"  {line}") + 1
    assert (note["severity"], note["line"], "job nightly" in note["summary"]) == ("advice", where, True)
    project.add("modelyard:runtime: {image: 'registry.example/jobs:1'}\n")
    assert "RES214" not in run("check", "dev", "--json").out


@pytest.mark.parametrize(
    ("keys", "code", "field"),
    [
        ("command: []", "CFG012", "command"),
        ("command: python", "CFG010", "command"),
        ("trials: 0", "CFG012", "trials"),
        ("timeLimit: -1h", "CFG014", "timeLimit"),
        ("env: {1x: a}", "CFG018", "env.1x"),
        ("engine: slurm", "CFG011", "engine"),
    ],
)
def test_wrong_settings(project: Any, run: Any, keys: str, code: str, field: str) -> None:
    project.edit(("config:\n", f"config:{JOBS}    - {{name: it, type: training, {keys}}}\n"))
    assert setting_errors(run) == [(code, f"jobs[2].{field}")]
    assert "stacks/Pulumi.dev.yaml:10:" in run("check", "dev").text


@pytest.mark.parametrize(
    ("ordered", "mixed"),
    [
        ("job submit dev x.ipynb -p a=1 -p b=2 --json", "job submit -p a=1 dev --json x.ipynb -p b=2"),
        ("job -C . render dev train --json", "job -C . render dev --json train"),
        ("plan dev prod --json", "plan dev --json prod"),
        ("job render dev train more --json", "job render dev train --json more"),
    ],
)
def test_options_may_stand_between_arguments(jobs: Any, run: Any, ordered: str, mixed: str) -> None:
    first, second = run(*ordered.split()), run(*mixed.split())
    assert (second.code, second.text) == (first.code, first.text)
