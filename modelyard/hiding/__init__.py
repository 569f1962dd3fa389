"""What is a secret, and how it is hidden in everything that leaves the process.

Three things say that a value is a secret: the kind of its object (the data of a Secret), the name of its field,
variable, option, header or parameter (``names``), and its own form (``forms``: a private key, a token with a known
beginning, a password inside an address). Texts that are documents themselves, as in a ConfigMap, are read as such.
Plans work on the real values; what shows or writes them asks ``hidden`` first.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from modelyard.files import parse_json
from modelyard.hiding.forms import TELLS, hidden_arguments, hidden_assignments, hidden_text
from modelyard.hiding.names import CHANGED, HIDDEN, is_beside, is_hidden_or_plain, is_plain, is_secret
from modelyard.names import LEDGER_NOTE

__all__ = [
    "CHANGED",
    "DATA",
    "HIDDEN",
    "hidden",
    "hidden_at",
    "hidden_below",
    "hidden_lines",
    "hidden_pair",
    "hidden_text",
    "hidden_words",
    "is_secret",
    "is_secret_kind",
    "marked",
    "secrets_in",
    "without_credentials",
    "words_without",
]
DATA: Final = ("data", "stringData", "binaryData")
"""Fields of a Secret whose values are secret, whatever their names."""
_SHORTEST: Final = 4
"""Letters of the shortest secret that is looked for in other texts."""
_LONGEST: Final = 1024 * 1024
"""Letters of the longest text that is read as a document."""
_APPLIED: Final = ("last-applied-configuration", "/last-applied", "cattle.io/applied")
"""How the names of annotations end that have the whole object once more."""
_STEP = re.compile(
    r"""(?P<name>[^.\[\]]+)|\["(?P<quoted>[^"]*)"\]|\[(?P<key>\w+)="?(?P<item>[^\]"]*)"?[^\]]*\]|\[[^\]]*\]"""
)
"""A step of a path's text."""
_NAMING: Final = ("name", "key", "header", "headerName")
"""Fields of an item that name the value beside it."""
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4}){3,}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=?|[A-Za-z0-9+/]{2}(?:==)?)")
_MANY: Final = ("password", "token", "secret", "credential", "key", "cred")
"""Words whose mappings hold secrets under names of their own: ``tokens: {ada: …}``."""
_SCHEMA: Final = frozenset({"$ref", "properties", "enum", "oneOf", "anyOf", "allOf", "default", "description"})
"""Keys of a mapping that describes a field."""
_EXPRESSION = re.compile(r"\{\{[^\n]*?\}\}")
_ALIAS = re.compile(r"(?:^|[\s:,\[{-])\*\w")


def hidden(value: Any, *, inside: bool = False) -> Any:
    """The value with ``HIDDEN`` in place of what looks like a secret; the same value where nothing does.

    A mapping that is a whole Secret loses its data; in any other, names and forms decide.

    Args:
        value: of a document.
        inside: whether it is part of an object of a kind whose data is secret.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        named = any(isinstance(value.get(name), str) and is_secret(value[name]) for name in _NAMING)
        inside = inside or is_secret_kind(value.get("kind"))
        own = value.get("kind") == "Secret"
        parts = {key: _part(str(key), inner, named and key == "value", inside, own) for key, inner in value.items()}
        return parts if any(parts[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, list) or type(value) is tuple:
        return _items(value, [hidden(item, inside=inside) for item in value])
    return value


def _part(name: str, value: Any, secret: bool, inside: bool, own: bool) -> Any:
    # Other kinds than Secret have lists of references under that name.
    if name == "stringData" or (inside and name in DATA and (own or isinstance(value, Mapping))):
        return _hidden_data(value)
    return hidden_at(name, value, secret, inside=inside)


def _items(value: Any, items: list[Any]) -> Any:
    """A list with other items, their command line without secrets; the same list where nothing differs."""
    if any(isinstance(item, str) and item.startswith("-") for item in items):
        shown = hidden_arguments([item if isinstance(item, str) else None for item in items])
        items = [item if one is None else one for item, one in zip(items, shown, strict=True)]
    same = all(one is other or one == other for one, other in zip(items, value, strict=True))
    return value if same else type(value)(items)


def hidden_at(name: str, value: Any, secret: bool = False, *, inside: bool = False) -> Any:
    """The value of a field of that name; ``secret`` says that it is one whatever the field's name."""
    if isinstance(value, str):
        if name.endswith(_APPLIED):
            return _noted(value)
        if name == LEDGER_NOTE:
            return _held(value)
    if secret or is_secret(name):
        if is_plain(name, value):
            return value
        if isinstance(value, str | int | float):
            return HIDDEN
        # Lists under "secrets" are of names or of references.
        if isinstance(value, list) and not name.lower().endswith("secrets"):
            return _items(value, [hidden_at(name, item, True) for item in value])
        if isinstance(value, list | Mapping) and any(word in name.lower() for word in _MANY):
            return _credentials(value)
    return hidden(value, inside=inside)


def _credentials(value: Any) -> Any:
    """What a mapping has under a secret's name: texts are secrets, but for what tells about them."""
    if isinstance(value, list):
        return _items(value, [_credentials(item) if isinstance(item, Mapping) else hidden(item) for item in value])
    if not _SCHEMA.isdisjoint(value):
        return hidden(value)
    parts = {
        key: hidden_at(str(key), inner, isinstance(inner, str | list) and not is_beside(str(key)))
        if not isinstance(inner, Mapping) or is_beside(str(key))
        else _credentials(inner)
        for key, inner in value.items()
    }
    return parts if any(parts[key] is not inner for key, inner in value.items()) else value


def hidden_below(steps: Sequence[str | Mapping[str, Any]], value: Any, kind: str = "") -> Any:
    """The value of a field of an object, as it is hidden in the whole object.

    Args:
        steps: from the object to the field: names, and what an item of a list has that tells it from the others.
        value: of the field.
        kind: the object's.
    """
    whole = value
    for step in reversed(steps):
        whole = {step: whole} if isinstance(step, str) else [{**step, **whole} if isinstance(whole, Mapping) else whole]
    shown: Any = hidden({"kind": kind, **whole} if kind and isinstance(whole, Mapping) else whole)
    for step in steps:
        if not isinstance(shown, list | Mapping):
            return HIDDEN
        at: Any = step if isinstance(step, str) else 0
        shown = shown[at]
    if steps and isinstance(steps[-1], Mapping) and isinstance(value, Mapping):
        same = all(shown[key] is inner for key, inner in value.items())
        return value if same else {key: shown[key] for key in value}
    return shown


def without_credentials(value: Any) -> Any:
    """A document whose texts, keys among them, are without what ``hidden_text`` finds: the last look before it leaves.

    The caller has already hidden what names and kinds give away.
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


def hidden_pair(before: Any, after: Any) -> tuple[Any, Any]:
    """Two values of the same field, hidden, with ``CHANGED`` in the later one where what is hidden differs."""
    was, now = hidden(before), hidden(after)
    return was, marked(before, after, was, now)


def marked(before: Any, after: Any, was: Any, now: Any) -> Any:
    """The later of two hidden values (``was``, ``now``) with ``CHANGED`` where it hides another value than before.

    A value that was hidden before it came here, as on a recorded platform, is not known to differ.
    """
    if now is after:
        return now
    if isinstance(now, str):
        differs = was == now and before != after and before != was
        return now.replace(HIDDEN, CHANGED) if differs else now
    if isinstance(now, dict) and isinstance(before, Mapping):
        return {
            key: marked(before[key], after[key], was[key], inner) if key in before else inner
            for key, inner in now.items()
        }
    if isinstance(now, list) and isinstance(before, list):
        places = {_identity(item, index): index for index, item in enumerate(before)}
        matched = [places.get(_identity(item, index)) for index, item in enumerate(after)]
        return [
            inner if at is None else marked(before[at], item, was[at], inner)
            for at, item, inner in zip(matched, after, now, strict=True)
        ]
    return now


def secrets_in(value: Any) -> frozenset[str]:
    """The texts of a document that ``hidden`` would hide whole, for callers that show the document's own lines."""
    return frozenset(_differing(value, hidden(value)))


def _differing(value: Any, shown: Any) -> Iterator[str]:
    if shown is value:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _differing(inner, shown[key])
    elif isinstance(value, list | tuple):
        for inner, other in zip(value, shown, strict=True):
            yield from _differing(inner, other)
    elif shown == HIDDEN:
        yield from (line.strip() for line in str(value).splitlines() if line.strip())
    elif isinstance(shown, str) and shown.count(HIDDEN) <= _PARTS:
        # What stands where something is hidden: the password of an address, for example.
        found = re.fullmatch(re.escape(shown).replace(re.escape(HIDDEN), "(.+?)"), value, re.DOTALL)
        for part in found.groups() if found is not None else ():
            yield from (line.strip() for line in part.strip("\"'").splitlines() if line.strip())


def hidden_lines(lines: Iterable[str], *documents: Any, texts: Iterable[str] = ()) -> list[str]:
    """Lines of a file without what looks like a secret in them, or in the documents that they are of.

    Args:
        lines: of the file.
        documents: that the file holds.
        texts: further secrets.
    """
    pattern = _any_of(documents, texts)
    return [hidden(line if pattern is None else pattern.sub(HIDDEN, line)) for line in lines]


def hidden_words(text: str, *documents: Any) -> str:
    """A message about documents without the secrets in them that it quotes, and without credentials."""
    return words_without(documents)(text)


def words_without(documents: Iterable[Any]) -> Callable[[str], str]:
    """The same for many messages."""
    pattern = _any_of(documents)
    return lambda text: hidden_text(text if pattern is None else pattern.sub(HIDDEN, text))


def _any_of(documents: Iterable[Any], texts: Iterable[str] = ()) -> re.Pattern[str] | None:
    """Matches every secret of the documents; the shortest, which are words of other texts, are left out."""
    every = (*texts, *(secret for document in documents for secret in secrets_in(document)))
    found = {secret for secret in every if len(secret) >= _SHORTEST}
    longest_first = sorted(found, key=lambda secret: (-len(secret), secret))
    words = "|".join(rf"(?<!\w){re.escape(secret)}(?!\w)" for secret in longest_first)
    return re.compile(words) if words else None


@lru_cache(maxsize=512)
def is_secret_kind(kind: Any) -> bool:
    """Whether objects of a kind hold secrets as data: a Secret, a list of them, and what other kinds make one of."""
    return isinstance(kind, str) and kind.lower().endswith(("secret", "secretlist", "secrets"))


def _hidden_data(value: Any) -> Any:
    """The data of a Secret: its keys, no value."""
    if isinstance(value, Mapping):
        return {key: _hidden_data(inner) for key, inner in value.items()}
    return value if value is None or value in (HIDDEN, CHANGED) else HIDDEN


def _text(text: str) -> str:
    """A string of an object, which may be a line of shell, a header, a query, or the content of a file."""
    if len(text) >= _ENCODED and (inner := _decoded(text)) is not None:
        return text if hidden(inner) is inner else HIDDEN
    if not TELLS.search(text):
        return text
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            document = parse_json(text)
            shown = hidden(document)
            return text if shown is document else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    documents = ":" in text and ("\n" in text.strip() or "{" in text)
    shown = hidden_assignments(_document(text) if documents else text)
    return text if shown == text else shown


_ENCODED: Final = 16
"""Letters of the shortest text that is looked at as base64."""
_PARTS: Final = 8
"""Most hidden parts of a text that are looked for elsewhere."""


def _decoded(text: str) -> str | None:
    """What a text of base64 encodes, which may have line breaks; None where that is no text."""
    compact = "".join(text.split()) if text[-1].isspace() or "\n" in text else text
    if _BASE64.fullmatch(compact) is None:
        return None
    try:
        found = b64decode(compact + "=" * (-len(compact) % 4), validate=True).decode()
    except ValueError:
        return None
    return found if "".join(found.split()).isprintable() else None


def _document(text: str) -> str:
    """A text of YAML, or a template of one, without the secrets of its documents; the same text where it is none."""
    if len(text) > _LONGEST or _ALIAS.search(text):
        return text
    from modelyard.hiding.documents import placed

    with suppress(ValueError, RecursionError):
        # What a template computes is a word to YAML, and of the same length.
        documents = placed(_EXPRESSION.sub(lambda found: "x" * len(found[0]), text) if "{{" in text else text)
        for start, end in sorted(_hidden_places(documents, hidden(documents)), reverse=True):
            was = text[start:end].rstrip()
            if not is_hidden_or_plain("", was.strip("\"'")):
                text = f"{text[:start]}{HIDDEN}{text[start + len(was) :]}"
    return text


def _hidden_places(value: Any, shown: Any) -> Iterator[tuple[int, int]]:
    """Where the texts of documents stand that are hidden whole."""
    if shown is value:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _hidden_places(inner, shown[key])
    elif isinstance(value, list):
        for inner, other in zip(value, shown, strict=True):
            yield from _hidden_places(inner, other)
    elif shown == HIDDEN:
        yield value.start, value.end


def _noted(text: str) -> str:
    """What kubectl notes of an object, which is the whole object once more."""
    try:
        noted = parse_json(text)
    except ValueError:
        return HIDDEN
    shown = hidden(noted)
    return text if shown is noted else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _held(text: str) -> str:
    """What a ledger notes of the fields before: ``[path, value]`` each."""
    try:
        ledger = parse_json(text)
        held = [[path, _field(path, value)] for path, value in ledger["held"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return HIDDEN
    if held == ledger["held"]:
        return text
    return json.dumps({**ledger, "held": held}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _field(path: str, value: Any) -> Any:
    steps: list[str | Mapping[str, Any]] = [
        {found["key"]: found["item"]} if found["key"] else found["name"] or found["quoted"] or {}
        for found in _STEP.finditer(path)
    ]
    # A ledger does not say of what kind its object is: data may be that of a Secret.
    return hidden_below(steps, value, "Secret")


def _identity(item: Any, index: int) -> Any:
    """What tells an item of a list from the others: its name, else its place."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else index
