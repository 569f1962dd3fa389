"""Runs a part of the stacks of a run in a process of another machine, on a copy of the project's files."""

import gc
import os
import pickle
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from modelyard.cli.fleet.snapshot import load, remove, unpack
from modelyard.names import RECORDED
from modelyard.temporary import temporary_parent, token

WorkOutcome = tuple[bool, Any]
"""Whether the work succeeded, and its result or exception."""

_REMOVE: Final = 'exec 3<&0; (cat <&3; rm -rf "$1") &'
"""Removes a folder at the end of standard input. In the background, so that it is no child that Ray kills too."""
_removers: list["subprocess.Popen[bytes]"] = []
"""Their pipes are open as long as this process lives."""
_unpacked: dict[str, Path] = {}


def run(digest: str, content: Callable[[], bytes], number: int, *, work: bytes, items: bytes, files: bytes) -> bytes:
    """Runs the work for items, up to the first that raises an exception; returns pickled outcomes.

    Args:
        digest: of the snapshot.
        content: returns the content of the snapshot; called once for each snapshot and process.
        number: number of its folders.
        work: from ``snapshot.dump``.
        items: from ``snapshot.dump``.
        files: those of the items, from ``Snapshot.files_of``.
    """
    folder = _folder(digest, content)
    folders = tuple(folder / str(index) for index in range(number))
    function = load(work, folders)
    outcomes: list[WorkOutcome] = []
    with _files(files, folder, folders):
        for item in load(items, folders):
            try:
                outcomes.append((True, function(item)))
            except Exception as error:
                outcomes.append((False, error))
                break
    return pickle.dumps(outcomes, pickle.HIGHEST_PROTOCOL)


@contextmanager
def _files(content: bytes, folder: Path, folders: tuple[Path, ...]) -> Iterator[None]:
    """The files of some stacks, while the context lasts."""
    made = unpack(content, folder)
    for one in folders:
        # By this time, cluster.recorded knows that the folder changed. The clock of the file system is too coarse.
        with suppress(FileNotFoundError, NotADirectoryError):
            os.utime(one / RECORDED, ns=(now := time.time_ns(), now))
    try:
        yield
    finally:
        remove(made)


def _folder(digest: str, content: Callable[[], bytes]) -> Path:
    """The folder with a snapshot's files; removed when this process ends."""
    if digest not in _unpacked:
        _prepare()
        folder = _removed_later() / digest
        folder.mkdir()
        unpack(content(), folder)
        _unpacked[digest] = Path(os.path.realpath(folder))
    return _unpacked[digest]


@cache
def _prepare() -> None:
    # As for a run of the command line: many values, few cycles.
    gc.set_threshold(100_000, 50, 1000)


def _removed_later() -> Path:
    """A new folder that is removed when this process ends, however it ends: Ray kills its workers."""
    folder = Path(temporary_parent(), f"modelyard-{token()}")
    remover = subprocess.Popen(
        ["/bin/sh", "-c", _REMOVE, "sh", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    remover.wait()
    _removers.append(remover)
    folder.mkdir(mode=0o700)
    return folder
