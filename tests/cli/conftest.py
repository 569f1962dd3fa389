"""A copy of the project for each test, and the command line run on it as a user would."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from modelyard.cli import main
from modelyard.plan.project import library_of

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-c", "import sys; from modelyard.cli import main; sys.exit(main())")
FINDING = re.compile(r"^  (error|warning|advice|waived) +([A-Z]{3}\d{3}) ", re.MULTILINE)


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def words(self) -> str:
        """Everything on one line, so that no test depends on where a line was broken."""
        return " ".join(self.text.split())

    @property
    def errors(self) -> list[str]:
        """Codes of the findings that are errors."""
        return [code for word, code in FINDING.findall(self.text) if word == "error"]


Run = Callable[..., Result]


def tree(folder: Path) -> Mapping[str, Any]:
    """Everything below a folder: files with their content, folders with None."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


class Project:
    """A project's folder that a test may damage.

    Its patches are those of all tests until a test asks for its own: a copy for each would be most of what the
    tests write.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shares_patches = True

    def own_patches(self) -> Path:
        """The folder of the patches, from now on this test's own."""
        folder = self.root / "patches"
        if self.shares_patches:
            self.shares_patches = False
            shutil.rmtree(folder)
            shutil.copytree(ROOT / "patches", folder)
        return folder

    def stack_file(self, stack: str = "dev") -> Path:
        return self.root / "stacks" / f"Pulumi.{stack}.yaml"

    def edit(self, *changes: tuple[str, str], stack: str = "dev") -> None:
        """Replaces texts of a stack file; each must be there."""
        path = self.stack_file(stack)
        text = path.read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text)

    def add(self, lines: str, stack: str = "dev") -> None:
        """More lines of config, indented by two."""
        path = self.stack_file(stack)
        path.write_text(path.read_text() + "".join(f"  {line}\n" for line in lines.splitlines()))

    def patch(self, name: str, template: str, meta: str = "description: mine\n", schema: str = "{}") -> Path:
        """A patch of one's own."""
        folder = self.own_patches() / name / "v1"
        folder.mkdir(parents=True)
        (folder / "patch.yaml.j2").write_text(template)
        (folder / "meta.yaml").write_text(meta)
        (folder / "schema.json").write_text(schema)
        return folder


@pytest.fixture(scope="session")
def patches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The patches of all tests that do not ask for their own, to be read only."""
    folder = tmp_path_factory.mktemp("patches") / "patches"
    shutil.copytree(ROOT / "patches", folder)
    before = tree(folder)
    yield folder
    assert tree(folder) == before, "a test wrote into the patches of all tests: it is to use project.own_patches()"


@pytest.fixture
def project(tmp_path: Path, patches: Path) -> Project:
    root = tmp_path / "project"
    shutil.copytree(ROOT / "stacks", root / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(patches, root / "patches", copy_function=os.link)
    shutil.copy(ROOT / "Pulumi.yaml", root)
    return Project(root)


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
        return Result(int(code), out, err)

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
def refused(project: Project, run: Run) -> Run:
    """Runs what must fail: cleanly, in plain text, and without leaving a trace in the project."""

    def call(*words: str, code: int) -> Result:
        before = tree(project.root)
        result = run(*words)
        assert result.code == code, result.text
        assert "Traceback" not in result.text
        assert "internal error" not in result.text
        assert "\x1b" not in result.text
        assert tree(project.root) == before
        return result

    return call


@pytest.fixture
def process(project: Project) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line as a process of its own."""

    def call(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *words], cwd=project.root, capture_output=True, text=True, timeout=60, check=False, **options
        )

    return call


@pytest.fixture
def cli() -> SimpleNamespace:
    return SimpleNamespace(PROGRAM=PROGRAM, ROOT=ROOT, tree=tree)
