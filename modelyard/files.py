"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from pathlib import Path

_STREAMS = ("/dev", "/dev/fd", "/proc/self/fd")
"""Folders whose files stand for what is open already."""


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` as a whole or not at all, making its folder when it is missing.

    A link stays a link: the file that it names is written. What is no file, such as ``/dev/stdout`` or a named pipe,
    cannot be replaced and is written to.

    Raises:
        OSError: the folder cannot be made or written; whatever was at ``path`` before is still there. It names ``path``
            or its folder, not the file beside it that is written first.
    """
    if (path.exists() and not path.is_file()) or path.parent.as_posix() in _STREAMS:
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    place = path.resolve() if path.is_symlink() else path
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        _replace(place, text)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes the file private; a project file is as readable as the umask says.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
