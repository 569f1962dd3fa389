"""Two commits of the project's repository, the older one laid out beside the user's tree."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from modelyard.preview.values import Revision

WORKING_TREE = "working tree"
_NO_PROMPT = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


class RevisionError(Exception):
    """The commits cannot be compared: why, and what to do."""

    def __init__(self, summary: str, remedy: str) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy


class Range(NamedTuple):
    """What is compared, and what of the project differs."""

    base: Revision
    """The commit where the two lines of work parted, as a pull request shows it."""
    head: Revision
    prefix: str
    """The project's folder inside the repository with a slash at its end, empty where it is the repository."""
    paths: frozenset[str]
    """Files that differ, from the project's root."""


def between(root: Path, base: str, head: str | None) -> Range:
    """The range from where ``head`` left ``base`` to ``head``; without a head, to the working tree as it stands.

    Raises:
        RevisionError: no repository, no such commit, or no common history.
    """
    if shutil.which("git") is None:
        raise RevisionError("git is not on PATH", "install git: a preview compares two commits")
    prefix = _git(root, "rev-parse", "--show-prefix", error="the project is in no git repository").strip()
    tip = _commit(root, base)
    own = _commit(root, head or "HEAD")
    parted = _try(root, "merge-base", tip, own)
    if parted is None:
        raise RevisionError(
            f"{base} and {head or 'HEAD'} have no common commit here",
            "fetch the whole history (in a CI checkout: fetch-depth: 0)",
        )
    fork = parted.strip()
    against = [fork] if head is None else [fork, own]
    changed = _names(_git(root, "diff", "--name-only", "--no-renames", "-z", "--relative", *against, "--", "."))
    if head is None:
        changed |= _names(_git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", "."))
    head_side = Revision(WORKING_TREE, own) if head is None else Revision(head, own)
    return Range(Revision(base, fork), head_side, prefix, frozenset(changed))


@contextmanager
def laid_out(
    root: Path, commit: str, prefix: str, wanted: Callable[[str], bool], named: Callable[[Path], Iterable[str]]
) -> Iterator[Path]:
    """The project at a commit, in a git worktree of its own that is gone afterwards: its root.

    Only the files that ``wanted`` takes (by path from the project's root) are written, and those that ``named`` finds
    named in them, given the root with the first ones.
    """
    folder = Path(tempfile.mkdtemp(prefix="modelyard-"))
    tree = folder / "tree"
    try:
        _git(root, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(tree), commit)
        (tree / prefix).mkdir(parents=True, exist_ok=True)
        listed = _names(_git(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", prefix or "."))
        files = {name for name in listed if wanted(name.removeprefix(prefix))}
        _write(tree, commit, files)
        _write(tree, commit, listed & {prefix + path for path in named(tree / prefix)} - files)
        yield tree / prefix
    finally:
        _try(root, "worktree", "remove", "--force", str(tree))
        shutil.rmtree(folder, ignore_errors=True)
        _try(root, "worktree", "prune")


def _write(tree: Path, commit: str, files: Iterable[str]) -> None:
    """Writes files of a commit into its worktree."""
    # As they are: git would take a * in a name for a pattern.
    names = "\0".join(f":(top,literal){name}" for name in sorted(files)).encode(errors="surrogateescape")
    if names:
        _git(tree, "checkout", "--quiet", commit, "--pathspec-from-file=-", "--pathspec-file-nul", stdin=names)


def _commit(root: Path, name: str) -> str:
    found = _try(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found is None:
        raise RevisionError(
            f"there is no commit {name!r} in this repository",
            "name a branch, tag or commit that git log knows, such as origin/main; fetch it first "
            "(in a CI checkout: fetch-depth: 0)",
        )
    return found.strip()


def _names(listed: str) -> set[str]:
    return {name for name in listed.split("\0") if name}


def _try(folder: Path, *words: str) -> str | None:
    try:
        return _git(folder, *words)
    except RevisionError:
        return None


def _git(folder: Path, *words: str, error: str = "", stdin: bytes | None = None) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, **_NO_PROMPT},
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1].removeprefix("fatal: ") if said else f"git {words[0]} ended with {done.returncode}"
        raise RevisionError(f"{error}: {why}" if error else why, "run inside a git repository that has both commits")
    return done.stdout.decode(errors="surrogateescape")
