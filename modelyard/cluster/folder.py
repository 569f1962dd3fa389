"""The JSON files of a folder, replaced all together."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from modelyard.files import write_atomically

_STAGE = ".replacing"


def replace_json(folder: Path, texts: Mapping[str, str]) -> None:
    """Makes these (text by name) the only ``*.json`` files of a folder, all of them or none; its other files stay.

    The folder is made anew beside its place and moved there when it is complete. A run that is killed leaves the old
    folder or the new one. In the moment between two renames it leaves none, which every reader notices; the next run
    puts the new one in place.

    Raises:
        OSError: something cannot be written; what was there before is still there.
    """
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    _take_up(place)
    stage = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=_STAGE, dir=place.parent))
    old, new = stage / "old", stage / "new"
    try:
        if place.exists():
            shutil.copytree(place, new, symlinks=True, ignore=partial(_json, str(place)))
        else:
            new.mkdir()
        for name, text in texts.items():
            write_atomically(new / name, text)
        if place.exists():
            place.rename(old)
        new.rename(place)
    except BaseException:
        if old.exists() and not place.exists():
            old.rename(place)
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _take_up(place: Path) -> None:
    """Ends what a killed run began: what it had ready and not in place goes there, the rest goes away."""
    for stage in place.parent.glob(f".{place.name}.*{_STAGE}"):
        if (stage / "old").exists() and (stage / "new").exists() and not place.exists():
            (stage / "new").rename(place)
        shutil.rmtree(stage, ignore_errors=True)


def _json(top: str, folder: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if folder == top and name.endswith(".json")}
