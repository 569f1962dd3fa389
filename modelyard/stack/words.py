"""Formats words for messages: quoted, escaped and cut text, lists, numbers, the nearest name to a misspelt one."""

from collections.abc import Iterable
from functools import lru_cache

from modelyard.hiding import hidden

_LONGEST = 60
_LOOKED_AT = 4096
"""Characters of a text that are searched for secrets, before it is cut."""
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def plain(text: str, longest: int = _LONGEST) -> str:
    """Returns text from a file for a message: one line, without secrets, safe on a terminal.

    Escapes unprintable characters and cuts long text.
    """
    shown: str = hidden(text[:_LOOKED_AT])
    start = shown[:longest]
    if not start.isprintable():
        start = "".join(c if c.isprintable() else _NAMES.get(c) or f"\\u{{{ord(c):x}}}" for c in start)
    return start + "…" if len(shown) > longest else start


def cut(text: str, longest: int) -> str:
    """Returns at most so many characters of a text; an ellipsis stands for the rest."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(text: str) -> str:
    """Returns text from a file in double quotes, as ``plain`` does."""
    escaped = plain(text).replace('"', '\\"')
    return f'"{escaped}"'


def listed(words: Iterable[str], conjunction: str = "or") -> str:
    """Returns ``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def few(names: Iterable[str], most: int = 3, joint: str = ", ") -> str:
    """Returns ``a, b, c and 4 more``: the first names of a list, and the number of the rest."""
    every = tuple(names)
    more = len(every) - most
    return joint.join(every[:most]) + (f" and {more} more" if more > 0 else "")


def plural(number: int, singular: str, many: str | None = None) -> str:
    """Returns ``1 GPU``, ``2 GPUs``."""
    return f"{number} {singular if number == 1 else many or singular + 's'}"


def near(word: str, known: Iterable[str], most: int = 3, likeness: float = 0.6) -> list[str]:
    """Returns the known words that are most like ``word``, ignoring case, nearest first.

    Returns at most ``most`` words, and only words that reach ``likeness`` (0 to 1).
    """
    return list(_near(word, tuple(known), most, likeness))


@lru_cache(maxsize=1024)
def _near(word: str, known: tuple[str, ...], most: int, likeness: float) -> tuple[str, ...]:
    """Cached: every job of a stack may ask for the same missing name, such as that of a renamed team."""
    from difflib import get_close_matches

    # If names differ only in case, the first wins: they come in the order in which they are documented.
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    return tuple(folded[name] for name in get_close_matches(word[:100].casefold(), folded, most, likeness))


@lru_cache(maxsize=1024)
def _likeness(word: str, other: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, other.casefold(), word[:100].casefold()).ratio()


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Returns the known word that is most like ``word``; None if none is ``near``."""
    return next(iter(near(word, known, 1, likeness)), None)


def did_you_mean(word: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> str:
    """Returns ``did you mean perWorker?``, or nothing; with ``most``, ``did you mean a, b or c?``.

    If the two nearest words are equally like ``word``, both are named.
    """
    close = near(word, known, max(most, 2), likeness)
    if most == 1 and len(close) == 2 and _likeness(word, close[0]) != _likeness(word, close[1]):
        close = close[:1]
    return f"did you mean {listed(close)}?" if close else ""
