"""The commands that compare: ``preview``, ``promote`` and ``plan --matrix``.

``tests/golden/test_cli_preview.txt`` has what they print.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

MEMORY = ("memory: 32Gi", "memory: 48Gi")
"""A change that replaces one pod."""


def git(project: Any, *words: str) -> str:
    who = ("-c", "user.email=dev@example.com", "-c", "user.name=dev")
    command = ["git", "-C", str(project.root), *who, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(committed: Any) -> Any:
    """The project as a repository with main and a branch."""
    git(committed, "checkout", "--quiet", "-b", "feature")
    return committed


def parsed(run: Any, *words: str) -> Any:
    """The JSON document that a command prints."""
    return json.loads(run(*words, "--json").out)


CHANGES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "nothing": (),
    "switch": (("training: ray", "training: celery"),),
    "gpu": (("model: A10", "model: A30"),),
}


@pytest.mark.parametrize("change", CHANGES)
def test_preview(repository: Any, run: Any, golden: Callable[..., None], change: str) -> None:
    repository.edit(*CHANGES[change])
    shown = [run("preview", "--base", "main", *form) for form in ((), ("--format", "markdown"))]
    golden(*(re.sub(r"\b[0-9a-f]{8}\b", "COMMIT", str(result)) for result in shown))


def test_preview_compares_with_the_default_branch(repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.edit(MEMORY)
    assert run("preview").out == run("preview", "--base", "main").out
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    result = run("preview")
    assert (result.code, "no origin/main" in result.err) == (2, True)


def test_preview_names_stacks_outside_a_sparse_checkout(repository: Any, run: Any) -> None:
    git(repository, "sparse-checkout", "set", "--no-cone", "/*", "!/stacks/Pulumi.prod.yaml")
    result = run("preview", "--base", "main", "--json")
    assert json.loads(result.out)["unchanged"] == ["dev", "staging"]
    assert result.err.startswith("not compared: prod (")
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
def test_preview_fails_without_files_outside_a_sparse_checkout(repository: Any, run: Any, path: str) -> None:
    policy = repository.root / "policies/policy.yaml"
    policy.parent.mkdir()
    policy.write_text("rules: {}\n")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "policies")
    git(repository, "branch", "--force", "main")
    git(repository, "sparse-checkout", "set", "--no-cone", "/*", f"!/{path}")
    repository.edit(MEMORY)
    result = run("preview", "--base", "main")
    assert result.code == 2
    assert f"leaves out {path}" in result.err
    assert "--head HEAD" in result.err


def test_exit_codes_of_a_preview(repository: Any, run: Any) -> None:
    repository.edit(MEMORY)
    assert run("preview", "--base", "main").code == 0
    assert run("preview", "--base", "main", "--detailed-exitcode").code == 5
    repository.edit(("volume: 50Gi", "volume: 5Gi"))
    result = run("preview", "--base", "main")
    assert (result.code, result.errors) == (1, ["RES005"])
    repository.edit(("volume: 5Gi", "volume: lots"))
    assert run("preview", "--base", "main").code == 2


def test_one_run_writes_every_format_and_always_the_same_bytes(repository: Any, run: Any) -> None:
    repository.edit(MEMORY)
    made = []
    for folder in (repository.root.parent / name for name in ("one", "two")):
        folder.mkdir()
        files = [folder / f"preview.{ending}" for ending in ("md", "html", "json", "txt")]
        result = run("preview", "--base", "main", *(word for file in files for word in ("--output", str(file))))
        assert (result.code, result.out) == (0, "")
        made.append([file.read_text() for file in files])
    markdown, html, document, text = made[0]
    assert made[1] == made[0]
    assert markdown.startswith("<!-- modelyard preview -->\n## modelyard: ")
    assert html.startswith("<!doctype html>")
    assert json.loads(document)["summary"]["changed"] == 1
    assert "\x1b" not in text


def test_documents_fit_their_schemas(repository: Any, run: Any, valid: Any) -> None:
    repository.edit(MEMORY)
    repository.edit(("maxReplicas: 2", "maxReplicas: 0"), stack="staging")
    repository.add("modelyard:buckets: [{name: lake, url: s3://acme-lake, reachedBy: [platform]}]")
    document = parsed(run, "preview", "--base", "main")
    assert valid(document, "preview") == []
    assert valid(parsed(run, "plan", "--all", "--matrix"), "outputs", "matrix") == []
    assert valid(parsed(run, "promote", "dev", "prod"), "outputs", "promote") == []
    # The published schema stands alone.
    assert not list(Draft202012Validator(valid.schemas["preview"]).iter_errors(document))
    repository.stack_file("prod").unlink()
    document = parsed(run, "preview", "--base", "main")
    assert valid(document, "preview") == []
    assert [stack["status"] for stack in document["stacks"]] == ["changed", "removed", "changed"]


MARKDOWN = ("--base", "main", "--format", "markdown")


@pytest.mark.parametrize(
    ("words", "value", "remedy"),
    [
        (("--base", "nowhere"), "'nowhere'", "fetch-depth: 0"),
        (("--base", "main", "--output", "preview"), "format of preview", "--format"),
        ((*MARKDOWN, "--limit", "3999"), "3999", "at least 4000"),
        ((*MARKDOWN, "--limit", "0"), "--limit 0", "at least 4000"),
        ((*MARKDOWN, "--limit", "4000", "--report-url", "https://ci.example.com"), "4022", "shorter --report-url"),
        ((*MARKDOWN, "--report-url", "https://ci.example.com/" + "x" * 65_000), "69023", "shorter --report-url"),
        ((*MARKDOWN, "--report-url", "javascript:alert(1)"), "'javascript:alert(1)'", "https://"),
        ((*MARKDOWN, "--report-url", "//ci.example.com"), "//ci.example.com", "https://"),
        ((*MARKDOWN, "--report-url", "http://["), "http://[", "https://"),
    ],
)
def test_wrong_arguments_of_a_preview(repository: Any, refused: Any, words: Any, value: str, remedy: str) -> None:
    result = refused("preview", *words, code=2)
    assert result.out == ""
    assert value in result.err
    assert remedy in result.err


def test_preview_needs_a_repository(refused: Any) -> None:
    assert "git" in refused("preview", "--base", "main", code=2).err


def test_a_comment_keeps_the_limit_and_links_the_report(repository: Any, run: Any) -> None:
    repository.edit(("model: A10", "model: L4"), stack="dev")
    repository.edit(("maxReplicas: 2", "maxReplicas: 4"), stack="staging")
    words = ("--limit", "4050", "--report-url", "https://ci.example.com/a) [b](c")
    result = run("preview", *MARKDOWN, *words)
    assert len(result.out) <= 4050
    assert "[full report](https://ci.example.com/a%29%20%5Bb%5D%28c) · next: " in result.out
    assert "GPU001" in result.out


def test_a_live_preview_without_credentials_compares_recorded_platforms(
    repository: Any, run: Any, valid: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a pull request from a fork."""
    monkeypatch.setenv("KUBECONFIG", str(repository.root.parent / "missing"))
    repository.edit(MEMORY)
    offline, live = run("preview", "--base", "main"), run("preview", "--base", "main", "--live")
    assert (live.code, live.err) == (offline.code, "")
    assert run("preview", "--base", "main", "--live", "--detailed-exitcode").code == 5
    document = parsed(run, "preview", "--base", "main", "--live")
    assert valid(document, "preview") == []
    ((stack, why),) = [one.values() for one in document["offline"]]
    assert (stack, document["unlisted"]) == ("dev", [])
    assert f"dev ({why})" in live.words


def test_findings_link_to_the_repository(repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.edit(("model: A10", "model: L4"), stack="dev")
    words = ("preview", *MARKDOWN)
    line = f"/blob/{git(repository, 'rev-parse', 'HEAD')}/stacks/Pulumi.dev.yaml#L"
    assert "/blob/" not in run(*words).out
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/ml")
    assert f"](https://github.com/acme/ml{line}" in run(*words).out
    other = run(*words, "--repo-url", "https://oauth2:s3cret@gitlab.example.com/ml.git")
    assert f"](https://gitlab.example.com/ml/-{line}" in other.out
    assert "/blob/" not in run(*words, "--repo-url", "").out
    result = run(*words, "--repo-url", "ssh://ada:s3cret@github.com/acme/ml")
    assert (result.code, result.out, "s3cret" in result.err) == (2, "", False)
    monkeypatch.setenv("GITHUB_SERVER_URL", "javascript:alert(1)")
    assert "/blob/" not in run(*words).out


def test_a_deleted_stack_file_is_a_warning(repository: Any, run: Any) -> None:
    repository.stack_file("staging").unlink()
    result = run("preview", "--base", "main", "--json")
    document = json.loads(result.out)
    (stack,) = document["stacks"]
    (finding,) = stack["findings"]["new"]
    assert (result.code, stack["status"], finding["code"], finding["severity"]) == (0, "removed", "CFG104", "warning")
    assert "`modelyard destroy staging`" in finding["remedy"]
    # What was applied stays in the cluster.
    assert stack["gpus"] == {"before": 4, "after": 4}


@pytest.mark.parametrize("verb", [("preview",), ("check", "dev"), ("plan", "dev"), ("render", "dev", "--print")])
def test_a_command_without_a_folder_for_temporary_files(
    repository: Any, run: Any, monkeypatch: pytest.MonkeyPatch, verb: Any
) -> None:
    """If no other folder is writable, Python uses the current one: the user's."""
    monkeypatch.setattr("tempfile.tempdir", str(repository.root))
    result = run(*verb, "--base", "main")
    assert (result.code, result.out) == (2, "")
    assert "TMPDIR" in result.words


def promoted(text: str) -> str:
    """Production's stack file with what development has newer: the release, and the version of a patch."""
    return text.replace('"23.07"', '"23.10"').replace(
        "celery-training\n      version: v1", "celery-training\n      version: v2"
    )


def test_a_promotion_is_shown_and_written_on_request(project: Any, run: Any, golden: Callable[..., None]) -> None:
    file = project.stack_file("prod")
    before = file.read_text()
    shown = run("promote", "dev", "prod")
    assert file.read_text() == before
    comment = before.partition("\n  modelyard:patches:")[0].splitlines()[-1]
    assert len(comment) > 100
    assert comment in shown.out.replace("\n …", "")
    written = run("promote", "dev", "prod", "--write")
    assert file.read_text() == promoted(before)
    assert parsed(run, "promote", "dev", "prod")["taken"] == []
    golden(shown, *written.out.splitlines()[-2:], "")


def test_settings_are_taken_and_kept_by_name(project: Any, run: Any, golden: Callable[..., None]) -> None:
    document = parsed(run, "promote", "dev", "prod", "--take", "gpu.model")
    assert {"setting": "gpu.model", "source": "A10", "target": "A30"} in document["taken"]
    assert document["written"] is False
    assert document["diff"].startswith("--- stacks/Pulumi.prod.yaml")
    assert run("promote", "dev", "prod", "--take", "patches.ray-worker").code == 0
    document = parsed(run, "promote", "dev", "prod", "--take", "gpu", "--keep", "gpu.model")
    assert "gpu.model" in {one["setting"] for one in document["kept"]}
    few = run("promote", "dev", "prod", "--take", "gpu.model", "--keep", "platform.release")
    many = ("celery", "rayWorker", "modelService", "rayHead", "gpu.perWorker")
    long = run("promote", "dev", "prod", *(word for one in many for word in ("--take", one)))
    none = run("promote", "staging", "dev", "--take", "rayHead.image", "--take", "patches.autoscaling-ray")
    # Only what is asked for is refused.
    rest = none.out.removeprefix(run("promote", "staging", "dev").out)
    golden(few.out.splitlines()[-1], *long.out.splitlines()[-2:], none.out.splitlines()[0], rest)


REFUSED = (
    "plan dev --matrix",
    "plan --all --matrix --target rayWorker --target rayWroker",
    "promote dev dev",
    "promote dev nope",
    "promote dev prod --take gpu.modle",
    "promote dev prod --take patches.ray-wroker",
    "promote dev prod --take jobs",
    "promote dev prod --take waivers",
    "promote dev prod --keep resources.train",
    "promote dev prod --take kubernetes:context",
    "promote dev prod --keep kubernetes:context",
    "promote dev prod --take gpu --keep gpu",
    "promote dev prod --take gpu.model --keep gpu",
)


def test_a_matrix_shows_the_targets_that_a_part_of_a_name_or_a_workload_means(project: Any, run: Any) -> None:
    by_part, by_workload = (
        parsed(run, "plan", "--all", "--matrix", "--target", name) for name in ("ray-model", "ray-worker")
    )
    assert by_workload == by_part
    assert {one["target"] for one in by_part["fields"]} == {"deployment-ray-model-training-worker"}


def test_wrong_arguments_of_promote_and_a_matrix(project: Any, refused: Any, golden: Callable[..., None]) -> None:
    results = [refused(*command.split(), code=2) for command in REFUSED]
    project.stack_file("prod").write_text("")
    golden(*results, refused("promote", "dev", "prod", code=2))


@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("stacks/recorded/staging/cluster.json", "stacks/recorded/staging/cluster.json:1"),
        ("stacks/Pulumi.staging.yaml", "stacks/Pulumi.staging.yaml:"),
    ],
)
def test_a_matrix_reports_a_stack_that_cannot_be_planned(
    project: Any, run: Any, file: str, place: str, json_too: tuple[str, ...]
) -> None:
    (project.root / file).write_text("{")
    result = run("plan", "--all", "--matrix", *json_too)
    assert result.code == 2
    assert place in result.err
    assert "error: staging cannot" in result.err
    assert "replicas" in result.out


def test_a_matrix_has_the_reasons_of_each_stack_that_cannot_be_planned(
    project: Any, run: Any, golden: Callable[..., None]
) -> None:
    project.edit(("cpu: 8", "cpu: eight"))
    one = run("plan", "--all", "--matrix", "--target", "rayHead")
    shutil.rmtree(project.root / "stacks/recorded/prod")
    several = (run("plan", "--all", "--matrix", *words) for words in ((), ("--json",), ("--target", "rayWroker")))
    golden(one, *several)


def test_a_matrix_groups_stacks_by_value(project: Any, run: Any) -> None:
    document = parsed(run, "plan", "--all", "--matrix")
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


def test_a_promotion_keeps_a_layout_other_than_that_of_fmt(project: Any, run: Any) -> None:
    project.edit(("model: A30", "model:   A30"), stack="prod")
    before = project.stack_file("prod").read_text()
    assert run("promote", "dev", "prod", "--write").code == 0
    assert project.stack_file("prod").read_text() == promoted(before)


def test_a_promotion_warns_of_lower_versions(project: Any, run: Any) -> None:
    shutil.copytree(project.patches / "ray-worker/v1", project.patches / "ray-worker/v5")
    project.add("modelyard:patches:\n  - name: ray-worker\n    version: v1", stack="staging")
    release, patch = "platform.release", "patches.ray-worker"
    for source, setting, keep in (("prod", release, release), ("staging", patch, "patches")):
        assert setting in parsed(run, "promote", source, "dev")["lowered"]
        assert setting not in parsed(run, "promote", source, "dev", "--keep", keep)["lowered"]
        shown = run("promote", source, "dev")
        assert f"warning  {setting} " in shown.out
        assert f"--keep {keep}" in shown.words
    assert parsed(run, "promote", "dev", "prod")["lowered"] == []


def test_waivers_and_policies_are_kept(project: Any, run: Any) -> None:
    project.add("modelyard:waivers: [{code: RES102, reason: quiet hours, expires: 2036-01-01, by: Ada}]")
    project.add("modelyard:policy: {rules: {POL105: {level: disabled}}}")
    document = parsed(run, "promote", "dev", "staging")
    assert document["taken"] == []
    settings = {"waivers.RES102", "policy.POL105"}
    kept = {one["setting"]: one["source"] for one in document["kept"] if one["setting"] in settings}
    assert kept.keys() == settings
    shown = run("promote", "dev", "staging").words
    assert all(f"{setting} (none) dev: {value}" in shown for setting, value in kept.items()), kept


def test_a_parameter_of_a_patch_is_promoted(project: Any, run: Any) -> None:
    project.add("modelyard:patches: [{name: ray-worker, params: {gracePeriod: 23000}}]")
    assert "patches.ray-worker.params.gracePeriod  (none)  → 23000" in run("promote", "dev", "staging").out
    assert run("promote", "dev", "staging", "--write").code == 0
    assert "gracePeriod: 23000" in project.stack_file("staging").read_text()


FAR = """modelyard:resources:
  - {name: far, type: runtime, remote: {cluster: {controller: "https://10.8.0.5:6443", context: NAME-far}}}"""


def test_patches_of_remote_clusters_are_compared_and_promoted(project: Any, run: Any) -> None:
    for stack in ("dev", "staging"):
        project.add(FAR.replace("NAME", stack), stack)
    folder = project.patches / "remote-cluster"
    shutil.copytree(folder / "v1", folder / "v2")
    base = folder / "v2/base.yaml.j2"
    field = "automountServiceAccountToken: "
    base.write_text(base.read_text().replace(f"{field}false", f"{field}true"))
    project.add("modelyard:patches: [{name: remote-cluster, version: v1}]", "staging")
    document = parsed(run, "promote", "dev", "staging")
    taken = {one["setting"]: one["source"] for one in document["taken"]}
    assert taken["patches.remote-cluster"] == "v2"
    rows = parsed(run, "plan", "dev", "staging", "--matrix", "--target", "far/remote-job")["fields"]
    values = {row["field"]: sorted(json.dumps(one["value"]) for one in row["values"]) for row in rows}
    assert values["automountServiceAccountToken"] == ["false", "true"]


def test_no_line_is_wider_than_the_terminal(repository: Any, fits: Any) -> None:
    fits("preview")
    repository.edit(("memory: 32Gi", "memory: 8Gi"), ("training: ray", "training: celery"), stack="dev")
    repository.edit(("release:", "relase: 1\n    release:"), stack="prod")
    repository.add("modelyard:patches:\n  - {name: model-service, enabled: false}", stack="staging")
    fits("preview", code=2)
