"""Temporary files and folders that are removed when a run ends, even by a signal.

What is to be undone is noted before it is done, so there is no moment in which something is there and nobody knows.
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
"""Signals that end a process on the spot. Ctrl-C is an exception in Python and needs nothing here."""
ECHO = 1.0
"""Seconds in which further signals count as the first one: a closing terminal and ``timeout`` each send two."""
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
"""How a file is made that must not be there yet."""
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")
_open: dict[object, tuple[int, Callable[[], None]]] = {}
"""What is to be undone, with the process that noted it: a fork is not to undo what its parent needs."""


class TemporaryError(OSError):
    """Nowhere can a temporary file be written."""

    remedy = "free space in it, or set TMPDIR to a folder that can be written"

    def __init__(self) -> None:
        super().__init__(None, "it cannot be written", "the folder for temporary files")


@contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """Calls ``undo`` when what runs inside is over, however it ends. Signals wait until that is done."""
    key, mask = object(), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    _open[key] = (os.getpid(), undo)
    try:
        yield
    finally:
        try:
            # May raise what a signal that has come already makes of itself.
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
    """Letters that make a name that nobody else has."""
    return os.urandom(8).hex()


def temporary_parent() -> str:
    """The folder for temporary files.

    It is never the folder that the user works in, which Python takes where all others fail.

    Raises:
        TemporaryError: there is none that can be written.
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
        OSError: it cannot be written; it names the file.
    """
    try:
        handle = os.open(path, NEW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        error.filename = str(path)
        raise


def watch() -> None:
    """From now on SIGTERM and SIGHUP undo what is open, and then end this process as they would have.

    Where somebody handles or ignores them, that is left.
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
    # What ended the run is what there is to say.
    with suppress(OSError):
        undo()


def _end(number: int, _frame: FrameType | None) -> None:
    _undo_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove(path: Path) -> None:
    from shutil import rmtree

    rmtree(path, ignore_errors=True)
