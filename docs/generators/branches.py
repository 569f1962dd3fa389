"""Branches in a copy of the project, for pages and pictures of a pull request."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from generators.paths import project

_DAY = "2026-11-21T09:00:00Z"


class Edit(NamedTuple):
    """A text that a branch replaces in a file of the project."""

    file: str
    old: str
    new: str


class Copy(NamedTuple):
    """A folder that a branch copies from another, such as the next version of a patch."""

    source: str
    copy: str


def branch(folder: Path, changes: Iterable[Edit | Copy]) -> None:
    """Makes a repository with the project on branch main, and changes in its working tree.

    Raises:
        ValueError: the project no longer contains a text to replace.
    """
    project(folder)
    for words in ("init --quiet --initial-branch=main", "add .", "commit --quiet --message=Begin"):
        _git(folder, *words.split())
    for change in changes:
        if isinstance(change, Copy):
            shutil.copytree(folder / change.source, folder / change.copy)
            continue
        path = folder / change.file
        text = path.read_text(encoding="utf-8")
        if change.old not in text:
            raise ValueError(f"{change.file} has no {change.old!r} any more")
        path.write_text(text.replace(change.old, change.new, 1), encoding="utf-8")


def preview(folder: Path, *words: str) -> str:
    """The output of ``modelyard preview --base main`` in the folder, whatever its exit code.

    Raises:
        ValueError: the preview cannot be made.
    """
    modelyard = Path(sys.executable).with_name("modelyard")
    command = [modelyard, "-C", folder, "preview", "--base=main", "--repo-url="]
    done = subprocess.run([*command, *words], check=False, capture_output=True, text=True, encoding="utf-8")
    if not done.stdout:
        raise ValueError(done.stderr)
    return done.stdout


def _git(folder: Path, *words: str) -> None:
    environment = {**os.environ, "GIT_AUTHOR_DATE": _DAY, "GIT_COMMITTER_DATE": _DAY}
    git = ["git", "-c", "user.name=docs", "-c", "user.email=docs@example.com", "-C", str(folder)]
    subprocess.run([*git, *words], env=environment, check=True)
