"""Runs what the documentation shows. ``python docs/commands.py`` puts the real output into every page.

Each page is read from top to bottom in its own copy of the project. The first line of a code block decides what happens
to it:

- ``sh``: run as one script. ``console``: each line after ``$`` is run, and its exact output follows.
- ``exit=N``: the last command ends with N (0 without it). ``lab``: needs the lab; skipped without one.
- ``file=PATH``: the block is written to PATH; a ``diff`` changes the lines it shows there. From the first such path in
  ``modelyard/`` on, the commands run a copy of the package.
- ``yaml ci``: a pipeline; its commands are run. ``python`` without a file must compile.
- ``start``: a step of a new project in a folder of its own, left out here; ``tests/lab/test_first_hour.py`` runs it.

Script lines that call ``make`` are run if the target works inside the copy (``MAKE``) and left out otherwise: no page
sets up an environment, tests or cleans. The test looks for every target in the Makefile.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from codeblocks import ROOT, Block, Wrong, blocks, every_page, needs_git, needs_lab, pages, pipeline_commands

__all__ = [
    "ROOT",
    "Block",
    "Workplace",
    "Wrong",
    "blocks",
    "every_page",
    "needs_git",
    "needs_lab",
    "offline_environment",
    "pages",
    "pipeline_commands",
    "renewed",
    "write",
]

MAKE = frozenset({"help", "demo"})
MAKE_IN_LAB = frozenset({"lab", "up", "down"})
_COPIED = ("stacks", "patches", "policies")
_COPIED_FOR_LAB = ("components", "lab")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


class Workplace:
    """A copy of the project that runs the commands of one page."""

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
            folder: an empty folder, or one that does not exist yet.
            environment: environment variables of the commands.
            lab: whether to run commands that need the lab.
            clone: whether to make a git clone on branch main, so that a page can show a change against it.
            root: the project.
        """
        self.environment = dict(environment)
        self.lab = lab
        self._at, self._clone, self._root = folder, clone, root

    @functools.cached_property
    def folder(self) -> Path:
        """The folder with the copy, which is made for the first command: most pages have none."""
        folder, root = self._at, self._root
        for name in (*_COPIED, *(_COPIED_FOR_LAB if self.lab else ())):
            if (root / name).exists():
                shutil.copytree(root / name, folder / name, ignore=_NOT_COPIED)
        for name in ("Pulumi.yaml", "Makefile"):
            shutil.copy(root / name, folder)
        git = ["git", "-c", "user.name=docs", "-c", "user.email=docs@example.com", "-C", str(folder)]
        begin = ("init --quiet --initial-branch=main", "add .", "commit --quiet --message=Begin")
        for words in begin if self._clone else ():
            subprocess.run([*git, *words.split()], env=self.environment, check=True, capture_output=True)
        _virtual_environment(folder / ".venv")
        return folder

    def run(self, block: Block) -> str:
        """Runs or writes the block, and returns what its body must be.

        Raises:
            Wrong: a command ends with another exit code than the page says, or a diff does not fit.
        """
        if "start" in block.flags or ("lab" in block.flags and not self.lab):
            pass
        elif "file" in block.options:
            self._write(block)
        elif block.language == "python":
            _compile(block)
        elif not block.is_command:
            pass
        elif block.language == "console":
            return self._console(block)
        else:
            scripts = pipeline_commands(block.body) if "ci" in block.flags else (self._runnable(block),)
            for script in filter(str.strip, scripts):
                self._call(block, script, int(block.options.get("exit", 0)))
        return block.body

    def _console(self, block: Block) -> str:
        commands = [line[2:] for line in block.body.splitlines() if line.startswith("$ ")]
        if not commands:
            raise Wrong(f"{block.place}: no line begins with '$ '")
        codes = [0] * (len(commands) - 1) + [int(block.options.get("exit", 0))]
        outputs = [self._call(block, command, code) for command, code in zip(commands, codes, strict=True)]
        return "".join(f"$ {command}\n{output}" for command, output in zip(commands, outputs, strict=True))

    def _runnable(self, block: Block) -> str:
        """A script without the make calls that do more than the copy supports."""
        script = block.body
        allowed = MAKE | MAKE_IN_LAB if self.lab else MAKE
        for target in set(block.make_targets) - allowed:
            script = re.sub(rf"^make {target}(?![a-z-]).*$", "", script, flags=re.MULTILINE)
        return script

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
        package = self.folder / "modelyard"
        if path.is_relative_to(package) and not package.exists():
            shutil.copytree(self._root / package.name, package, ignore=_NOT_COPIED)
            self.environment["PYTHONPATH"] = str(self.folder)
        write(block, self.folder)


def write(block: Block, folder: Path) -> None:
    """Writes a block to the file that it names, or changes there the lines that a diff shows.

    Raises:
        Wrong: the file does not have the lines of the diff once.
    """
    path = folder / block.options["file"]
    if block.language != "diff":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.body, encoding="utf-8")
        return
    lines = block.body.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] in "- ")
    new = "".join(line[1:] for line in lines if line[0] in "+ ")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.count(old) != 1:
        raise Wrong(f"{block.place}: {block.options['file']} has {text.count(old)} places that look like this")
    path.write_text(text.replace(old, new), encoding="utf-8")


def _virtual_environment(folder: Path) -> None:
    """A virtual environment that shares everything with this one, except that new files stay in the copy."""
    (folder / "bin").mkdir(parents=True)
    # Keeps make from setting anything up.
    (folder / ".runtime").touch()
    for path in (Path(sys.prefix) / "bin").iterdir():
        (folder / "bin" / path.name).symlink_to(path)
    for name in ("lib", "pyvenv.cfg"):
        (folder / name).symlink_to(Path(sys.prefix) / name)


def _compile(block: Block) -> None:
    try:
        compile(block.body, block.place, "exec")
    except SyntaxError as error:
        raise Wrong(f"{block.place}: {error}") from None


def offline_environment(home: Path) -> dict[str, str]:
    """The environment of a plain shell without a cluster, a terminal or colours."""
    kept = {name: os.environ[name] for name in ("PYTHONDONTWRITEBYTECODE", "TMPDIR") if name in os.environ}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {
        **kept,
        "PATH": path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "KUBECONFIG": os.devnull,
        # The environment exists; make must not set it up.
        "MAKEFLAGS": "READY=",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
    }


def renewed(text: str, page: str, place: Workplace) -> str:
    """The page with the actual output of its commands.

    Raises:
        Wrong: a command ends with another exit code than the page says.
    """
    pieces, end = [], 0
    for block in blocks(text, page):
        pieces += [text[end : block.span[0]], textwrap.indent(place.run(block), block.indent)]
        end = block.span[1]
    return "".join((*pieces, text[end:]))


def main(names: Iterable[str]) -> int:
    """Updates the named pages, or all."""
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
