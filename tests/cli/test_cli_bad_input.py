"""Each bad input that a stack file or a patch can hold is one finding with its place and the right exit code."""

import json
import re
import subprocess
from typing import Any

import pytest

FILE = "stacks/Pulumi.dev.yaml"
TEMPLATE = "patches/mine/v1/patch.yaml.j2"
WORKER = "memory: 32Gi\n    image: images.example.com/ml-platform/ray"


@pytest.fixture
def errors(refused: Any) -> Any:
    """The findings of a check that are errors; nothing is written."""

    def check(*words: str, code: int) -> list[dict[str, Any]]:
        findings = json.loads(refused("check", *words, "--json", code=code).out)["findings"]
        return [one for one in findings if one["severity"] == "error"]

    return check


def place(finding: dict[str, Any]) -> tuple[str, str, int | None]:
    return finding["code"], finding["file"], finding.get("line")


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "field", "facts"),
    [
        ("model: A10", "model: A11", "GPU002", 11, "gpu.model", ("'A11'", "a10")),
        ("model: A10", "model: A10G", "GPU001", 11, "gpu.model", ("70 FP16", "125", "A100")),
        ("model: A10", "model: L4", "GPU001", 11, "gpu.model", ("121 FP16", "125")),
        ("model: A10", "model: T4", "GPU001", 11, "gpu.model", ("65 FP16", "125")),
        (WORKER, "memory: 12Gi\n    image: a", "RES001", 28, "rayWorker.memory", ("12Gi (12.88 GB)", "24 GB", "23Gi")),
        (WORKER, 'memory: "12Gi"\n    image: a', "RES001", 28, "rayWorker.memory", ("12Gi (12.88 GB)", "23Gi")),
        ("cpu: 8", "cpu: 3", "RES002", 27, "rayWorker.cpu", ("is 3", "4 cores")),
        ("rayHead:\n", "rayHead:\n    replicas: 2\n", "RAY001", 22, "rayHead.replicas", ("rayWorker.replicas",)),
        ("rayHead:\n", "rayHead:\n    gpu: 1\n", "RAY004", 22, "rayHead.gpu", ("gpu.perWorker",)),
        ("modelService:\n", "modelService:\n    gpu: 1\n", "RES006", 15, "modelService.gpu", ()),
        ('"23.10"', '"22.10"', "RAY005", 7, "platform.release", ("22.10", "23.04", "celery")),
        ("allocation: single", "allocation: multi_gpu", "RAY007", 13, "gpu.allocation", ("gpu.perWorker is 1",)),
    ],
)  # fmt: skip
def test_a_setting_that_breaks_a_rule_is_one_error_at_its_line(
    project: Any, errors: Any, old: str, new: str, code: str, line: int, field: str, facts: tuple[str, ...]
) -> None:
    project.edit((old, new))
    (error,) = errors("dev", code=1)
    assert (*place(error), error["field"]) == (code, FILE, line, field)
    assert [fact for fact in facts if fact not in " ".join(map(str, error.values()))] == []


def test_partial_gpus_with_celery(project: Any, errors: Any) -> None:
    project.edit(("allocation: single", "allocation: partial"), ("training: ray", "training: celery"))
    (error,) = errors("dev", code=1)
    assert place(error) == ("CEL006", FILE, 13)
    assert {"gpu.allocation", "single"} <= set(error["remedy"].split())


@pytest.mark.parametrize("value", ["-1", "1.5"])
def test_replicas_are_whole_and_not_negative(project: Any, errors: Any, value: str) -> None:
    project.edit(("replicas: 2", f"replicas: {value}"))
    (error,) = errors("dev", code=2)
    assert (*place(error), error["field"]) == ("CFG012", FILE, 15, "modelService.replicas")
    assert f"is {value};" in error["summary"]


@pytest.mark.parametrize(
    ("lines", "exit_code", "code", "field", "fact"),
    [
        (
            "waivers:\n  - {code: RES102, reason: quiet hours, expires: 2020-01-01}",
            1, "CFG019", "waivers[0].expires", "2020-01-01",
        ),
        ("waivers:\n  - {code: RES102, expires: 2036-01-01}", 2, "CFG020", "waivers[0]", "waivers[0]"),
        (
            "targets:\n  rayHead: {deployment: deployment-ray-hed}",
            1, "PAT013", "targets.rayHead.deployment", "mean deployment-ray-head?",
        ),
        (
            "targets:\n  rayHead: {statefulSet: deployment-ray-head}",
            1, "PAT013", "targets.rayHead.statefulSet", "deployment: deployment-ray-head ",
        ),
        ("targets:\n  rayHead: {container: ray-hed}", 1, "PAT014", "targets.rayHead.container", "mean ray-head?"),
    ],
)  # fmt: skip
def test_a_waiver_or_a_target_that_does_not_hold(
    project: Any, errors: Any, lines: str, exit_code: int, code: str, field: str, fact: str
) -> None:
    project.add(f"modelyard:{lines}")
    (error,) = errors("dev", code=exit_code)
    assert (*place(error), error["field"]) == (code, FILE, 45, field)
    assert fact in f"{error['summary']} {error['remedy']}"


def test_a_target_that_is_missing_is_reported_at_the_projects_own_template(project: Any, errors: Any) -> None:
    project.patch(
        "mine", "# target: deployment-api-serve\napiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}\n"
    )
    (error,) = errors("dev", code=1)
    assert place(error)[:2] == ("PAT013", TEMPLATE)
    assert "mean deployment-api-server?" in error["remedy"]


def test_a_tampered_release(project: Any, refused: Any) -> None:
    template = project.patches / "ray-worker/v1/patch.yaml.j2"
    template.write_text(template.read_text() + "# just a comment\n")
    result = refused("plan", "dev", code=1)
    assert result.errors == ["PAT003"]
    assert "ray-worker@v1" in result.words
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
    ("template", "code", "line", "fact"),
    [
        ("# target: deployment-api-server\nspec: {{ memroy }}\n", "PAT005", 2, "'memroy'"),
        ("# target: deployment-api-server\n{% for x in %}\n", "PAT005", 2, "Jinja2"),
        ("\n\n{{ ''.__class__.__mro__ }}", "PAT005", 3, "'__class__'"),
        ("{% for i in range(100001) %}x{% endfor %}", "PAT006", 1, "limit"),
        ("{{ '%999999999d' % 1 }}", "PAT006", None, "16,777,216"),
        ("{{ 'x' * 9999999999 }}", "PAT006", None, "16,777,216"),
        ("spec: [\n", "PAT007", 1, "YAML"),
        ("spec: {replicas: 1}\n", "PAT007", 1, "`# target: NAME`"),
    ],
)
def test_templates_that_cannot_be_used(
    project: Any, errors: Any, template: str, code: str, line: int | None, fact: str
) -> None:
    project.patch("mine", template)
    (error,) = errors("dev", code=1)
    assert place(error) == (code, TEMPLATE, line)
    assert fact in error["summary"]


def test_a_template_that_does_not_end(project: Any, errors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modelyard.catalog.templates.SECONDS", 0.2)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    project.patch("mine", loops)
    (error,) = errors("dev", code=1)
    assert place(error)[:2] == ("PAT006", TEMPLATE)
    assert "0.2 seconds" in error["summary"]


BOMB = "config:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  {new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "code", "line", "fact"),
    [
        (b"config:\n  a: 1\n  a: 2\n", "CFG006", 3, "line 2"),
        (b"config:\n  modelyard:gpu:\n\tmodel: A10\n", "CFG004", 3, "tab"),
        (BOMB.encode(), "CFG003", 6, "50,000"),
        (b"config:\n  a: \xff\xfe\n", "CFG002", 2, "0xff"),
        (b"config:\n  a: [\n", "CFG004", 2, "YAML"),
        (b"", "CFG007", 1, "empty"),
        (b"- 1\n", "CFG007", 1, "list"),
    ],
)
def test_files_that_are_not_stack_files(
    project: Any, refused: Any, errors: Any, content: bytes, code: str, line: int, fact: str
) -> None:
    project.stack_file().write_bytes(content)
    found = {place(one): one["summary"] for one in errors("dev", code=2)}
    assert fact in found[code, FILE, line]
    assert refused("plan", "dev", code=2).out == ""


def test_a_file_of_50_megabytes_is_not_read(project: Any, errors: Any) -> None:
    with project.stack_file().open("r+b") as stream:
        stream.truncate(50 * 1024 * 1024)
    (error,) = errors("dev", code=2)
    assert error["code"] == "CFG003"
    assert {"52,428,800", "16,777,216"} <= set(error["summary"].split())


def test_all_mistakes_are_reported_in_the_order_of_their_lines(project: Any, errors: Any) -> None:
    project.edit(("replicas: 2", "replicas: -2"), ("memory: 16Gi", "memory: 16GB"), ("mode: none", "mod: none"))
    codes, files, lines = zip(*map(place, errors("dev", code=2)), strict=True)
    assert codes == ("CFG012", "CFG013", "CFG013", "CFG008")
    assert set(files) == {FILE}
    assert list(lines) == sorted(lines)


def test_a_stack_without_a_recorded_platform(project: Any, refused: Any) -> None:
    project.stack_file("test").write_bytes(project.stack_file().read_bytes())
    result = refused("plan", "test", code=2)
    assert result.errors == ["CFG101"]
    assert "stacks/recorded/test" in result.text
    assert "record test" in result.words


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("{", "JSON"),
        ("[]", "not an object"),
        ('{"formatVersion": 9}', "formatVersion 9"),
        ('{"formatVersion": 1}', "lacks 'identity'"),
        (
            '{"formatVersion": 1, "identity": "a", "version": "b", "nodes": [1], "pods": []}',
            "nodes is",
        ),
        (
            '{"formatVersion": 1, "identity": "a", "version": "b", "nodes": [], '
            '"pods": [{"node": "n", "owner": "o", "requests": 5}]}',
            "wrong type",
        ),
    ],
)
def test_a_recorded_platform_that_cannot_be_read(project: Any, errors: Any, content: str, fact: str) -> None:
    (project.root / "stacks/recorded/dev/cluster.json").write_text(content)
    (error,) = errors("dev", code=2)
    assert place(error)[:2] == ("CFG102", "stacks/recorded/dev/cluster.json")
    assert fact in f"{error['summary']} {error.get('detail')}"


@pytest.mark.parametrize(
    ("before", "after", "fact"),
    [
        ('"template": {', '"template": 5, "was": {', "spec.template"),
        ('"f:metadata": {', '"f:metadata": 5, "f:was": {', "metadata.managedFields"),
        ('"f:metadata": {', '"": {', "metadata.managedFields"),
        ('"k:{\\"name\\":', '"k:{\\"name\\":[],\\"was\\":', "metadata.managedFields"),
        ('"manager": "', '"manager": 5, "was": "', "metadata.managedFields"),
        ('"kind": "Deployment"', '"kind": "Deployment", "a": "\\ud800"', "surrogate"),
    ],
)
def test_a_recorded_object_that_cannot_be_read(project: Any, refused: Any, before: str, after: str, fact: str) -> None:
    file = "stacks/recorded/dev/deployment.ml-platform.deployment-ray-head.json"
    text = (project.root / file).read_text()
    assert before in text
    (project.root / file).write_text(text.replace(before, after, 1))
    for verb in ("plan", "ledger"):
        if (verb, fact) == ("ledger", "spec.template"):
            continue  # It reads only the annotations of the object.
        result = refused(verb, "dev", code=2)
        assert result.errors == ["CFG102"]
        assert fact in result.words
        assert file in result.text
