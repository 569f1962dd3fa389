"""Reading unknown files safely, and writing files atomically."""

import errno
import json
import os
import stat
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from modelyard.temporary import NEW, token, undone

MAX_BYTES = 64 * 1024 * 1024
"""Of the largest file that is read where the caller sets no limit; a large cluster's recording has a few million."""
MAX_YAML_BYTES = 16 * 1024 * 1024
"""Of the largest YAML file that is parsed. A file of 40 lines has about 1,000 bytes, one of 20,000 jobs 3 million."""
OPENING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags that open a file of any type without blocking, even a pipe."""
_PART = 64 * 1024
"""Bytes that are read at once from a file that is larger than it says."""
MAX_DEPTH = 100
"""Levels of nesting in a JSON text. An object of Kubernetes has about 15; Python can follow about 1000."""
_STREAMS = ("/dev", "/dev/fd", "/proc/self/fd")
"""Folders whose files stand for what is open already."""


class ReadError(OSError):
    """A file cannot be read. ``strerror`` says why and continues the words "FILE cannot be read:"."""

    def __init__(self, number: int, reason: str, path: Path, remedy: str) -> None:
        super().__init__(number, reason, str(path))
        self.reason = reason
        self.remedy = remedy
        """What to do, as an instruction."""

    @property
    def missing(self) -> bool:
        """Whether nothing has that name."""
        return self.errno in (errno.ENOENT, errno.ENOTDIR)


def read_file(path: Path, *, limit: int = MAX_BYTES, within: Path | None = None, pipe: bool = False) -> bytes:
    """The bytes of a regular file; never waits, and never reads more than ``limit``.

    Args:
        path: of the file. It may be a link.
        limit: most bytes.
        within: the folder that a link must not leave, usually the project's.
        pipe: whether a named pipe or a process substitution will do, for paths from the command line.

    Raises:
        ReadError: anything else is there, or nothing.
    """
    if within is not None and not _is_within(path, within):
        reason = "it is a link to a place outside the project"
        raise ReadError(errno.ELOOP, reason, path, "put the file into the project")
    try:
        handle = os.open(path, OPENING)
    except (OSError, ValueError) as error:
        raise _why(path, error) from None
    return read_open(handle, path, limit=limit, pipe=pipe)


def ordinary_content(path: Path | str) -> bytes | None:
    """The bytes of a file that can be read; None for a link, for anything else, and if nothing is there.

    Faster than ``read_file`` for thousands of files.
    """
    try:
        handle = os.open(path, OPENING | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_BYTES:
            return None
        content = os.read(handle, facts.st_size + 1)
        return content if len(content) == facts.st_size else None
    except OSError:
        return None
    finally:
        os.close(handle)


def read_open(handle: int, path: Path, *, limit: int = MAX_BYTES, pipe: bool = False) -> bytes:
    """The same for a file that is open with ``OPENING``, and is closed then; ``path`` is for errors."""
    try:
        found = os.fstat(handle)
        if pipe and stat.S_ISFIFO(found.st_mode):
            os.set_blocking(handle, True)
        elif not stat.S_ISREG(found.st_mode):
            raise _no_file(path, found.st_mode)
        content = _read(handle, found.st_size, limit + 1) if found.st_size <= limit else b""
    except ReadError:
        raise
    except OSError as error:
        raise _why(path, error) from None
    finally:
        os.close(handle)
    if found.st_size > limit or len(content) > limit:
        size = f"{found.st_size:,}" if found.st_size > limit else "more"
        raise ReadError(errno.EFBIG, f"it has {size} bytes; the limit is {limit:,} bytes", path, "make it smaller")
    return content


def _read(handle: int, expected: int, limit: int) -> bytes:
    """What is left in an open file, and no more than ``limit`` bytes; fastest if it has the expected size."""
    parts: list[bytes] = []
    size = 0
    while size < limit and (part := os.read(handle, min(limit - size, max(expected + 1 - size, _PART)))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def read_text(path: Path, *, limit: int = MAX_BYTES, within: Path | None = None, pipe: bool = False) -> str:
    """The text of a regular file in UTF-8, like ``read_file``.

    Raises:
        ReadError: the file cannot be read, or is not UTF-8.
    """
    try:
        return read_file(path, limit=limit, within=within, pipe=pipe).decode()
    except UnicodeDecodeError as error:
        raise ReadError(errno.EILSEQ, f"it is not UTF-8 text: {not_utf8(error)}", path, "save it as UTF-8") from None


def not_utf8(error: UnicodeDecodeError) -> str:
    """Which byte of a text is not UTF-8, and where."""
    return f"byte 0x{error.object[error.start]:02x} at offset {error.start}"


def list_folder(folder: Path, within: Path) -> list[Path]:
    """What is in a folder, sorted; nothing where nothing has its name.

    Args:
        folder: the folder. It may be a link.
        within: the folder that a link must not leave, usually the project's.

    Raises:
        ReadError: the folder cannot be listed, or is none; that is not the same as empty.
    """
    remedy = "make it a folder that can be read"
    try:
        if not _has_entry(folder):
            return []
        if not _is_within(folder, within):
            instead = "put the folder in place of the link"
            raise ReadError(errno.ELOOP, "it is a link to a place outside the project", folder, instead)
        return [folder / name for name in sorted(os.listdir(folder))]  # noqa: PTH208 (only names are wanted)
    except ReadError:
        raise
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ReadError(error.errno or errno.EINVAL, reason, folder, remedy) from None


def _has_entry(path: Path) -> bool:
    """Whether something has this name; unlike ``os.path.lexists``, a folder that is closed to us is no "no".

    Raises:
        OSError: it cannot be known.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def parse_json(content: bytes | str) -> Any:
    """The value of a JSON text in UTF-8, with finite numbers, whole characters and at most ``MAX_DEPTH`` levels.

    Raises:
        ValueError: it is none. A ``json.JSONDecodeError`` knows the line.
    """
    text = content if isinstance(content, str) else content.decode()
    too_deep = f"it has more than {MAX_DEPTH} levels of nesting"
    try:
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError(too_deep) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        # Python reads no integer of more than some thousand digits.
        raise ValueError("it has a number that is too long" if "digits" in str(error) else str(error)) from None
    level = [value] if text.count("[") + text.count("{") > MAX_DEPTH and isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        if not level:
            break
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
    if level:
        raise ValueError(too_deep)
    if "\\ud" in text or "\\uD" in text:
        # Two such escapes are one character. One alone is none, and nobody could print or store it.
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has half of a surrogate pair, which is not a character") from None
    return value


def not_json(error: ValueError) -> str:
    """Why ``parse_json`` rejects a text, as a clause: ``it is not JSON: expecting value (line 1, column 1)``."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text: {not_utf8(error)}"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON: {error.msg[:1].lower()}{error.msg[1:]} (line {error.lineno}, column {error.colno})"
    return str(error)


def wrong_form(error: Exception) -> str:
    """Why a JSON document is not one that modelyard writes, as a clause, from the exception that reading it raised.

    Python's own words about types say nothing about the document.
    """
    return f"it lacks {error}" if isinstance(error, KeyError) else "a part of it has the wrong type"


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number


def _is_within(path: Path, folder: Path) -> bool:
    if "\0" in str(path):
        return True  # There can be no such file, and to open it says so.
    if not _has_links(path, folder):
        return True
    real, inside = os.path.realpath(path), _real(folder)
    return real == inside or real.startswith(inside.rstrip(os.sep) + os.sep)


def _has_links(path: Path, folder: Path) -> bool:
    """Whether a path leaves a folder, or goes through a link below it. To follow every link takes twice as long."""
    if path.parts[: len(folder.parts)] != folder.parts or ".." in path.parts:
        return True
    at = str(folder)
    for part in path.parts[len(folder.parts) :]:
        at = f"{at}{os.sep}{part}"
        if os.path.islink(at):  # noqa: PTH114 (as text, for speed)
            return True
    return False


@lru_cache(maxsize=16)
def _real(folder: Path) -> str:
    return os.path.realpath(folder)


def _no_file(path: Path, mode: int) -> ReadError:
    kind = "a folder" if stat.S_ISDIR(mode) else "a named pipe" if stat.S_ISFIFO(mode) else "a device"
    number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    return ReadError(number, f"it is {kind}, not a regular file", path, "put a file there")


def _why(path: Path, error: OSError | ValueError) -> ReadError:
    number = (error.errno if isinstance(error, OSError) else None) or errno.EINVAL
    match number:
        case errno.ENOENT if os.path.islink(path):  # noqa: PTH114 (a name with a null byte is no error here)
            return ReadError(errno.ELOOP, "it is a link to nothing", path, "put a file there, or correct the link")
        case errno.ENOENT | errno.ENOTDIR:
            return ReadError(number, "the file does not exist", path, "add the file, or correct its path")
        case errno.ELOOP:
            return ReadError(number, "its links form a loop", path, "put a file there")
        case errno.ENXIO:
            return ReadError(number, "it is a socket, not a regular file", path, "put a file there")
        case _:
            return ReadError(number, os.strerror(number).lower(), path, "make it readable")


def write_atomically(path: Path, text: str, *, within: Path | None = None) -> None:
    """Write ``text`` to ``path`` as a whole or not at all, making its folder when it is missing.

    A link stays a link: the file that it names is written. What is no file, such as ``/dev/stdout`` or a named pipe,
    cannot be replaced and is written to. A file that is there keeps its permissions.

    Args:
        path: of the file.
        text: what it will hold.
        within: a folder below which no link is followed, and nothing but a regular file is replaced.

    Raises:
        OSError: the folder cannot be made or written; whatever was at ``path`` before is still there. It names ``path``
            or its folder, not the file beside it that is written first.
    """
    if within is not None:
        refuse_links(path, within)
    elif (path.exists() and not path.is_file()) or path.parent.as_posix() in _STREAMS:
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    place = Path(os.path.realpath(path)) if path.is_symlink() else path
    if place.is_symlink():
        raise OSError(errno.ELOOP, "its links form a loop", str(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        _replace(place, text)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def write_output(path: Path, text: str, root: Path) -> None:
    """Writes a file that the user names, as ``write_atomically`` does, but through no link that a project has.

    Raises:
        OSError: it cannot be written, or a link of the project is in the way.
    """
    refuse_project_links(path, root)
    write_atomically(path, text)


def repository_of(root: Path) -> Path:
    """The root of the repository around a project; the project itself where there is none."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def folder_in_repository(root: Path) -> str:
    """The project's path inside the repository around it, with slashes; empty where the project is its root."""
    inside = root.relative_to(repository_of(root)).as_posix()
    return "" if inside == "." else inside


def refuse_project_links(path: Path, root: Path) -> None:
    """Raises an error where a path goes through a symbolic link of a project or of the repository around it.

    A commit may bring such a link along; links elsewhere are the user's own.

    Raises:
        OSError: it does; it names the link.
    """
    repository, at = repository_of(root), Path()
    for part in path.parts:
        at /= part
        if at.is_symlink() and _is_within(at.parent, repository):
            raise _is_link(at)


def refuse_links(path: Path, within: Path) -> None:
    """Raises an error where a path goes through a symbolic link below a folder, or leaves that folder.

    Raises:
        OSError: it does; it names the link.
    """
    at = within
    for part in path.relative_to(within).parts:
        at /= part
        if part == ".." or at.is_symlink():
            raise _is_link(at)


def _is_link(path: Path) -> OSError:
    return OSError(errno.ELOOP, "it is a symbolic link, through which modelyard does not write", str(path))


def _replace(path: Path, text: str) -> None:
    stage = path.with_name(f".modelyard-{token()}")
    with undone(partial(stage.unlink, missing_ok=True)):
        with os.fdopen(os.open(stage, NEW, 0o600), "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        # So far it was private; a new project file is as readable as the umask says.
        mask = os.umask(0)
        os.umask(mask)
        stage.chmod(stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o666 & ~mask)
        stage.replace(path)
