"""Plans the stacks of a project at two commits."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from posixpath import normpath

from modelyard.catalog.library import PATCHES_FOLDER
from modelyard.cluster.recorded import (
    RECORDED,
    recorded_files,
    recorded_folder,
    recorded_name,
    recorded_remote_names,
    stack_of_recorded,
)
from modelyard.files import ReadError, list_folder, read_file
from modelyard.names import HARDWARE_FILE
from modelyard.policy.loading import FOLDER as POLICIES_FOLDER
from modelyard.policy.pages import explained
from modelyard.preview.folders import folder_of, stack_at, wanted_of
from modelyard.preview.links import Wanted, below, leads, reach
from modelyard.preview.revisions import Range, RevisionError, between, laid_out, linked
from modelyard.preview.shared import Commit, same_patches, same_policies, shared_news
from modelyard.preview.stacks import Job, compared
from modelyard.preview.values import News, Policing, Preview, StackDiff
from modelyard.stack import discover, load, misnamed, stack_folder
from modelyard.stack.project import PROJECT_FILES
from modelyard.stack.yaml.source import MAX_BYTES
from modelyard.workloads.environments.locks import lock_file

Each = Callable[[Sequence[Job], Callable[[Job], StackDiff | None]], Iterable[StackDiff | None]]
"""Runs one function for many stacks, in order, perhaps in more processes."""

_ALL_THEIRS = (f"{PATCHES_FOLDER}/", f"{POLICIES_FOLDER}/")
_FILES = (*PROJECT_FILES, HARDWARE_FILE)
_SHARED = (*_FILES, *_ALL_THEIRS)
"""Prefixes of the paths that every stack's plan or findings may depend on."""


def preview(
    root: Path, base: str, head: str | None, today: date, each: Each | None = None, policies: Policing = "base"
) -> Preview:
    """Plans every stack whose inputs differ between two commits, and compares.

    Args:
        root: the project.
        base: branch, tag or commit; compares from the point where the head left it.
        head: branch, tag or commit, or None for the working tree as it is.
        today: the date for waivers.
        each: how to process many stacks; one after the other by default.
        policies: whose Python rules judge the head: the base's, so that no code of the head runs, or its own; or
            no policies at all. Assertions and levels always come from each commit itself.

    Raises:
        RevisionError: the commits cannot be compared.
    """
    shared = below(*_SHARED)
    if head is None:
        stacks = wanted_of(root, "in the working tree")
        _check_listed(root, policies != "none")
        named = _named_files(root)
        span = between(root, base, head, lambda path: shared(path) or stacks(path) or named(path))
        _check_checked_out(root, span.absent, lambda path: shared(path) or stacks(path) or named(path), policies)
        return _previewed(root, root, span, today, each or _one_by_one, policies)
    span = between(root, base, head, lambda _path: True)
    stacks_of_head = partial(wanted_of, where=f"of commit {span.head.commit[:12]}")
    with laid_out(root, span.head.commit, span.prefix, shared, *[stacks_of_head] * 2, _named_files) as tree:
        files = (path.relative_to(tree).as_posix() for path in _everything(tree))
        span = span._replace(through=reach(files, lambda _path: True, linked(tree)).through)
        return _previewed(root, tree, span, today, each or _one_by_one, policies)


def _check_listed(root: Path, policies: bool) -> None:
    """Rejects folders that cannot be listed: git and every other reader would see no change in them."""
    folder = stack_folder(root)
    try:
        list_folder(folder, folder)
    except ReadError as error:
        raise RevisionError(f"the stack files in {folder} cannot be listed: {error.reason}", error.remedy) from None
    for name in (RECORDED, PATCHES_FOLDER, *([POLICIES_FOLDER] if policies else [])):
        for closed in _unlisted(root / name):
            inside = Path(closed.filename).relative_to(root).as_posix()
            why = (closed.strerror or type(closed).__name__).lower()
            raise RevisionError(f"{inside} cannot be listed: {why}", "make it a folder that can be read")


def _check_checked_out(root: Path, absent: Iterable[str], wanted: Wanted, policies: Policing) -> None:
    """Rejects a sparse checkout without files that the plans of its stacks read: they would plan less, unnoticed.

    A stack whose own file is left out is not planned, and the command line reports it.
    """
    there = _files(root)
    for path in sorted(filter(wanted, absent)):
        stack = _recorded_of(path) if path.startswith(f"{RECORDED}/") else stack_at(path, folder_of(root))
        if (stack and stack not in there) or (policies == "none" and path.startswith(f"{POLICIES_FOLDER}/")):
            continue
        raise RevisionError(
            f"the sparse checkout leaves out {path}, which the stacks need",
            "add it with git sparse-checkout, or compare commits with --head HEAD",
        )


def _unlisted(folder: Path) -> Iterator[OSError]:
    """Why folders below a folder, including links to folders, cannot be listed."""
    errors: list[OSError] = []
    for inside, folders, _ in os.walk(folder, onerror=errors.append):
        for link in (path for name in folders if (path := Path(inside, name)).is_symlink()):
            try:
                os.listdir(link)  # noqa: PTH208 (only whether it works)
            except OSError as error:
                errors.append(error)
    # The code that reads such a path reports that it is missing or no folder.
    return (error for error in errors if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


def _one_by_one(jobs: Sequence[Job], work: Callable[[Job], StackDiff | None]) -> Iterator[StackDiff | None]:
    return map(work, jobs)


def _everything(folder: Path) -> Iterator[Path]:
    """The files below a folder, including links to folders."""
    for inside, folders, files in os.walk(folder):
        yield from (
            Path(inside, name) for name in (*folders, *files) if name in files or Path(inside, name).is_symlink()
        )


def _previewed(root: Path, head_root: Path, span: Range, today: date, each: Each, policies: Policing) -> Preview:
    folder = folder_of(head_root)
    recorded = {_recorded_of(path) for path in span.paths if path.startswith(f"{RECORDED}/")}
    others = {name for name, path in _files_of(head_root) if path in span.paths}
    touched = {stack_at(path, folder) for path in span.paths} | recorded | others
    # The path of a file that a link leads to does not show which stacks use it.
    everything = any(leads(path, span.through) for path in span.paths)
    shared = everything or any(path.startswith((*_FILES, f"{PATCHES_FOLDER}/")) for path in span.paths)
    paths = span.paths | {*_ALL_THEIRS, HARDWARE_FILE} if everything else span.paths

    def wanted(base_root: Path) -> Wanted:
        of_stacks, own = wanted_of(base_root, f"of commit {span.base.commit[:12]}"), folder_of(base_root)
        if shared or own != folder:
            return of_stacks

        def some(path: str) -> bool:
            stack = _recorded_of(path) if path.startswith(f"{RECORDED}/") else stack_at(path, own)
            return of_stacks(path) and (not stack or stack in touched)

        return some

    with laid_out(
        root, span.base.commit, span.prefix, below(*_SHARED), wanted, wanted, _named_files, absent=span.absent
    ) as base_root:
        judged = policies != "none"
        base = Commit(base_root, judged=judged)
        head = Commit(head_root, base_root if policies == "base" else None, judged)
        before, after = _files(base_root), _files(head_root)
        names = sorted({*before, *after})
        if not names and not span.absent:
            raise RevisionError(
                f"neither {span.base.name} nor {span.head.name} has stack files", f"add {folder}Pulumi.<name>.yaml"
            )
        everything = everything or folder_of(base_root) != folder
        if everything:
            recorded = {name for name in names if not _same_recording(base_root, head_root, name)}
        # If nothing shared differs, only a stack's own files can make a difference.
        shared = (
            everything
            or any(path.startswith(_FILES) for path in span.paths)
            or (shared and not same_patches(base_root, head_root))
        )
        rules = everything or not same_policies(base, head, span.paths)
        jobs = [
            Job(
                name=name,
                base=before.get(name),
                head=after.get(name),
                recorded=name in recorded,
                untouched=False,
                rules=rules,
            )
            if shared or name in touched
            else Job(name=name, base=after[name], head=after[name], recorded=False, untouched=True, rules=rules)
            for name in names
            if shared or rules or name in touched
        ]
        # Before any other process starts, so that each has what this reads.
        project = shared_news(base, head, paths) if jobs or _any_shared(paths) else News()
        found = [one for one in each(jobs, partial(compared, base, head, today)) if one is not None]
        pages = explained(head.root, head.rules) if judged and (found or project.changes) else {}
    if any(finding.blocks for finding in (*project.new, *project.still)):
        found = [one._replace(held=one.status != "removed") for one in found]
    different = {one.stack for one in found}
    return Preview(
        base=span.base,
        head=span.head,
        stacks=tuple(found),
        unchanged=tuple(name for name in names if name not in different),
        project=project,
        pages=pages,
        left_out=tuple(sorted(filter(None, {stack_at(path, folder) for path in span.absent} - set(names)))),
    )


def _same_recording(base_root: Path, head_root: Path, stack: str) -> bool:
    """Whether both commits have equal recorded platforms of a stack."""
    return _recordings(base_root, stack) == _recordings(head_root, stack)


def _recordings(root: Path, stack: str) -> dict[str, bytes | None]:
    names = [stack, *(recorded_name(stack, one) for one in recorded_remote_names(root, stack))]
    found: dict[str, bytes | None] = {}
    for path in (path for name in names for path in recorded_files(recorded_folder(root, name))):
        try:
            found[f"{path.parent.name}/{path.name}"] = read_file(path, within=root)
        except ReadError:
            found[f"{path.parent.name}/{path.name}"] = None
    return found


def _recorded_of(path: str) -> str:
    """The stack of a file below ``recorded/``."""
    return stack_of_recorded(path.removeprefix(f"{RECORDED}/").partition("/")[0])


def _any_shared(paths: Iterable[str]) -> bool:
    return any(path.startswith(_SHARED) for path in paths)


def _files(root: Path) -> dict[str, Path]:
    """The stack files by name, including misnamed ones."""
    return {found.name: found.path for found in (*misnamed(root), *discover(root))}


def _files_of(root: Path) -> Iterator[tuple[str, str]]:
    """The files that stacks' plans read beside the stack files, each with the stack, by path from the project's root.

    They are price files, lists of packages, and the locks of Python environments.
    """
    for name, file in _files(root).items():
        # Few stacks have such keys, and searching for them is cheaper than loading all stacks.
        if not any(_says(file, key) for key in (b"modelyard:prices", b"modelyard:environments")):
            continue
        stack = load(file, file.name, root)[0]
        if stack is None:
            continue
        config = stack.config
        named = [config.prices, *(one.requirements for one in config.environments)]
        named += [lock_file(one.name) for one in config.environments]
        yield from ((name, normpath(path)) for path in named if path is not None)


def _says(file: Path, text: bytes) -> bool:
    try:
        return text in read_file(file, limit=MAX_BYTES)
    except OSError:
        return False


def _named_files(root: Path) -> Wanted:
    """Selects the price files, lists of packages and locks that stack files name."""
    named = {path for _, path in _files_of(root)}
    folders = {parent for path in named for parent in _parents(path)}
    return lambda path: path in named or path in folders


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
