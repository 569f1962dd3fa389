"""The files of projects as bytes, and paths that are below other folders elsewhere.

What all stacks share is one value, named by its digest; the files of stacks are read when a task needs them.
"""

import os
import pickle
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.files import ReadError, read_file
from modelyard.preview.project_files import StackPaths, files_of_stacks, link_of, shared_files, stack_paths
from modelyard.stack import stack_of


class FolderSnapshot(NamedTuple):
    """The files of some folders."""

    digest: str
    """SHA-256 of the content."""
    content: bytes
    """The files that all stacks share."""
    folders: tuple[Path, ...]
    stacks: tuple[Mapping[str, StackPaths], ...]
    """The paths of each stack's files, for each folder."""

    def files_of(self, items: Iterable[Any]) -> bytes:
        """Reads the files of the stacks that items are about.

        Args:
            items: stack files, or values whose ``name`` is that of a stack.

        Raises:
            OSError: one of the files cannot be read.
        """
        names = {stack_of(one.name) if isinstance(one, Path) else one.name for one in items}
        return pickle.dumps(
            [
                entry
                for number, (folder, stacks) in enumerate(zip(self.folders, self.stacks, strict=True))
                for entry in _entries(
                    number, folder, files_of_stacks(folder, (stacks[name] for name in names if name in stacks))
                )
            ],
            pickle.HIGHEST_PROTOCOL,
        )


_Entry = tuple[int, str, bytes | str | None]
"""A folder's number, a path from there, and the bytes of a file, the destination of a link, or None for a folder."""


def pack(folders: tuple[Path, ...]) -> FolderSnapshot:
    """Reads the files of folders that all stacks share, and lists those of each stack.

    Raises:
        OSError: one of the files cannot be read.
    """
    shared = [
        entry for number, folder in enumerate(folders) for entry in _entries(number, folder, shared_files(folder))
    ]
    content = pickle.dumps(shared, pickle.HIGHEST_PROTOCOL)
    return FolderSnapshot(sha256(content).hexdigest(), content, folders, tuple(map(stack_paths, folders)))


def unpack(content: bytes, place: Path) -> list[str]:
    """Writes files below ``place/0`` for the first folder, ``place/1`` for the second, and so on.

    Keeps what is there. Returns what it made, in this order: a folder before what is in it.
    """
    made: list[str] = []
    known: set[str] = set()

    def make(folder: str) -> None:
        if folder in known or os.path.lexists(folder):
            known.add(folder)
            return
        make(os.path.dirname(folder))  # noqa: PTH120 (for tens of thousands of files)
        os.mkdir(folder)  # noqa: PTH102
        made.append(folder)
        known.add(folder)

    for number, path, what in pickle.loads(content):
        target = f"{place}/{number}/{path}"
        if what is None:
            make(target)
            continue
        make(os.path.dirname(target))  # noqa: PTH120
        if os.path.lexists(target):
            continue
        if isinstance(what, str):
            os.symlink(what, target)  # noqa: PTH211
        else:
            with open(target, "xb", buffering=0) as stream:  # noqa: PTH123
                stream.write(what)
        made.append(target)
    return made


def remove(made: list[str]) -> None:
    """Removes what ``unpack`` made; a folder stays if something else is in it."""
    for path in reversed(made):
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            with suppress(OSError):
                os.rmdir(path)  # noqa: PTH106
        else:
            os.unlink(path)  # noqa: PTH108


def dump(value: Any, folders: tuple[Path, ...]) -> bytes:
    """Pickles a value whose paths below the folders become paths below those of ``load``."""
    stream = BytesIO()
    pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
    places = [(str(folder), f"{folder}{os.sep}") for folder in folders]

    def place_of(one: Any) -> tuple[int, str] | None:
        if not isinstance(one, Path):
            return None
        text = str(one)
        for number, (folder, inside) in enumerate(places):
            if text == folder or text.startswith(inside):
                return number, text.removeprefix(folder).lstrip(os.sep)
        return None

    pickler.persistent_id = place_of  # type: ignore[method-assign]
    pickler.dump(value)
    return stream.getvalue()


def load(content: bytes, folders: tuple[Path, ...]) -> Any:
    """The value of ``dump``, with its paths below these folders."""
    unpickler = pickle.Unpickler(BytesIO(content))
    unpickler.persistent_load = lambda place: folders[place[0]] / place[1]  # type: ignore[method-assign]
    return unpickler.load()


def _entries(number: int, root: Path, paths: Iterable[str]) -> Iterator[_Entry]:
    link = link_of(root)
    for path in paths:
        file = f"{root}/{path}"
        mode = os.lstat(file).st_mode
        if stat.S_ISLNK(mode):
            yield number, path, link(path)
        elif stat.S_ISDIR(mode):
            yield number, path, None
        else:
            try:
                content = read_file(Path(file))
            except ReadError as error:
                raise ReadError(error.errno or 0, error.reason, Path(path), error.remedy) from error
            yield number, path, content
