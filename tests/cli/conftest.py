"""A copy of the project for each test, and the command line run on it as a user would."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from modelyard.cli import main
from modelyard.plan.project import library_of
from tests.support.cli_project import PROGRAM, ROOT, SCHEMAS, Lent, Project, Result, Run, stamps, tree
from tests.support.forked_process import forked
from tests.support.git_repository import lender, template  # noqa: F401 (fixtures)


@pytest.fixture(scope="session")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Lent]:
    """The folders of the project that most tests only read."""
    place = tmp_path_factory.mktemp("lent")
    return {name: Lent(ROOT / name, place / Path(name).name) for name in ("patches", "stacks/recorded")}


@pytest.fixture
def project(tmp_path: Path, lent: Mapping[str, Lent]) -> Iterator[Project]:
    root = tmp_path / "project"
    left_out = shutil.ignore_patterns("__pycache__", "recorded")
    shutil.copytree(ROOT / "stacks", root / "stacks", ignore=left_out)
    shutil.copy(ROOT / "Pulumi.yaml", root)
    for name, folder in lent.items():
        folder.lend(root / name)
    yield Project(root)
    for name, folder in lent.items():
        folder.take_back(root / name)


@pytest.fixture
def run(project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the entry point in this process, in the project's folder."""
    monkeypatch.chdir(project.root)
    for name in ("NO_COLOR", "MODELYARD_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> Result:
        library_of.cache_clear()
        capsys.readouterr()
        try:
            code = main(list(words))
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return Result(" ".join(words), int(code), out, err)

    return call


@pytest.fixture
def applied(project: Project, run: Run) -> Callable[[str], None]:
    """Makes what a plan predicts the recorded platform, as if it had been applied."""

    def call(stack: str) -> None:
        document = json.loads(run("plan", stack, "--json").out)
        for target in document["targets"]:
            name = f"{target['kind'].lower()}.{target['namespace']}.{target['name']}.json"
            (project.root / "stacks/recorded" / stack / name).write_text(json.dumps(target["after"]))

    return call


@pytest.fixture
def terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs on a terminal of a number of columns, without colours unless asked for."""

    def call(columns: int | str, *words: str) -> Result:
        for stream in ("sys.stdout", "sys.stderr"):
            monkeypatch.setattr(f"{stream}.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "dumb")
        return run(*words)

    return call


@pytest.fixture
def fits(terminal: Callable[..., Result]) -> Callable[..., None]:
    """Runs on terminals of several widths: no line is wider."""

    def call(*words: str, code: int = 0) -> None:
        for columns in (60, 80, 100):
            result = terminal(columns, *words)
            assert result.code == code, result
            longest = max(result.text.splitlines(), key=len)
            assert len(longest) <= columns, f"{len(longest)} of {columns}: {longest}"

    return call


@pytest.fixture
def refused(project: Project, run: Run) -> Run:
    """Runs what must fail: cleanly, in plain text, and without leaving a trace in the project."""

    def call(*words: str, code: int) -> Result:
        before = stamps(project.root)
        result = run(*words)
        assert result.code == code, result.text
        assert "Traceback" not in result.text
        assert "internal error" not in result.text
        assert "\x1b" not in result.text
        assert stamps(project.root) == before
        return result

    return call


@pytest.fixture
def process(project: Project) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the command line as a process of its own."""
    return lambda *words, **options: forked(words, project.root, **options)


@pytest.fixture
def cli() -> SimpleNamespace:
    return SimpleNamespace(PROGRAM=PROGRAM, ROOT=ROOT, tree=tree)


@pytest.fixture
def valid(run: Any) -> Any:
    """Checks a document against a published schema, or a part of it."""
    schemas = {name: json.loads(run("schema", name).out) for name in SCHEMAS}
    registry: Any = Registry().with_resources(
        [(document["$id"], Resource.from_contents(document)) for document in schemas.values()]
    )

    def check(document: Any, name: str, part: str = "") -> list[str]:
        reference = f"urn:modelyard:schema:{name}" + (f"#/$defs/{part}" if part else "")
        validator = Draft202012Validator({"$ref": reference}, registry=registry)
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]

    check.schemas = schemas  # type: ignore[attr-defined]
    return check


@pytest.fixture
def labelled(project: Any) -> Any:
    """The project, whose stacks have labels."""
    for name, labels in (("dev", "region: eu, tier: canary"), ("staging", "region: eu"), ("prod", "region: us")):
        project.edit(("config:\n", f"config:\n  modelyard:labels: {{{labels}}}\n"), stack=name)
    return project


@pytest.fixture
def committed(project: Any) -> Any:
    """The project in a commit of a repository, with everything that is in it by then."""

    def git(*words: str) -> None:
        who = ("-c", "user.email=dev@example.com", "-c", "user.name=dev")
        subprocess.run(["git", "-C", str(project.root), *who, *words], check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    return project
