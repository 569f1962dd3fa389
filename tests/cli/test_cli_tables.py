"""Tables and texts: GPUs, patches, explanations, schemas, completion, help.

What ``gpus`` and ``patches`` refuse is in ``tests/golden/test_cli_tables.txt``.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.parser import VERBS
from tests.support.forked_process import forked


def test_gpus(run: Any) -> None:
    lines = run("gpus").out.splitlines()
    assert lines[0].split()[:2] == ["OK?", "GPU"]
    assert any(line.split()[:2] == ["yes", "a10"] for line in lines)
    assert any(line.split()[:2] == ["no", "a10g"] for line in lines)
    only = [line.split()[0] for line in run("gpus", "--supported").out.splitlines()[1:-2]]
    assert set(only) == {"yes"}
    h100 = json.loads(run("gpus", "H100", "--cuda", "12.4", "--json").out)["cards"]
    assert {gpu["supported"] for gpu in h100} == {"yes"}


def test_gpus_without_a_supported_one(run: Any) -> None:
    result = run("gpus", "--supported", "T4")
    assert (result.code, "Not supported: T4" in result.out) == (0, True)
    assert json.loads(run("gpus", "--supported", "T4", "--json").out)["cards"] == []


def test_minutes_without_work_have_limits(run: Any, golden: Any) -> None:
    results = [run("gpus", "--live", "dev", "--idle", minutes) for minutes in ("0", "10081", "x", "1.5", "9" * 5000)]
    assert [one.code for one in results] == [2] * len(results)
    assert all("10080" in one.err for one in results)
    golden(results[0])


def test_patches_are_sorted_by_name(run: Any) -> None:
    listed = json.loads(run("patches", "--json").out)["patches"]
    assert [patch["name"] for patch in listed] == sorted(patch["name"] for patch in listed)


def test_a_draft_with_a_broken_template_is_not_released(project: Any, refused: Any) -> None:
    project.patch("mine", "# target: deployment-api-server\n{{ a b }}\n")
    project.patch("deep", "{% for a in b %}" * 25 + "{% endfor %}" * 25)
    result = refused("patches", "--release", code=1)
    assert {"patches/mine/v1/patch.yaml.j2:2", "patches/deep/v1/patch.yaml.j2"} <= set(result.words.split())
    assert "mine" not in (project.patches / "patches.lock").read_text()


@pytest.mark.parametrize(
    ("template", "meta", "schema"),
    [
        ("spec: [\n", "when: listed\n", "{}"),
        ("spec: [{{ n }}\n", "description: mine\nparams: {n: gpu.model}\n", "{}"),
        ("spec: [{{ n }}\n", "when: listed\n", '{"properties": {"n": {"default": 1}}}'),
    ],
    ids=["of-no-stack", "of-a-stack", "with-defaults"],
)
def test_a_draft_whose_output_is_not_a_patch_is_not_released(
    project: Any, run: Any, refused: Any, template: str, meta: str, schema: str
) -> None:
    head = "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n"
    file = project.patch("mine", head + template, meta, schema) / "patch.yaml.j2"
    assert "patches/mine/v1/patch.yaml.j2:" in refused("patches", "mine", "--release", code=1).words
    assert "mine" not in (project.patches / "patches.lock").read_text()
    file.write_text(head + template.replace("[", ""))
    assert run("patches", "mine", "--release").code == 0


def test_a_released_draft_cannot_change(project: Any, run: Any, golden: Any) -> None:
    folder = project.patch("mine", "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n")
    assert "v1 (draft)" in run("patches").out
    golden(run("patches", "--release"), run("patches", "--release"))
    assert "draft" not in run("patches").out
    (folder / "meta.yaml").write_text("description: changed\n")
    before = (project.patches / "patches.lock").read_text()
    result = run("patches", "--release")
    assert (result.code, result.errors) == (1, ["PAT003"])
    assert "patches/mine/v1/meta.yaml:1" in result.err
    assert (project.patches / "patches.lock").read_text() == before


def test_releasing_one_patch_does_not_release_others(project: Any, run: Any, golden: Any) -> None:
    template = "# target: deployment-api-server\napiVersion: apps/v1\nkind: Deployment\n"
    project.patch("mine", template)
    other = project.patch("other", template)
    golden(*(run("patches", "mine", "--release") for _ in range(2)))
    assert "v1 (draft)" in run("patches").out
    shutil.rmtree(other.parent)
    assert run("patches").code == 0
    assert run("patches", "minne", "--release").code == 2


@pytest.mark.parametrize("words", [("patches", "mine"), ("patches", "mine", "--release")])
def test_a_patch_that_cannot_be_read_is_not_called_unknown(project: Any, run: Any, words: tuple[str, ...]) -> None:
    (project.patch("mine", "# target: deployment-api-server\nspec: {replicas: 1}\n") / "schema.json").write_text("{")
    result = run(*words)
    assert (result.code, result.errors) == (1, ["PAT009"])
    assert "patches/mine/v1/schema.json:1" in result.text


def test_explain(run: Any) -> None:
    codes = [line.split()[0] for line in run("explain").out.splitlines() if line.startswith("  ")]
    assert codes == sorted(codes)
    assert len(codes) > 70
    for code in codes:
        out = run("explain", code).out
        assert out.startswith(f"{code}  ")
        for word in ("Why", "Example", "Fix"):
            assert word in out, code
    assert run("explain", "gpu001").text == run("explain", "GPU001").text
    assert json.loads(run("explain", "GPU001", "--json").out)["code"] == "GPU001"
    cel = [code for code in codes if code.startswith("CEL")]
    assert [line.split()[0] for line in run("explain", "cel").out.splitlines()[1:]] == cel
    assert list(json.loads(run("explain", "CEL", "--json").out)["codes"]) == cel
    assert run("explain", "").code == 2


@pytest.mark.parametrize("name", ["stack", "plan", "findings", "outputs"])
def test_schema(run: Any, name: str) -> None:
    document = json.loads(run("schema", name).out)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"urn:modelyard:schema:{name}"
    assert document["title"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_scripts_are_programs_of_their_shell(run: Any, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(run("completion", shell).out)
    assert "modelyard" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} to read it")
    assert subprocess.run([shell, "-n", script], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("modelyard ", set(VERBS)),
        ("modelyard pro", {"promote"}),
        ("modelyard plan ", {"dev", "prod", "staging", "--target"}),
        ("modelyard promote dev p", {"prod"}),
        ("modelyard show st", {"staging"}),
        ("modelyard plan dev --targ", {"--target"}),
        ("modelyard diff dev --target deployment-ray", {"deployment-ray-head", "deployment-ray-model-training-worker"}),
        ("modelyard blame dev rayW", {"rayWorker"}),
        ("modelyard explain gpu00", {"GPU001", "GPU009"}),
        ("modelyard gpus a10", {"a10", "a100", "a10g", "a100-80gb"}),
        ("modelyard patches ray-w", {"ray-worker", "ray-worker-multi-gpu"}),
        ("modelyard job su", {"submit"}),
        ("modelyard job submit dev tr", {"train"}),
        ("modelyard pipeline show dev ", {"nightly"}),
        ("modelyard size dev ", {"deep", "train"}),
        ("modelyard completion f", {"fish"}),
        ("modelyard -C . check --format s", {"sarif"}),
        ("modelyard blame dev rayWorker ", set()),
        ("modelyard plan --label ", set()),
        ("modelyard fmt Pul", {"Pulumi.yaml"}),
    ],
)
def test_completions_of_a_word(project: Any, line: str, words: set[str]) -> None:
    settings = """modelyard:training: ray
  modelyard:resources: [{name: deep, type: training}]
  modelyard:jobs: [{name: train, type: training, resource: deep, command: [python, train.py]}]
  modelyard:pipelines: [{name: nightly, stages: [{name: fit, job: train}]}]"""
    project.edit(("modelyard:training: ray", settings))
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9", "_ARGCOMPLETE": "1"}
    answer = project.root / "answer"
    variables = {
        **asked,
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_STDOUT_FILENAME": answer,
    }
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    done = forked((), project.root, environment)
    assert done.returncode == 0, done.stderr
    found = {word.strip() for word in answer.read_text().split("\n")}
    last = line.rpartition(" ")[2]
    assert words <= found
    assert ("Pulumi.yaml" in found) == ("Pulumi.yaml" in words)
    assert all(word.lower().startswith(last.lower()) for word in found)


def test_every_verb_has_help(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    for words in ((), *((verb,) for verb in VERBS)):
        result = run(*words, "--help")
        assert result.code == 0
        assert result.out.startswith(f"usage: modelyard {' '.join(words)}".rstrip())
        assert max(map(len, result.out.splitlines())) <= 100
    overview = run("--help").out
    assert all(f"  {verb} " in overview for verb in VERBS)
    assert re.search(r"^ +5  \w", overview, re.MULTILINE)
    assert re.fullmatch(r"modelyard \d+\.\d+\.\d+\n", run("--version").out)
