"""A copy of the project for tests of the command line, and what a run of it gives."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-c", "import sys; from modelyard.cli import main; sys.exit(main())")
FINDING = re.compile(r"^  (error|warning|advice|waived) +([A-Z]{3}\d{3}) ", re.MULTILINE)
SCHEMAS = ("stack", "prices", "policy", "assertion", "plan", "preview", "drift", "findings", "outputs")
"""What ``modelyard schema`` publishes."""


class Result(NamedTuple):
    command: str
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        """What golden files have of it."""
        return f"$ modelyard {self.command}\n{self.out}{self.err}exit {self.code}\n"

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


FILES = (
    "Pulumi.yaml",
    "stacks/Pulumi.dev.yaml",
    "stacks/recorded/dev/cluster.json",
    "stacks/recorded/dev/deployment.ml-platform.deployment-ray-model-training-worker.json",
    "patches/patches.lock",
    "patches/ray-worker/v1/schema.json",
    "patches/ray-worker/v1/meta.yaml",
    "patches/ray-worker/v1/patch.yaml.j2",
    "policies/policy.yaml",
    "policies/assertions/no-surge.yaml",
)
FOLDERS = ("patches", "patches/ray-worker", "policies", "policies/assertions", "policies/rules", "stacks/recorded/dev")
