"""Digests of everything that a stack's plan is computed from: the project's files, modelyard itself, Python, the date.

Shared inputs are read once for each run; those of one stack are its file, its recorded clusters, and the files that it
names. A digest covers contents, not times, and what cannot be read counts as it is.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from modelyard.files import ReadError, ordinary_content, read_file
from modelyard.names import HARDWARE_FILE, PATCHES_FOLDER, POLICIES_FOLDER, RECORDED
from modelyard.stack.project import PROJECT_FILES

_PROJECT = (*PROJECT_FILES, HARDWARE_FILE, f"{POLICIES_FOLDER}/policy.yaml")
"""Files that any stack may use."""
_TREES = (PATCHES_FOLDER, f"{POLICIES_FOLDER}/rules", f"{POLICIES_FOLDER}/assertions")
"""Folders that any stack may use, with everything in them."""
_LISTED = (POLICIES_FOLDER,)
"""Folders of which only the names of files count."""


def digest_of(value: Any) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode(errors="surrogatepass")).hexdigest()


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file's content, with where a link leads; for what cannot be read, the reason."""
    content = ordinary_content(path)
    return _unusual(Path(path)) if content is None else hashlib.sha256(content).hexdigest()


def _unusual(path: Path) -> str:
    link = os.path.realpath(path) if os.path.islink(path) else ""  # noqa: PTH114 (a name may have a null byte)
    try:
        return link + hashlib.sha256(read_file(path)).hexdigest()
    except ReadError as error:
        return f"{link} {error.errno} {error.reason}"


def shared_digest(root: Path, options: Mapping[str, Any]) -> str:
    """Of everything that the stacks of a run have in common.

    Args:
        root: the project.
        options: values that change the output.
    """
    return digest_of(
        {
            "root": str(root),
            "options": options,
            "date": date.today().isoformat(),
            "program": program(),
            "files": {name: file_digest(root / name) for name in _PROJECT},
            "trees": {name: _tree(root / name) for name in _TREES},
            "listed": {name: _names(root / name) for name in _LISTED},
            # A folder that leads outside the project is not read.
            "places": [os.path.realpath(root / name) for name in (*_TREES, *_LISTED, RECORDED)],
        }
    )


def project_digests(root: Path) -> list[str]:
    """Of the project file, under both of its names."""
    return [file_digest(root / name) for name in PROJECT_FILES]


class Recordings:
    """Digests of the recorded clusters of stacks."""

    def __init__(self, root: Path) -> None:
        self._folder = str(root / RECORDED)
        self._remote: dict[str, list[str]] = {}
        self._links: set[str] = set()
        self.stacks: set[str] = set()
        """All stacks with recorded clusters."""
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                stack, at, _ = entry.name.partition("@")
                self.stacks.add(stack)
                if at:
                    self._remote.setdefault(stack, []).append(entry.name)
                if entry.is_symlink():
                    self._links.add(entry.name)

    def of(self, stack: str) -> dict[str, Any]:
        """What a plan of a stack reads of its recorded clusters, home and remote."""
        return {name: self._read(name) for name in (stack, *self._remote.get(stack, ()))}

    def _read(self, name: str) -> Any:
        folder = f"{self._folder}/{name}"
        link = os.path.realpath(folder) if name in self._links else ""
        try:
            names = os.listdir(folder)  # noqa: PTH208 (only names are wanted)
        except OSError as error:
            return [link, error.errno]
        return [link, {name: file_digest(f"{folder}/{name}") for name in names if name.endswith(".json")}]


def named_digests(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Digests of files that a stack names, by name."""
    return {name: f"{os.path.realpath(root / name)} {file_digest(root / name)}" for name in names}


def _tree(folder: Path, above: frozenset[str] = frozenset()) -> Any:
    """Everything in a folder, by name. Links are followed; those that form a loop are not."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        return error.errno
    real = os.path.realpath(folder)
    found: dict[str, Any] = {}
    for entry in entries:
        path = folder / entry.name
        if _is_folder(entry):
            link = os.path.realpath(path) if entry.is_symlink() else ""
            inner = None if os.path.realpath(path) in {real, *above} else _tree(path, above | {real})
            found[entry.name] = [link, inner]
        else:
            found[entry.name] = file_digest(path)
    return found


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 (only names are wanted)
    except OSError as error:
        return [f"/{error.errno}"]


@cache
def program() -> str:
    """Of modelyard's own files by size and time, the installed distributions, and Python."""
    package = Path(__file__).parent.parent
    files: list[tuple[str, int, int]] = []
    for folder in (package, package.parent / "patches"):
        _stat_tree(str(folder), files)
    installed = sorted(
        name for place in sys.path for name in _names(Path(place)) if name.endswith((".dist-info", ".egg-info"))
    )
    return digest_of([sorted(files), installed, sys.version, sys.path])


def _stat_tree(folder: str, found: list[tuple[str, int, int]]) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_folder(entry):
                    if entry.name != "__pycache__":
                        _stat_tree(entry.path, found)
                else:
                    facts = entry.stat()
                    found.append((entry.path, facts.st_size, facts.st_mtime_ns))
    except OSError as error:
        found.append((folder, -1, error.errno or 0))
