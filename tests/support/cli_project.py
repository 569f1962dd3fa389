"""A copy of the project for tests of the command line, and what a run of it gives."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISDIR
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-c", "import sys; from modelyard.cli import main; sys.exit(main())")
FINDING = re.compile(r"^  (error|warning|note|waived) +([A-Z]{3}\d{3}) ", re.MULTILINE)
SCHEMAS = ("stack", "prices", "hardware", "policy", "assertion", "plan", "preview", "drift", "findings", "outputs")
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


Stamps = Mapping[str, tuple[int, ...]]


def stamps(folder: Path) -> Stamps:
    """What the file system notes of everything below a folder: it differs after any change, and no file is read."""
    return {path.relative_to(folder).as_posix(): _stamp(path.lstat()) for path in _everything(folder)}


def tree(folder: Path) -> Mapping[str, Any]:
    """Everything below a folder: files with their content, folders with None."""
    return {
        path.relative_to(folder).as_posix(): _content(path, _stamp(path.stat())) if path.is_file() else None
        for path in _everything(folder)
    }


def _everything(folder: Path) -> Iterator[Path]:
    for inside, folders, files in os.walk(folder):
        yield from (Path(inside, name) for name in (*folders, *files))


def _stamp(facts: os.stat_result) -> tuple[int, ...]:
    """Of a folder without its times, which a file that comes and goes moves."""
    if S_ISDIR(facts.st_mode):
        return facts.st_mode, facts.st_ino
    return facts.st_mode, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


@lru_cache(maxsize=1024)
def _content(path: Path, stamp: tuple[int, ...]) -> bytes:
    """The content of a file, read once as long as its stamp is the same."""
    return path.read_bytes()


class Lent:
    """A copy of a folder, lent to one test after another until one changes it: then the next gets another copy.

    To copy the project for each test was most of what the tests wrote.
    """

    def __init__(self, source: Path, place: Path) -> None:
        self.source, self.place = source, place
        self.stamps: Stamps = {}

    def lend(self, to: Path) -> None:
        if not self.place.exists():
            shutil.copytree(self.source, self.place, copy_function=shutil.copyfile)
            self.stamps = stamps(self.place)
        self.place.rename(to)

    def take_back(self, at: Path) -> None:
        with suppress(OSError):
            if not at.is_symlink() and stamps(at) == self.stamps:
                at.rename(self.place)


class Project:
    """A project's folder that a test may damage."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def patches(self) -> Path:
        return self.root / "patches"

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
        folder = self.patches / name / "v1"
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
