"""Finds a project and its stack files."""

import errno
import os
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from modelyard.files import ReadError, read_file
from modelyard.stack.loader import FILE_NAME, names_in, stack_of, stacks_in
from modelyard.stack.yaml.document import parse_plain
from modelyard.stack.yaml.source import MAX_BYTES

PROJECT_FILES = ("Pulumi.yaml", "Pulumi.yml")
DEFAULT_FOLDER = "stacks"


class StackFile(NamedTuple):
    """The file of one stack."""

    name: str
    path: Path
    shown: str
    """The path as findings show it: from the project's root, with slashes."""


def find_project(start: Path) -> Path | None:
    """Returns the nearest folder, from ``start`` upward, that holds Pulumi.yaml; None if there is none."""
    start = start.absolute()
    for folder in (start, *start.parents):
        if any((folder / file).is_file() for file in PROJECT_FILES):
            return folder
    return None


def stack_folder(root: Path) -> Path:
    """Returns the folder of the stack files: ``stackConfigDir`` of Pulumi.yaml, else ``stacks``.

    As in Pulumi, the path is relative to the project, and ``..`` removes one name, even if that name is a link. A
    Pulumi.yaml that cannot be read or parsed is ignored here; ``check_project`` reports it.

    Raises:
        ReadError: the folder is outside the project.
    """
    for file in PROJECT_FILES:
        try:
            content = read_file(root / file, limit=MAX_BYTES, within=root)
        except OSError:
            continue
        # The key is rare, and searching for it is cheaper than parsing. Escapes can spell it differently.
        project = parse_plain(content)[0] if b"stackConfigDir" in content or b"\\" in content else None
        folder = project.get("stackConfigDir") if isinstance(project, dict) else None
        return _inside(root, folder if isinstance(folder, str) and folder else DEFAULT_FOLDER)
    return _inside(root, DEFAULT_FOLDER)


def _inside(root: Path, folder: str) -> Path:
    wrong = outside(root, folder)
    if wrong is not None:
        raise wrong
    return root / normpath(folder)


def outside(root: Path, folder: str) -> ReadError | None:
    """Returns why a folder that Pulumi.yaml names is outside the project; None if it is inside."""
    remedy = "name a folder of the project by its path from Pulumi.yaml"
    path = root / normpath(folder)
    if os.path.isabs(folder):  # noqa: PTH117 (as Pulumi sees it)
        return ReadError(
            errno.EINVAL, "it is an absolute path, but Pulumi expects a path below the project", path, remedy
        )
    if normpath(folder).split("/")[0] == "..":
        return ReadError(errno.EINVAL, "it is outside the project", path, remedy)
    if "\0" not in folder and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        return ReadError(errno.ELOOP, "it is a link to a place outside the project", path, remedy)
    return None


def project_name(root: Path) -> str:
    """Returns the name of a project; empty if Pulumi.yaml sets none, which ``check_project`` reports."""
    for file in PROJECT_FILES:
        try:
            project = parse_plain(read_file(root / file, limit=MAX_BYTES, within=root))[0]
        except OSError:
            continue
        name = project.get("name") if isinstance(project, dict) else None
        return name.strip() if isinstance(name, str) else ""
    return ""


def discover(root: Path) -> tuple[StackFile, ...]:
    """Returns the stack files of a project, sorted by name."""
    folder = stack_folder(root)
    paths = ((name, folder / f"Pulumi.{name}.yaml") for name in stacks_in(folder))
    return tuple(StackFile(name, path, _shown(path, root)) for name, path in paths)


def misnamed(root: Path) -> tuple[StackFile, ...]:
    """Returns files that look like stack files but whose names are not valid, sorted.

    Each entry has its whole file name, so that it is not taken for a stack. Loading one gives a finding.
    """
    folder = stack_folder(root)
    names = sorted(names_in(folder))
    paths = ((stack_of(name), folder / name) for name in names if not FILE_NAME.fullmatch(name))
    return tuple(StackFile(name, path, _shown(path, root)) for name, path in paths if name)


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
