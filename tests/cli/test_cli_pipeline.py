"""``modelyard pipeline`` without a cluster: show, render, and refusals.

``tests/golden/test_cli_pipeline.txt`` has what it prints.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.support.setting_errors import setting_errors

PIPELINES = """
  modelyard:runtime: {image: "images.example.com/jobs:1.2.3"}
  modelyard:buckets:
    - {name: lake, url: "s3://acme-lake", reachedBy: [platform]}
  modelyard:resources:
    - {name: deep, type: training, workers: 2, cpu: 4, memory: 24Gi, gpus: 1}
    - {name: chat, type: serving, cpu: 4, memory: 24Gi}
  modelyard:jobs:
    - {name: clicks, type: dataset, command: [python, prepare.py], timeLimit: 1h}
    - {name: fit, type: training, resource: deep, command: [python, train.py]}
    - {name: assistant, type: serving, resource: chat}
  modelyard:pipelines:
    - name: nightly
      artifacts: {bucket: lake, prefix: pipelines}
      stages:
        - {name: prepare, job: clicks, writes: [dataset]}
        - {name: train, job: fit, needs: [prepare], reads: [dataset], writes: [model]}
        - {name: serve, rollout: chat, needs: [train], reads: [model]}
"""


@pytest.fixture
def pipelines(project: Any) -> Any:
    """The project whose stack dev has a pipeline."""
    project.edit(("config:\n", f"config:{PIPELINES}"))
    return project


def test_show(pipelines: Any, run: Any, golden: Callable[..., None]) -> None:
    golden(run("pipeline", "show", "dev", "nightly"), run("pipeline", "show", "dev", "nightly", "--mermaid"))
    document = json.loads(run("pipeline", "show", "dev", "nightly", "--json").out)
    assert (document["mostGpus"], document["longest"]) == (2, 7 * 3600)
    assert [stage["gpus"] for stage in document["stages"]] == [0, 2, 0]


def test_render_needs_no_cluster(pipelines: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    printed = run("pipeline", "render", "dev", "nightly")
    assert printed.code == 0, printed.err
    objects = list(yaml.safe_load_all(printed.out))
    assert objects == json.loads(run("pipeline", "render", "dev", "nightly", "--json").out)["objects"]
    held = [body for body in objects if body["kind"] == "Job" and body["spec"].get("suspend")]
    assert {"nightly-prepare", "nightly-train"} <= {body["metadata"]["name"] for body in held}


def test_show_without_a_name_shows_all_pipelines(pipelines: Any, run: Any) -> None:
    assert run("pipeline", "show", "dev").out == run("pipeline", "show", "dev", "nightly").out
    another = "    - {name: weekly, stages: [{name: prepare, job: clicks}]}\n"
    pipelines.edit(("  modelyard:pipelines:\n", f"  modelyard:pipelines:\n{another}"))
    shown = run("pipeline", "show", "dev").out
    assert [line.split()[0] for line in shown.splitlines() if " of dev: " in line] == ["weekly", "nightly"]
    # A document has one pipeline.
    result = run("pipeline", "show", "dev", "--json")
    assert (result.code, "weekly, nightly" in result.words) == (2, True)


def test_show_reports_all_broken_pipelines_and_shows_the_others(pipelines: Any, run: Any) -> None:
    broken = (
        "    - {name: weekly, stages: [{name: prepare, job: nope}]}\n"
        "    - {name: yearly, stages: [{name: prepare, job: clicks, needs: [x]}]}\n"
    )
    pipelines.edit(("  modelyard:pipelines:\n", f"  modelyard:pipelines:\n{broken}"))
    result = run("pipeline", "show", "dev")
    assert (result.code, result.errors) == (1, ["PIP002", "PIP004"])
    assert result.out == run("pipeline", "show", "dev", "nightly").out
    document = json.loads(run("pipeline", "show", "dev", "yearly", "--json").out)
    assert [one["code"] for one in document["findings"]] == ["PIP004"]
    twin = broken.replace("yearly", "weekly").replace("job: nope", "job: clicks")
    pipelines.edit((broken, twin))
    result = run("pipeline", "show", "dev")
    assert (result.code, result.errors, result.out.count("weekly of dev: ")) == (1, ["PIP001", "PIP004"], 1)


IN_A_TEAM = (
    (
        "  modelyard:resources:\n",
        "  modelyard:flavors: [{name: a10, gpu: A10}]\n  modelyard:teams:\n"
        "    - {name: vision, quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 1}]}\n"
        "  modelyard:resources:\n",
    ),
    ("gpus: 1}\n    - {name: chat,", "gpus: 1, team: vision}\n    - {name: chat, team: vision,"),
    ("type: dataset,", "type: dataset, team: vision,"),
)


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        (IN_A_TEAM, "RES213"),
        (
            (
                *IN_A_TEAM,
                ("  modelyard:flavors", "  modelyard:patches: [{name: job-ray, version: v1}]\n  modelyard:flavors"),
                ("train.py]}", "train.py], engine: ray, leastWorkers: 1}"),
            ),
            "RES211",
        ),
        (
            (
                (
                    "  modelyard:resources:\n",
                    '  modelyard:environments: [{name: tabular, python: "3.11", pip: [pandas]}]\n'
                    "  modelyard:resources:\n",
                ),
                ("train.py]}", "train.py], environment: tabular}"),
            ),
            "ENV004",
        ),
    ],
)
def test_show_reports_what_a_submission_reports(
    pipelines: Any, run: Any, edits: tuple[tuple[str, str], ...], code: str
) -> None:
    before = [run("pipeline", "show", "dev", "nightly", option).out for option in ("--json", "--mermaid")]
    for edit in edits:
        pipelines.edit(edit)
    shown, submitted = run("pipeline", "show", "dev"), run("pipeline", "submit", "dev", "nightly")
    assert (shown.code, shown.errors) == (submitted.code, submitted.errors) == (1, [code])
    assert "nightly of dev: " in shown.out
    results = [run("pipeline", "show", "dev", "nightly", option) for option in ("--json", "--mermaid")]
    assert [(one.code, one.errors) for one in results] == [(1, [code])] * 2
    assert json.loads(results[0].out).keys() == json.loads(before[0]).keys()
    assert results[1].out == before[1]


WRONG = (
    *(f"{verb} dev nightli" for verb in ("show", "submit", "render")),
    "render dev weekly",
    "submit dev nightly --from trian --run nightly-x7k2p",
    "submit dev nightly --from train",
    "submit dev nightly --run nightly-x",
    "submit dev nightly --from train --run A/b",
)


def test_wrong_arguments(pipelines: Any, refused: Any, golden: Callable[..., None]) -> None:
    golden(*(refused("pipeline", *command.split(), code=2) for command in WRONG))


def test_a_stack_without_pipelines(project: Any, run: Any, golden: Callable[..., None]) -> None:
    golden(run("pipeline", "show", "dev"))
    assert run("pipeline", "show", "dev", "--json").code == 2


def test_stages_that_need_each_other_are_an_error(pipelines: Any, run: Any) -> None:
    pipelines.edit(("job: clicks, writes", "job: clicks, needs: [serve], writes"))
    for words in (("check", "dev"), ("pipeline", "show", "dev", "nightly"), ("pipeline", "submit", "dev", "nightly")):
        result = run(*words)
        assert (result.code, result.errors) == (1, ["PIP005"])
        assert "prepare → serve → train → prepare" in result.words
        assert "stacks/Pulumi.dev.yaml:" in result.words


def test_submit_needs_a_cluster(pipelines: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    result = run("pipeline", "submit", "dev", "nightly")
    assert result.code == 3
    assert "kubeconfig" in result.err


@pytest.mark.parametrize(
    ("stage", "code", "field"),
    [
        ("{name: UPPER, job: clicks}", "CFG018", ".name"),
        ("{name: x, job: clicks, after: [prepare]}", "CFG008", ".after"),
        ("{name: x, job: clicks, needs: prepare}", "CFG010", ".needs"),
        ("{job: clicks}", "CFG009", ".name"),
    ],
)
def test_wrong_stages(pipelines: Any, run: Any, stage: str, code: str, field: str) -> None:
    pipelines.edit(("{name: serve, rollout: chat, needs: [train], reads: [model]}", stage))
    assert setting_errors(run) == [(code, f"pipelines[0].stages[2]{field}")]
    assert "stacks/Pulumi.dev.yaml:20:" in run("check", "dev").text


@pytest.mark.parametrize(
    ("words", "code"),
    [(("show", "dev"), 0), (("submit", "dev", "nightly"), 3), (("show", "dev", "weekly"), 2)],
    ids=str,
)
def test_no_line_is_wider_than_the_terminal(pipelines: Any, fits: Any, words: tuple[str, ...], code: int) -> None:
    fits("pipeline", *words, code=code)
