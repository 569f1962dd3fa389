"""Temporary files and folders that are removed when a run ends, even by a signal.

Cleanups are registered before their files are created, so no file ever exists without one.
"""

import atexit
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a process at once. Ctrl-C is an exception in Python and needs nothing here."""
ECHO = 1.0
"""Seconds in which further signals count as the first one: a closing terminal and ``timeout`` each send two."""
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
"""Flags that create a file and fail if it exists."""
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")
_open: dict[object, tuple[int, Callable[[], None]]] = {}
"""Pending cleanups with the process that registered them: a fork must not remove what its parent needs."""


class TemporaryError(OSError):
    """No folder for temporary files is writable."""

    remedy = "free space in it, or set TMPDIR to a folder that can be written"

    def __init__(self) -> None:
        super().__init__(None, "it cannot be written", "the folder for temporary files")


@contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """Calls ``undo`` when the block ends, however it ends. Signals wait until that is done."""
    key, mask = object(), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    _open[key] = (os.getpid(), undo)
    try:
        yield
    finally:
        try:
            # May raise what the handler of a pending signal raises.
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *_ENDING))
        finally:
            _call(undo)
            del _open[key]
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder that only this user may read.

    Raises:
        OSError: no folder for temporary files can be written.
    """
    path = Path(temporary_parent(), f"modelyard-{token()}")
    with undone(partial(_remove, path)):
        path.mkdir(mode=0o700)
        yield path


def token() -> str:
    """Random letters for a unique name."""
    return os.urandom(8).hex()


def temporary_parent() -> str:
    """The folder for temporary files.

    Never the user's working folder, which Python chooses where all others fail.

    Raises:
        TemporaryError: no folder for temporary files is writable.
    """
    from tempfile import gettempdir

    meant = [*_USUAL, *(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))]
    with suppress(FileNotFoundError):
        folder = gettempdir()
        if Path(folder) != Path.cwd() or Path(folder) in [Path(name).absolute() for name in meant if name]:
            return folder
    raise TemporaryError


def write_private(path: Path, text: str) -> None:
    """Writes a new file that only this user may read.

    Raises:
        OSError: the file cannot be written; the error names it.
    """
    try:
        handle = os.open(path, NEW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        error.filename = str(path)
        raise


def watch() -> None:
    """From now on SIGTERM and SIGHUP run pending cleanups, and then end this process as they normally would.

    Leaves signals alone that are already handled or ignored.
    """
    with suppress(ValueError):  # only the main thread may
        for number in _ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)


@atexit.register
def _undo_all() -> None:
    for process, undo in reversed(list(_open.values())):
        if process == os.getpid():
            _call(undo)


def _call(undo: Callable[[], None]) -> None:
    # Report only what ended the run.
    with suppress(OSError):
        undo()


def _end(number: int, _frame: FrameType | None) -> None:
    _undo_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove(path: Path) -> None:
    from shutil import rmtree

    rmtree(path, ignore_errors=True)
