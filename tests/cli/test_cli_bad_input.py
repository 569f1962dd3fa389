"""Every bad input that a stack file or a patch can hold: one clear message, the right exit code, nothing written."""

import re
import subprocess
from typing import Any

import pytest

FILE = "stacks/Pulumi.dev.yaml"


def said(result: Any, code: str, line: int, *words: str) -> None:
    """The one error is this one, with its place and every word."""
    assert result.errors == [code], result.text
    assert re.search(rf"{FILE}:{line}:\d+", result.text), result.text
    for word in words:
        assert word in result.words, result.text


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("A11", "GPU002", ("unknown GPU 'A11'", "did you mean", "a10", "modelyard gpus")),
        ("A10G", "GPU001", ("A10G is not supported", "70 FP16 TFLOPS", "an A10G is not an A10", "A100, V100, A10")),
        ("L4", "GPU001", ("L4 is not supported", "121 FP16 TFLOPS", "125")),
        ("T4", "GPU001", ("T4 is not supported", "65 FP16 TFLOPS", "125")),
    ],
)
def test_gpus_that_cannot_train(project: Any, refused: Any, model: str, code: str, words: tuple[str, ...]) -> None:
    project.edit(("model: A10", f"model: {model}"))
    said(refused("check", "dev", code=1), code, 11, *words)


def test_memory_below_what_the_gpu_needs(project: Any, refused: Any) -> None:
    project.edit(("memory: 32Gi\n    image: images.example.com/ml-platform/ray", "memory: 12Gi\n    image: x.io/ray"))
    said(
        refused("check", "dev", code=1),
        "RES001",
        28,
        "rayWorker.memory is 12Gi (12.88 GB)",
        "24 GB",
        "23Gi or more",
    )


def test_quoted_memory_means_the_same(project: Any, refused: Any) -> None:
    project.edit(("memory: 32Gi\n    image: images.example.com/ml-platform/ray", 'memory: "12Gi"\n    image: x.io/ray'))
    said(refused("check", "dev", code=1), "RES001", 28, "12Gi (12.88 GB)")


def test_cpu_under_gpus(project: Any, refused: Any) -> None:
    project.edit(("model: A100", "model: A100"), ("cpu: 32", "cpu: 3"), stack="staging")
    result = refused("check", "staging", code=1)
    assert result.errors == ["RES002"]
    assert "rayWorker.cpu is 3, but at least 4 cores are needed" in result.words
    assert "stacks/Pulumi.staging.yaml:24:5" in result.text


@pytest.mark.parametrize(
    ("section", "key", "code", "words"),
    [
        ("rayHead", "replicas: 2", "RAY001", "a Ray cluster has exactly one head"),
        ("rayHead", "gpu: 1", "RAY004", "the head runs on a CPU node"),
        ("modelService", "gpu: 1", "RES006", "the model service runs on CPUs only"),
    ],
)
def test_what_head_and_model_service_may_not_have(
    project: Any, refused: Any, section: str, key: str, code: str, words: str
) -> None:
    project.edit((f"modelyard:{section}:\n", f"modelyard:{section}:\n    {key}\n"))
    line = {"rayHead": 22, "modelService": 15}[section]
    said(refused("check", "dev", code=1), code, line, words)


def test_ray_on_a_release_without_it(project: Any, refused: Any) -> None:
    project.edit(('"23.10"', '"22.10"'))
    said(refused("check", "dev", code=1), "RAY005", 7, "22.10 has no Ray training", "set training to celery")


@pytest.mark.parametrize(("value", "words"), [("-1", "cannot be negative"), ("1.5", "cannot be a fraction")])
def test_replicas_are_whole_and_not_negative(project: Any, refused: Any, value: str, words: str) -> None:
    project.edit(("replicas: 2", f"replicas: {value}"))
    said(refused("check", "dev", code=2), "CFG012", 15, f"modelService.replicas is {value}", words, "whole number")


def test_multi_gpu_with_one_gpu(project: Any, refused: Any) -> None:
    project.edit(("allocation: single", "allocation: multi_gpu"))
    said(refused("check", "dev", code=1), "RAY007", 13, "gpu.perWorker is 1")


def test_partial_with_celery(project: Any, refused: Any) -> None:
    project.edit(("allocation: single", "allocation: partial"), ("training: ray", "training: celery"))
    said(refused("check", "dev", code=1), "CEL006", 13, "partial", "set gpu.allocation to single")


def test_an_expired_waiver(project: Any, refused: Any) -> None:
    project.add("modelyard:waivers:\n  - {code: RES102, reason: quiet hours, expires: 2020-01-01}")
    said(refused("check", "dev", code=1), "CFG019", 45, "expired on 2020-01-01", "quiet hours")


def test_a_waiver_without_a_reason(project: Any, refused: Any) -> None:
    project.add("modelyard:waivers:\n  - {code: RES102, expires: 2036-01-01}")
    said(refused("check", "dev", code=2), "CFG020", 45, "waivers[0] has no reason")


def test_a_target_that_is_not_there(project: Any, refused: Any) -> None:
    project.add("modelyard:targets:\n  rayHead: {deployment: deployment-ray-hed}")
    said(
        refused("check", "dev", code=1),
        "PAT013",
        45,
        "Deployment ml-platform/deployment-ray-hed is not in the cluster",
        "ray-head@v1",
        "did you mean deployment-ray-head?",
    )


def test_a_container_that_is_not_there(project: Any, refused: Any) -> None:
    project.add("modelyard:targets:\n  rayHead: {container: ray-hed}")
    said(refused("check", "dev", code=1), "PAT014", 45, "no container 'ray-hed'", "did you mean ray-head?")


def test_a_patch_of_ones_own_names_its_template_for_a_missing_target(project: Any, refused: Any) -> None:
    project.patch(
        "mine", "# target: deployment-api-serve\napiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}\n"
    )
    result = refused("check", "dev", code=1)
    assert result.errors == ["PAT013"]
    assert "patches/mine/v1/patch.yaml.j2" in result.text
    assert "did you mean deployment-api-server?" in result.words


def test_a_tampered_release(project: Any, refused: Any) -> None:
    template = project.patches / "ray-worker/v1/patch.yaml.j2"
    template.write_text(template.read_text() + "# just a comment\n")
    result = refused("plan", "dev", code=1)
    assert result.errors == ["PAT003"]
    assert "released patch ray-worker@v1 was changed" in result.words
    assert "patches/ray-worker/v5" in result.words
    assert refused("patches", code=1).errors == ["PAT003"]


@pytest.mark.parametrize("committed", [False, True])
def test_the_advice_for_a_tampered_release_brings_it_back(project: Any, run: Any, committed: bool) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *who, *words], cwd=project.root, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "release")
    template = project.patches / "ray-worker/v1/patch.yaml.j2"
    template.write_text(template.read_text() + "# just a comment\n")
    if committed:
        git("commit", "--quiet", "--all", "--message", "change")
    advice = run("check", "dev").words
    shown, brought = re.findall(r"git (log -- \S+|checkout COMMIT -- \S+)", advice.replace(")", " ").replace(";", " "))
    commit = git(*shown.replace("log", "log --format=%h -1").split())
    git(*brought.replace("COMMIT", commit).split())
    assert run("check", "dev").code == 0


@pytest.mark.parametrize(
    ("template", "code", "line", "words"),
    [
        ("# target: deployment-api-server\nspec: {{ memroy }}\n", "PAT005", 2, "'memroy' is not defined"),
        ("# target: deployment-api-server\n{% for x in %}\n", "PAT005", 2, "is not a Jinja2 template"),
        ("\n\n{{ ''.__class__.__mro__ }}", "PAT005", 3, "'__class__' is not available in templates"),
        ("{% for i in range(100001) %}x{% endfor %}", "PAT006", 1, "exceeds a limit"),
        (
            "{{ '%999999999d' % 1 }}",
            "PAT006",
            0,
            "produces more than 16,777,216 characters, printed or not, or 1,048,576 at once",
        ),
        (
            "{{ 'x' * 9999999999 }}",
            "PAT006",
            0,
            "produces more than 16,777,216 characters, printed or not, or 1,048,576 at once",
        ),
        ("spec: [\n", "PAT007", 2, "does not render to YAML"),
        ("spec: {replicas: 1}\n", "PAT007", 1, "has no `# target: NAME` line"),
    ],
)
def test_templates_that_cannot_be_used(
    project: Any, refused: Any, template: str, code: str, line: int, words: str
) -> None:
    project.patch("mine", template)
    result = refused("check", "dev", code=1)
    assert result.errors == [code]
    assert words in result.words
    assert f"patches/mine/v1/patch.yaml.j2{f':{line}' if line else ''}" in result.text


def test_a_template_that_does_not_end(project: Any, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modelyard.catalog.templates.SECONDS", 0.2)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    project.patch("mine", loops)
    result = refused("check", "dev", code=1)
    assert result.errors == ["PAT006"]
    assert "was still rendering after 0.2 seconds" in result.words


BOMB = "config:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  {new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "code", "line", "words"),
    [
        (b"config:\n  a: 1\n  a: 2\n", "CFG006", 3, '"a" is given twice, first on line 2'),
        (b"config:\n  modelyard:gpu:\n\tmodel: A10\n", "CFG004", 3, "indented with a tab"),
        (BOMB.encode(), "CFG003", 6, "expand to more than 50,000 values"),
        (b"config:\n  a: \xff\xfe\n", "CFG002", 2, "not UTF-8: byte 0xff"),
        (b"config:\n  a: [\n", "CFG004", 3, "is not YAML"),
        (b"", "CFG007", 1, "the stack file is empty"),
        (b"- 1\n", "CFG007", 1, "is a list, not a mapping"),
    ],
)
def test_files_that_are_no_stack_file(
    project: Any, refused: Any, content: bytes, code: str, line: int, words: str
) -> None:
    project.stack_file().write_bytes(content)
    result = refused("plan", "dev", code=2)
    assert code in result.errors, result.text
    assert words in result.words
    assert f"{FILE}:{line}:" in result.text
    assert result.out == ""


def test_a_file_of_50_megabytes_is_not_even_read(project: Any, run: Any) -> None:
    with project.stack_file().open("r+b") as stream:
        stream.truncate(50 * 1024 * 1024)
    result = run("plan", "dev")
    assert (result.code, result.errors) == (2, ["CFG003"])
    assert "the text has 52,428,800 bytes; the limit is 16,777,216 bytes" in result.words


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(project: Any, refused: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"), ("memory: 16Gi", "memory: 16GB"), ("mode: none", "mod: none"))
    result = refused("check", "dev", code=2)
    assert result.errors == ["CFG012", "CFG013", "CFG013", "CFG008"]
    lines = [int(line) for line in re.findall(rf"{FILE}:(\d+):", result.text)]
    assert lines == sorted(lines)


def test_a_stack_without_a_recorded_platform(project: Any, refused: Any) -> None:
    project.stack_file("test").write_bytes(project.stack_file().read_bytes())
    result = refused("plan", "test", code=2)
    assert result.errors == ["CFG101"]
    assert "stacks/recorded/test" in result.text
    assert "modelyard record test" in result.words


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not an object"),
        ('{"formatVersion": 9}', "formatVersion is 9, this modelyard reads 1"),
        ('{"formatVersion": 1}', "lacks 'identity'"),
        (
            '{"formatVersion": 1, "identity": "a", "version": "b", "nodes": [1], "pods": []}',
            "nodes is not a list of objects",
        ),
        (
            '{"formatVersion": 1, "identity": "a", "version": "b", "nodes": [], '
            '"pods": [{"node": "n", "owner": "o", "requests": 5}]}',
            "a part of it has the wrong type",
        ),
    ],
)
def test_a_recorded_platform_that_cannot_be_read(project: Any, refused: Any, content: str, words: str) -> None:
    (project.root / "stacks/recorded/dev/cluster.json").write_text(content)
    result = refused("plan", "dev", code=2)
    assert result.errors == ["CFG102"]
    assert words in result.words
    assert "stacks/recorded/dev/cluster.json" in result.text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('"template": {', '"template": 5, "was": {', "spec.template"),
        ('"f:metadata": {', '"f:metadata": 5, "f:was": {', "metadata.managedFields"),
        ('"f:metadata": {', '"": {', "metadata.managedFields"),
        ('"k:{\\"name\\":', '"k:{\\"name\\":[],\\"was\\":', "metadata.managedFields"),
        ('"manager": "', '"manager": 5, "was": "', "metadata.managedFields"),
        ('"kind": "Deployment"', '"kind": "Deployment", "a": "\\ud800"', "half of a surrogate pair"),
    ],
)
def test_a_recorded_object_that_is_none_of_its_kind(
    project: Any, refused: Any, before: str, after: str, words: str
) -> None:
    file = "stacks/recorded/dev/deployment.ml-platform.deployment-ray-head.json"
    text = (project.root / file).read_text()
    assert before in text
    (project.root / file).write_text(text.replace(before, after, 1))
    for verb in ("plan", "ledger"):
        if (verb, words) == ("ledger", "spec.template"):
            continue  # It reads the notes of the object alone.
        result = refused(verb, "dev", code=2)
        assert result.errors == ["CFG102"]
        assert words in result.words
        assert file in result.text


def test_a_missing_stack(refused: Any) -> None:
    assert "did you mean staging?" in refused("plan", "stagin", code=2).words


def test_a_cuda_version_that_is_none(refused: Any) -> None:
    assert "'abc' is not a version" in refused("gpus", "--cuda", "abc", code=2).words
