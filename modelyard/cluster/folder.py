"""The JSON files of a folder, replaced all together."""

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from modelyard.files import write_atomically
from modelyard.temporary import token, undone

_STAGE = re.compile(r"\.[0-9a-f]{16}\.replacing")


def replace_json(folder: Path, texts: Mapping[str, str], is_own: Callable[[Path], bool]) -> None:
    """Writes files into a folder (text by name) in place of all its own ones; every other file stays.

    All of that happens or nothing. The folder is made anew beside its place and moved there when it is complete. A run
    that is killed leaves the old folder or the new one. In the moment between two renames it leaves none, which every
    reader notices; the next run puts the new one in place.

    Args:
        folder: what is replaced.
        texts: its new files.
        is_own: whether a file was written by an earlier run and may go.

    Raises:
        OSError: something cannot be written; what was there before is still there.
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
    """Ends what a killed run began: what it had ready and not in place goes there, the rest goes away."""
    for stage in list(place.parent.iterdir()):
        if not _STAGE.fullmatch(stage.name.removeprefix(f".{place.name}")) or stage.is_symlink():
            continue
        if (stage / "old").exists() and (stage / "new").exists() and not place.exists():
            (stage / "new").rename(place)
        shutil.rmtree(stage, ignore_errors=True)


def _left_out(
    top: Path, texts: Mapping[str, str], is_own: Callable[[Path], bool], folder: str, names: Iterable[str]
) -> set[str]:
    """Names of a folder that are not copied: at the top what is written anew, and what may go."""
    return {name for name in names if Path(folder) == top and (name in texts or is_own(top / name))}
