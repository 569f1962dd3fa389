"""The verbs that compare: preview, promote, and plan --matrix."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource


@pytest.fixture
def repository(project: Any) -> Any:
    """The scratch project as a git repository with a branch of its own."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(project.root), *words], check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    git("config", "user.email", "dev@example.com")
    git("config", "user.name", "dev")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    git("checkout", "--quiet", "-b", "feature")
    return project


def test_no_change_is_said_in_two_lines(repository: Any, run: Any) -> None:
    result = run("preview", "--base", "main")
    assert result.code == 0
    assert result.out.splitlines()[0] == "no changes in 3 stacks"


def test_without_a_base_the_default_branch_is_compared(
    repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    assert run("preview").out == run("preview", "--base", "main").out
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    result = run("preview")
    assert (result.code, "this clone has no origin/main to compare with" in result.err) == (2, True)


def test_a_stack_that_a_sparse_checkout_leaves_out_is_named(repository: Any, run: Any) -> None:
    words = ["sparse-checkout", "set", "--no-cone", "/*", "!/stacks/Pulumi.prod.yaml"]
    subprocess.run(["git", "-C", str(repository.root), *words], check=True, capture_output=True)
    result = run("preview", "--base", "main")
    assert "no changes in 2 stacks" in result.out
    assert result.err.startswith("not compared: prod (left out by the sparse checkout")
    assert "prod" not in run("preview", "--base", "main", "--head", "HEAD").err


@pytest.mark.parametrize(
    "path",
    [
        "patches/",
        "patches/ray-worker/",
        "patches/patches.lock",
        "policies/",
        "stacks/recorded/dev/",
        "stacks/recorded/dev/cluster.json",
    ],
)
def test_files_of_a_plan_that_a_sparse_checkout_leaves_out_are_an_error(repository: Any, run: Any, path: str) -> None:
    policy = repository.root / "policies/policy.yaml"
    policy.parent.mkdir()
    policy.write_text("rules: {}\n")
    git = ["git", "-C", str(repository.root)]
    for words in (
        ["add", "--all"],
        ["commit", "--quiet", "--message", "policies"],
        ["branch", "--force", "main"],
        ["sparse-checkout", "set", "--no-cone", "/*", f"!/{path}"],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    result = run("preview", "--base", "main")
    assert result.code == 2
    assert f"the sparse checkout leaves out {path}" in result.err
    assert "--head HEAD" in result.err


def test_what_changes_and_where(repository: Any, run: Any) -> None:
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    result = run("preview", "--base", "main")
    assert result.code == 0
    assert "1 of 3 stacks changes" in result.out
    assert "resources  memory 32Gi → 48Gi" in result.out
    assert "not affected: prod, staging" in result.out
    assert run("preview", "--base", "main", "--detailed-exitcode").code == 5


def test_errors_are_the_exit_code(repository: Any, run: Any) -> None:
    repository.edit(("volume: 50Gi", "volume: 5Gi"), stack="dev")
    result = run("preview", "--base", "main")
    assert result.code == 1
    assert "New findings" in result.out
    assert "RES005" in result.out
    repository.edit(("volume: 5Gi", "volume: lots"), stack="dev")
    assert run("preview", "--base", "main").code == 2


def test_every_form_from_one_run(repository: Any, run: Any, tmp_path: Path) -> None:
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    files = [tmp_path / f"preview.{ending}" for ending in ("md", "html", "json", "txt")]
    result = run("preview", "--base", "main", *(word for file in files for word in ("--output", str(file))))
    assert (result.code, result.out) == (0, "")
    markdown, html, document, text = (file.read_text() for file in files)
    assert markdown.startswith("<!-- modelyard preview -->\n## modelyard: dev waits for running Ray jobs")
    assert html.startswith("<!doctype html>")
    assert json.loads(document)["summary"]["changed"] == 1
    assert "\x1b" not in text


def test_the_forms_for_machines_are_as_published(repository: Any, run: Any) -> None:
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    repository.edit(("maxReplicas: 2", "maxReplicas: 0"), stack="staging")
    repository.add("modelyard:buckets: [{name: lake, url: s3://acme-lake, reachedBy: [platform]}]")
    schemas = {name: json.loads(run("schema", name).out) for name in ("plan", "preview", "findings", "outputs")}
    registry: Any = Registry().with_resources(
        [(schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()]
    )

    def wrong(document: Any, reference: str) -> list[str]:
        validator = Draft202012Validator({"$ref": f"urn:modelyard:schema:{reference}"}, registry=registry)
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]

    assert wrong(json.loads(run("preview", "--base", "main", "--json").out), "preview") == []
    assert wrong(json.loads(run("plan", "--all", "--matrix", "--json").out), "outputs#/$defs/matrix") == []
    assert wrong(json.loads(run("promote", "dev", "prod", "--json").out), "outputs#/$defs/promote") == []
    # The published schema stands alone.
    alone = Draft202012Validator(schemas["preview"])
    assert not list(alone.iter_errors(json.loads(run("preview", "--base", "main", "--json").out)))
    (repository.root / "stacks/Pulumi.prod.yaml").unlink()
    document = json.loads(run("preview", "--base", "main", "--json").out)
    assert wrong(document, "preview") == []
    assert [stack["status"] for stack in document["stacks"]] == ["changed", "removed", "changed"]


def test_the_same_input_gives_the_same_bytes(repository: Any, run: Any, tmp_path: Path) -> None:
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    for ending in ("md", "html", "json"):
        made = []
        for name in ("one", "two"):
            file = tmp_path / f"{name}.{ending}"
            run("preview", "--base", "main", "--output", str(file))
            made.append(file.read_bytes())
        assert made[0] == made[1]


def test_a_file_whose_form_nobody_can_tell(repository: Any, run: Any, tmp_path: Path) -> None:
    result = run("preview", "--base", "main", "--output", str(tmp_path / "preview"))
    assert result.code == 2
    assert "--format" in result.err


@pytest.mark.parametrize(
    ("words", "said", "remedy"),
    [
        (("--limit", "3999"), "3999", "at least 4000"),
        (("--limit", "0"), "--limit 0", "at least 4000"),
        (("--limit", "4000", "--report-url", "https://ci.example.com"), "4022", "a shorter --report-url"),
        (
            ("--report-url", "https://ci.example.com/" + "x" * 65_000),
            "69023",
            "a shorter --report-url",
        ),
        (("--report-url", "javascript:alert(1)"), "'javascript:alert(1)'", "https://"),
        (("--report-url", "//ci.example.com"), "//ci.example.com", "https://"),
        (("--report-url", "http://["), "http://[", "https://"),
    ],
)
def test_a_comment_that_cannot_be_made_as_asked(repository: Any, run: Any, words: Any, said: str, remedy: str) -> None:
    result = run("preview", "--base", "main", "--format", "markdown", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert remedy in result.err


def test_a_comment_keeps_the_limit_and_links_the_report(repository: Any, run: Any) -> None:
    repository.edit(("model: A10", "model: L4"), stack="dev")
    repository.edit(("maxReplicas: 2", "maxReplicas: 4"), stack="staging")
    words = ("--limit", "4050", "--report-url", "https://ci.example.com/a) [b](c")
    result = run("preview", "--base", "main", "--format", "markdown", *words)
    assert len(result.out) <= 4050
    assert "[full report](https://ci.example.com/a%29%20%5Bb%5D%28c) · next: " in result.out
    assert "GPU001" in result.out


def test_a_run_without_credentials_is_compared_offline_and_ends_as_without_live(
    repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a pull request from a fork."""
    monkeypatch.setenv("KUBECONFIG", str(repository.root.parent / "missing"))
    repository.edit(("memory: 32Gi", "memory: 48Gi"), stack="dev")
    offline, live = run("preview", "--base", "main"), run("preview", "--base", "main", "--live")
    assert (live.code, live.err) == (offline.code, "")
    assert "not with the cluster: dev (no kubeconfig could be read from" in " ".join(live.out.split())
    assert run("preview", "--base", "main", "--live", "--detailed-exitcode").code == 5
    document = json.loads(run("preview", "--base", "main", "--live", "--json").out)
    schema = json.loads(run("schema", "preview").out)
    assert not list(Draft202012Validator(schema).iter_errors(document))
    assert ([one["stack"] for one in document["offline"]], document["unlisted"]) == (["dev"], [])


def test_places_link_to_the_repository_of_the_ci_or_another_one(
    repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.edit(("model: A10", "model: L4"), stack="dev")
    words = ("preview", "--base", "main", "--format", "markdown")
    head = subprocess.run(
        ["git", "-C", str(repository.root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert "/blob/" not in run(*words).out
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/ml")
    line = f"/blob/{head}/stacks/Pulumi.dev.yaml#L"
    assert f"](https://github.com/acme/ml{line}" in run(*words).out
    assert (
        f"](https://gitlab.example.com/ml/-{line}"
        in run(*words, "--repo-url", "https://oauth2:s3cret@gitlab.example.com/ml.git").out
    )
    assert "/blob/" not in run(*words, "--repo-url", "").out
    result = run(*words, "--repo-url", "ssh://ada:s3cret@github.com/acme/ml")
    assert (result.code, result.out, "s3cret" in result.err) == (2, "", False)
    monkeypatch.setenv("GITHUB_SERVER_URL", "javascript:alert(1)")
    assert "/blob/" not in run(*words).out


def test_a_stack_file_that_goes_is_a_warning_and_stops_nothing(repository: Any, run: Any) -> None:
    (repository.root / "stacks/Pulumi.staging.yaml").unlink()
    result = run("preview", "--base", "main")
    assert result.code == 0
    assert "CFG104" in result.out
    assert "modelyard destroy staging" in result.out
    assert "GPUs stay at 4" in result.out


def test_a_base_that_is_not_there(repository: Any, run: Any) -> None:
    result = run("preview", "--base", "nowhere")
    assert result.code == 2
    assert "'nowhere'" in result.err
    assert "fetch-depth: 0" in result.err


def test_outside_of_a_repository(project: Any, run: Any) -> None:
    result = run("preview", "--base", "main")
    assert result.code == 2
    assert "git" in result.err


@pytest.mark.parametrize("verb", [("preview",), ("check", "dev"), ("plan", "dev"), ("render", "dev", "--print")])
def test_nowhere_for_temporary_files(repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch, verb: Any) -> None:
    """Where nothing else can be written, Python would take the present folder: the user's."""
    monkeypatch.setattr("tempfile.tempdir", str(repository.root))
    result = run(*verb, "--base", "main")
    assert (result.code, result.out) == (2, "")
    assert "TMPDIR" in result.words


def taken(text: str) -> str:
    """Production's stack file with what development has newer: the release, and the version of a patch."""
    return text.replace('"23.07"', '"23.10"').replace(
        "celery-training\n      version: v1", "celery-training\n      version: v2"
    )


def test_a_promotion_is_shown_and_written_when_asked_to(project: Any, run: Any) -> None:
    file = project.root / "stacks/Pulumi.prod.yaml"
    before = file.read_text()
    result = run("promote", "dev", "prod")
    assert result.code == 0
    assert "platform.release 23.07 → 23.10 patches.celery-training v1 → v2" in result.words
    assert '+    release: "23.10"' in result.out
    assert "Next: modelyard promote dev prod --write" in result.out
    assert file.read_text() == before
    assert run("promote", "dev", "prod", "--write").code == 0
    assert file.read_text() == taken(before)
    assert json.loads(run("promote", "dev", "prod", "--json").out)["taken"] == []


def test_a_promotion_for_machines(project: Any, run: Any) -> None:
    document = json.loads(run("promote", "dev", "prod", "--take", "gpu.model", "--json").out)
    assert {"setting": "gpu.model", "source": "A10", "target": "A30"} in document["taken"]
    assert run("promote", "dev", "prod", "--take", "patches.ray-worker").code == 0
    assert document["written"] is False
    assert document["diff"].startswith("--- stacks/Pulumi.prod.yaml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("promote", "dev", "dev"), "dev is both source and target"),
        (("promote", "dev", "nope"), "unknown stack 'nope'"),
        (("promote", "dev", "prod", "--take", "gpu.modle"), "did you mean gpu.model"),
        (("promote", "dev", "prod", "--take", "patches.ray-wroker"), "did you mean patches.ray-worker"),
        (("promote", "dev", "prod", "--take", "jobs"), "each stack has its own jobs"),
        (("promote", "dev", "prod", "--keep", "resources.train"), "each stack has its own resources"),
        (("promote", "dev", "prod", "--take", "kubernetes:context"), "each stack names its own cluster"),
        (("promote", "dev", "prod", "--keep", "kubernetes:context"), "a promotion never copies kubernetes:context"),
        (("promote", "dev", "prod", "--take", "gpu", "--keep", "gpu"), "--take gpu has no effect with --keep gpu"),
        (("promote", "dev", "prod", "--take", "gpu.model", "--keep", "gpu"), "gpu.model has no effect with --keep gpu"),
        (("plan", "dev", "--matrix"), "--matrix compares stacks"),
    ],
)
def test_what_cannot_be_compared(project: Any, run: Any, words: Any, said: str) -> None:
    result = run(*words)
    assert result.code == 2
    assert said in result.words


def test_a_promotion_of_a_stack_that_cannot_be_read(project: Any, run: Any) -> None:
    project.stack_file("prod").write_text("")
    assert "error: prod cannot be read" in run("promote", "dev", "prod").words


def test_a_section_is_taken_without_a_setting_that_is_kept(project: Any, run: Any) -> None:
    document = json.loads(run("promote", "dev", "prod", "--take", "gpu", "--keep", "gpu.model", "--json").out)
    assert "gpu.model" in {one["setting"] for one in document["kept"]}


@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("stacks/recorded/staging/cluster.json", "stacks/recorded/staging/cluster.json:1"),
        ("stacks/Pulumi.staging.yaml", "stacks/Pulumi.staging.yaml:"),
    ],
)
def test_a_matrix_says_why_a_stack_is_not_in_it(
    project: Any, run: Any, file: str, place: str, json_too: tuple[str, ...]
) -> None:
    (project.root / file).write_text("{")
    result = run("plan", "--all", "--matrix", *json_too)
    assert result.code == 2
    assert place in result.err
    assert "error: Pulumi.staging.yaml cannot be planned" in result.err
    assert "replicas" in result.out


def test_where_stacks_diverge(project: Any, run: Any) -> None:
    document = json.loads(run("plan", "--all", "--matrix", "--json").out)
    assert document["stacks"] == ["dev", "prod", "staging"]
    (replicas,) = (
        one
        for one in document["fields"]
        if (one["target"], one["field"]) == ("deployment-model-service", "spec.replicas")
    )
    assert replicas["values"] == [{"value": 2, "stacks": ["dev", "staging"]}, {"value": 3, "stacks": ["prod"]}]


def test_a_promotion_is_written_in_the_layout_of_fmt(project: Any, run: Any) -> None:
    shutil.copytree(project.patches / "ray-worker/v1", project.patches / "ray-worker/v5")
    project.add("modelyard:patches:\n  - name: ray-worker\n    version: v1", stack="staging")
    assert run("fmt").code == 0
    assert run("promote", "staging", "dev", "--write").code == 0
    assert "modelyard:patches:" in project.stack_file("dev").read_text()
    assert run("fmt", "--check").code == 0


def test_a_promotion_leaves_the_layout_of_a_file_that_has_its_own(project: Any, run: Any) -> None:
    project.edit(("model: A30", "model:   A30"), stack="prod")
    before = project.stack_file("prod").read_text()
    assert run("promote", "dev", "prod", "--write").code == 0
    assert project.stack_file("prod").read_text() == taken(before)


def test_a_promotion_that_goes_down_says_so(project: Any, run: Any) -> None:
    shutil.copytree(project.patches / "ray-worker/v1", project.patches / "ray-worker/v5")
    project.add("modelyard:patches:\n  - name: ray-worker\n    version: v1", stack="staging")
    result = run("promote", "prod", "dev")
    assert "warning  platform.release " in result.out
    assert "--keep platform.release" in result.words
    result = run("promote", "staging", "dev")
    assert "warning  patches.ray-worker " in result.out
    assert json.loads(run("promote", "staging", "dev", "--json").out)["lowered"] == ["patches.ray-worker"]
    assert run("promote", "staging", "dev", "--keep", "patches", "--json").out.count('"lowered": []') == 1
    assert json.loads(run("promote", "dev", "prod", "--json").out)["lowered"] == []


def test_a_promotion_with_nothing_to_take_says_what_stays(project: Any, run: Any) -> None:
    project.add("modelyard:waivers: [{code: RES102, reason: quiet hours, expires: 2036-01-01, by: Ada}]")
    project.add("modelyard:policy: {rules: {POL105: {level: disabled}}}")
    result = run("promote", "dev", "staging")
    assert result.code == 0
    assert "waivers.RES102 (none) dev: until 2036-01-01: quiet hours (Ada)" in result.words
    assert "policy.POL105 (none) dev: disabled" in result.words
    document = json.loads(run("promote", "dev", "staging", "--json").out)
    assert document["taken"] == []
    assert {"waivers.RES102", "policy.POL105"} <= {one["setting"] for one in document["kept"]}
    refused = run("promote", "dev", "staging", "--take", "waivers")
    assert refused.code == 2
    assert "by hand" in refused.words


def test_a_parameter_of_a_patch_is_promoted(project: Any, run: Any) -> None:
    project.add("modelyard:patches: [{name: ray-worker, params: {gracePeriod: 23000}}]")
    assert "patches.ray-worker.params.gracePeriod  (none)  → 23000" in run("promote", "dev", "staging").out
    assert run("promote", "dev", "staging", "--write").code == 0
    assert "gracePeriod: 23000" in project.stack_file("staging").read_text()


FAR = """modelyard:resources:
  - {name: far, type: runtime, remote: {cluster: {controller: "https://10.8.0.5:6443", context: NAME-far}}}"""


def test_what_stacks_ask_of_remote_clusters_is_compared_and_promoted(project: Any, run: Any) -> None:
    for stack in ("dev", "staging"):
        project.add(FAR.replace("NAME", stack), stack)
    folder = project.patches / "remote-cluster"
    shutil.copytree(folder / "v1", folder / "v2")
    base = folder / "v2/base.yaml.j2"
    field = "automountServiceAccountToken: "
    base.write_text(base.read_text().replace(f"{field}false", f"{field}true"))
    project.add("modelyard:patches: [{name: remote-cluster, version: v1}]", "staging")
    document = json.loads(run("promote", "dev", "staging", "--json").out)
    taken = {one["setting"]: one["source"] for one in document["taken"]}
    assert taken["patches.remote-cluster"] == "v2"
    rows = json.loads(run("plan", "dev", "staging", "--matrix", "--json", "--target", "far/remote-job").out)["fields"]
    values = {row["field"]: sorted(json.dumps(one["value"]) for one in row["values"]) for row in rows}
    assert values["automountServiceAccountToken"] == ["false", "true"]


def test_no_line_is_wider_than_the_terminal(repository: Any, fits: Any) -> None:
    fits("preview")
    repository.edit(("memory: 32Gi", "memory: 8Gi"), ("training: ray", "training: celery"), stack="dev")
    repository.edit(("release:", "relase: 1\n    release:"), stack="prod")
    repository.add("modelyard:patches:\n  - {name: model-service, enabled: false}", stack="staging")
    fits("preview", code=2)
