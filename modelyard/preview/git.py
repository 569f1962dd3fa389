"""The only place that runs git: reads commits, in an environment in which git runs nothing and writes nothing.

A hook of git runs with variables that name the user's index and repository, and a repository's configuration may name
programs. So each call drops those variables, finds the repository from a folder, and disables everything that runs
programs, writes the index or fetches. Uses only read-only plumbing: no checkout, no diff, no status, so no filter.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from modelyard.findings import Failure
from modelyard.temporary import temporary_folder

_KEPT = (
    # The user's own configuration says which repositories are safe.
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
)
"""Git's variables to keep; the others name the repository, index or pathspecs of the hook's caller."""
_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    # A commit is what its name says, regardless of replacements in refs/replace.
    "--no-replace-objects",
    *(
        word
        for setting in (
            f"core.hooksPath={os.devnull}",
            "core.fsmonitor=false",
            "submodule.recurse=false",
            # A folder of the project that looks like a bare repository brings its own configuration.
            "safe.bareRepository=explicit",
        )
        for word in ("-c", setting)
    ),
)
_SET = {
    # Fetch nothing. An older git does not know the first variable; the second names no existing protocol, and
    # overrides what a repository's configuration allows.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    # Nor do the parents of a commit depend on .git/info/grafts.
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OBJECTS, _MORE_OBJECTS = "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"
_CHUNK = 1 << 20
_FETCH = (
    "fetch it first; modelyard does not fetch (in a clone made with --filter: git fetch --refetch --no-filter origin)"
)
FULL_CLONE = 'in a CI checkout: fetch-depth: 0 on GitHub, GIT_DEPTH: "0" on GitLab, clone: {depth: full} on Bitbucket'
"""How a CI system clones all commits."""


class RevisionError(Failure):
    """The commits cannot be compared: why, and what to do."""


class GitFile(NamedTuple):
    """A file of a commit."""

    mode: str
    """In git's notation: ``120000`` for a link, ``160000`` for a submodule, otherwise a file."""
    object: str
    """Name of the object with the content."""

    @property
    def link(self) -> bool:
        """Whether it is a symbolic link; the content is its destination."""
        return self.mode == "120000"

    @property
    def submodule(self) -> bool:
        """Whether it is the commit of another repository."""
        return self.mode == "160000"


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of every call, made from this process's environment."""
    made = {name: value for name, value in given.items() if not name.startswith("GIT_") or name in _KEPT}
    # Objects of a push are in quarantine until its hooks have accepted them. Look for them beside the
    # repository's own: a hook may go to another repository.
    own, more = given.get(_OBJECTS), given.get(_MORE_OBJECTS)
    if own or more:
        made[_MORE_OBJECTS] = os.pathsep.join(filter(None, (own and _entry(own), more)))
    return made | _SET


def _entry(folder: str) -> str:
    """A folder in a list of object folders; quoted, because it may contain the colon that separates them."""
    escaped = str(Path(folder).absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def git(folder: Path, *words: str, more: Mapping[str, str] = MappingProxyType({})) -> str:
    """The output of a git command.

    Args:
        folder: where the search for the repository starts, upward.
        words: the command.
        more: variables beside those of every call.

    Raises:
        RevisionError: git is missing or the command fails.
    """
    done = subprocess.run(
        _command(folder, words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(os.environ) | dict(more),
        check=False,
    )
    if done.returncode:
        raise _failed(folder, done.stderr.decode(errors="replace"), f"git {words[0]} ended with {done.returncode}")
    return done.stdout.decode(errors="surrogateescape")


def tried(folder: Path, *words: str) -> str | None:
    """The output of a git command, None if the command fails."""
    try:
        return git(folder, *words)
    except RevisionError:
        return None


def tree(folder: Path, commit: str, prefix: str) -> dict[str, GitFile]:
    """The files of a commit below a folder of the repository, by their path from there.

    Args:
        folder: a folder of the repository.
        commit: its full name.
        prefix: the folder below the repository's root, with a slash at its end; empty for all.

    Raises:
        RevisionError: the commit cannot be read, or has a path that no checkout could have.
    """
    found: dict[str, GitFile] = {}
    folders: set[str] = set()
    for line in _split(git(folder, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *([prefix] if prefix else []))):
        facts, _, path = line.partition("\t")
        if not path.startswith(prefix):
            continue
        mode, _, name = facts.split(" ")
        inside = path.removeprefix(prefix)
        if any(part.lower() in ("", ".", "..", ".git") for part in inside.split("/")) or inside in found:
            raise _impossible(commit, inside)
        found[inside] = GitFile(mode, name)
        parent = inside.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    if both := folders & found.keys():
        raise _impossible(commit, min(both))
    return found


def _impossible(commit: str, file: str) -> RevisionError:
    return RevisionError(
        f"commit {commit[:12]} has a file {file!r}, which git cannot check out",
        "use another commit; git did not create this one",
    )


class GitView(NamedTuple):
    """Git's view of a folder of the working tree, by path from there."""

    files: frozenset[str]
    """Files that are in the index or that git would add."""
    absent: frozenset[str]
    """Files that a sparse checkout leaves out: they are missing but not deleted."""


def known(folder: Path) -> GitView:
    """The files of the working tree below a folder; reads the index and does not refresh it."""
    with temporary_folder() as apart:
        # To list a sparse index, git writes the folders that are staged in it as objects.
        own = str(folder / git(folder, "rev-parse", "--git-path", "objects").removesuffix("\n"))
        borrowed = environment(os.environ).get(_MORE_OBJECTS)
        more = {_OBJECTS: str(apart), _MORE_OBJECTS: os.pathsep.join(filter(None, (_entry(own), borrowed)))}
        others = _split(git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".", more=more))
        tagged = _split(git(folder, "ls-files", "-t", "-z", "--", ".", more=more))
    indexed = [(line[0], line[2:]) for line in tagged]
    absent = {path for tag, path in indexed if tag == "S" and not os.path.lexists(folder / path)}
    return GitView(frozenset({*others, *(path for _, path in indexed)} - absent), frozenset(absent))


Copy = Callable[[str, IO[bytes]], None]
"""Writes the content of an object, given its name; raises RevisionError if the repository does not have it."""


@contextmanager
def objects(folder: Path) -> Iterator[Copy]:
    """Opens the objects of the repository around a folder, to be read one after the other from one git process."""
    with subprocess.Popen(
        _command(folder, ("cat-file", "--batch")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(os.environ),
    ) as process:
        try:
            yield partial(_copy, process)
        except BaseException:
            process.kill()
            raise


def _copy(process: "subprocess.Popen[bytes]", name: str, to: IO[bytes]) -> None:
    """Writes an object's content, as a running ``git cat-file --batch`` returns it."""
    ask, answer = process.stdin, process.stdout
    assert ask is not None
    assert answer is not None
    try:
        ask.write(f"{name}\n".encode())
        ask.flush()
    except BrokenPipeError:
        pass  # its answer says so too
    head = answer.readline().decode().split()
    if len(head) != 3:
        raise RevisionError(
            f"object {name[:12]} is not in this repository, or cannot be read",
            f"{_FETCH}; git fsck shows what is damaged",
        )
    left = int(head[2])
    while left:
        chunk = answer.read(min(left, _CHUNK))
        if not chunk:
            raise RevisionError(f"object {name[:12]} cannot be read completely", "check the repository: git fsck")
        to.write(chunk)
        left -= len(chunk)
    answer.read(1)


def _command(folder: Path, words: Sequence[str]) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise RevisionError("git is not on PATH", "install git, which reads commits")
    return [program, "-C", str(folder), *_OPTIONS, *words]


def _split(text: str) -> list[str]:
    return [part for part in text.split("\0") if part]


def _failed(folder: Path, stderr: str, otherwise: str) -> RevisionError:
    """The error of a failed command, with a remedy."""
    before, _, fatal = stderr.strip().rpartition("fatal: ")
    why = next(iter((fatal or before).splitlines()), otherwise)
    if "dubious ownership" in why:
        place = fatal.rpartition("safe.directory ")[2]
        return RevisionError(
            "the repository belongs to another user, whom git does not trust",
            f"git config --global --add safe.directory {place}",
        )
    if "not a git repository" in why:
        at = next((one / ".git" for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
        if at is not None:
            return RevisionError(f"{at} cannot be read as a git repository", "make it readable; git status says more")
        return RevisionError("the project is in no git repository", "run inside a git repository that has both commits")
    # The program that git starts to fetch reports why it cannot, before or after git does. If it ends first, git may
    # die writing to it, without a word of its own.
    for sign in ("promisor remote", "' not allowed"):
        missing = next((line for line in stderr.splitlines() if sign in line), "")
        if missing:
            return RevisionError(f"an object is not in this repository: {missing.removeprefix('fatal: ')}", _FETCH)
    return RevisionError(f"git cannot read the repository: {why}", "correct that; git status and git fsck say more")
