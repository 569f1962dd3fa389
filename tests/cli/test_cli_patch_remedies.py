"""The remedies of PAT007 and PAT008: after each of them, the check has no findings."""

import json

import pytest

from tests.support.cli_project import Project, Run

HEAD = "# target: deployment-model-service\napiVersion: apps/v1\nkind: Deployment\n"
SCHEMA = '{"properties": {"ready": {}}}'

REMEDIES: list[tuple[str, str, int, str, tuple[str, str]]] = [
    (HEAD.partition("\n")[2], "PAT007", 1, "add this line", ("", "# target: deployment-model-service\n")),
    (f"{HEAD}- 1\n", "PAT007", 4, "correct the YAML here", ("- 1\n", "spec:\n  minReadySeconds: 1\n")),
    (HEAD.partition("\n")[0] + "\n- 1\n", "PAT007", 1, "write the fields of an object", ("- 1\n", HEAD)),
    (HEAD.replace("\n", "\n# phase: later\n", 1), "PAT007", 2, "set one of these in the line", ("later", "normal")),
    (HEAD.replace("\n", "\n# phase: later\n", 1), "PAT007", 2, "or remove the line", ("# phase: later\n", "")),
    (f"{HEAD}metadata: {{name: e}}\n", "PAT007", 4, "remove metadata.name", ("name: e", "")),
    (
        f"{HEAD}metadata: {{name: e}}\n",
        "PAT007",
        4,
        "or write the same name in both places",
        ("name: e", "name: deployment-model-service"),
    ),
    (f"{HEAD}# target: e\n", "PAT007", 4, "keep one of them", ("# target: e\n", "")),
    (
        f"{HEAD}spec: {{minReadySeconds: 1}}\n---\n{HEAD}spec: {{minReadySeconds: 2}}\n",
        "PAT010",
        4,
        "keep one of the two values",
        ("spec: {minReadySeconds: 2}\n", ""),
    ),
    (
        HEAD.replace("kind: Deployment", "kind: StatefulSet"),
        "PAT013",
        3,
        "set kind: Deployment in the template",
        ("StatefulSet", "Deployment"),
    ),
    (
        HEAD.replace("kind: Deployment\n", ""),
        "PAT007",
        1,
        "add the kind of deployment-model-service",
        ("apps/v1\n", "apps/v1\nkind: Deployment\n"),
    ),
    (
        HEAD.replace("apps/v1", "v1"),
        "PAT008",
        3,
        "set apiVersion: apps/v1 and kind: Deployment in the template",
        ("apiVersion: v1", "apiVersion: apps/v1"),
    ),
    (
        HEAD.replace("kind: Deployment", "kind: Deploymen"),
        "PAT008",
        3,
        "set apiVersion: apps/v1 and kind: Deployment in the template",
        ("kind: Deploymen\n", "kind: Deployment\n"),
    ),
    (
        f"{HEAD}spec:\n  minReadySecond: 1\n",
        "PAT008",
        5,
        "correct the field in the template",
        ("minReadySecond:", "minReadySeconds:"),
    ),
    (
        f"{HEAD}spec:\n  minReadySeconds: '1'\n",
        "PAT008",
        5,
        "correct the field in the template",
        ("'1'", "1"),
    ),
]


def loud(run: Run) -> list[tuple[str, str, str]]:
    """Severity, code and place of each error and warning."""
    found = json.loads(run("check", "dev", "--json").out)["findings"]
    return [
        (one["severity"], one["code"], f"{one['file']}:{one['line']}") for one in found if one["severity"] != "advice"
    ]


@pytest.mark.parametrize(("template", "code", "line", "remedy", "change"), REMEDIES)
def test_remedies_in_a_template(
    project: Project, run: Run, template: str, code: str, line: int, remedy: str, change: tuple[str, str]
) -> None:
    file = project.patch("mine", template) / "patch.yaml.j2"
    assert loud(run)[0] == ("error", code, f"patches/mine/v1/patch.yaml.j2:{line}")
    assert remedy in run("check", "dev").words
    file.write_text(template.replace(*change, 1))
    assert run("patches", "mine", "--release").code == 0
    assert loud(run) == []


def test_a_remedy_in_a_parameter(project: Project, run: Run) -> None:
    project.patch("mine", f"{HEAD}spec:\n  minReadySeconds: {{{{ ready | tojson }}}}\n", schema=SCHEMA)
    project.add("modelyard:patches:\n  - {name: mine, params: {ready: '1'}}")
    line = (project.root / "stacks/Pulumi.dev.yaml").read_text().count("\n")
    assert loud(run)[0] == ("error", "PAT008", f"stacks/Pulumi.dev.yaml:{line}")
    assert "correct patches[0].params.ready" in run("check", "dev").words
    project.edit(("ready: '1'", "ready: 1"))
    assert run("patches", "mine", "--release").code == 0
    assert loud(run) == []
