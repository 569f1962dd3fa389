"""``patches.lock``: the SHA-256 of every released patch version, so that a release never changes silently.

The digests of a project's own files are comments: they only let an error name the file that changed, and versions of
modelyard that do not write them read the lock as before.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from modelyard.files import ReadError, read_file
from modelyard.names import PATCHES_FOLDER
from modelyard.patterns import regex

LOCK_FILE = "patches.lock"
LOCK = f"{PATCHES_FOLDER}/{LOCK_FILE}"
"""Where a project has it, for messages."""
_SHA256 = regex(r"[0-9a-fA-F]{64}")
_MAX_BYTES = 4 * 1024 * 1024
_HEADER = (
    "# SHA-256 of every released patch version. A released version never changes: a change is a new version folder.\n"
    "# `modelyard patches --release` adds the versions that are not here yet.\n"
)


def digest(files: Mapping[str, bytes]) -> str:
    """Returns the SHA-256 over the names and contents of a version's files, independent of their order."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{len(name)}:{name}:{len(files[name])}:".encode())
        total.update(files[name])
    return total.hexdigest()


def read_lock(folder: Path) -> tuple[dict[str, str], tuple[int, ...]]:
    """Returns the locked digests by ``name/version``, and the numbers of the lines that do not have that form.

    Raises:
        ReadError: the lock exists but cannot be read.
    """
    locked: dict[str, str] = {}
    bad: list[int] = []
    for number, line in enumerate(_lines(folder), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split()
        if len(parts) != 2 or "/" not in parts[0] or not _SHA256.fullmatch(parts[1]) or parts[0] in locked:
            bad.append(number)
        else:
            locked[parts[0]] = parts[1].lower()
    return locked, tuple(bad)


def has_lock(folder: Path) -> bool:
    """Returns whether a folder of patches has a lock, even one that cannot be read."""
    return os.path.lexists(folder / LOCK_FILE)


def lock_lines(folder: Path) -> dict[str, int]:
    """Returns the 1-based line of each ``name/version`` in the lock.

    Raises:
        ReadError: as ``read_lock``.
    """
    return {line.split()[0]: at for at, line in enumerate(_lines(folder), 1) if line.strip() and line[0] != "#"}


def _lines(folder: Path) -> list[str]:
    """Returns the lines of the lock; none if there is no lock."""
    try:
        content = read_file(folder / LOCK_FILE, limit=_MAX_BYTES, within=folder.parent)
    except ReadError as error:
        if error.missing:
            return []
        raise
    return content.decode("utf-8-sig", errors="replace").splitlines()


def file_digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Returns the start of the SHA-256 of each file of a version, by the file's name."""
    return {name: hashlib.sha256(content).hexdigest()[:16] for name, content in sorted(files.items())}


def locked_files(folder: Path, name: str) -> dict[str, str]:
    """Returns the digests of the files of a ``name/version``, as in ``file_digests``; none if the lock lacks them.

    Raises:
        ReadError: as ``read_lock``.
    """
    for line in _lines(folder):
        start, _, rest = line.partition(": ")
        if start == f"# {name}":
            return dict(pair.split(" ", 1) for pair in rest.split(", ") if " " in pair)
    return {}


def lock_text(locked: Mapping[str, str], files: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> str:
    """Returns the lock file for these digests, sorted.

    Args:
        locked: The digest of each version by ``name/version``.
        files: The digests of the files of some of them, as in ``file_digests``.
    """
    width = max((len(name) for name in locked), default=0)
    lines: list[str] = []
    for name in sorted(locked):
        lines.append(f"{name:<{width}}  {locked[name]}\n")
        if name in files:
            lines.append(f"# {name}: {', '.join(f'{file} {sha256}' for file, sha256 in files[name].items())}\n")
    return _HEADER + "".join(lines)
