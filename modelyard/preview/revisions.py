"""Two commits of the project's repository: which are compared, which files differ, and the files of one, written to a
temporary folder.

Only reads from git (``git``). Writes nothing to the user's repository or working tree.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from modelyard.files import ordinary_content, read_file
from modelyard.preview.git import FULL_CLONE, Copy, GitFile, RevisionError, git, known, objects, tree, tried
from modelyard.preview.links import WantedFile, linked, reach
from modelyard.preview.values import Revision
from modelyard.stack.words import did_you_mean, listed
from modelyard.temporary import temporary_folder

_WORKING_TREE = "working tree"
_BRANCH_VARIABLES = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "BITBUCKET_PR_DESTINATION_BRANCH")
"""Where GitHub Actions, GitLab and Bitbucket name the branch that a pull request goes to."""
_COMMIT_VARIABLE = "CI_MERGE_REQUEST_DIFF_BASE_SHA"
"""GitLab's commit where a merge request left its branch. A pipeline of merged results also has what the branch got
since, so the branch itself comes first.
"""
_DEFAULTS = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


class ComparedRange(NamedTuple):
    """What is compared, and which files of the project differ."""

    base: Revision
    """The commit where the two lines of work diverged, as a pull request shows it."""
    head: Revision
    prefix: str
    """The project's folder inside the repository with a slash at its end, empty if it is the repository."""
    paths: frozenset[str]
    """Files that differ, from the project's root; for the working tree, only wanted files."""
    absent: frozenset[str] = frozenset()
    """Files that a sparse checkout leaves out of the working tree, from the project's root."""
    through: tuple[str, ...] = ()
    """For the working tree: paths that links among its wanted files lead to."""


def between(root: Path, base: str, head: str | None, wanted: WantedFile) -> ComparedRange:
    """The range from where ``head`` left ``base`` to ``head``; without a head, to the working tree as it is.

    Args:
        root: the project.
        base: branch, tag or commit.
        head: branch, tag or commit, or None for the working tree.
        wanted: whether a difference in a file of the working tree matters, by its path from the project's root.

    Raises:
        RevisionError: no repository, no such commit, or no common history.
    """
    prefix = prefix_of(root)
    tip = commit_of(root, base)
    own = commit_of(root, head or "HEAD")
    parted = tried(root, "merge-base", tip, own)
    if parted is None:
        shallow = git(root, "rev-parse", "--is-shallow-repository").strip() == "true"
        raise RevisionError(
            f"{base} and {head or 'HEAD'} have no common commit in this clone" + (", which is shallow" * shallow),
            f"git fetch --unshallow ({FULL_CLONE})"
            if shallow
            else f"with --base, name a commit from which {head or 'HEAD'} descends",
        )
    fork = parted.strip()
    before = tree(root, fork, prefix)
    if head is not None:
        after = tree(root, own, prefix)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        return ComparedRange(
            base=Revision(base, fork), head=Revision(head, own), prefix=prefix, paths=frozenset(changed)
        )
    files, absent = known(root)
    reached = reach((before.keys() | files) - absent, wanted, linked(root))
    changed = {path for path in reached.files if differs(f"{root}/{path}", before.get(path))}
    return ComparedRange(
        base=Revision(base, fork),
        head=Revision(_WORKING_TREE, own),
        prefix=prefix,
        paths=frozenset(changed),
        absent=absent,
        through=reached.through,
    )


def prefix_of(root: Path) -> str:
    """The project's folder inside its repository, with a slash at its end; empty if it is the repository."""
    return git(root, "rev-parse", "--show-prefix").removesuffix("\n")


def commit_of(root: Path, name: str) -> str:
    """The full name of the commit for a branch, tag or other name.

    Raises:
        RevisionError: there is no such commit.
    """
    found = _commit(root, name)
    if found is None:
        _refuse_empty(root)
        known = (tried(root, "for-each-ref", "--format=%(refname:short)") or "").split()
        close = did_you_mean(name, known) or did_you_mean(f"origin/{name}", known, likeness=0.8)
        raise RevisionError(
            f"this repository has no commit {name!r}",
            close
            or f"use a branch, tag or commit of this repository, such as origin/main; fetch it first ({FULL_CLONE})",
        )
    return found.strip()


def _refuse_empty(root: Path) -> None:
    """Raises an error if there is no repository, or no commit in it."""
    git(root, "rev-parse", "--git-dir")
    if tried(root, "rev-parse", "--verify", "HEAD") is None:
        raise RevisionError("this repository has no commit", "commit the project, then change it on a branch")


def _commit(root: Path, name: str) -> str | None:
    return tried(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


@contextmanager
def laid_out(
    root: Path,
    commit: str,
    prefix: str,
    wanted: WantedFile,
    *more: Callable[[Path], WantedFile],
    absent: Collection[str] = (),
) -> Iterator[Path]:
    """The root of the project at a commit, as plain files in a temporary folder that is deleted afterwards.

    Also writes what links lead to.

    Args:
        root: the project, in its repository.
        commit: full name of the commit.
        prefix: the project's folder inside the repository, from ``prefix_of``.
        wanted: which files to write, by path from the project's root.
        more: which to write next, one after the other, given the folder with the files so far.
        absent: files to leave out.

    Raises:
        RevisionError: the commit cannot be read or written.
    """
    with temporary_folder() as folder:
        place = folder.resolve() / "tree"
        place.mkdir()
        entries = {path: entry for path, entry in tree(root, commit, prefix).items() if path not in absent}
        try:
            with objects(root) as copy:
                _write(place, copy, entries, wanted, more)
        except OSError as error:
            raise RevisionError(
                f"the files of commit {commit[:12]} cannot be written to {folder}: {error.strerror}",
                "free space there, or set TMPDIR to another folder",
            ) from error
        yield place


def _write(
    place: Path,
    copy: Copy,
    entries: dict[str, GitFile],
    wanted: WantedFile,
    more: tuple[Callable[[Path], WantedFile], ...],
) -> None:
    """Writes files and then links, so that no file is written through an unchecked link."""

    @cache
    def link(path: str) -> str | None:
        entry = entries.get(path)
        if entry is None or not entry.link:
            return None
        target = BytesIO()
        copy(entry.object, target)
        return os.fsdecode(target.getvalue())

    # A link that leads out of the project leads out here too, but to nothing.
    nothing = place.parent / "nothing"
    written: set[str] = set()
    links: list[Path] = []
    folders: set[Path] = set()
    for choose in (lambda _place: wanted, *more):
        new = reach(entries, choose(place), link).files - written
        written |= new
        for path in sorted(new, key=lambda one: (entries[one].link, one)):
            entry = entries[path]
            if entry.submodule:
                raise RevisionError(
                    f"{path} is a submodule: its files are not in this repository",
                    "keep stack files, patches and policies in the repository of the project",
                )
            file = place / path
            if file.parent not in folders:
                file.parent.mkdir(parents=True, exist_ok=True)
                folders.add(file.parent)
            target = link(path)
            if target is None:
                with file.open("xb") as stream:
                    copy(entry.object, stream)
            else:
                leads_in = target and "\0" not in target and not target.startswith("/")
                file.symlink_to(target if leads_in else nothing)
                links.append(file)
        # The destination of each link is known only once all links exist.
        for file in links:
            if not Path(os.path.realpath(file)).is_relative_to(place):
                file.unlink()
                file.symlink_to(nothing)


def differs(path: str, entry: GitFile | None) -> bool:
    """Whether a file of the working tree differs from a commit, read unchanged, without filters."""
    content = ordinary_content(path)
    if content is None:
        return _unusual_differs(Path(path), entry)
    return entry is None or entry.link or entry.submodule or not _has(entry, content)


def _unusual_differs(file: Path, entry: GitFile | None) -> bool:
    """As ``differs``, for anything but an ordinary file."""
    try:
        facts = file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return entry is not None and not entry.submodule
    except OSError:
        return True
    if stat.S_ISLNK(facts.st_mode):
        target = os.readlink(file)  # noqa: PTH115 (a Path would tidy it)
        return entry is None or not entry.link or _name(entry, os.fsencode(target)) != entry.object
    if stat.S_ISDIR(facts.st_mode):
        return entry is not None and not entry.submodule
    if entry is None or entry.link or entry.submodule or not stat.S_ISREG(facts.st_mode):
        return True
    try:
        content = read_file(file)
    except OSError:
        # It cannot be read, or is larger than any file that is read.
        return True
    return not _has(entry, content)


def _has(entry: GitFile, content: bytes) -> bool:
    """Whether a file of a commit has this content; git may have converted line endings to another system's."""
    return _name(entry, content) == entry.object or (
        b"\r\n" in content and _name(entry, content.replace(b"\r\n", b"\n")) == entry.object
    )


def _name(entry: GitFile, content: bytes) -> str:
    """Git's name for a content, with the repository's hash algorithm."""
    made = hashlib.sha256() if len(entry.object) == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % len(content))
    made.update(content)
    return made.hexdigest()


def default_base(root: Path, environment: Mapping[str, str]) -> str:
    """The branch or commit to compare with: in CI the pull request's target branch, else the default branch.

    Args:
        root: the project, in its repository.
        environment: environment variables, some of which CI systems set.

    Raises:
        RevisionError: there is no repository, no commit, or no such branch in this clone.
    """
    asked = tuple(_of_pull_request(environment))
    for name in asked or _DEFAULTS:
        if _commit(root, name) is not None:
            # Such as ``origin/main``.
            return git(root, "rev-parse", "--abbrev-ref", name).strip() if name == "origin/HEAD" else name
    _refuse_empty(root)
    branch = asked[0].removeprefix("origin/") if asked else "main"
    raise RevisionError(
        f"this clone has no {listed(asked or _DEFAULTS)} to compare with",
        f"fetch the branch (git fetch origin {branch}; {FULL_CLONE}), or name a commit with --base",
    )


def _of_pull_request(environment: Mapping[str, str]) -> Iterator[str]:
    for variable in _BRANCH_VARIABLES:
        if branch := environment.get(variable):
            yield f"origin/{branch}"
    if commit := environment.get(_COMMIT_VARIABLE):
        yield commit
