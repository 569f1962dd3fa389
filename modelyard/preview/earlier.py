"""A project at a base, for verbs that judge one state of it: its policies, and the stack files that differ."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from modelyard.files import ReadError
from modelyard.names import RECORDED
from modelyard.preview.git import RevisionError, tree
from modelyard.preview.links import WantedFile, below
from modelyard.preview.project_files import folder_of, stack_at, wanted_of
from modelyard.preview.revisions import commit_of, differs, laid_out, prefix_of
from modelyard.stack import Stack, discover, load, stack_folder
from modelyard.stack.project import PROJECT_FILES

_POLICIES = "policies/"


class Earlier(NamedTuple):
    """The project at the base."""

    root: Path
    commit: str
    """Its full name."""
    folder: Path | None
    """Has the stack files that differ from the project's; None if they cannot be determined."""
    new: frozenset[str]
    """Stacks that the base does not have."""

    def of(self, stack: Stack) -> Stack | None:
        """A stack at the base; the given one if its file does not differ, None if the base has no readable one."""
        if self.folder is None or stack.name in self.new:
            return None
        path = self.folder / f"Pulumi.{stack.name}.yaml"
        return load(path, stack.file, self.root)[0] if os.path.lexists(path) else stack


@contextmanager
def earlier(root: Path, base: str) -> Iterator[Earlier]:
    """The project at a base while the context lasts.

    Raises:
        RevisionError: the commit cannot be read or written.
    """
    prefix, commit = prefix_of(root), commit_of(root, base)
    entries = tree(root, commit, prefix)

    def differing(place: Path) -> WantedFile:
        try:
            wanted, folder = wanted_of(place, f"of commit {commit[:12]}"), folder_of(place)
        except (RevisionError, ReadError):
            # A base without usable stack files must not block the judgement of a change that fixes it.
            return lambda _path: False

        def one(path: str) -> bool:
            entry = entries.get(path)
            if entry is None or not wanted(path):
                return False
            if not stack_at(path, folder):
                return not path.startswith(f"{RECORDED}/")
            return entry.link or differs(f"{root}/{path}", entry)

        return one

    with laid_out(root, commit, prefix, below(*PROJECT_FILES, _POLICIES), differing, differing) as place:
        try:
            folder = stack_folder(place)
        except ReadError:
            yield Earlier(place, commit, None, frozenset())
            return
        own = folder_of(place)
        known = {one.name for one in discover(place)} | {stack_at(path, own) for path in entries}
        yield Earlier(place, commit, folder, frozenset(one.name for one in discover(root)) - known)
