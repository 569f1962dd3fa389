"""Runs what the documentation shows. ``python docs/commands.py`` puts the real output into every page.

A page is read from top to bottom in a copy of the project of its own. The first line of a code block says what
happens to it:

- ``sh``: run as one script. ``console``: each line after ``$`` is run, and what follows is its output, exactly.
- ``exit=N``: the last command ends with N (0 without it). ``lab``: needs the lab; skipped without one.
- ``file=PATH``: the block is written to PATH; a ``diff`` changes the lines it shows there.
- ``yaml ci``: a pipeline; its commands are run.

Scripts of nothing but ``make`` are not run: the test looks for their targets in the Makefile.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = frozenset({"sh", "console", "yaml", "json", "jinja", "diff", "text"})
FLAGS = frozenset({"lab", "ci"})
OPTIONS = frozenset({"exit", "file"})
_FENCE = re.compile(r"^```(?P<info>[^`\n]*)\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


class Block(NamedTuple):
    """One code block of a page."""

    page: str
    line: int
    """Of the opening fence, 1-based."""
    language: str
    flags: frozenset[str]
    options: Mapping[str, str]
    body: str
    span: tuple[int, int]
    """Where the body stands in the page's text."""

    @property
    def place(self) -> str:
        """``page:line``."""
        return f"{self.page}:{self.line}"

    @property
    def is_command(self) -> bool:
        """Whether it shows commands."""
        return self.language in ("sh", "console") or "ci" in self.flags

    @property
    def make_targets(self) -> tuple[str, ...]:
        """The targets of a script that calls nothing but make; empty for any other."""
        lines = [line for line in self.body.splitlines() if line.strip() and not line.startswith("#")]
        found = [re.fullmatch(r"make ([a-z-]+)(?:\s+#.*)?", line.strip()) for line in lines]
        return tuple(one[1] for one in found if one) if self.language == "sh" and all(found) else ()


class Wrong(Exception):
    """A block does not do what the page says."""


def pages(root: Path = ROOT) -> tuple[Path, ...]:
    """The pages that people read, but for the generated ones."""
    guides = sorted((root / "docs").rglob("*.md"))
    generated = root / "docs" / "reference"
    return (
        root / "README.md",
        root / "CONTRIBUTING.md",
        *(page for page in guides if generated not in page.parents),
    )


def blocks(text: str, page: str) -> Iterator[Block]:
    """The code blocks of a page.

    Raises:
        Wrong: a block is of a kind that nobody checks.
    """
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        language, *words = found["info"].split() or [""]
        options = dict(word.split("=", 1) for word in words if "=" in word)
        flags = frozenset(word for word in words if "=" not in word)
        if language not in LANGUAGES or flags - FLAGS or options.keys() - OPTIONS:
            raise Wrong(f"{page}:{line}: unknown kind of code block: {found['info'].strip() or '(none)'}")
        yield Block(page, line, language, flags, options, found["body"], found.span("body"))


def needs_lab(page: Path) -> bool:
    """Whether a page shows commands that need the lab."""
    return bool(re.search(r"^```\w+ (?:.* )?lab\b", page.read_text(encoding="utf-8"), re.MULTILINE))


def needs_git(text: str) -> bool:
    """Whether a page shows commands of git."""
    return re.search(r"^(?:\$ )?git ", text, re.MULTILINE) is not None


class Workplace:
    """A copy of the project in which the commands of one page run."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        lab: bool = False,
        clone: bool = False,
        root: Path = ROOT,
    ) -> None:
        """Copies the project.

        Args:
            folder: an empty folder, or none yet.
            environment: variables of the commands.
            lab: whether commands that need the lab are run too.
            clone: whether it is a git clone on its branch main, so that a page can show a change against it.
            root: the project.
        """
        self.folder = folder
        self.environment = dict(environment)
        self.lab = lab
        for name in ("stacks", "patches", *(("components", "lab") if lab else ())):
            shutil.copytree(root / name, folder / name, ignore=_NOT_COPIED)
        shutil.copy(root / "Pulumi.yaml", folder)
        git = ["git", "-c", "user.name=docs", "-c", "user.email=docs@example.com", "-C", str(folder)]
        for words in ("init --quiet --initial-branch=main", "add .", "commit --quiet --message=Begin") if clone else ():
            subprocess.run([*git, *words.split()], env=self.environment, check=True, capture_output=True)
        (folder / ".venv").symlink_to(sys.prefix)

    def run(self, block: Block) -> str:
        """Does what the block says, and returns what its body has to be.

        Raises:
            Wrong: a command ended with another code than the page says, or a diff does not fit.
        """
        if "file" in block.options:
            self._write(block)
        elif block.make_targets or not block.is_command or ("lab" in block.flags and not self.lab):
            pass
        elif block.language == "console":
            return self._console(block)
        else:
            scripts = pipeline_commands(block.body) if "ci" in block.flags else (block.body,)
            for script in scripts:
                self._call(block, script, int(block.options.get("exit", 0)))
        return block.body

    def _console(self, block: Block) -> str:
        commands = [line[2:] for line in block.body.splitlines() if line.startswith("$ ")]
        if not commands:
            raise Wrong(f"{block.place}: no line begins with '$ '")
        codes = [0] * (len(commands) - 1) + [int(block.options.get("exit", 0))]
        outputs = [self._call(block, command, code) for command, code in zip(commands, codes, strict=True)]
        return "".join(f"$ {command}\n{output}" for command, output in zip(commands, outputs, strict=True))

    def _call(self, block: Block, script: str, code: int) -> str:
        done = subprocess.run(
            ["sh", "-euc", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != code:
            raise Wrong(f"{block.place}: ended with {done.returncode}, not {code}:\n{script.strip()}\n{done.stdout}")
        return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + ("\n" if done.stdout else "")

    def _write(self, block: Block) -> None:
        path = self.folder / block.options["file"]
        if block.language != "diff":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
            return
        lines = block.body.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in "- ")
        new = "".join(line[1:] for line in lines if line[0] in "+ ")
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise Wrong(f"{block.place}: {block.options['file']} has {text.count(old)} places that look like this")
        path.write_text(text.replace(old, new), encoding="utf-8")


def pipeline_commands(text: str) -> tuple[str, ...]:
    """The commands of a CI pipeline, without those that only set it up with make."""
    import yaml

    return tuple(command for command in _commands(yaml.safe_load(text)) if not command.startswith("make "))


def _commands(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _commands(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from _commands(item, key)
    elif key in ("run", "script", "before_script"):
        yield str(value)


def offline_environment(home: Path) -> dict[str, str]:
    """A plain shell without a cluster, a terminal or colours."""
    kept = {name: os.environ[name] for name in ("PYTHONDONTWRITEBYTECODE", "TMPDIR") if name in os.environ}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {
        **kept,
        "PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "KUBECONFIG": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
    }


def renewed(text: str, page: str, place: Workplace) -> str:
    """The page with the output that its commands really have.

    Raises:
        Wrong: a command ended with another code than the page says.
    """
    pieces, end = [], 0
    for block in blocks(text, page):
        pieces += [text[end : block.span[0]], place.run(block)]
        end = block.span[1]
    return "".join((*pieces, text[end:]))


def main(names: Iterable[str]) -> int:
    """Renews the pages named, or all."""
    import tempfile

    chosen = {Path(name).resolve() for name in names}
    for page in pages():
        if chosen and page not in chosen:
            continue
        text = page.read_text(encoding="utf-8")
        shown = page.relative_to(ROOT).as_posix()
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            place = Workplace(home / "project", offline_environment(home), clone=needs_git(text))
            try:
                real = renewed(text, shown, place)
            except Wrong as wrong:
                sys.stderr.write(f"{wrong}\n")
                return 1
        if real != text:
            page.write_text(real, encoding="utf-8")
            sys.stdout.write(f"{shown} has changed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
