"""Symbolic links in the files of a project: their destinations count as much as the links."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

WantedFile = Callable[[str], bool]
"""Whether a file is wanted, by its path from the project's root. A link or a submodule may be the folder of one."""
_MOST = 1000
"""The most names on the path to a link's destination, including links; more are a cycle."""


class Reach(NamedTuple):
    """The wanted files, and the destinations of the links among them."""

    files: frozenset[str]
    through: tuple[str, ...]
    """Paths that links lead to, including links on the way. An empty path is the project's root."""


def below(*beginnings: str) -> WantedFile:
    """Selects paths with one of these prefixes, and what replaces a folder that is part of a prefix."""
    return lambda path: path.startswith(beginnings) or any(one.startswith(f"{path}/") for one in beginnings)


def leads(path: str, through: Iterable[str]) -> bool:
    """Whether a path is the destination of a link, lies below one, or is on the way to one."""
    return any(not one or path == one or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in through)


def reach(paths: Iterable[str], wanted: WantedFile, link: Callable[[str], str | None]) -> Reach:
    """The wanted files, and those that links among them lead to, through any number of links.

    Args:
        paths: paths of all files and links, from the project's root.
        wanted: whether a path is wanted by itself.
        link: the destination of a link; None for what is no link.
    """
    left, chosen, through = set(paths), set[str](), dict[str, None]()
    new = {path for path in left if wanted(path)}
    while new:
        left -= new
        chosen |= new
        found = dict.fromkeys(one for path in sorted(new) if link(path) is not None for one in steps(path, link))
        fresh = tuple(one for one in found if one not in through)
        through.update(found)
        new = {path for path in left if leads(path, fresh)} if fresh else set()
    return Reach(frozenset(chosen), tuple(through))


def steps(path: str, link: Callable[[str], str | None]) -> Iterator[str]:
    """The paths on the way to a link's destination, and the destination; stops where it leaves the project."""
    at: list[str] = []
    left = path.split("/")[::-1]
    for _ in range(_MOST):
        if not left:
            yield "/".join(at)
            return
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return
            at.pop()
            continue
        at.append(part)
        name = "/".join(at)
        target = link(name)
        if target is not None:
            yield name
            if target.startswith("/"):
                return
            at.pop()
            left += target.split("/")[::-1]


def linked(root: Path) -> Callable[[str], str | None]:
    """The destination of a link below a folder, by its path from there; None for what is no link."""

    def link(path: str) -> str | None:
        try:
            return os.readlink(f"{root}/{path}")  # noqa: PTH115 (a Path would tidy it)
        except (OSError, ValueError):
            return None

    return link
