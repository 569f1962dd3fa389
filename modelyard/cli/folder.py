"""Folders of generated files: replaced as a whole, without touching what somebody else put there."""

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from modelyard.files import write_atomically

MANIFEST = ".modelyard"
"""File in such a folder that names what the last run wrote, so that the next one knows what to remove."""


def replace_generated(folders: Mapping[Path, Mapping[str, str]]) -> int:
    """Writes the files of each folder (text by relative name) and removes those of an earlier run; says how many.

    Raises:
        OSError: something cannot be written; then nothing was changed.
    """
    wanted = {folder / name: text for folder, files in folders.items() for name, text in files.items()}
    manifests = {folder / MANIFEST: "".join(f"{name}\n" for name in sorted(files)) for folder, files in folders.items()}
    stale = [path for folder in folders for path in _listed(folder) if path not in wanted]
    _write_all({**wanted, **manifests})
    for path in stale:
        path.unlink(missing_ok=True)
    return len(wanted)


def _listed(folder: Path) -> list[Path]:
    """The files of the earlier run, as far as the manifest stays inside its folder."""
    try:
        names = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    inside = [name for name in names if name and ".." not in PurePosixPath(name).parts and not name.startswith("/")]
    return [folder / name for name in inside if not (folder / name).is_dir()]


def _write_all(files: Mapping[Path, str]) -> None:
    """All files or none: each is staged beside its place before the first one gets there."""
    made = {folder for path in files for folder in path.parents if not folder.exists()}
    staged: dict[Path, Path] = {}
    try:
        for path, text in files.items():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            stage = path.with_name(f".{path.name}.new")
            write_atomically(stage, text)
            staged[path] = stage
        for path, stage in staged.items():
            stage.replace(path)
    except BaseException:
        for stage in staged.values():
            stage.unlink(missing_ok=True)
        for folder in sorted(made, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise
