"""The files of a project that plans and policies read: those that all stacks share, and those of each stack.

Finds the stack files among the paths of a commit too.

Folders count as files, and so do links, also links to folders. What links lead to is included, if it is in the project.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from modelyard.cluster.recorded import stack_of_recorded
from modelyard.files import MAX_YAML_BYTES, read_file
from modelyard.names import HARDWARE_FILE, PATCHES_FOLDER, POLICIES_FOLDER, RECORDED
from modelyard.plan.project import named_files
from modelyard.preview.git import RevisionError
from modelyard.preview.links import WantedFile, below, linked, steps
from modelyard.stack import check_project, discover, load, misnamed, stack_folder, stack_of
from modelyard.stack.project import PROJECT_FILES

SHARED: tuple[str, ...] = (*PROJECT_FILES, HARDWARE_FILE, PATCHES_FOLDER, POLICIES_FOLDER)
"""What the plans and findings of all stacks may depend on."""
_NAMING = (b"modelyard:prices", b"modelyard:environments")
"""Keys of stack files that name other files."""

_Excluded = Callable[[str], bool]
"""Whether a folder is left out, by its whole path."""


class StackPaths(NamedTuple):
    """Where a project has files of one stack."""

    file: str | None = None
    """None for the recorded platform of a stack without a file."""
    recorded: tuple[str, ...] = ()
    """Folders of its recorded platforms: of the home cluster and of remote ones."""


def stack_files(root: Path) -> dict[str, Path]:
    """The stack files by name, including misnamed ones."""
    return {found.name: found.path for found in (*misnamed(root), *discover(root))}


def stack_paths(root: Path) -> dict[str, StackPaths]:
    """The paths of all stacks' files by stack name; reads none of them.

    Raises:
        OSError: a folder cannot be listed.
    """
    found = {name: StackPaths(path.relative_to(root).as_posix()) for name, path in stack_files(root).items()}
    recorded: dict[str, list[str]] = {}
    for name in _names_in(root / RECORDED):
        recorded.setdefault(stack_of_recorded(name), []).append(f"{RECORDED}/{name}")
    for stack, folders in recorded.items():
        found[stack] = found.get(stack, StackPaths())._replace(recorded=tuple(sorted(folders)))
    return found


def shared_files(root: Path) -> tuple[str, ...]:
    """The files that all stacks share, sorted by path from the project's root.

    Raises:
        OSError: a folder cannot be listed.
    """
    return _reached(root, SHARED)


def files_of_stacks(root: Path, stacks: Iterable[StackPaths]) -> tuple[str, ...]:
    """The files of some stacks, sorted by path from the project's root, with the files that the stack files name.

    Raises:
        OSError: a folder cannot be listed.
    """
    paths: set[str] = set()
    for stack in stacks:
        paths.update(stack.recorded)
        if stack.file is not None:
            paths |= {stack.file, *named_in(root, root / stack.file)}
    return _reached(root, paths)


def files_of_plans(root: Path) -> tuple[str, ...]:
    """The files of all stacks, and those that they share; sorted by path from the project's root.

    Raises:
        OSError: a folder cannot be listed.
    """
    return tuple(sorted({*shared_files(root), *files_of_stacks(root, stack_paths(root).values())}))


def named_in(root: Path, file: Path) -> Iterator[str]:
    """The files that a stack file names and its plan reads, by path from the project's root.

    They are price files, lists of packages, and the locks of Python environments.
    """
    # Few stacks have such keys, and searching for them is cheaper than loading all stacks.
    try:
        content = read_file(file, limit=MAX_YAML_BYTES)
    except OSError:
        return
    if any(key in content for key in _NAMING) and (stack := load(file, file.name, root)[0]) is not None:
        yield from map(normpath, named_files(stack))


def link_of(root: Path) -> Callable[[str], str | None]:
    """The destination of a link by its path from the root; None for what is no link.

    A destination in the project is relative to the link.
    """
    places = tuple(dict.fromkeys((os.path.realpath(root), str(root))))

    target_of = linked(root)

    def link(path: str) -> str | None:
        target = target_of(path)
        for place in places:
            if target is not None and f"{target}/".startswith(f"{place}/"):
                return os.path.relpath(target, os.path.dirname(f"{place}/{path}"))  # noqa: PTH120
        return target

    return link


def _reached(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """What is at paths and below them, and what links lead to; sorted, so that a folder precedes what is in it."""
    link = cache(link_of(root))
    found: set[str] = set()
    left: list[tuple[str, _Excluded]] = [(path, _is_bytecode) for path in paths]
    while left:
        path, excluded = left.pop()
        for step in steps(path, link):
            if step in found:
                continue
            if step and link(step) is not None:
                # Leads to a later step, or out of the project.
                found.add(step)
                continue
            for inside, is_link in _inside(root, step, excluded if step == path else _is_private):
                found.add(inside)
                if is_link:
                    left.append((inside, _is_private))
    return tuple(sorted(found))


def _inside(root: Path, top: str, excluded: _Excluded) -> Iterator[tuple[str, bool]]:
    """A path that is no link and what is below it, each with whether it is a link; some folders are left out."""
    place = f"{root}/{top}"
    if any(excluded(f"{root}/{parent}") for parent in parents(top)) or not os.path.lexists(place):
        return
    if not os.path.isdir(place):  # noqa: PTH112
        yield top, False
        return
    folders = [top] if not (top and excluded(place)) else []
    while folders:
        folder = folders.pop()
        if folder:
            yield folder, False
        with os.scandir(f"{root}/{folder}") as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path, entry.is_symlink()
                elif not excluded(entry.path):
                    folders.append(path)


def parents(path: str) -> Iterator[str]:
    """The folders of a path, the innermost first, without the root."""
    while path := path.rpartition("/")[0]:
        yield path


def _is_bytecode(folder: str) -> bool:
    return folder.endswith("/__pycache__")


def _is_private(folder: str) -> bool:
    """Whether a folder is hidden, such as ``.git``, or a virtual environment."""
    return "/." in folder[folder.rindex("/") :] or os.path.exists(f"{folder}/pyvenv.cfg") or _is_bytecode(folder)  # noqa: PTH110


def _names_in(folder: Path) -> list[str]:
    """The names in a folder; none if it does not exist."""
    try:
        return os.listdir(folder)  # noqa: PTH208 (only names are wanted)
    except (FileNotFoundError, NotADirectoryError):
        return []


def folder_of(root: Path) -> str:
    """The folder of the stack files, relative to the project's root, with a slash at its end; empty for the root
    itself.
    """
    inside = stack_folder(root).relative_to(root).as_posix()
    return "" if inside == "." else f"{inside}/"


def wanted_of(root: Path, where: str) -> WantedFile:
    """Selects the stack files and the recorded platforms of a project.

    Call it a second time to follow a link in place of their folder.

    Raises:
        RevisionError: its Pulumi.yaml does not set a usable folder of stack files.
    """
    wrong = check_project(root, only_folder=True) if any((root / name).exists() for name in PROJECT_FILES) else ()
    if wrong:
        first = wrong[0]
        raise RevisionError(
            f"{first.file} {where} cannot be used, so its stacks are unknown: {first.summary}",
            f"{first.remedy} ({first.file}:{first.line})",
        )
    folder, recorded = folder_of(root), below(f"{RECORDED}/")
    return lambda path: bool(stack_at(path, folder)) or folder.startswith(f"{path}/") or recorded(path)


def stack_at(path: str, folder: str) -> str:
    """The stack of a stack file, empty for other files."""
    name = path.removeprefix(folder)
    return stack_of(name) if path.startswith(folder) and "/" not in name else ""
