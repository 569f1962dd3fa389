"""Folders of generated files: replaced as a whole, without touching what somebody else put there."""

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

MANIFEST = ".modelyard"
"""File in such a folder that names what the last run wrote, so that the next one knows what to remove."""


def replace_generated(folders: Iterable[tuple[Path, Mapping[str, str]]]) -> int:
    """Writes the files of each folder (text by relative name) and removes those of an earlier run; says how many.

    Each file is staged beside its place as its folder comes, and nothing gets to its place before the last one is
    there. So the texts of many folders need not be held at once.

    Raises:
        FileExistsError: a file that no earlier run wrote is in the way.
        OSError: something cannot be written. In both cases, as when the folders themselves raise, nothing was changed.
    """
    staged: dict[Path, Path] = {}
    made: set[Path] = set()
    stale: list[Path] = []
    number = 0
    try:
        for folder, files in folders:
            ours = {*_listed(folder), folder / MANIFEST}
            for foreign in (folder / name for name in files if folder / name not in ours and (folder / name).exists()):
                raise FileExistsError(errno.EEXIST, "not made by modelyard, and in the way", str(foreign))
            manifest = "".join(f"{name}\n" for name in sorted(files))
            for name, text in {**files, MANIFEST: manifest}.items():
                _stage(folder / name, text, staged, made)
            stale.extend(path for path in _listed(folder) if path not in staged)
            number += len(files)
        for path, stage in staged.items():
            stage.replace(path)
    except BaseException:
        for stage in staged.values():
            stage.unlink(missing_ok=True)
        for folder in sorted(made, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        raise
    for path in stale:
        path.unlink(missing_ok=True)
    return number


def _stage(path: Path, text: str, staged: dict[Path, Path], made: set[Path]) -> None:
    """Writes a text beside its place and notes where, and which folders that made."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = path.parent
    while folder not in made and not folder.exists():
        made.add(folder)
        folder = folder.parent
    stage = path.with_name(f".{path.name}.new")
    stage.parent.mkdir(parents=True, exist_ok=True)
    staged[path] = stage
    # Not forced to the disk one by one: there may be thousands, and another run makes them again.
    stage.write_text(text, encoding="utf-8", newline="\n")


def _listed(folder: Path) -> list[Path]:
    """The files of the earlier run, as far as the manifest stays inside its folder."""
    try:
        names = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    inside = [name for name in names if name and ".." not in PurePosixPath(name).parts and not name.startswith("/")]
    return [folder / name for name in inside if not (folder / name).is_dir()]
