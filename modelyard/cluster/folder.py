"""Replaces all JSON files of a folder together."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path

from modelyard.files import parse_json, read_file, write_atomically
from modelyard.temporary import token, undone

_STAGE = re.compile(r"[0-9a-f]{16}\.replacing")
_MANIFEST = "manifest.json"
"""Name of the file with the digests of all files that a stage folder may contain: those that a run replaces, and those
that it writes."""


def replace_json(folder: Path, texts: Mapping[str, str], is_own: Callable[[Path], bool]) -> None:
    """Replaces a folder's own files with new ones (text by name); every other file stays.

    Replaces all files or none. The new folder, the stage, is built next to the old one and moved into place when it is
    complete. A run that is killed leaves the old folder or the new one. Between two renames, there is briefly no
    folder, which every reader notices; the next run then moves the new one into place. A run keeps a folder that
    ``unfinished`` finds unless a manifest proves that an earlier run created it.

    Args:
        folder: the folder to replace.
        texts: its new files.
        is_own: returns whether an earlier run wrote a file, so that it may be deleted.

    Raises:
        OSError: something cannot be written; the earlier content is still there.
    """
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    _take_up(place)
    stage = place.with_name(f".{place.name}.{token()}.replacing")
    old, new = stage / "old", stage / "new"
    with undone(partial(_put_back, stage, place)):
        stage.mkdir(mode=0o700)
        digests = {sha256(text.encode()).hexdigest() for text in texts.values()} | set(_digests(place))
        write_atomically(stage / _MANIFEST, json.dumps(sorted(digests)))
        if place.exists():
            shutil.copytree(place, new, symlinks=True, ignore=partial(_left_out, place, texts, is_own))
        else:
            new.mkdir()
        for name, text in texts.items():
            write_atomically(new / name, text)
        if place.exists():
            place.rename(old)
        new.rename(place)


def _put_back(stage: Path, place: Path) -> None:
    """Ends a replacement, whether it is complete or not."""
    if (stage / "old").exists() and not place.exists():
        (stage / "old").rename(place)
    shutil.rmtree(stage, ignore_errors=True)


def unfinished(folder: Path) -> list[Path]:
    """The folders next to a folder that have the name of an unfinished replacement of that folder, sorted."""
    place = folder.resolve()
    before = f".{place.name}."
    return sorted(
        path
        for path in place.parent.iterdir()
        if path.name.startswith(before) and _STAGE.fullmatch(path.name.removeprefix(before)) and not path.is_symlink()
    )


def _take_up(place: Path) -> None:
    """Finishes what a killed run began: moves a complete folder into place if there is none, and deletes the rest."""
    for stage in unfinished(place):
        if not _is_own_stage(stage):
            continue
        if (stage / "old").exists() and (stage / "new").exists() and not place.exists():
            (stage / "new").rename(place)
        shutil.rmtree(stage, ignore_errors=True)


def _is_own_stage(stage: Path) -> bool:
    """Whether a run noted every file in a folder before it began; true for an empty folder."""
    try:
        names = {path.name for path in stage.iterdir()}
        known = parse_json(read_file(stage / _MANIFEST)) if names else []
        held = [digest for name in ("old", "new") for digest in _digests(stage / name)]
    except (OSError, ValueError):
        return False
    return names <= {_MANIFEST, "old", "new"} and isinstance(known, list) and all(one in known for one in held)


def _digests(folder: Path) -> Iterator[str]:
    """The digests of all files below a folder, and of the targets of links."""
    for base, folders, files in os.walk(folder, onerror=_raise):
        for path in (Path(base, name) for name in (*folders, *files)):
            if path.is_symlink():
                yield sha256(os.fsencode(path.readlink())).hexdigest()
            elif path.is_file():
                with path.open("rb") as stream:
                    yield file_digest(stream, "sha256").hexdigest()
            elif not path.is_dir():
                raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def _raise(error: OSError) -> None:
    """Raises the error of a folder that cannot be listed and must not count as empty, unless the folder is missing."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _left_out(
    top: Path, texts: Mapping[str, str], is_own: Callable[[Path], bool], folder: str, names: Iterable[str]
) -> set[str]:
    """Names in a folder that are not copied: at the top, files that are written anew or may be deleted."""
    return {name for name in names if Path(folder) == top and (name in texts or is_own(top / name))}
