"""What all stacks of a project share at two commits: the patches with their lock, and the policies."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from modelyard.catalog.library import Library
from modelyard.catalog.lock import LOCK, read_lock
from modelyard.files import ReadError
from modelyard.findings import Finding, Severity
from modelyard.hardware import GpuModel
from modelyard.hardware.own import load_gpus
from modelyard.names import HARDWARE_FILE, PATCHES_FOLDER, POLICIES_FOLDER
from modelyard.plan.project import library_of
from modelyard.policy.changes import meaning
from modelyard.policy.loading import RULES, policies_of
from modelyard.policy.settings import Policies
from modelyard.preview.news import news_of
from modelyard.preview.values import News


class Commit(NamedTuple):
    """The project at one of the two commits, and the rules that judge it."""

    root: Path
    rules: Path | None = None
    """The project at the base if its Python rules judge; None if this commit's own do."""
    judged: bool = True
    """Whether policies judge at all."""

    @property
    def policies(self) -> Policies:
        """Its policies."""
        return policies_of(self.root, self.rules)


def shared_findings(commit: Commit) -> tuple[Finding, ...]:
    """The findings about a project's patches and policies as a whole, whichever stacks use them."""
    folders = (one / POLICIES_FOLDER for one in (commit.root, commit.rules) if one is not None)
    policies = commit.policies.findings if commit.judged and any(map(os.path.lexists, folders)) else ()
    return (*library_of(commit.root).findings, *policies)


def shared_news(base: Commit, head: Commit, paths: Iterable[str]) -> News:
    """What became of the findings about the project as a whole.

    Args:
        base: the project at the base.
        head: the project at the head.
        paths: files that differ, from the project's root.
    """
    found = shared_findings(head)
    gpus = tuple(_changed_gpus(base.root, head.root))
    folders = {path.partition("/")[0] for path in paths}
    if not folders & {PATCHES_FOLDER, POLICIES_FOLDER}:
        return News(new=gpus, still=found)
    return news_of(shared_findings(base), (*found, *_rewritten(base.root, head.root), *gpus))


def _changed_gpus(base_root: Path, head_root: Path) -> Iterator[Finding]:
    """The GPUs that only one of the commits defines, or that they define differently: plans rest on the numbers."""
    before, after = load_gpus(base_root), load_gpus(head_root)
    if any(finding.blocks for finding in (*before.findings, *after.findings)):
        return  # Every stack says that the file cannot be used.
    old, new = ({gpu.id: gpu for gpu in one.gpus} for one in (before, after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        gpu = new.get(name) or old[name]
        if name not in new:
            summary, remedy = f"GPU {gpu.name} is no longer defined", "make sure that no stack uses it"
        elif name not in old:
            summary = f"new GPU {gpu.name}: {_numbers(gpu)}"
            remedy = "compare the numbers with their source"
        else:
            summary = f"GPU {gpu.name} is defined differently: {_numbers(gpu)}, before {_numbers(old[name])}"
            remedy = "compare the numbers with their source"
        yield Finding(
            "GPU101",
            Severity.WARNING,
            summary,
            file=HARDWARE_FILE,
            line=after.lines.get(name, 0),
            detail=f"source: {gpu.source}" if name in new else "",
            remedy=remedy,
        )


def _numbers(gpu: GpuModel) -> str:
    """Everything that plans read of a GPU."""
    first, last, compute = (".".join(map(str, one)) for one in (gpu.cuda_first, gpu.cuda_last, gpu.compute))
    cuda = f"CUDA {first} or newer" if gpu.ongoing else f"CUDA {first} to {last}"
    link = "NVLink" if gpu.nvlink else "no NVLink"
    labels = ", ".join(gpu.labels)
    return f"{gpu.tflops:g} FP16 TFLOPS, {gpu.memory_gb} GB, compute capability {compute}, {cuda}, {link}, on {labels}"


def same_patches(base_root: Path, head_root: Path) -> bool:
    """Whether every stack finds the same patch versions, released or not, at both commits."""
    return _content(library_of(base_root)) == _content(library_of(head_root))


def _content(library: Library) -> tuple[Any, ...]:
    versions = {
        patch.id: (patch.sha256, f"{name}/{version}" in library.released)
        for name, own in library.patches.items()
        for version, patch in own.items()
    }
    return versions, {name: library.latest(name).version for name in library.patches}


def same_policies(base: Commit, head: Commit, paths: Iterable[str]) -> bool:
    """Whether the policies that judge are equal at both commits, comments and layout aside."""
    own = [path for path in paths if path.startswith(f"{POLICIES_FOLDER}/") and not path.endswith(".pyc")]
    if head.rules is not None:
        # Both commits are judged by one set of Python rules.
        own = [path for path in own if not path.startswith(f"{POLICIES_FOLDER}/{RULES}/")]
    return not head.judged or all(meaning(base.root / path) == meaning(head.root / path) for path in own)


def _rewritten(base_root: Path, head_root: Path) -> Iterator[Finding]:
    """Released versions whose line in the lock changed with them or is gone: the head's own lock does not show this."""
    before, _ = _locked(base_root)
    after, unclear = _locked(head_root)
    old, library = library_of(base_root), library_of(head_root)
    for name in sorted(before):
        patch_name, _, version = name.partition("/")
        patch = library.patches.get(patch_name, {}).get(version)
        if after.get(name) == before[name] or (unclear and name not in after):
            continue
        shown = f"{patch_name}@{version}"
        restored = f"restore {PATCHES_FOLDER}/{name} and its line in {LOCK} as they are at the base"
        if patch is None and (earlier := old.patches.get(patch_name, {}).get(version)) and earlier.built_in:
            if name not in after:
                summary = f"built-in patch {shown} is no longer used: its line in the lock is gone"
                yield _error(summary, f"restore its line in {LOCK}; a stack may pin it", LOCK, 0)
        elif patch is None:
            if name not in after:
                summary = f"released patch {shown} was deleted, together with its line in the lock"
                yield _error(summary, f"{restored}; a stack may pin it", LOCK, 0)
        elif patch.sha256 == before[name]:
            if name not in after:
                remedy = f"restore its line in {LOCK}: a release never changes"
                summary = f"released patch {shown} is unchanged, but its line in the lock was removed"
                yield _error(summary, remedy, LOCK, 0)
        elif after.get(name, patch.sha256) == patch.sha256:
            newest = max(int(one[1:]) for one in library.patches[patch_name])
            how = "rewritten" if name in after else "removed"
            earlier = old.patches.get(patch_name, {}).get(version)
            changed = patch.changed_files(earlier.file_digests) if earlier is not None else []
            yield _error(
                f"released patch {shown} was changed, and its line in the lock was {how}",
                f"{restored}; put the change into a new version, {PATCHES_FOLDER}/{patch_name}/v{newest + 1}",
                f"{patch.file}/{changed[0]}" if changed else patch.file,
                1 if changed else 0,
                f"the base's lock has SHA-256 {before[name][:12]}…, but the patch's files have {patch.sha256[:12]}…",
            )


def _locked(root: Path) -> tuple[dict[str, str], bool]:
    """Returns the locked digests by ``name/version``, and whether others are unknown because the lock is damaged."""
    try:
        locked, bad_lines = read_lock(root / PATCHES_FOLDER)
    except ReadError:
        return {}, True
    return locked, bool(bad_lines)


def _error(summary: str, remedy: str, file: str, line: int, detail: str = "") -> Finding:
    return Finding("PAT003", Severity.ERROR, summary, file=file, line=line, detail=detail, remedy=remedy)
