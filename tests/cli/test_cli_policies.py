"""The project's policies from the command line: what they stop, where they point, and what their rules print."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from modelyard.policy.loading import policies_of

PRINTING = """
import sys
from modelyard.policy import rule

print("::error::imported")

@rule("POL901", kinds=["Deployment"], roles=["rayHead"])
def mine(subject, params):
    '''Mine.

    **Why.** A.

    **Example.** B.

    **Fix.** C.
    '''
    print("::set-env name=A::b")
    sys.stderr.write("##[group]mine")
    return []
"""
IMAGES = '"spec.template.spec.containers[*].image"'
PINNED = """
code: POL902
title: The model service has one replica
match: {roles: [modelService]}
assert: [{field: spec.replicas, operator: atMost, value: 1}]
message: "{name} has {value} replicas"
why: A.
example: B.
fix: C.
"""


@pytest.fixture(autouse=True)
def fresh() -> None:
    policies_of.cache_clear()


def write(project: Any, name: str, text: str) -> Path:
    path: Path = project.root / "policies" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "words",
    [
        *(("check", "dev", "--format", form) for form in ("json", "sarif", "junit", "text", "github")),
        ("plan", "dev", "--json"),
        ("explain", "--json"),
        ("explain",),
    ],
    ids=" ".join,
)
def test_rules_cannot_print_into_the_output(project: Any, run: Any, words: tuple[str, ...]) -> None:
    silent = [line for line in PRINTING.splitlines() if "print" not in line and "sys.stderr" not in line]
    write(project, "rules/mine.py", "\n".join(silent))
    quiet = run(*words)
    assert quiet.err == ""
    write(project, "rules/mine.py", PRINTING)
    policies_of.cache_clear()
    result = run(*words)
    assert (result.code, result.out) == (quiet.code, quiet.out)
    lines = result.err.splitlines()
    assert "  policies print: ::error::imported" in lines
    assert all(line.startswith("  policies print: ") for line in lines)
    if words[0] != "explain":
        assert "  policies print: ::set-env name=A::b" in lines
        assert "  policies print: # #[group]mine" in lines


def test_rules_cannot_print_into_a_preview(project: Any, run: Any, request: pytest.FixtureRequest) -> None:
    write(project, "rules/mine.py", PRINTING)
    request.getfixturevalue("committed")
    project.edit(("memory: 32Gi", "memory: 48Gi"))
    result = run("preview", "--base", "main", "--format", "json")
    assert json.loads(result.out)["summary"]["changed"] == 1
    assert "  policies print: ::set-env name=A::b" in result.err.splitlines()


def test_a_rule_that_ends_the_program_is_a_finding(project: Any, run: Any) -> None:
    write(project, "rules/mine.py", PRINTING.replace("return []", "sys.exit(0)"))
    result = run("check", "dev")
    assert (result.code, result.errors) == (1, ["POL005"])


def test_a_mandatory_policy_stops_plan_check_and_render(project: Any, run: Any) -> None:
    assertion = write(project, "assertions/mine.yaml", PINNED)
    checked = run("check", "dev")
    policies_of.cache_clear()
    planned = run("plan", "dev")
    assert checked.errors == planned.errors == ["POL902"]
    assert checked.code == planned.code == 1
    assert "modelyard apply" not in planned.out
    policies_of.cache_clear()
    assert [one["code"] for one in json.loads(run("plan", "dev", "--json").out)["findings"] if one["code"][0] == "P"]
    policies_of.cache_clear()
    assert run("render", "dev").code == 1
    assertion.write_text(PINNED + "level: advisory\n")
    policies_of.cache_clear()
    planned = run("plan", "dev")
    assert (planned.code, planned.errors) == (0, [])
    assert "POL902" in planned.out


@pytest.mark.parametrize("policies", [False, True])
def test_plan_imports_the_rule_engine_only_for_rules(project: Any, policies: bool) -> None:
    if policies:
        write(project, "assertions/mine.yaml", PINNED)
    code = (
        "import sys; from modelyard.cli import main; main(['plan', 'dev']); "
        "sys.exit(any(name.startswith('modelyard.policy') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project.root, capture_output=True, check=False)
    assert done.returncode == policies


def test_a_finding_has_the_line_of_the_object_with_its_field(project: Any, run: Any) -> None:
    """A resource's Service, and what scales it, have the name of its Deployment."""
    rule = PINNED.replace("roles: [modelService]", "kinds: [Deployment]").replace("spec.replicas", IMAGES)
    write(project, "assertions/mine.yaml", rule.replace("atMost, value: 1", "in, value: [pinned]"))
    scale = "scale: {most: 4, query: up, each: 8}"
    project.add(
        "modelyard:resources:\n"
        f"  - {{name: answers, type: serving, port: 8000, image: 'images.example.com/s:1', {scale}}}\n"
        "modelyard:jobs: [{name: serve, type: serving, resource: answers, requestRate: 20, requestTime: 50m}]"
    )
    findings = [one for one in json.loads(run("check", "dev", "--json").out)["findings"] if one["code"] == "POL902"]
    (found,) = [one for one in findings if one["target"] == "resource-answers"]
    lines = project.stack_file().read_text().splitlines()
    assert "modelyard:resources" in lines[found["line"] - 1]
