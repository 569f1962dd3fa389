"""What all stacks of a project share at two commits: the patches with their lock, and the policies."""

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from modelyard.catalog.library import PATCHES_FOLDER, TEMPLATE, Library
from modelyard.catalog.lock import LOCK_FILE, read_lock
from modelyard.findings import Finding, Severity
from modelyard.plan.project import library_of
from modelyard.policy.loading import FOLDER as POLICIES_FOLDER
from modelyard.policy.loading import policies_of
from modelyard.preview.news import news_of
from modelyard.preview.values import News
from modelyard.stack.document import parse

_LOCK = f"{PATCHES_FOLDER}/{LOCK_FILE}"


def shared_findings(root: Path) -> tuple[Finding, ...]:
    """What is wrong with a project's patches and policies as a whole, whichever stacks use them."""
    policies = policies_of(root).findings if (root / POLICIES_FOLDER).is_dir() else ()
    return (*library_of(root).findings, *policies)


def shared_news(base_root: Path, head_root: Path, paths: Iterable[str]) -> News:
    """What became of these findings.

    Args:
        base_root: the project at the base.
        head_root: the project at the head.
        paths: files that differ, from the project's root.
    """
    head = shared_findings(head_root)
    folders = {path.partition("/")[0] for path in paths}
    if not folders & {PATCHES_FOLDER, POLICIES_FOLDER}:
        return News(still=head)
    base = shared_findings(base_root)
    return news_of(base, (*head, *_rewritten(base_root, head_root)))


def same_patches(base_root: Path, head_root: Path) -> bool:
    """Whether every stack finds the same patch versions, released or not, at both commits."""
    return _content(library_of(base_root)) == _content(library_of(head_root))


def _content(library: Library) -> tuple[Any, ...]:
    versions = {
        patch.id: (patch.sha256, patch_name in library.released)
        for name, own in library.patches.items()
        for version, patch in own.items()
        for patch_name in (f"{name}/{version}",)
    }
    return versions, {name: library.latest(name).version for name in library.patches}


def same_policies(base_root: Path, head_root: Path, paths: Iterable[str]) -> bool:
    """Whether the files of the policies among these say the same at both commits, comments and layout aside."""
    own = [path for path in paths if path.startswith(f"{POLICIES_FOLDER}/") and not path.endswith(".pyc")]
    return all(_meaning(base_root / path) == _meaning(head_root / path) for path in own)


def _meaning(file: Path) -> object:
    """What a file says: of Python its syntax tree, of YAML its values, of any other file its bytes; None without it."""
    if not file.is_file():
        return None
    content = file.read_bytes()
    if file.suffix == ".py":
        try:
            return ast.dump(ast.parse(content))
        except (SyntaxError, ValueError, RecursionError):
            return content
    if file.suffix in (".yaml", ".yml"):
        document, problems = parse(content)
        if document is None or problems:
            return content
        try:
            return json.dumps(document.value, sort_keys=True, default=repr)
        except TypeError:  # keys that cannot be sorted
            return content
    return content


def _rewritten(base_root: Path, head_root: Path) -> Iterator[Finding]:
    """Released versions whose line in the lock changed with them, or went: the head's own lock tells nothing of it."""
    before, _ = read_lock(base_root / PATCHES_FOLDER)
    after, _ = read_lock(head_root / PATCHES_FOLDER)
    library = library_of(head_root)
    for name in sorted(before):
        patch_name, _, version = name.partition("/")
        patch = library.patches.get(patch_name, {}).get(version)
        if after.get(name) == before[name]:
            continue
        shown = f"{patch_name}@{version}"
        restored = f"restore {PATCHES_FOLDER}/{name} and its line in {_LOCK} as they are at the base"
        if patch is None:
            if name not in after:
                summary = f"released patch {shown} was taken away, and its line in the lock with it"
                yield _error(summary, f"{restored}; a stack may pin it", _LOCK, 0)
        elif patch.sha256 == before[name]:
            if name not in after:
                remedy = f"restore its line in {_LOCK}: a release is for good"
                yield _error(f"released patch {shown} was un-released: its line in the lock is gone", remedy, _LOCK, 0)
        elif after.get(name, patch.sha256) == patch.sha256:
            newest = max(int(one[1:]) for one in library.patches[patch_name])
            how = "rewritten" if name in after else "taken away"
            yield _error(
                f"released patch {shown} was changed, and its line in the lock was {how} with it",
                f"{restored}; change it in {PATCHES_FOLDER}/{patch_name}/v{newest + 1} instead",
                f"{patch.file}/{TEMPLATE}",
                1,
                f"the base's lock has SHA-256 {before[name][:12]}…, its files have {patch.sha256[:12]}…",
            )


def _error(summary: str, remedy: str, file: str, line: int, detail: str = "") -> Finding:
    return Finding("PAT003", Severity.ERROR, summary, file=file, line=line, detail=detail, remedy=remedy)
