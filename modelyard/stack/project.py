"""Finds a project and its stack files."""

import errno
import os
import re
from pathlib import Path
from posixpath import normpath
from typing import Any, NamedTuple

from modelyard.files import MAX_YAML_BYTES, ReadError, read_file
from modelyard.patterns import regex

PROJECT_FILES = ("Pulumi.yaml", "Pulumi.yml")
DEFAULT_FOLDER = "stacks"
FOLDERS: dict[bytes, str] = {}
"""Folders that project files name, by their content: none is parsed twice."""
FILE_NAME = regex(r"Pulumi\.((?!\.{1,2}\.yaml)[A-Za-z0-9_.-]{1,100})\.yaml")
"""The names that Pulumi gives stack files; the group is the stack's name."""
_MISNAMED = regex(r"pulumi\..+\.ya?ml", re.IGNORECASE | re.DOTALL)
_STRANGE = regex(r"[^\w. ()+-]")


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
    content = project_content(root)
    folder = DEFAULT_FOLDER if content is None else named_folder(content)
    if (wrong := outside(root, folder)) is not None:
        raise wrong
    return root / normpath(folder)


def project_content(root: Path) -> bytes | None:
    """Returns the content of Pulumi.yaml; None if it cannot be read."""
    for file in PROJECT_FILES:
        try:
            return read_file(root / file, limit=MAX_YAML_BYTES, within=root)
        except OSError:
            continue
    return None


def named_folder(content: bytes) -> str:
    """Returns the folder that the content of a project file names, or else the default one."""
    if content not in FOLDERS:
        # The key is rare, and searching for it is cheaper than parsing. Escapes can spell it differently.
        project = _mapping(content) if b"stackConfigDir" in content or b"\\" in content else {}
        folder = project.get("stackConfigDir")
        FOLDERS[content] = folder if isinstance(folder, str) and folder else DEFAULT_FOLDER
    return FOLDERS[content]


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
    name = project_setting(root, "name")
    return name.strip() if isinstance(name, str) else ""


def virtual_environment(root: Path) -> Path | None:
    """Returns the virtual environment in which Pulumi runs the program; None if Pulumi.yaml names none."""
    runtime = project_setting(root, "runtime")
    options = runtime.get("options") if isinstance(runtime, dict) else None
    folder = options.get("virtualenv") if isinstance(options, dict) else None
    return root / folder if isinstance(folder, str) and folder else None


def project_setting(root: Path, key: str) -> Any:
    """Returns the value of a key of Pulumi.yaml; None if there is none."""
    content = project_content(root)
    return None if content is None else _mapping(content).get(key)


def _mapping(content: bytes) -> dict[Any, Any]:
    """Returns the mapping that is the content of a project file; empty for any other content."""
    from modelyard.stack.yaml.document import parse_plain  # who only looks for stack files needs no YAML

    project = parse_plain(content)[0]
    return project if isinstance(project, dict) else {}


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
    names = sorted(_names_in(folder))
    paths = ((stack_of(name), folder / name) for name in names if not FILE_NAME.fullmatch(name))
    return tuple(StackFile(name, path, _shown(path, root)) for name, path in paths if name)


def stack_of(file: str) -> str:
    """Returns the stack name of a file in the stack file folder, from the file's name; empty for other files.

    Control sequences and markup are removed from the name of a misnamed file.
    """
    found = FILE_NAME.fullmatch(file)
    if found is not None:
        return found[1]
    return _STRANGE.sub("_", file) if _MISNAMED.fullmatch(file) else ""


def stacks_in(folder: Path) -> list[str]:
    """Returns the names of the stacks whose files are in a folder, sorted; empty if the folder does not exist.

    Raises:
        OSError: the folder cannot be listed.
    """
    return sorted(found[1] for found in map(FILE_NAME.fullmatch, _names_in(folder)) if found)


def _names_in(folder: Path) -> list[str]:
    """Returns the names in a folder; empty if the folder does not exist.

    Raises:
        OSError: the folder cannot be listed, which differs from empty.
    """
    try:
        return [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
