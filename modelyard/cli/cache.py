"""Results of earlier runs, by the digest of everything that they were computed from (``cli.inputs``).

Entries are files in the user's cache folder, written whole and then renamed, so that processes need no locks. An entry
that cannot be read is as good as none. Of each group of entries, the longest unused ones are removed at a limit.
"""

import hashlib
import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from modelyard.cli.inputs import (
    Recordings,
    digest_of,
    file_digest,
    named_digests,
    program,
    project_digests,
    shared_digest,
)
from modelyard.temporary import NEW, token
from modelyard.timelimit import TimeUp

if TYPE_CHECKING:
    from modelyard.findings import Finding

FOLDER: Final = "MODELYARD_CACHE_DIR"
OFF: Final = "MODELYARD_NO_CACHE"
LIMIT: Final = 256 * 1024 * 1024
"""Bytes of all entries together."""
_GROUPS: Final = 16
"""Groups of entries, by the first digit of the digest. Each has its share of the limit."""
_AT_ONCE: Final = 256
"""Results that wait in memory until they are stored together."""
_TICK: Final = 0.05
"""Seconds by which a file system's clock may lag."""
_USED: Final = 3600.0
"""Seconds after which the use of an entry is noted again."""


Result = TypeVar("Result")


class Fresh(NamedTuple, Generic[Result]):
    """A result that was just computed."""

    result: Result
    read: tuple[str, ...] | None
    """The files that the stack names, relative to the project; None: the next run may have another result."""


class Form(NamedTuple, Generic[Result]):
    """How a result is stored as a JSON value."""

    write: Callable[[Result], Any]
    read: Callable[[Any], Result]
    """Raises TypeError, ValueError or LookupError for another value."""


class Cache:
    """The entries for one project and one set of options."""

    def __init__(self, folder: Path, root: Path, options: Mapping[str, Any]) -> None:
        self._folder, self._root, self._options = folder, root, options
        self._shared = shared_digest(root, options)
        self._recordings = Recordings(root)
        self._real: dict[str, str] = {}
        self._keys: dict[Path, str] = {}
        self._began = time.time()

    def key(self, file: Path) -> str:
        """The name of a stack's entry: a digest of all inputs but the files that the stack names, made once."""
        if file not in self._keys:
            self._keys[file] = self._key(str(file))
        return self._keys[file]

    def _key(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        own = (path, self._real[folder], file_digest(path), self._recordings.of(_stack_of(name)))
        return digest_of([self._shared, own])

    def get(self, key: str) -> Any:
        """The value that is stored under a key; None if there is none that is valid now."""
        entry = _read(self._folder, key)
        if entry is None or named_digests(self._root, entry["read"]) != entry["read"]:
            return None
        return entry["value"]

    def whole(self, files: Iterable[Path], more: Any) -> str:
        """The key of something made of the results of several stacks, and of ``more``."""
        return digest_of([list(map(self.key, files)), more])

    def of_project(self, files: Collection[Path], paths: Iterable[str], more: Any) -> str:
        """The key of something made of a whole project.

        Args:
            files: of all stacks.
            paths: more files, from the project's root.
            more: further inputs.
        """
        stacks = {_stack_of(file.name) for file in files}
        others = {name: self._recordings.of(name) for name in self._recordings.stacks - stacks}
        contents = {path: file_digest(self._root / path) for path in paths}
        return self.whole(files, [others, contents, more])

    def put_whole(self, key: str, files: Iterable[Path], value: Any) -> None:
        """Stores something made of the results of several stacks, if these are all stored and valid now."""
        read: dict[str, str] = {}
        for file in files:
            entry = _read(self._folder, self.key(file))
            if entry is None:
                return
            read.update(entry["read"])
        if named_digests(self._root, read) == read:
            _write(self._folder, key, {"read": read, "value": value})

    def put_alone(self, key: str, now: "Callable[[Cache], str]", read: Collection[str], value: Any) -> None:
        """Stores something that was made of a whole project, unless its inputs changed meanwhile.

        Args:
            key: its key at the beginning of the run.
            now: returns its key at present.
            read: the files that the stacks name.
            value: a JSON value.
        """
        if now(Cache(self._folder, self._root, self._options)) == key and not any(map(self._edited, read)):
            _write(self._folder, key, {"read": named_digests(self._root, read), "value": value})
            self._trim(key)

    def put(self, entries: Mapping[Path, tuple[str, tuple[str, ...], Any]]) -> None:
        """Stores values by stack file, each with its key and the files that it names.

        A value may have been computed from inputs that changed meanwhile; then it is not stored. A folder that cannot
        be written is no error.
        """
        now = Cache(self._folder, self._root, self._options)
        if now._shared != self._shared:
            return
        for file, (key, read, value) in entries.items():
            if now.key(file) == key and not any(map(self._edited, read)):
                _write(self._folder, key, {"read": named_digests(self._root, read), "value": value})
        for group in {key[0] for key, _, _ in entries.values()}:
            self._trim(group)

    def _trim(self, key: str) -> None:
        with suppress(OSError):
            trim(self._folder / key[0], LIMIT // _GROUPS)

    def _edited(self, name: str) -> bool:
        """Whether a file that a stack names may have changed since the run began. Its digest was not known then."""
        try:
            return (self._root / name).stat().st_mtime > self._began - _TICK
        except (OSError, ValueError):
            return False


def _stack_of(name: str) -> str:
    return name.removeprefix("Pulumi.").removesuffix(".yaml")


def check_project_once(root: Path) -> "tuple[Finding, ...]":
    """As ``check_project``, but a project file without findings is not parsed again in a later run."""
    from modelyard.stack.project import FOLDERS, named_folder, outside, project_content, project_setting

    folder, content = None if os.environ.get(OFF) else _folder(), project_content(root)
    key = digest_of([str(root), program(), project_digests(root)])
    known = _read(folder, key) if folder is not None and content is not None else None
    if known is not None and content is not None:
        FOLDERS[content] = known["folder"]
        # Whether the folders exist, and where links lead, is not in the file.
        program_exists = known["main"] is None or os.path.exists(root / known["main"])  # noqa: PTH110 (as in the check)
        if program_exists and outside(root, known["folder"]) is None:
            return ()
    from modelyard.stack import check_project

    wrong = check_project(root)
    if folder is not None and content is not None and not wrong:
        _write(folder, key, {"folder": named_folder(content), "main": project_setting(root, "main")})
    return wrong


def _path(folder: Path, key: str) -> str:
    return f"{folder}/{key[0]}/{key[1:]}"


def _read(folder: Path, key: str) -> Any:
    """What is stored under a key; None if there is nothing, or something damaged."""
    path = _path(folder, key)
    try:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 (thousands of entries)
            digest, _, text = stream.read().partition(b"\n")
            if hashlib.sha256(text).hexdigest() != digest.decode():
                return None
            if time.time() - os.fstat(stream.fileno()).st_mtime > _USED:
                os.utime(path)
        return json.loads(text)
    except (OSError, ValueError):
        return None


def _write(folder: Path, key: str, entry: Any) -> None:
    """Stores something under a key; nothing is raised if it cannot be written."""
    path = Path(_path(folder, key))
    text = json.dumps(entry, separators=(",", ":")).encode()
    stage = path.with_name(f"{token()}.new")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            with os.fdopen(os.open(stage, NEW, 0o600), "wb") as stream:
                stream.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
            stage.replace(path)
        except BaseException:
            stage.unlink(missing_ok=True)
            raise


def cache_option(parser: ArgumentParser) -> None:
    """Adds the option that turns the cache off."""
    parser.add_argument(
        "--no-cache", action="store_true", help=f"use no results of earlier runs, and store none (also: {OFF})"
    )


def no_cache(args: Namespace) -> bool:
    """Whether a run uses no cache: on request, and if a cluster decides about its results."""
    return bool(args.no_cache or os.environ.get(OFF) or args.live)


def cache_for(root: Path, verb: str, options: Mapping[str, Any]) -> Cache | None:
    """The cache of a run; None if its folder cannot be used.

    Args:
        root: the project.
        verb: whose results they are.
        options: all values that change the result of a stack, as JSON values.
    """
    folder = _folder()
    return None if folder is None else Cache(folder, root, {"verb": verb, **options})


def _folder() -> Path | None:
    """The folder of the cache, which only this user can write; None if there is none."""
    named = os.environ.get(FOLDER)
    if not named:
        base = os.environ.get("XDG_CACHE_HOME", "")
        named = os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "modelyard")  # noqa: PTH111, PTH117, PTH118 (no home is no error)
        if not os.path.isabs(named):  # noqa: PTH117
            return None
    folder = Path(named)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.stat()
    except OSError:
        return None
    # Whoever can write entries decides what is printed.
    return folder if facts.st_uid == os.geteuid() and not facts.st_mode & 0o022 else None


def trim(group: Path, limit: int) -> None:
    """Removes the entries that were not used for the longest time, until the others fit into the limit."""
    facts = sorted(((one.stat(), one.path) for one in os.scandir(group)), key=lambda one: -one[0].st_mtime_ns)
    total = 0
    for stat, path in facts:
        total += stat.st_size
        if total > limit:
            with suppress(OSError):
                Path(path).unlink()


def results(
    cache: Cache | None,
    files: Sequence[Path],
    each: Callable[[Sequence[Path], Callable[[Path], Fresh[Result]]], Iterator[Fresh[Result]]],
    work: Callable[[Path], Fresh[Result]],
    form: Form[Result],
) -> Iterator[Result]:
    """The results of stack files in order: from the cache, or else computed and stored."""
    if cache is None:
        yield from (fresh.result for fresh in each(files, work))
        return
    keys = {file: cache.key(file) for file in files}
    known: dict[Path, Result] = {}
    for file, key in keys.items():
        value = cache.get(key)
        if value is not None:
            with suppress(TypeError, ValueError, LookupError):
                known[file] = form.read(value)
    missing = [file for file in files if file not in known]
    made = each(missing, partial(_made, work)) if missing else iter(())
    waiting: dict[Path, tuple[str, tuple[str, ...], Any]] = {}
    for file in files:
        if file in known:
            yield known[file]
            continue
        fresh = next(made)
        if fresh.read is not None:
            waiting[file] = keys[file], fresh.read, form.write(fresh.result)
        yield fresh.result
        if len(waiting) >= _AT_ONCE:
            cache.put(waiting)
            waiting.clear()
    if waiting:
        cache.put(waiting)


def _made(work: Callable[[Path], Fresh[Result]], file: Path) -> Fresh[Result]:
    """A new result, which is only kept if its computing says everything about it."""
    fresh = work(file)
    return fresh if repeatable() else fresh._replace(read=None)


def repeatable() -> bool:
    """Whether another run would find and print the same.

    It may not if a time limit was reached in this process, or if a rule printed something.
    """
    judging = sys.modules.get("modelyard.policy.judging")
    return not (TimeUp.raised or (judging is not None and judging.printed()))
