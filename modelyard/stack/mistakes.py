"""A mistake in the config of a stack file, as ``explain`` and ``checks`` find it, before it has a file and a line."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from modelyard.hiding import HIDDEN, hidden_at
from modelyard.stack.config import Path, dotted
from modelyard.stack.schema import PREFIX
from modelyard.stack.words import plain, quoted


class Mistake(NamedTuple):
    """What is wrong with one key or value."""

    path: Path
    """Below ``config``, first part with its prefix: ``("modelyard:gpu", "model")``; of a missing key, its parent's."""
    code: str
    summary: str
    remedy: str = ""
    detail: str = ""
    at_key: bool = False
    """Whether the key is wrong, not its value."""
    meant: Path = ()
    """The key that is missing, or that an unknown one was probably meant to be; empty if neither."""


def name(path: Path) -> str:
    """Returns the path as people write it, without the prefix of its section."""
    return plain(dotted((str(path[0]).removeprefix(PREFIX), *path[1:])), 120) if path else "config"


def given(value: Any, path: Path, texts: Mapping[Path, str]) -> str:
    """Describes a wrong value. Containers and values under a secret's name are not printed.

    Args:
        value: the value.
        path: its path.
        texts: source text of numbers, and ``HIDDEN`` for further secrets, by path.
    """
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = value if isinstance(value, str) else texts.get(path, str(value))
    if HIDDEN in (texts.get(path), hidden_at(str(path[-1]), text) if path else text):
        return HIDDEN
    return quoted(text) if isinstance(value, str) else plain(text)
