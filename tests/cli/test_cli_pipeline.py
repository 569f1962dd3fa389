"""``modelyard pipeline``: what is shown, and what is said before any cluster is asked."""

import json
from typing import Any

import pytest
import yaml

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


def test_stages_are_shown_in_order_with_what_they_take(pipelines: Any, run: Any) -> None:
    result = run("pipeline", "show", "dev", "nightly")
    assert result.code == 0, result.err
    assert [line.split()[0] for line in result.out.splitlines()[3:6]] == ["prepare", "train", "serve"]


def test_the_same_for_machines(pipelines: Any, run: Any) -> None:
    document = json.loads(run("pipeline", "show", "dev", "nightly", "--json").out)
    assert (document["mostGpus"], document["longest"]) == (2, 7 * 3600)
    assert [stage["gpus"] for stage in document["stages"]] == [0, 2, 0]


def test_a_run_is_printed_without_a_cluster(pipelines: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    printed = run("pipeline", "render", "dev", "nightly")
    assert printed.code == 0, printed.err
    objects = list(yaml.safe_load_all(printed.out))
    assert objects == json.loads(run("pipeline", "render", "dev", "nightly", "--json").out)["objects"]
    held = [body for body in objects if body["kind"] == "Job" and body["spec"].get("suspend")]
    assert {"nightly-prepare", "nightly-train"} <= {body["metadata"]["name"] for body in held}
    unknown = run("pipeline", "render", "dev", "weekly")
    assert (unknown.code, unknown.out) == (2, "")
    assert "dev has no pipeline 'weekly'" in unknown.err


def test_a_flowchart(pipelines: Any, run: Any) -> None:
    out = run("pipeline", "show", "dev", "nightly", "--mermaid").out
    assert out.startswith("flowchart LR\n")
    assert "s0 -- dataset --> s1" in out


def test_without_a_name_all_are_shown(pipelines: Any, run: Any) -> None:
    assert run("pipeline", "show", "dev").out == run("pipeline", "show", "dev", "nightly").out
    another = "    - {name: weekly, stages: [{name: prepare, job: clicks}]}\n"
    pipelines.edit(("  modelyard:pipelines:\n", f"  modelyard:pipelines:\n{another}"))
    shown = run("pipeline", "show", "dev").out
    assert [line.split()[0] for line in shown.splitlines() if " of dev: " in line] == ["weekly", "nightly"]
    result = run("pipeline", "show", "dev", "--json")
    assert (result.code, "name one of them: weekly, nightly" in result.words) == (2, True)


@pytest.mark.parametrize("verb", ["show", "submit", "render"])
def test_a_pipeline_that_there_is_not(pipelines: Any, run: Any, verb: str) -> None:
    result = run("pipeline", verb, "dev", "nightli")
    assert result.code == 2
    assert "did you mean nightly?" in result.err


def test_a_stage_that_there_is_not(pipelines: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    result = run("pipeline", "submit", "dev", "nightly", "--from", "trian", "--run", "nightly-x7k2p")
    assert result.code == 2
    assert "pipeline nightly has no stage 'trian'" in result.err
    assert "did you mean train?" in result.err


def test_without_pipelines_there_is_nothing_to_show(project: Any, run: Any) -> None:
    shown = run("pipeline", "show", "dev")
    assert (shown.code, shown.out) == (0, "dev has no pipelines; add them under modelyard:pipelines\n")
    assert run("pipeline", "show", "dev", "--json").code == 2


def test_what_is_wrong_is_told_by_check_show_and_submit(pipelines: Any, run: Any) -> None:
    pipelines.edit(("job: clicks, writes", "job: clicks, needs: [serve], writes"))
    for words in (("check", "dev"), ("pipeline", "show", "dev", "nightly"), ("pipeline", "submit", "dev", "nightly")):
        result = run(*words)
        assert result.code == 1
        said = " ".join((result.out + result.err).split())
        assert (
            "PIP005 pipeline nightly can never run: its stages need each other: prepare → serve → train → prepare"
            in said
        )
        assert "stacks/Pulumi.dev.yaml:" in said


def test_a_cluster_is_needed_to_submit(pipelines: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    result = run("pipeline", "submit", "dev", "nightly")
    assert result.code == 3
    assert "kubeconfig" in result.err


@pytest.mark.parametrize("words", [("--from", "train"), ("--run", "nightly-x"), ("--from", "train", "--run", "A/b")])
def test_going_on_needs_a_stage_and_a_run(pipelines: Any, run: Any, words: tuple[str, ...]) -> None:
    result = run("pipeline", "submit", "dev", "nightly", *words)
    assert result.code == 2
    assert "--run" in result.err


@pytest.mark.parametrize(
    "stage",
    [
        "{name: UPPER, job: clicks}",
        "{name: x, job: clicks, after: [prepare]}",
        "{name: x, job: clicks, needs: prepare}",
        "{job: clicks}",
    ],
)
def test_bad_settings_are_told_with_their_line(pipelines: Any, run: Any, stage: str) -> None:
    pipelines.edit(("        - {name: serve, rollout: chat, needs: [train], reads: [model]}", f"        - {stage}"))
    result = run("check", "dev")
    assert result.code == 2
    assert "stacks/Pulumi.dev.yaml:20:" in result.out + result.err


@pytest.mark.parametrize(
    ("words", "code"),
    [(("show", "dev"), 0), (("submit", "dev", "nightly"), 3), (("show", "dev", "weekly"), 2)],
    ids=str,
)
def test_no_line_is_wider_than_the_terminal(pipelines: Any, fits: Any, words: tuple[str, ...], code: int) -> None:
    fits("pipeline", *words, code=code)
