"""Folders of generated files, replaced as a whole without touching other people's files.

Follows no symbolic link below the folder that the user names: opens each folder relative to its parent. Replaces or
deletes a file only if its digest is in an earlier run's manifest, or if it already has the new text.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from modelyard.cli.exit import Exit, Stop
from modelyard.files import OPENING, ReadError, read_open
from modelyard.temporary import NEW, token, undone

MANIFEST = ".modelyard"
"""Manifest in such a folder: the files of the last run with their SHA-256, in the format of ``sha256sum``."""
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Replaced(NamedTuple):
    """The result of writing the folders."""

    written: int
    """Number of files written, without manifests."""
    kept: tuple[Path, ...]
    """Files of an earlier run that are no longer generated but stay because they were changed since."""


class _Folder(NamedTuple):
    """One folder to replace."""

    path: PurePosixPath
    earlier: Mapping[str, frozenset[str]]
    """Digests by file name, from its manifest."""
    digests: Mapping[str, str]


def replace_generated(base: Path, folders: Iterable[tuple[str, Mapping[str, str]]]) -> Replaced:
    """Writes the files of each folder (text by relative name) and deletes those of an earlier run.

    Stages each file beside its place as its folder arrives, and moves files into place after the last folder. So
    memory need not hold all texts at once. If a later run is killed, its manifests know the files of both runs.

    Args:
        base: the folder that the user names. It may be a link, or be reached through one.
        folders: paths relative to the base, and their files.

    Raises:
        Stop: a link, a folder, a changed file or a file that is not modelyard's is in the way.
        OSError: something cannot be written. In both cases, and when ``folders`` itself raises, no file was replaced
            or deleted, unless moving finished files into place fails.
    """
    staged: dict[PurePosixPath, PurePosixPath] = {}
    made: list[Path] = []
    found: list[_Folder] = []
    with undone(partial(_clear, base, staged, made)):
        for name, files in folders:
            folder = PurePosixPath(name)
            one = _Folder(folder, _manifest(base, folder), {name: _digest(text) for name, text in files.items()})
            for file, text in files.items():
                place = folder / file
                _may_replace(base, place, one.digests[file], one.earlier.get(file))
                _stage(base, place, text, staged, made)
            manifest = _text((name, {digest}) for name, digest in one.digests.items())
            _stage(base, folder / MANIFEST, manifest, staged, made)
            found.append(one)
        for one in found:
            _write_both(base, one, staged, made)
        for stage, place in staged.items():
            if place.name != MANIFEST:
                _move(base, stage, place)
        present = frozenset(staged.values())
        kept = tuple(path for one in found for path in _delete_stale(base, one, present))
        for stage, place in staged.items():
            if place.name == MANIFEST:
                _move(base, stage, place)
        staged.clear()
        made.clear()
    return Replaced(sum(len(one.digests) for one in found), kept)


def _clear(base: Path, staged: Iterable[PurePosixPath], made: Sequence[Path]) -> None:
    """Removes staged files, and the folders that become empty without them."""
    for stage in list(staged):
        with suppress(OSError, Stop), _opened(base, stage.parent) as at:
            os.unlink(stage.name, dir_fd=at)
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def _text(digests: Iterable[tuple[str, Iterable[str]]]) -> str:
    return "".join(f"{one}  {name}\n" for name, all_ in sorted(digests) for one in sorted(all_))


def _manifest(base: Path, folder: PurePosixPath) -> dict[str, frozenset[str]]:
    """Digests by name from the folder's manifest, for names of files in the folder only."""
    content = _content(base, folder / MANIFEST)
    known: dict[str, frozenset[str]] = {}
    for line in (content or b"").decode(errors="replace").split("\n"):
        entry = _LINE.fullmatch(line)
        if entry and _is_name(entry[2]):
            known[entry[2]] = known.get(entry[2], frozenset()) | {entry[1]}
    return known


def _is_name(text: str) -> bool:
    """Whether a text is a relative file name, perhaps with folders, in the normal form that a run writes."""
    path = PurePosixPath(text)
    plain = str(path) == text and "\0" not in text and not path.is_absolute()
    return plain and ".." not in path.parts and path.name not in ("", MANIFEST)


def _may_replace(base: Path, place: PurePosixPath, new: str, earlier: frozenset[str] | None) -> None:
    """Ends the run if a file is in the way that no earlier run wrote, or that was changed since."""
    content = _content(base, place)
    if content is None or _digest(content) in {new, *(earlier or ())}:
        return
    path = base / place
    if earlier is None:
        raise Stop(
            Exit.USAGE,
            f"{path} exists and was not written by modelyard",
            "move it away, or write to another folder with --out-dir; nothing was written",
        )
    raise Stop(
        Exit.USAGE,
        f"{path} was changed since modelyard wrote it",
        "save the change elsewhere and delete the file, or write to another folder with --out-dir; nothing was written",
    )


def _delete_stale(base: Path, one: _Folder, present: frozenset[PurePosixPath]) -> Iterator[Path]:
    """Deletes files that only the earlier run wrote, and yields those that it may not delete."""
    for name, digests in sorted(one.earlier.items()):
        place = one.path / name
        if place in present:
            continue
        try:
            content = _content(base, place)
            if content is None:
                continue
            if _digest(content) in digests:
                with _opened(base, place.parent) as at:
                    os.unlink(place.name, dir_fd=at)
                continue
        except (OSError, Stop):
            pass
        yield base / place


@contextmanager
def _opened(base: Path, folder: PurePosixPath, made: list[Path] | None = None) -> Iterator[int]:
    """The descriptor of a folder below the base, reached without links; notes the folders it makes, if allowed."""
    if made is not None:
        for missing in reversed([path for path in (base, *base.parents) if not path.exists()]):
            made.append(missing)
            missing.mkdir(exist_ok=True)
    at, path = os.open(base, _FOLDER), base
    try:
        for part in folder.parts:
            path = path / part
            if part == "..":
                raise Stop(Exit.USAGE, f"{path} is outside the output folder", "rename the stack")
            if made is not None:
                try:
                    os.stat(part, dir_fd=at, follow_symlinks=False)
                except FileNotFoundError:
                    made.append(path)
                    os.mkdir(part, dir_fd=at)
            inner = _open(part, _FOLDER, at, path)
            # If a signal arrives in between, no descriptor is closed twice.
            at, outer = inner, at
            os.close(outer)
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
                    f"{path} is a symbolic link, through which modelyard does not write",
                    "replace the link with a folder or file, or give the folder that it leads to with --out-dir; "
                    "nothing was written",
                ) from None
        error.filename = str(path)
        raise


def _content(base: Path, place: PurePosixPath) -> bytes | None:
    """The content of a file, None if it does not exist."""
    path = base / place
    try:
        with _opened(base, place.parent) as at:
            return read_open(_open(place.name, OPENING, at, path), path)
    except FileNotFoundError:
        return None
    except ReadError as error:
        remedy = "move it away; nothing was written"
        raise Stop(Exit.USAGE, f"{path} cannot be replaced: {error.reason}", remedy) from None


def _stage(
    base: Path, place: PurePosixPath, text: str, staged: dict[PurePosixPath, PurePosixPath], made: list[Path]
) -> PurePosixPath:
    """Writes a text beside its place and returns the staged place; notes the name before writing."""
    stage = place.with_name(f".modelyard-{token()}")
    staged[stage] = place
    with _opened(base, place.parent, made) as at:
        try:
            handle = os.open(stage.name, NEW, 0o666, dir_fd=at)
            # No fsync for each file: there may be thousands, and another run recreates them.
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except OSError as error:
            error.filename = str(base / place)
            raise
    return stage


def _write_both(base: Path, one: _Folder, staged: dict[PurePosixPath, PurePosixPath], made: list[Path]) -> None:
    """Writes a manifest of both runs, valid until all files are in place."""
    if one.earlier:
        both = {name: {digest, *one.earlier.get(name, ())} for name, digest in one.digests.items()}
        stage = _stage(base, one.path / MANIFEST, _text(({**one.earlier, **both}).items()), staged, made)
        _move(base, stage, staged[stage])
        del staged[stage]


def _move(base: Path, stage: PurePosixPath, place: PurePosixPath) -> None:
    with _opened(base, place.parent) as at:
        os.rename(stage.name, place.name, src_dir_fd=at, dst_dir_fd=at)
