"""Where a field stands in an object: a path of field names, item keys, set values and indexes.

The text form is what users read and type, and it is read back exactly::

    spec.template.spec.containers[name=worker].resources.limits["nvidia.com/gpu"]
    spec.ports[port=80,protocol=TCP].targetPort       an item, by the keys of its list
    metadata.finalizers[="example.com/lock"]          a member of a set
    spec.template.spec.tolerations[0]                 an item of a list that is replaced as a whole

The wire form (``f:spec``, ``k:{"name":"worker"}``, ``v:"x"``, ``i:0``) is that of ``metadata.managedFields``.
"""

import json
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from modelyard.files import parse_json
from modelyard.patterns import regex

Scalar = str | int | float | bool | None


class Key(NamedTuple):
    """An item of an associative list, by the fields that identify it, sorted by name."""

    fields: tuple[tuple[str, Scalar], ...]


class Value(NamedTuple):
    """A member of a set, by its value."""

    value: Scalar


Element = str | int | Key | Value
"""A step of a path: a field's name, an index, an item's key, or a set's member."""

_PLAIN_NAME = regex(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_PLAIN_VALUE = regex(r"[A-Za-z_/][A-Za-z0-9_./:@-]*")
_LITERAL = {"true": True, "false": False, "null": None}
_NUMBER = regex(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_INDEX = regex(r"\d+(?=\])")
_BARE = regex(r"[^\],]+")


class Path(tuple[Element, ...]):
    """A field's place. A tuple of elements: hashable, sliceable, ordered by ``sort_key``."""

    __slots__ = ()

    def __str__(self) -> str:
        text = ""
        for element in self:
            if isinstance(element, str):
                if _PLAIN_NAME.fullmatch(element):
                    text += f".{element}" if text else element
                else:
                    text += f"[{encode_basestring(element)}]"
            else:
                text += _bracketed(element)
        return text

    def __repr__(self) -> str:
        return f"Path({str(self)!r})"

    def __truediv__(self, element: Element) -> "Path":
        return Path((*self, element))

    @property
    def parent(self) -> "Path":
        """The path without its last element; the root's parent is the root."""
        return Path(self[:-1])

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Orders paths element by element; indexes count as numbers."""
        return tuple([element if type(element) is str else _order(element) for element in self])

    @classmethod
    def parse(cls, text: str) -> "Path":
        """Reads a path's text form.

        Raises:
            ValueError: with the column (from 1), what is wrong there and what may stand there.
        """
        return cls(_Reader(text).elements())

    @property
    def server_text(self) -> str:
        """The path as the API server words it in a conflict: ``.spec.containers[name="worker"].image``."""
        return "".join(
            f".{element}" if isinstance(element, str) else _bracketed(element, plain=False) for element in self
        )


ROOT = Path()


@lru_cache(maxsize=4096)
def _order(element: Element) -> str:
    return f"{element:08d}" if type(element) is int else to_wire(element)


def _bracketed(element: int | Key | Value, plain: bool = True) -> str:
    if isinstance(element, Key):
        return "[" + ",".join(f"{_name(name)}={_scalar(value, plain)}" for name, value in element.fields) + "]"
    if isinstance(element, Value):
        return f"[={_scalar(element.value, plain)}]"
    return f"[{element}]"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else encode_basestring(name)


def _scalar(value: Scalar, plain: bool) -> str:
    if isinstance(value, str):
        if plain and value not in _LITERAL and _PLAIN_VALUE.fullmatch(value):
            return value
        return encode_basestring(value)
    return json.dumps(value)


class _Reader:
    """Reads one path from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def elements(self) -> list[Element]:
        found: list[Element] = []
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self.at += 1
                found.append(self._bracket())
                continue
            if self.text[self.at] == ".":
                # A leading dot is how the API server writes paths.
                self.at += 1
            elif found:
                raise self._error("expected '.' or '['")
            found.append(self._name("a field name"))
        return found

    def _name(self, what: str) -> str:
        match = _PLAIN_NAME.match(self.text, self.at)
        if match is None:
            raise self._error(f'expected {what} (quote other names: ["nvidia.com/gpu"])')
        self.at = match.end()
        return match.group()

    def _bracket(self) -> Element:
        if self._take("="):
            value = self._value()
            self._close()
            return Value(value)
        if self._peek() == '"':
            name = self._quoted()
            if self._peek() != "=":
                self._close()
                return name
            return self._key(name)
        number = _INDEX.match(self.text, self.at)
        if number:
            self.at = number.end()
            self._close()
            return int(number.group())
        return self._key(self._name("an index, a quoted name or key=value"))

    def _key(self, name: str) -> Key:
        fields: dict[str, Scalar] = {}
        while True:
            if not self._take("="):
                raise self._error(f"expected '=' after {name!r}")
            if name in fields:
                raise self._error(f"{name!r} appears twice")
            fields[name] = self._value()
            if not self._take(","):
                break
            name = self._quoted() if self._peek() == '"' else self._name("a key's name")
        self._close()
        return Key(tuple(sorted(fields.items())))

    def _value(self) -> Scalar:
        if self._peek() == '"':
            return self._quoted()
        match = _BARE.match(self.text, self.at)
        if match is None:
            raise self._error("expected a value")
        self.at = match.end()
        word = match.group().strip()
        if word in _LITERAL:
            return _LITERAL[word]
        if _NUMBER.fullmatch(word):
            number: int | float = parse_json(word)
            return number
        return word

    def _quoted(self) -> str:
        try:
            value, self.at = json.JSONDecoder().raw_decode(self.text, self.at)
        except ValueError:
            raise self._error("the quoted text does not end") from None
        return str(value)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, char: str) -> bool:
        if self._peek() != char:
            return False
        self.at += 1
        return True

    def _close(self) -> None:
        if not self._take("]"):
            raise self._error("expected ']'")

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self.text!r}, column {self.at + 1}: {what}")


_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def wire_scalar(value: Any) -> str:
    """A scalar as managedFields spell it: compact JSON, with the characters escaped that Go escapes."""
    if type(value) is str:
        text = encode_basestring(value)
        return text.translate(_HTML) if "<" in text or ">" in text or "&" in text or not text.isascii() else text
    if type(value) is float and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def to_wire(element: Element) -> str:
    """A path element in the form of managedFields."""
    if isinstance(element, str):
        return "f:" + element
    if isinstance(element, Key):
        return "k:{" + ",".join(f"{wire_scalar(name)}:{wire_scalar(value)}" for name, value in element.fields) + "}"
    if isinstance(element, Value):
        return "v:" + wire_scalar(element.value)
    return f"i:{element}"


@lru_cache(maxsize=4096)
def from_wire(text: str) -> Element:
    """Reads one path element of managedFields.

    Raises:
        ValueError: not a path element.
    """
    match text[:2]:
        case "f:":
            return text[2:]
        case "k:":
            return Key(tuple(sorted(parse_json(text[2:]).items())))
        case "v:":
            return Value(parse_json(text[2:]))
        case "i:":
            return int(text[2:])
    raise ValueError(f"{text!r} is not a path element of managedFields")
