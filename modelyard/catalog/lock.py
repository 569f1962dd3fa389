"""``patches.lock``: the SHA-256 of every released patch version, so that a release never changes silently."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

LOCK_FILE = "patches.lock"
_HEADER = (
    "# SHA-256 of every released patch version. A released version never changes: a change is a new version folder.\n"
    "# `modelyard patches --release` adds the versions that are not here yet.\n"
)


def digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over the names and contents of a version's files, whatever order they were read in."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{len(name)}:{name}:{len(files[name])}:".encode())
        total.update(files[name])
    return total.hexdigest()


def read_lock(folder: Path) -> tuple[dict[str, str], tuple[tuple[int, str], ...]]:
    """The locked digests by ``name/version``, and the lines that are not of that form (line number, text)."""
    path = folder / LOCK_FILE
    if not path.is_file():
        return {}, ()
    locked: dict[str, str] = {}
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split()
        if len(parts) != 2 or "/" not in parts[0] or len(parts[1]) != 64 or parts[0] in locked:
            bad.append((number, line))
        else:
            locked[parts[0]] = parts[1]
    return locked, tuple(bad)


def lock_lines(folder: Path) -> dict[str, int]:
    """The 1-based line of each ``name/version`` in the lock."""
    path = folder / LOCK_FILE
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    return {line.split()[0]: number for number, line in enumerate(lines, 1) if line.strip() and line[0] != "#"}


def lock_text(locked: Mapping[str, str]) -> str:
    """The lock file for these digests, sorted."""
    width = max((len(name) for name in locked), default=0)
    return _HEADER + "".join(f"{name:<{width}}  {locked[name]}\n" for name in sorted(locked))
