"""A stranger's change is judged without running any of its Python, and cannot switch a rule off unseen."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.parser import VERBS, verb_parser
from modelyard.policy.loading import policies_of
from tests.support.cli_project import PROGRAM

pytestmark = pytest.mark.slow

RULE = '''
from modelyard.policy import rule

@rule("POL901", kinds=["Deployment"], roles=["modelService"])
def few(subject, params):
    """The model service has few replicas.

    **Why.** A.

    **Example.** B.

    **Fix.** C.
    """
    if subject.object["spec"]["replicas"] > 6:
        yield subject.finding("too many replicas", field="spec.replicas")
'''
FORGED = """
import os, sys
open({mark!r}, "w").close()
import modelyard.report.finding, modelyard.findings, modelyard.policy.judging
modelyard.findings.Finding.blocks = property(lambda self: False)
modelyard.report.finding.findings_text = lambda *words, **named: []
modelyard.policy.judging.judge = lambda *words: []
sys.stdout.write("no changes in 3 stacks\\n")
sys.stdout.flush()
os._exit(0)
"""
ASSERTION = """
code: POL902
title: The model service has one container
match: {roles: [modelService]}
assert: [{field: spec.replicas, operator: atMost, value: 6}]
message: "{name} has {value} replicas"
why: A.
example: B.
fix: C.
"""


@pytest.fixture
def git(project: Any) -> Any:
    """The project with a rule, committed on main, and a branch."""

    def call(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", *identity, "-C", str(project.root), *words], check=True, capture_output=True, text=True
        )
        return done.stdout

    write(project, "rules/mine.py", RULE)
    write(project, "assertions/mine.yaml", ASSERTION)
    write(project, "policy.yaml", "rules: {}\n")
    call("init", "--quiet", "--initial-branch", "main")
    call("add", "--all")
    call("commit", "--quiet", "--message", "one")
    call("checkout", "--quiet", "-b", "change")
    return call


def write(project: Any, name: str, text: str) -> None:
    path = project.root / "policies" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_rules_of_the_base_are_read_through_a_link(project: Any, git: Any, run: Any) -> None:
    (project.root / "policies").rename(project.root / "shared")
    (project.root / "policies").symlink_to("shared")
    git("add", "--all")
    git("commit", "--quiet", "--message", "two")
    git("branch", "--force", "main")
    (project.root / "shared/rules/mine.py").unlink()
    project.edit(("replicas: 3", "replicas: 7"), stack="prod")
    result = run("check", "prod", "--base", "main")
    assert "POL901" in result.text


PREVIEW = ("preview", "--base", "main")
CHECK = ("check", "prod", "--base", "main")


@pytest.mark.parametrize("words", [PREVIEW, (*PREVIEW, "--head", "change"), CHECK], ids=" ".join)
@pytest.mark.parametrize("file", ["mine.py", "_helpers.py", "other.py", "__init__.py", "sub/deep.py"])
def test_a_rule_that_forges_the_report_is_not_run(
    project: Any, git: Any, process: Any, tmp_path: Path, words: tuple[str, ...], file: str
) -> None:
    mark = tmp_path / "mark"
    write(project, f"rules/{file}", FORGED.format(mark=str(mark)))
    project.edit(("replicas: 3", "replicas: 7"), ("model: A30", "model: L4"), stack="prod")
    git("add", "--all")
    git("commit", "--quiet", "--message", "forged")
    done = process(*words, "--json")
    assert done.returncode == 1, done.stderr
    assert not mark.exists()
    found = {one["code"] for one in findings(json.loads(done.stdout))}
    assert {"GPU001", "POL901", "POL902", "POL007"} <= found


def findings(document: Any) -> list[dict[str, Any]]:
    """Every finding of a document, wherever it stands."""
    if isinstance(document, list):
        return [one for part in document for one in findings(part)]
    if not isinstance(document, dict):
        return []
    own = [document] if {"code", "severity", "summary"} <= document.keys() else []
    return [*own, *(one for part in document.values() for one in findings(part))]


def test_trusted_rules_of_the_head_run(project: Any, git: Any, process: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w').close()\n"
    write(project, "rules/mine.py", RULE + text)
    assert process(*PREVIEW, "--trust-head").returncode == 0
    assert mark.exists()
    mark.unlink()
    for words in ((*PREVIEW, "--no-policies"), (*PREVIEW, "--policies", "none"), ("check", "prod", "--no-policies")):
        assert process(*words).returncode == 0
        assert not mark.exists()


WEAKER = {
    "disabled": ("policy.yaml", "rules: {POL901: {level: disabled}}\n"),
    "advisory": ("policy.yaml", "rules: {POL902: {level: advisory}}\n"),
    "other value": ("assertions/mine.yaml", ASSERTION.replace("value: 6", "value: 60")),
    "removed": ("assertions/mine.yaml", ""),
}


@pytest.mark.parametrize("how", WEAKER)
def test_a_rule_weakened_by_a_change_is_a_warning(project: Any, git: Any, run: Any, how: str) -> None:
    file, text = WEAKER[how]
    if text:
        write(project, file, text)
    else:
        (project.root / "policies" / file).unlink()
    project.edit(("replicas: 3", "replicas: 7"), stack="prod")
    document = json.loads(run(*PREVIEW, "--json").out)
    assert "POL008" in {one["code"] for one in document["project"]["findings"]["new"]}
    (stack,) = (one for one in document["stacks"] if one["stack"] == "prod")
    shown = [one for one in findings(stack) if one["code"] in ("POL901", "POL902")]
    # What the base's rule says of the change is there, whatever the change says of the rule.
    assert {one["code"] for one in shown} == {"POL901", "POL902"}
    checked = json.loads(run(*CHECK, "--json").out)["findings"]
    assert "POL008" in {one["code"] for one in checked}


PARAMS = "modelyard:policy: {{rules: {{POL904: {{params: {{most: {}}}}}}}}}"
SET = "modelyard:policy: {{rules: {{{}: {{level: {}}}}}}}"
WAIVED = 'modelyard:waivers: [{{code: {}, reason: r, by: b, expires: "{}"}}]'
IN_A_STACK = {
    "disabled": ("", SET.format("POL901", "disabled"), "POL901 is disabled; the base has it as mandatory"),
    "advisory": ("", SET.format("POL902", "advisory"), "POL902 is advisory; the base has it as mandatory"),
    "level taken out": (SET.format("POL905", "mandatory"), "", "POL905 is advisory; the base has it as mandatory"),
    "other parameter": (PARAMS.format(2), PARAMS.format(9), "POL904 has other parameters than at the base"),
    "parameter taken out": (PARAMS.format(2), "", "POL904 has other parameters than at the base"),
    "plan code taken out": (
        SET.format("RES201", "mandatory"),
        "",
        "RES201 is mandatory at the base, but not in this change",
    ),
    "waived": ("", WAIVED.format("POL901", "2099-01-01"), "POL901 is waived until 2099-01-01; the base waives it not"),
    "plan code waived": ("", WAIVED.format("GPU001", "2099-01-01"), "GPU001 is waived until 2099-01-01"),
    "waived for longer": (
        WAIVED.format("POL901", "2098-01-01"),
        WAIVED.format("POL901", "2099-01-01"),
        "the base waives it until 2098-01-01",
    ),
}
"""What the stack file says at the base and at the head, and what is told."""
AS_STRONG = {
    "stricter": ("", SET.format("POL905", "mandatory")),
    "no longer disabled": (SET.format("POL901", "disabled"), ""),
    "still disabled": (SET.format("POL901", "disabled"), SET.format("POL901", "disabled") + " # as before"),
    "waiver taken out": (WAIVED.format("POL901", "2099-01-01"), ""),
    "waived for less long": (WAIVED.format("POL901", "2099-01-01"), WAIVED.format("POL901", "2098-01-01")),
}
MORE = (
    RULE.replace("POL901", "POL904")
    .replace("few", "most")
    .replace(
        ', roles=["modelService"])', ', roles=["modelService"], params={"most": {"type": "integer", "default": 6}})'
    )
    + RULE.replace("POL901", "POL905")
    .replace("few", "advised")
    .replace('"])\n', '"], level="advisory")\n')
    .split("import rule\n")[1]
)


def begun(project: Any, git: Any, before: str) -> None:
    """More rules and a stack that sets something, on main."""
    write(project, "rules/more.py", MORE)
    if before:
        project.add(before, stack="prod")
    git("add", "--all")
    git("commit", "--quiet", "--message", "two")
    git("branch", "--force", "main")


def changed(project: Any, before: str, after: str) -> None:
    path = project.stack_file("prod")
    text = path.read_text()
    path.write_text(text.replace(f"  {before}\n", "") if before else text)
    if after:
        project.add(after, stack="prod")


def said(run: Any, *words: str) -> list[str]:
    return [one["summary"] for one in findings(json.loads(run(*words, "--json").out)) if one["code"] == "POL008"]


@pytest.mark.parametrize("how", IN_A_STACK)
def test_a_rule_weakened_by_a_stack_file_is_a_warning(project: Any, git: Any, run: Any, how: str) -> None:
    before, after, words = IN_A_STACK[how]
    begun(project, git, before)
    changed(project, before, after)
    for verb in ("check", "plan"):
        (summary,) = said(run, verb, "prod", "--base", "main")
        assert words in summary
        assert said(run, verb, "dev", "--base", "main") == []
    shown = said(run, *PREVIEW)
    # What is waived stands in a list of its own there.
    assert any(words in one for one in shown) != ("waived" in how)
    assert said(run, "check", "prod") == []


@pytest.mark.parametrize("how", AS_STRONG)
def test_a_stack_file_that_weakens_no_rule_is_not_a_warning(project: Any, git: Any, run: Any, how: str) -> None:
    before, after = AS_STRONG[how]
    begun(project, git, before)
    changed(project, before, after)
    assert said(run, *CHECK) == []
    assert said(run, *PREVIEW) == []


@pytest.mark.parametrize("how", ["renamed", "moved", "linked", "base cannot be used"])
def test_a_moved_stack_file_cannot_disable_a_rule_unnoticed(project: Any, git: Any, run: Any, how: str) -> None:
    begun(project, git, "")
    disabled = SET.format("POL901", "disabled")
    text, name, stack = (project.root / "Pulumi.yaml").read_text(), "prod", project.stack_file("prod")
    if how == "base cannot be used":
        (project.root / "Pulumi.yaml").write_text(text.replace("stackConfigDir: stacks", "stackConfigDir: ../stacks"))
        git("commit", "--quiet", "--all", "--message", "three")
        git("branch", "--force", "main")
        (project.root / "Pulumi.yaml").write_text(text)
    project.add(disabled, stack="prod")
    if how == "renamed":
        name = "production"
        stack.rename(project.stack_file(name))
        shutil.copytree(project.root / "stacks/recorded/prod", project.root / f"stacks/recorded/{name}")
    elif how == "moved":
        (project.root / "Pulumi.yaml").write_text(text.replace("stackConfigDir: stacks", "stackConfigDir: conf"))
        (project.root / "conf").mkdir()
        stack.rename(project.root / "conf/Pulumi.prod.yaml")
    elif how == "linked":
        stack.rename(project.root / "prod.yaml")
        stack.symlink_to("../prod.yaml")
    (summary,) = said(run, "check", name, "--base", "main")
    assert "POL901 is disabled" in summary
    if how != "base cannot be used":
        assert any("POL901 is disabled" in one for one in said(run, *PREVIEW))


def test_settings_of_a_new_rule_are_not_an_error(project: Any, git: Any, run: Any) -> None:
    write(project, "rules/new.py", RULE.replace("POL901", "POL903"))
    write(project, "policy.yaml", "rules: {POL903: {level: advisory}}\n")
    project.add("modelyard:policy: {rules: {POL903: {level: disabled}}}")
    assert run("preview", "--base", "main").code == 0
    result = run("check", "dev", "--base", "main", "--json")
    assert (result.code, result.errors) == (0, [])
    assert "POL007" in {one["code"] for one in json.loads(result.out)["findings"]}


WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("plan", "show", "check", "diff", "size", "remote", "ledger", "doctor"), ("dev",)),
    **dict.fromkeys(("drift", "record"), ("dev",)),
    **dict.fromkeys(("apply", "destroy"), ("dev", "--yes")),
    "render": ("dev", "--print"),
    "blame": ("dev", "ray-model", "spec.replicas"),
    "preview": ("--base", "main"),
    "promote": ("dev", "prod"),
    "gpus": (),
    "environment": ("list", "dev"),
    "job": ("list", "dev"),
    "pipeline": ("show", "dev"),
    "patches": (),
    "fmt": ("--check",),
    "explain": (),
    "schema": ("stack",),
    "completion": ("bash",),
    "init": (),
    "upgrade-check": (),
    "verify": ("dev", "--timeout", "0"),
    "waves": (),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_runs_python_of_a_project_has_an_option_against_it(
    project: Any, git: Any, process: Any, tmp_path: Path, verb: str
) -> None:
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("policies/rules/own.py", "policies/__init__.py", "components/__init__.py", "stacks/__main__.py"):
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text(text)
    words = [verb, *WORDS[verb]]
    options = {option for action in verb_parser(verb)._actions for option in action.option_strings}
    process(*words)
    ran = mark.exists()
    assert "--policies" in options or not ran
    assert ran or "--policies" not in options or verb in ("preview", "apply")  # apply needs a cluster first
    mark.unlink(missing_ok=True)
    if "--policies" in options:
        process(*words, "--policies", "none")
        process(*words, "--policies", "base", *([] if "--base" in words else ["--base", "main"]))
        assert not mark.exists()


def test_the_page_of_a_code_of_the_plan_runs_no_python_of_the_project(
    project: Any, process: Any, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    write(project, "rules/mine.py", f"open({str(mark)!r}, 'w').close()\n")
    assert process("explain", "GPU001").returncode == 0
    assert not mark.exists()


@pytest.mark.parametrize("words", [("check", "dev"), ("plan", "dev"), ("render", "dev", "--print")], ids=" ".join)
def test_rules_of_the_base_need_a_base(project: Any, git: Any, run: Any, words: tuple[str, ...]) -> None:
    assert run(*words, "--policies", "base").code == 2
    assert run(*words, "--base", "nowhere").code == 2
    assert run(*words, "--base", "main").code == 0


@pytest.mark.parametrize("name", ["policies", "policies/rules", "policies/assertions", "policies/policy.yaml"])
def test_a_broken_link_to_policies_does_not_pass(project: Any, git: Any, run: Any, name: str) -> None:
    path = project.root / name
    (shutil.rmtree if path.is_dir() else Path.unlink)(path)
    path.symlink_to(path.name)
    for words in (("check", "dev"), CHECK, PREVIEW, ("plan", "dev"), ("render", "dev", "--print")):
        policies_of.cache_clear()
        result = run(*words)
        assert (result.code, result.errors) == (1, ["POL003"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stacks", PREVIEW),
        ("stacks", ("check", "--all")),
        ("stacks", ("fmt", "--check")),
        ("patches", ("fmt", "--check")),
    ],
)
def test_a_folder_that_cannot_be_read_does_not_pass(
    project: Any, git: Any, run: Any, name: str, words: tuple[str, ...]
) -> None:
    folder = project.root / name
    folder.rename(project.root / "elsewhere")
    folder.symlink_to(name)
    assert run(*words).code == 2


FOLDERS = (
    "stacks", "stacks/recorded", "stacks/recorded/dev", "patches", "patches/ray-worker", "patches/ray-worker/v1",
    "policies", "policies/assertions", "policies/rules", "policies/rules/deep",
)  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root lists every folder")
@pytest.mark.parametrize("folder", FOLDERS)
def test_an_unlistable_folder_is_an_error_in_a_preview(project: Any, git: Any, folder: str) -> None:
    write(project, "rules/deep/_more.py", "")
    place = project.root / folder
    (place / "new.yaml").write_text("{}")
    place.chmod(0o111)
    # Root keeps no right to look into what is closed.
    able = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    try:
        done = subprocess.run(
            [*able, *PROGRAM, "-C", str(project.root), *PREVIEW], capture_output=True, text=True, check=False
        )
    finally:
        place.chmod(0o755)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "permission denied" in " ".join(done.stderr.split())


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root enters every folder")
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "policies/rules/deep"])
def test_a_folder_with_unreadable_files_does_not_pass(project: Any, folder: str) -> None:
    """What is in it can be neither opened nor told from what does not exist."""
    write(project, "rules/mine.py", RULE)
    write(project, "assertions/mine.yaml", ASSERTION)
    place = project.root / folder
    place.chmod(0o444)
    able = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    try:
        done = subprocess.run(
            [*able, *PROGRAM, "check", "--all"], cwd=project.root, capture_output=True, text=True, check=False
        )
    finally:
        place.chmod(0o755)
    assert done.returncode in (1, 2), done.stdout
    assert "permission denied" in " ".join((done.stdout + done.stderr).casefold().split())
