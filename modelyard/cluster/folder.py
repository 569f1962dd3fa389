"""Replaces all JSON files of a folder together."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from modelyard.files import write_atomically
from modelyard.temporary import token, undone

_STAGE = re.compile(r"\.[0-9a-f]{16}\.replacing")


def replace_json(folder: Path, texts: Mapping[str, str], is_own: Callable[[Path], bool]) -> None:
    """Replaces a folder's own files with new ones (text by name); every other file stays.

    All of that happens or nothing. The new folder is built beside the old one and moved into place when it is complete.
    A run that is killed leaves the old folder or the new one. Between two renames there is briefly no folder, which
    every reader notices; the next run then moves the new one into place.

    Args:
        folder: the folder to replace.
        texts: its new files.
        is_own: whether an earlier run wrote a file, so it may be deleted.

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
    """Ends a replacement, complete or not."""
    if (stage / "old").exists() and not place.exists():
        (stage / "old").rename(place)
    shutil.rmtree(stage, ignore_errors=True)


def _take_up(place: Path) -> None:
    """Finishes what a killed run began: moves a complete folder into place if none is there, and deletes the rest."""
    for stage in list(place.parent.iterdir()):
        if not _STAGE.fullmatch(stage.name.removeprefix(f".{place.name}")) or stage.is_symlink():
            continue
        if (stage / "old").exists() and (stage / "new").exists() and not place.exists():
            (stage / "new").rename(place)
        shutil.rmtree(stage, ignore_errors=True)


def _left_out(
    top: Path, texts: Mapping[str, str], is_own: Callable[[Path], bool], folder: str, names: Iterable[str]
) -> set[str]:
    """Names in a folder that are not copied: at the top, files that are written anew or may be deleted."""
    return {name for name in names if Path(folder) == top and (name in texts or is_own(top / name))}
