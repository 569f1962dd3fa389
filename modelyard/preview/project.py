"""Plans the stacks of a project at two commits, or with two locks of its patches."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

from modelyard.catalog.library import PatchVersion
from modelyard.catalog.lock import LOCK, lock_text, read_lock
from modelyard.cluster.recorded import (
    recorded_files,
    recorded_folder,
    recorded_name,
    recorded_remote_names,
    stack_of_recorded,
)
from modelyard.files import ReadError, list_folder, read_file
from modelyard.names import HARDWARE_FILE, PATCHES_FOLDER, POLICIES_FOLDER, RECORDED
from modelyard.policy.loading import explained
from modelyard.preview.git import RevisionError
from modelyard.preview.links import WantedFile, below, leads, linked, reach
from modelyard.preview.project_files import (
    files_of_plans,
    folder_of,
    named_in,
    parents,
    stack_at,
    stack_files,
    wanted_of,
)
from modelyard.preview.revisions import ComparedRange, between, laid_out
from modelyard.preview.shared import Commit, same_patches, same_policies, shared_news
from modelyard.preview.stacks import StackJob, compared, planned_twice
from modelyard.preview.values import News, Offline, Policing, Preview, Revision, StackDiff, Unlisted
from modelyard.stack import stack_folder
from modelyard.stack.project import PROJECT_FILES
from modelyard.temporary import temporary_folder

EachStack = Callable[
    [Sequence[StackJob], Callable[[StackJob], StackDiff | None], tuple[Path, ...]], Iterable[StackDiff | None]
]
"""Runs one function for many stacks, in order, perhaps in more processes or on other machines. The folders have the
files that it reads."""

_ALL_THEIRS = (f"{PATCHES_FOLDER}/", f"{POLICIES_FOLDER}/")
_FILES = (*PROJECT_FILES, HARDWARE_FILE)
_SHARED = (*_FILES, *_ALL_THEIRS)
"""Prefixes of the paths that every stack's plan or findings may depend on."""


def _one_by_one(
    jobs: Sequence[StackJob], work: Callable[[StackJob], StackDiff | None], _folders: tuple[Path, ...]
) -> Iterator[StackDiff | None]:
    return map(work, jobs)


def preview(
    root: Path,
    base: str,
    head: str | None,
    *,
    today: date,
    each: EachStack = _one_by_one,
    policies: Policing = "base",
    live: bool = False,
    span: ComparedRange | None = None,
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
        live: whether the plans start from the clusters as they are now, where these can be read, instead of their
            recorded platforms.
        span: what ``range_of`` returned, if it was called before.

    Raises:
        RevisionError: the commits cannot be compared.
    """
    span = span or range_of(root, base, head, policies)
    if head is None:
        return _previewed(root, root, span, today=today, each=each, policies=policies, live=live)
    stacks_of_head = partial(wanted_of, where=f"of commit {span.head.commit[:12]}")
    with laid_out(root, span.head.commit, span.prefix, below(*_SHARED), *[stacks_of_head] * 2, _named_files) as tree:
        files = (path.relative_to(tree).as_posix() for path in _everything(tree))
        span = span._replace(through=reach(files, lambda _path: True, linked(tree)).through)
        return _previewed(root, tree, span, today=today, each=each, policies=policies, live=live)


def range_of(root: Path, base: str, head: str | None, policies: Policing = "base") -> ComparedRange:
    """The commits that a preview compares, and the files that differ; the arguments are those of ``preview``.

    Raises:
        RevisionError: the commits cannot be compared.
    """
    return _to_working_tree(root, base, policies) if head is None else between(root, base, head, lambda _path: True)


def upgrade(root: Path, versions: Mapping[str, PatchVersion], today: date, each: EachStack = _one_by_one) -> Preview:
    """Plans every stack with the patches that the lock lists, and with more built-in versions, and compares.

    Args:
        root: the project.
        versions: the built-in versions to add to the lock, by ``name/version``.
        today: the date for waivers.
        each: as for ``preview``.

    Raises:
        ReadError: the lock cannot be read.
    """
    with temporary_folder() as folder:
        accepted = folder.resolve() / "tree"
        _copy(root, accepted)
        locked, _ = read_lock(root / PATCHES_FOLDER)
        added = {name: patch.sha256 for name, patch in versions.items()}
        (accepted / PATCHES_FOLDER).mkdir(exist_ok=True)
        (accepted / LOCK).write_text(lock_text(locked | added), encoding="utf-8")
        base, head = Commit(root), Commit(accepted, root)
        before, after = stack_files(root), stack_files(accepted)
        jobs = [StackJob(name, before[name], after[name]) for name in sorted(after)]
        project = shared_news(base, head, [LOCK])
        work = partial(compared, base, head, today)
        found = [one for one in each(jobs, work, (root, accepted)) if one is not None]
    different = {one.stack for one in found}
    return Preview(
        base=Revision(LOCK, ""),
        head=Revision("patches.lock with all built-in versions", ""),
        stacks=tuple(found),
        unchanged=tuple(name for name in sorted(after) if name not in different),
        project=project,
    )


def _copy(root: Path, place: Path) -> None:
    """Copies what plans and policies read; links stay links."""
    for name in files_of_plans(root):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        if (root / name).is_dir() and not (root / name).is_symlink():
            (place / name).mkdir(exist_ok=True)
        else:
            copyfile(root / name, place / name, follow_symlinks=False)


def _to_working_tree(root: Path, base: str, policies: Policing) -> ComparedRange:
    """What differs between a commit and the working tree, among the files that stacks depend on."""
    shared, stacks = below(*_SHARED), wanted_of(root, "in the working tree")
    _check_listed(root, policies != "none")
    named = _named_files(root)

    def wanted(path: str) -> bool:
        return shared(path) or stacks(path) or named(path)

    span = between(root, base, None, wanted)
    _check_checked_out(root, span.absent, wanted, policies)
    return span


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


def _check_checked_out(root: Path, absent: Iterable[str], wanted: WantedFile, policies: Policing) -> None:
    """Rejects a sparse checkout without files that the plans of its stacks read: they would plan less, unnoticed.

    A stack whose own file is left out is not planned, and the command line reports it.
    """
    there = stack_files(root)
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


def _everything(folder: Path) -> Iterator[Path]:
    """The files below a folder, including links to folders."""
    for inside, folders, files in os.walk(folder):
        yield from (Path(inside, name) for name in files)
        yield from (path for name in folders if (path := Path(inside, name)).is_symlink())


def changed_stacks(root: Path, base: str) -> frozenset[str]:
    """The stacks of the working tree whose inputs differ from a commit's, its rules included; nothing is planned.

    Args:
        root: the project.
        base: as for ``preview``.

    Raises:
        RevisionError: the working tree cannot be compared with the commit.
    """
    with _both_commits(root, root, _to_working_tree(root, base, "head"), "head") as both:
        return frozenset(
            job.name
            for job in both.jobs
            if job.head is not None and (job.rules or planned_twice(both.base, both.head, job))
        )


class _Both(NamedTuple):
    """The project at both commits, laid out as files."""

    base: Commit
    head: Commit
    names: Sequence[str]
    """Of all stacks."""
    jobs: Sequence[StackJob]
    """The stacks that the files which differ may concern."""
    paths: frozenset[str]
    """Files that differ."""


@contextmanager
def _both_commits(root: Path, head_root: Path, span: ComparedRange, policies: Policing) -> Iterator[_Both]:
    folder = folder_of(head_root)
    recorded = {_recorded_of(path) for path in span.paths if path.startswith(f"{RECORDED}/")}
    others = {name for name, path in _named(head_root) if path in span.paths}
    touched = {stack_at(path, folder) for path in span.paths} | recorded | others
    # The path of a file that a link leads to does not show which stacks use it.
    everything = any(leads(path, span.through) for path in span.paths)
    shared = everything or any(path.startswith((*_FILES, f"{PATCHES_FOLDER}/")) for path in span.paths)
    paths = span.paths | {*_ALL_THEIRS, HARDWARE_FILE} if everything else span.paths

    def wanted(base_root: Path) -> WantedFile:
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
        before, after = stack_files(base_root), stack_files(head_root)
        names = sorted({*before, *after})
        if not names and not span.absent:
            raise RevisionError(
                f"neither {span.base.name} nor {span.head.name} has stack files", f"add {folder}Pulumi.<name>.yaml"
            )
        everything = everything or folder_of(base_root) != folder
        if everything:
            recorded = {name for name in names if _recordings(base_root, name) != _recordings(head_root, name)}
        # If nothing shared differs, only a stack's own files can make a difference.
        shared = (
            everything
            or any(path.startswith(_FILES) for path in span.paths)
            or (shared and not same_patches(base_root, head_root))
        )
        rules = everything or not same_policies(base, head, span.paths)
        jobs = [
            StackJob(name, before.get(name), after.get(name), recorded=name in recorded, rules=rules)
            if shared or name in touched
            else StackJob(name, after[name], after[name], untouched=True, rules=rules)
            for name in names
            if shared or rules or name in touched
        ]
        yield _Both(base, head, names, jobs, frozenset(paths))


def _previewed(
    root: Path, head_root: Path, span: ComparedRange, *, today: date, each: EachStack, policies: Policing, live: bool
) -> Preview:
    with _both_commits(root, head_root, span, policies) as (base, head, names, jobs, paths), temporary_folder() as now:
        # Before any other process starts, so that each has what this reads.
        any_shared = any(path.startswith(_SHARED) for path in paths)
        project = shared_news(base, head, paths) if jobs or any_shared else News()
        offline: tuple[Offline, ...] = ()
        unlisted: tuple[Unlisted, ...] = ()
        if live:
            jobs, offline, unlisted = _with_clusters(root, base, head, jobs, now)
        work, folders = partial(compared, base, head, today), (base.root, head.root, now)
        found = [one for one in each(jobs, work, folders) if one is not None]
        pages = explained(head.root, head.rules) if head.judged and (found or project.changes) else {}
    if any(finding.blocks for finding in (*project.new, *project.still)):
        found = [one._replace(blocked_by_project=one.status != "removed") for one in found]
    different = {one.stack for one in found}
    own = {stack_at(path, folder_of(head_root)) for path in span.absent}
    return Preview(
        base=span.base,
        head=span.head,
        stacks=tuple(found),
        unchanged=tuple(name for name in names if name not in different),
        project=project,
        pages=pages,
        offline=offline,
        unlisted=unlisted,
        left_out=tuple(sorted(filter(None, own - set(names)))),
    )


def _with_clusters(
    root: Path, base: Commit, head: Commit, jobs: Sequence[StackJob], folder: Path
) -> tuple[list[StackJob], tuple[Offline, ...], tuple[Unlisted, ...]]:
    """The stacks with the clusters that their plans start from, recorded below a folder."""
    from modelyard.preview.live import recorded_now  # imports a Kubernetes client

    affected = [job for job in jobs if planned_twice(base, head, job)]
    platforms, offline, unlisted = recorded_now(root, base.root, head.root, affected, folder)
    found = [
        job._replace(platform=platforms[job.name], recorded=False) if job.name in platforms else job for job in jobs
    ]
    return found, offline, unlisted


def _recordings(root: Path, stack: str) -> dict[str, bytes | None]:
    """The content of each file of a stack's recorded platforms; None if it cannot be read."""
    names = [stack, *(recorded_name(stack, one) for one in recorded_remote_names(root, stack))]
    found: dict[str, bytes | None] = {}
    for path in (path for name in names for path in recorded_files(recorded_folder(root, name))):
        file = f"{path.parent.name}/{path.name}"
        try:
            found[file] = read_file(path, within=root)
        except ReadError:
            found[file] = None
    return found


def _recorded_of(path: str) -> str:
    """The stack of a file below ``recorded/``."""
    return stack_of_recorded(path.removeprefix(f"{RECORDED}/").partition("/")[0])


def _named(root: Path) -> Iterator[tuple[str, str]]:
    """The files that stack files name, each with the stack, by path from the project's root."""
    return ((name, path) for name, file in stack_files(root).items() for path in named_in(root, file))


def files_named(root: Path) -> set[str]:
    """The price files, lists of packages and locks that stack files name, by path from the project's root."""
    return {path for _, path in _named(root)}


def _named_files(root: Path) -> WantedFile:
    """Selects the price files, lists of packages and locks that stack files name."""
    named = files_named(root)
    folders = {parent for path in named for parent in parents(path)}
    return lambda path: path in named or path in folders
