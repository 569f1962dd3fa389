"""The patch versions that come with modelyard: where they are, and which of them a folder of patches lacks."""

import os
from collections.abc import Collection
from pathlib import Path

import modelyard
from modelyard.patterns import regex

BUILT_IN = "modelyard/patches"
"""Where built-in versions are shown: their place in the installed package."""
_ID = regex(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?/v[1-9]\d*")


def built_in_folder() -> Path:
    """The folder of the built-in versions: in the installed package, or at the root of a checkout."""
    package = Path(modelyard.__file__).parent
    return package / "patches" if (package / "patches").is_dir() else package.parent / "patches"


def built_in_names() -> list[str]:
    """The built-in versions by ``name/version``."""
    place = built_in_folder()
    names = (path.relative_to(place).as_posix() for path in place.glob("*/v*"))
    return sorted(name for name in names if _ID.fullmatch(name))


def built_in_patches() -> frozenset[str]:
    """The names of the built-in patches."""
    return frozenset(name for name in os.listdir(built_in_folder()) if _ID.fullmatch(f"{name}/v1"))  # noqa: PTH208


def lacking(folder: Path, wanted: Collection[str] | None) -> list[str]:
    """The built-in versions that a folder of patches does not have, by ``name/version``.

    A version that is there and broken is the folder's own.

    Args:
        folder: the project's folder of patches.
        wanted: the names to look for, which may come from anyone; None: all.
    """
    place = built_in_folder()
    named = (
        name
        for name in (built_in_names() if wanted is None else wanted)
        if _ID.fullmatch(name) and not os.path.lexists(folder / name)
    )
    return sorted(name for name in named if (place / name).is_dir())
