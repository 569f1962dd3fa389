"""Migrates a project that was cloned with modelyard's repository to one that uses the installed package."""

import hashlib
import os
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

import modelyard
from modelyard.cli.common import project_root
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.printing import say, say_wrapped
from modelyard.report.style import safe

_PROGRAMS = {"stacks/__main__.py": "program.txt", "policies/__main__.py": "policy-program.txt"}
"""The programs that the package has now, and the templates of those that use it."""
_CLONED = [
    "benchmarks",
    "components",
    "docs",
    "examples",
    "extensions",
    "lab",
    "modelyard",
    "requirements",
    "tests",
    "typings",
]
"""The folders of modelyard's repository that are no part of a project."""
_IMPORT = re.compile(rb"^\s*(from|import) components\b", re.MULTILINE)


class Migration(NamedTuple):
    """What a migration does."""

    written: Mapping[str, str]
    """New texts of programs, by path."""
    removed: tuple[str, ...]
    """Files that the package has too."""
    kept: tuple[tuple[str, str], ...]
    """What looks like a copy and stays, and why."""


def migrate(args: Namespace) -> Exit:
    """Says what would change, asks, and does it."""
    root = project_root(args)
    if Path(modelyard.__file__).resolve().parent == root / "modelyard":
        raise Stop(
            Exit.USAGE,
            "this modelyard runs from the project's own folder modelyard/",
            "install modelyard from its wheel in a virtual environment, and run the command there",
        )
    found = _migration(root)
    say_wrapped(_words(found))
    if not (found.written or found.removed):
        return Exit.FINE
    if not args.yes:
        from modelyard.cli.question import need_yes

        need_yes()
    _carry_out(root, found)
    say(["Migrated. Every plan is the same as before; to see the plans, run: modelyard plan --all"])
    if (root / "modelyard" / "__init__.py").is_file():
        left = [name for name in _CLONED if (root / name).is_dir()]
        say_wrapped(
            [
                f"The folders {', '.join(left)}, and files such as Makefile, mkdocs.yml and pyproject.toml, belong to "
                "modelyard, not to the project. Remove them, unless they have changes of your own.",
            ]
        )
    return Exit.FINE


def _migration(root: Path) -> Migration:
    from modelyard.cli.starter import template

    lines = (line.split("  ", 1) for line in template("copies.sha256").splitlines())
    copies = {name: digest for digest, name in lines}
    removed: list[str] = []
    kept: list[tuple[str, str]] = []
    for name, why in _copied_patches(root):
        if why:
            kept.append((name, why))
        else:
            removed += [f"{name}/{path.name}" for path in sorted((root / name).iterdir())]
    written = {}
    for name, program in _PROGRAMS.items():
        text = template(program)
        if not (root / name).is_file() or (root / name).read_bytes() == text.encode():
            continue
        if _digest(root / name) == copies[name]:
            written[name] = text
        else:
            kept.append((name, "it differs from modelyard's; modelyard init writes the current one into a new project"))
    components = [_name(root, path) for path in _files(root / "components")]
    used = next((name for name in components if copies.get(name) != _digest(root / name)), None)
    used = used or next((name for name in _importing(root) if name not in written), None)
    if used is None:
        removed += components
    elif components:
        kept.append(("components", f"{used} is the project's own and may use it"))
    return Migration(written, tuple(removed), tuple(kept))


def _copied_patches(root: Path) -> Iterator[tuple[str, str]]:
    """The versions in ``patches/`` that are built in too, and why one must stay; empty if it need not."""
    from modelyard.catalog import load_library
    from modelyard.catalog.library import built_in_versions
    from modelyard.catalog.lock import has_lock
    from modelyard.names import PATCHES_FOLDER

    library = load_library(root)
    if library.findings:
        raise Stop(Exit.FINDINGS, "the patches of the project have errors", "correct them first", library.findings)
    if not has_lock(root / PATCHES_FOLDER):
        # Without one, every built-in version would be used.
        raise Stop(Exit.USAGE, "the project has no patches/patches.lock", "run: modelyard patches --release")
    for name, given in built_in_versions().items():
        patch = library.patches.get(given.name, {}).get(given.version)
        if patch is None or patch.built_in:
            continue
        if patch.sha256 != given.sha256:
            yield patch.file, "it differs from the built-in version"
        elif name not in library.released:
            yield patch.file, "patches.lock does not list it"
        elif {path.name for path in (root / patch.file).iterdir()} != set(patch.names):
            yield patch.file, "the folder has other files too"
        else:
            yield patch.file, ""


def _words(found: Migration) -> Iterator[str]:
    folders = sorted({str(Path(name).parent) for name in found.removed})
    yield from (f"remove   {safe(name)}  (included in the package)" for name in folders)
    yield from (f"rewrite  {safe(name)}" for name in found.written)
    yield from (f"keep     {safe(name)}  ({why})" for name, why in found.kept)
    if not (found.written or found.removed):
        yield "nothing to migrate: the project has no copies of the package's files"


def _importing(root: Path) -> Iterator[str]:
    """The project's own files that import ``components``."""
    for folder, folders, names in os.walk(root):
        at = Path(folder)
        left_out = _CLONED if at == root else ()
        folders[:] = sorted(name for name in folders if name not in left_out and name[0] != ".")
        for path in (at / name for name in sorted(names) if name.endswith(".py")):
            if path.is_file() and _IMPORT.search(path.read_bytes()):
                yield _name(root, path)


def _carry_out(root: Path, found: Migration) -> None:
    """Writes the programs, and then removes what they no longer use."""
    from modelyard.files import refuse_links, write_atomically

    for name in found.removed:
        refuse_links(root / name, root)
    for name, text in found.written.items():
        write_atomically(root / name, text, within=root)
    for name in found.removed:
        (root / name).unlink()
    for folder in sorted({parent for name in found.removed for parent in Path(name).parents}, reverse=True):
        place = root / folder
        rmtree(place / "__pycache__", ignore_errors=True)
        if place not in (root, root / "patches") and not os.listdir(place):  # noqa: PTH208 (only whether it is empty)
            place.rmdir()


def _files(folder: Path) -> list[Path]:
    """The files below a folder, without bytecode."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
