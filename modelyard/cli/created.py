"""New files and folders that appear together: all of them, or none."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from modelyard.temporary import NEW, undone

Undo: TypeAlias = list[Callable[[], object]]
"""What removes the files and folders made so far, in the order in which they were made."""


@contextmanager
def all_or_none() -> Iterator[Undo]:
    """Removes what was made in the block if the block fails, also by a signal.

    What cannot be removed, such as a folder in which someone else put a file, stays.
    """
    undo: Undo = []
    with undone(partial(_undo, undo)):
        yield undo
        undo.clear()


def create(path: Path, text: str, undo: Undo) -> None:
    """Writes a new file, with the folders that it needs.

    Raises:
        OSError: the file exists, or cannot be written; the error names it.
    """
    for folder in missing_folders(path):
        folder.mkdir()
        undo.append(folder.rmdir)
    handle = os.open(path, NEW, 0o666)
    undo.append(path.unlink)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        error.filename = str(path)
        raise


def missing_folders(path: Path) -> list[Path]:
    """The folders above a path that do not exist yet, the outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def _undo(undo: Undo) -> None:
    for step in reversed(undo):
        with suppress(OSError):
            step()
