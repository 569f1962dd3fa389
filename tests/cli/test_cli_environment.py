"""``modelyard environment``: locks by the real pip from a folder of wheels, and what works without a cluster.

Refusals are in ``tests/golden/test_cli_environment.txt``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.api_server import api_server
from tests.support.wheels import only_from, wheel

pytestmark = pytest.mark.slow

ENVIRONMENTS = """
  modelyard:environments:
    - {name: tabular, python: "3.11", pip: ["frames>=2", tools], image: "python:3.11"}
  modelyard:teams:
    - name: vision
      quotas: [{flavor: a10, cpu: 16, memory: 128Gi, gpus: 1}]
  modelyard:flavors:
    - {name: a10, gpu: A10}
  modelyard:resources:
    - {name: deep, type: training, cpu: 4, memory: 24Gi, gpus: 1}
  modelyard:jobs:
    - {name: train, type: training, resource: deep, command: [python, x.py], environment: tabular}
"""


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that pip takes for the only index."""
    folder = tmp_path / "wheels"
    wheel(folder, "frames", "2.1", ("arrays<2",))
    wheel(folder, "frames", "1.9")
    wheel(folder, "arrays", "1.8", ("old; python_version < '3.9'",))
    wheel(folder, "arrays", "2.0")
    wheel(folder, "tools", "0.3")
    for name, value in only_from(folder).items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def environments(project: Any) -> Any:
    """The project whose stack dev has an environment, for the Python that runs the tests."""
    version = "{}.{}".format(*sys.version_info[:2])
    project.edit(("config:\n", f"config:{ENVIRONMENTS.replace('3.11', version)}"))
    return project


def lock_of(project: Any) -> str:
    text: str = (project.root / "environments/tabular.lock").read_text()
    return text


def pins(text: str) -> list[str]:
    return [line.split(" ")[0] for line in text.splitlines() if "==" in line]


def test_modules_of_the_project_do_not_replace_those_of_pip(environments: Any, wheels: Path, run: Any) -> None:
    for name in ("pip", "runpy", "json"):
        (environments.root / f"{name}.py").write_text(f"open({str(environments.root / 'run')!r}, 'w')\n")
    assert run("environment", "lock", "dev", "tabular").code == 0
    assert not (environments.root / "run").exists()


def test_a_list_is_locked_and_a_second_lock_changes_only_what_is_new(
    environments: Any, wheels: Path, run: Any, golden: Any
) -> None:
    assert run("check", "dev").errors == ["ENV004"]
    first = run("environment", "lock", "dev", "tabular")
    before = lock_of(environments)
    assert pins(before) == ["arrays==1.8", "frames==2.1", "tools==0.3"]
    assert before.count("--hash=sha256:") == 3
    assert run("check", "dev").errors == []
    second = run("environment", "lock", "dev", "tabular")
    assert lock_of(environments) == before
    wheel(wheels, "tools", "0.4")
    golden(first, second, run("environment", "lock", "dev", "tabular"))
    assert pins(lock_of(environments))[-1] == "tools==0.4"


def test_pips_error_is_shown_and_the_lock_is_not_changed(environments: Any, wheels: Path, run: Any) -> None:
    run("environment", "lock", "dev", "tabular")
    before = lock_of(environments)
    environments.edit(("frames>=2", "frames>=3"))
    result = run("environment", "lock", "dev", "tabular")
    assert result.code == 1
    assert "frames>=3" in result.words
    assert "/modelyard-lock-" not in result.text
    assert lock_of(environments) == before
    assert run("check", "dev").errors == ["ENV005"]


def test_packages_in_conflict_are_named(environments: Any, wheels: Path, refused: Any) -> None:
    environments.edit(("frames>=2", 'frames>=2", "arrays>=2'))
    words = refused("environment", "lock", "dev", "tabular", code=1).words.split()
    assert {"arrays<2", "arrays>=2"} <= set(words)


def test_an_index_that_does_not_answer_is_not_an_error_of_the_list(
    environments: Any, wheels: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"NO_INDEX": "0", "INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "2"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_FIND_LINKS")
    words = refused("environment", "lock", "dev", "tabular", code=3).words
    assert words.count("WARNING: Retrying") == 1
    assert "pip config" in words


def test_a_missing_package_of_an_index_that_answers_is_an_error_of_the_list(
    environments: Any, wheels: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"NO_INDEX": "0", "INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    environments.edit(("frames>=2", "frames>=3"))
    words = refused("environment", "lock", "dev", "tabular", code=1).words
    assert "versions: 1.9, 2.1" in words


def test_only_wheels_are_used(environments: Any, wheels: Path, refused: Any) -> None:
    (wheels / "tools-0.3-py3-none-any.whl").unlink()
    (wheels / "tools-0.3.tar.gz").write_bytes(b"its setup.py would run")
    refused("environment", "lock", "dev", "tabular", code=1)


def test_wheels_of_newer_systems_are_not_used(environments: Any, wheels: Path, run: Any) -> None:
    wheel(wheels, "tools", "0.5", tag="py3-none-manylinux_2_35_x86_64")
    wheel(wheels, "tools", "0.4", tag="py3-none-manylinux_2_28_x86_64")
    assert run("environment", "lock", "dev", "tabular").code == 0
    assert pins(lock_of(environments))[-1] == "tools==0.4"


def test_a_python_that_is_not_installed(environments: Any, wheels: Path, refused: Any) -> None:
    environments.edit(('python: "{}.{}"'.format(*sys.version_info[:2]), 'python: "3.8"'))
    assert "Python 3.8" in refused("environment", "lock", "dev", "tabular", code=3).words


def test_commands_that_are_refused(environments: Any, refused: Any, golden: Any) -> None:
    wrong = (
        "environment",
        "environment lock",
        "environment lock dev tabula",
        "environment show dev tabula",
        "environment build dev tabula",
        "environment build dev tabular --team vison",
        "environment list nope",
    )
    unlocked = ("environment build dev tabular", "job submit dev train")
    golden(*(refused(*line.split(), code=2) for line in wrong), *(refused(*line.split(), code=1) for line in unlocked))


@pytest.mark.parametrize(
    ("before", "after", "code", "fact"),
    [
        ('image: "python:3.11"', "mamba: [a]", "CFG008", "environments[0].mamba"),
        ('image: "python:3.11"', "conda: [3]", "CFG015", "environments[0].conda[0]"),
        ('image: "python:3.11"', 'conda: ["https://me:hunter2@x/a-1-0.conda"]', "ENV002", "not a name"),
        ('image: "python:3.11"', 'conda: [a], channels: ["https://me:hunter2@x/y"]', "ENV002", "a password"),
        ("pip: [", "pip: [3, ", "CFG015", "environments[0].pip[0]"),
        ("pip: [", 'requirements: ../list.txt, pip: [', "CFG018", "environments[0].requirements"),
        ("pip: [", 'requirements: /etc/passwd, pip: [', "CFG018", "environments[0].requirements"),
        ("name: tabular", "name: Tabular!", "CFG018", "environments[0].name"),
        ("name: tabular", f"name: {'x' * 64}", "CFG018", "environments[0].name"),
        ('python: "', 'python: "2', "CFG018", "environments[0].python"),
        ('tools], image: ', 'tools], indexSecret: {secure: "v1:x"}, image: ', "CFG016", "environments[0].indexSecret"),
        ("pip: [", 'pip: ["--index-url=https://me:hunter2@x", ', "ENV002", "--index-url"),
        ("pip: [", 'pip: ["a @ https://me:hunter2@x/a.whl", ', "ENV002", "an address"),
    ],
)  # fmt: skip
def test_bad_settings_are_errors_at_their_lines(
    environments: Any, refused: Any, before: str, after: str, code: str, fact: str
) -> None:
    environments.edit((before, after))
    result = refused("environment", "lock", "dev", "tabular", code=2 if code.startswith("CFG") else 1)
    assert code in result.errors
    assert fact in result.words
    assert "stacks/Pulumi.dev.yaml:5:" in result.text
    assert "hunter2" not in result.text


def test_the_documents(environments: Any, wheels: Path, run: Any) -> None:
    made = json.loads(run("environment", "lock", "dev", "tabular", "--json").out)
    assert made["changed"] is True
    assert made["before"] is None
    assert [one["name"] for one in made["packages"]] == ["arrays", "frames", "tools"]
    (listed,) = json.loads(run("environment", "list", "dev", "--json").out)["environments"]
    shown = json.loads(run("environment", "show", "dev", "tabular", "--json").out)
    assert listed["usedBy"] == shown["usedBy"] == ["job train"]
    assert listed["digest"] == shown["digest"]
    assert listed["job"] == f"environment-tabular-{listed['digest'][:16]}"
    schema = json.loads(run("schema", "outputs").out)
    documents = {"environmentLock": made, "environment": shown}
    documents["environments"] = json.loads(run("environment", "list", "dev", "--json").out)
    for part, document in documents.items():
        Draft202012Validator({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]}).validate(document)
    assert shown["packages"][0] == {"name": "arrays", "version": "1.8", "source": "pip"}
    assert "tabular" in run("environment", "list", "dev").out
    assert ["arrays", "1.8"] in [
        line.split()[:2] for line in run("environment", "show", "dev", "tabular").out.splitlines()
    ]


@pytest.mark.parametrize(("condition", "state", "code"), [("Complete", "built", 0), ("Failed", "failed", 1)])
def test_a_build_that_is_waited_for(
    environments: Any,
    wheels: Path,
    run: Any,
    valid: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    condition: str,
    state: str,
    code: int,
) -> None:
    run("environment", "lock", "dev", "tabular")
    monkeypatch.setenv("no_proxy", "*")
    with api_server(tmp_path) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))

        def created(plural: str, body: Any, dry: bool) -> tuple[int, Any]:
            made = {**body, "metadata": {**body["metadata"], "uid": "u"}}
            made["status"] = {"conditions": [{"type": condition, "status": "True"}]}
            if not dry:
                server.objects[plural].append(made)
            return 201, made

        server.created = created
        result = run("environment", "build", "dev", "tabular", "--wait", "--json")
    document = json.loads(result.out)
    assert valid(document, "outputs", "environmentBuild") == []
    assert (result.code, document["state"], document["new"]) == (code, state, True)


PYTHON = "{}.{}".format(*sys.version_info[:2])


@pytest.mark.parametrize(
    ("list_edit", "lock_edit", "state", "json_state"),
    [
        (("frames>=2", "frames>=1"), ("", ""), "of another list", "of another list"),
        ((f'python: "{PYTHON}"', 'python: "3.8"'), ("", ""), f"for Python {PYTHON}", "of another list"),
        (("", ""), ("# list", "# lost"), "damaged", "no"),
    ],
)
def test_a_lock_that_cannot_be_used_is_shown_with_the_reason(
    environments: Any,
    wheels: Path,
    run: Any,
    list_edit: tuple[str, str],
    lock_edit: tuple[str, str],
    state: str,
    json_state: str,
) -> None:
    assert run("environment", "lock", "dev", "tabular").code == 0
    environments.edit(list_edit)
    (environments.root / "environments/tabular.lock").write_text(lock_of(environments).replace(*lock_edit))
    listed, shown = run("environment", "list", "dev"), run("environment", "show", "dev", "tabular")
    assert listed.errors == shown.errors == ["ENV005"]
    assert f" {state} " in listed.words
    (words,) = (line for line in shown.out.splitlines() if line.lstrip().startswith("lock "))
    assert ("environments/tabular.lock (" in words, "missing" in words) == (True, False)
    assert (state in words) == (state != json_state)
    assert json.loads(run("environment", "show", "dev", "tabular", "--json").out)["locked"] == json_state


def test_a_stack_without_environments(run: Any) -> None:
    assert "modelyard:environments" in run("environment", "list", "dev").out


def test_an_error_of_a_list_in_a_file_has_its_line(environments: Any, refused: Any) -> None:
    (environments.root / "list.txt").write_text("frames\n-r other.txt\n")
    environments.edit(('pip: ["frames>=2", tools]', "requirements: list.txt"))
    result = refused("environment", "lock", "dev", "tabular", code=1)
    assert "list.txt:2" in result.text


def test_no_line_is_wider_than_the_terminal(environments: Any, wheels: Path, run: Any, fits: Any) -> None:
    run("environment", "lock", "dev", "tabular")
    for line, code in {
        "list dev": 0,
        "show dev tabular": 0,
        "lock dev tabular": 0,
        "lock dev": 2,
        "build dev tabular": 3,
        "show dev tabluar": 2,
    }.items():
        fits("environment", *line.split(), code=code)
