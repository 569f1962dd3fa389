"""Hides a document's secrets in other texts: in messages about it, and in the lines of its file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final

from modelyard.files import parse_json
from modelyard.hiding.forms import hidden_text, secret_places
from modelyard.hiding.names import HIDDEN, is_hidden_or_plain
from modelyard.hiding.values import hidden, hidden_leaves, yaml_places

_SHORTEST: Final = 4
"""Length of the shortest secret that is searched for in other texts."""
_BLOCK: Final = r"[|>][-+\d]*\s*"
"""The start of a multi-line text in YAML."""


def secrets_in(value: Any) -> frozenset[str]:
    """Returns the texts of a document that ``hidden`` hides whole, for callers that show the document's own lines."""
    return frozenset(_differing(value, hidden(value)))


def hidden_paths(document: Any) -> Iterator[tuple[str | int, ...]]:
    """Yields the paths of the values in a document that ``hidden`` hides whole."""
    return (path for path, _, shown in hidden_leaves(document, hidden(document)) if shown == HIDDEN)


def _differing(document: Any, shown_document: Any) -> Iterator[str]:
    for _, value, shown in hidden_leaves(document, shown_document):
        if shown is value:
            continue
        if shown == HIDDEN:
            yield from (line.strip() for line in str(value).splitlines() if line.strip())
        elif isinstance(shown, str) and isinstance(value, str):
            yield from _parts(value, shown)


def _parts(value: str, shown: str) -> Iterator[str]:
    """Yields the hidden parts of a text: the password of a URL, for example."""
    first, *rest = shown.split(HIDDEN)
    if not value.startswith(first):
        # A document inside a text is written anew.
        with suppress(ValueError):
            yield from _differing(parse_json(value), parse_json(shown))
        return
    at = len(first)
    for number, piece in enumerate(rest, 1):
        last = number == len(rest)
        end = len(value) - len(piece) if last else value.find(piece, at) if piece else at
        if end < at or not value.startswith(piece, end):
            return
        yield from (line.strip() for line in value[at:end].strip("\"'").splitlines() if line.strip())
        at = end + len(piece)


def hidden_lines(lines: Iterable[str], *documents: Any, texts: Iterable[str] = ()) -> list[str]:
    """Returns lines of a file without secrets in them or in the documents that they come from.

    Args:
        lines: the file's lines.
        documents: the documents in the file.
        texts: further secrets.
    """
    pattern = _any_of(documents, texts)
    return [hidden(line if pattern is None else pattern.sub(HIDDEN, line)) for line in lines]


def hidden_file(text: str, *documents: Any) -> list[str]:
    """Returns the lines of a file without secrets, one for each of its lines.

    Args:
        text: the file's text.
        documents: the documents in it.
    """
    places = sorted({*yaml_places(text), *secret_places(text)}, reverse=True)
    start = len(text)
    for begin, end in places:
        # One secret may contain another.
        if (end := min(end, start)) > begin:
            text = f"{text[:begin]}{_line_by_line(text[begin:end])}{text[end:]}"
            start = begin
    return hidden_lines(text.splitlines(), *documents)


def _line_by_line(secret: str) -> str:
    """Returns as many hidden lines as a secret has."""
    lines = secret.splitlines(keepends=True)
    shown = []
    for line in lines:
        words = line.strip()
        plain = not words or re.fullmatch(_BLOCK, words) or is_hidden_or_plain("", words.strip("\"'"))
        shown.append(line if plain else line.replace(words, HIDDEN))
    return "".join(shown)


def hidden_words(text: str, *documents: Any) -> str:
    """Returns a message about documents without credentials and without the documents' secrets."""
    return words_without(documents)(text)


def words_without(documents: Iterable[Any]) -> Callable[[str], str]:
    """Returns the function of ``hidden_words`` for many messages about documents; the first call reads them."""
    objects = tuple(documents)
    pattern = cache(lambda: _any_of(objects))
    return lambda text: hidden_text(text if (found := pattern()) is None else found.sub(HIDDEN, text))


def _any_of(documents: Iterable[Any], texts: Iterable[str] = ()) -> re.Pattern[str] | None:
    """Matches every secret of the documents, except the shortest, which are words of other texts."""
    every = (*texts, *(secret for document in documents for secret in secrets_in(document)))
    found = {secret for secret in every if len(secret) >= _SHORTEST}
    longest_first = sorted(found, key=lambda secret: (-len(secret), secret))
    # With what they share before and behind them, a search would try each of them at each letter.
    words = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None


def without_credentials(value: Any) -> Any:
    """Removes what ``hidden_text`` finds from a document's texts and keys: the last check before the document leaves.

    The caller has already hidden what names and kinds reveal.
    """
    if isinstance(value, str):
        return hidden_text(value)
    if isinstance(value, Mapping):
        return {
            hidden_text(key) if isinstance(key, str) else key: without_credentials(one) for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_credentials(one) for one in value]
    return value
