"""Folders of generated files: replaced as a whole, without touching what somebody else put there.

Below the folder that the user names no symbolic link is followed: each folder is opened in the one above it. A file is
replaced or deleted only where the manifest of an earlier run has its digest, or where it already has the new text.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from modelyard.cli.exit import Exit, Stop
from modelyard.files import OPENING, ReadError, read_open

MANIFEST = ".modelyard"
"""File in such a folder that names what the last run wrote, with the SHA-256 of each: the form of ``sha256sum``."""
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ANY = ""
"""In place of a digest: the manifest of an earlier modelyard, which has only names."""


class Replaced(NamedTuple):
    """What a run did to the folders."""

    written: int
    """Files that are there now, manifests aside."""
    kept: tuple[Path, ...]
    """Files of an earlier run that are not generated any more and stay: they are not as that run wrote them."""


class _Place(NamedTuple):
    """A file below the base."""

    folder: PurePosixPath
    name: str


class _Folder(NamedTuple):
    """One folder that is about to be replaced."""

    path: PurePosixPath
    earlier: Mapping[str, frozenset[str]]
    """Digests by name, from its manifest."""
    digests: Mapping[str, str]


def replace_generated(base: Path, folders: Iterable[tuple[str, Mapping[str, str]]]) -> Replaced:
    """Writes the files of each folder (text by relative name) and deletes those of an earlier run.

    Each file is staged beside its place as its folder comes, and nothing gets to its place before the last one is
    there. So the texts of many folders need not be held at once. A run that is killed later leaves manifests that
    know the files of both runs.

    Args:
        base: the folder that the user names. It may be a link, or be reached through one.
        folders: their paths from there on, and their files.

    Raises:
        Stop: a link, a folder, or a file that is not modelyard's or was changed is in the way.
        OSError: something cannot be written. In both cases, as when the folders themselves raise, no file was replaced
            or deleted, unless it is the moving of finished files to their places that fails.
    """
    staged: dict[_Place, str] = {}
    made: list[Path] = []
    found: list[_Folder] = []
    try:
        for name, files in folders:
            folder = PurePosixPath(name)
            one = _Folder(folder, _manifest(base, folder), {name: _digest(text) for name, text in files.items()})
            for file, text in files.items():
                place = _place(folder, file)
                _may_replace(base, place, one.digests[file], one.earlier.get(file))
                staged[place] = _stage(base, place, text, made)
            place = _Place(folder, MANIFEST)
            staged[place] = _stage(base, place, _text((name, {digest}) for name, digest in one.digests.items()), made)
            found.append(one)
        for one in found:
            _write_both(base, one, made)
        for place, stage in staged.items():
            if place.name != MANIFEST:
                _move(base, place, stage)
        kept = tuple(path for one in found for path in _delete_stale(base, one, staged.keys()))
        for place, stage in staged.items():
            if place.name == MANIFEST:
                _move(base, place, stage)
    except BaseException:
        for place, stage in staged.items():
            with suppress(OSError):
                _unlink(base, place._replace(name=stage))
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir()
        raise
    return Replaced(sum(len(one.digests) for one in found), kept)


def _place(folder: PurePosixPath, name: str) -> _Place:
    path = folder / name
    return _Place(path.parent, path.name)


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def _text(digests: Iterable[tuple[str, Iterable[str]]]) -> str:
    return "".join(f"{one}  {name}\n" if one else f"{name}\n" for name, all_ in sorted(digests) for one in sorted(all_))


def _manifest(base: Path, folder: PurePosixPath) -> dict[str, frozenset[str]]:
    """The digests by name that the folder's manifest has, as far as the names stay inside the folder."""
    content = _content(base, _Place(folder, MANIFEST))
    known: dict[str, frozenset[str]] = {}
    for line in (content or b"").decode(errors="replace").splitlines():
        entry = _LINE.fullmatch(line)
        digest, name = (entry[1], entry[2]) if entry else (_ANY, line)
        if name and name != MANIFEST and not name.startswith("/") and ".." not in PurePosixPath(name).parts:
            known[name] = known.get(name, frozenset()) | {digest}
    return known


def _may_replace(base: Path, place: _Place, new: str, earlier: frozenset[str] | None) -> None:
    """Ends the run where a file is in the way that no earlier run wrote, or that was changed since."""
    content = _content(base, place)
    if content is None or _digest(content) in {new, *(earlier or ())} or _ANY in (earlier or ()):
        return
    path = base / place.folder / place.name
    if earlier is None:
        raise Stop(
            Exit.USAGE,
            f"{path} cannot be used: not made by modelyard, and in the way",
            "move it away, or write to another folder with --out; nothing was written",
        )
    raise Stop(
        Exit.USAGE,
        f"{path} was changed since modelyard wrote it",
        "keep the change elsewhere and delete the file, or write to another folder with --out; nothing was written",
    )


def _delete_stale(base: Path, one: _Folder, present: Iterable[_Place]) -> Iterator[Path]:
    """Deletes what only the earlier run wrote, and gives the files that it may not delete."""
    for name, digests in sorted(one.earlier.items()):
        place = _place(one.path, name)
        if place in present:
            continue
        path = base / place.folder / place.name
        try:
            content = _content(base, place)
            if content is None:
                continue
            if _digest(content) in digests:
                _unlink(base, place)
                continue
        except (OSError, Stop):
            pass
        yield path


@contextmanager
def _opened(base: Path, folder: PurePosixPath, made: list[Path] | None = None) -> Iterator[int]:
    """The descriptor of a folder below the base, reached without a link; noting those that it makes, if it may."""
    if made is not None:
        for missing in reversed([path for path in (base, *base.parents) if not path.exists()]):
            missing.mkdir(exist_ok=True)
            made.append(missing)
    at, path = os.open(base, _FOLDER), base
    try:
        for part in folder.parts:
            path = path / part
            if part == "..":
                raise Stop(Exit.USAGE, f"{path} is outside the output folder", "rename the stack")
            if made is not None:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
                    made.append(path)
            inner = _open(part, _FOLDER, at, path)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def _open(name: str, flags: int, at: int, path: Path) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=at)
    except FileNotFoundError:
        raise
    except OSError as error:
        with suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                raise Stop(
                    Exit.USAGE,
                    f"{path} is a symbolic link; modelyard writes no generated files through links",
                    "replace the link by a folder or file of its own, or give the folder that it leads to with --out; "
                    "nothing was written",
                ) from None
        error.filename = str(path)
        raise


def _content(base: Path, place: _Place) -> bytes | None:
    """What a file holds, None where there is none."""
    path = base / place.folder / place.name
    try:
        with _opened(base, place.folder) as at:
            return read_open(_open(place.name, OPENING, at, path), path)
    except FileNotFoundError:
        return None
    except ReadError as error:
        remedy = "move it away; nothing was written"
        raise Stop(Exit.USAGE, f"{path} is in the way: {error.reason}", remedy) from None


def _stage(base: Path, place: _Place, text: str, made: list[Path] | None) -> str:
    """Writes a text beside its place; gives the name that it has there."""
    with _opened(base, place.folder, made) as at:
        for number in count():
            name = f".{place.name}.{number}.new" if number else f".{place.name}.new"
            try:
                handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=at)
                break
            except FileExistsError:
                # A run that was killed left it, or it is somebody's.
                continue
            except OSError as error:
                error.filename = str(base / place.folder / place.name)
                raise
        try:
            # Not forced to the disk one by one: there may be thousands, and another run makes them again.
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except BaseException as error:
            os.unlink(name, dir_fd=at)
            if isinstance(error, OSError):
                error.filename = str(base / place.folder / place.name)
            raise
    return name


def _write_both(base: Path, one: _Folder, made: list[Path]) -> None:
    """Writes the manifest of both runs, which holds until all files are in place."""
    if one.earlier:
        both = {name: {digest, *one.earlier.get(name, ())} for name, digest in one.digests.items()}
        place = _Place(one.path, MANIFEST)
        _move(base, place, _stage(base, place, _text(({**one.earlier, **both}).items()), made))


def _move(base: Path, place: _Place, stage: str) -> None:
    with _opened(base, place.folder) as at:
        try:
            os.rename(stage, place.name, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            os.unlink(stage, dir_fd=at)
            raise


def _unlink(base: Path, place: _Place) -> None:
    with _opened(base, place.folder) as at:
        os.unlink(place.name, dir_fd=at)
