"""Hides the secrets of a value from a document: by its kind, by names and by forms; texts that are documents too."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from modelyard.files import parse_json
from modelyard.hiding.arguments import hidden_arguments, hidden_for_any_program
from modelyard.hiding.confidential import Confidential
from modelyard.hiding.forms import SIGNS, hidden_assignments, hidden_settings
from modelyard.hiding.names import CHANGED, HIDDEN, is_beside, is_hidden_or_plain, is_plain, is_secret
from modelyard.names import LEDGER_NOTE
from modelyard.patterns import regex

DATA: Final = ("data", "stringData", "binaryData")
"""Fields of a Secret whose values are secret, regardless of their names."""
ValuePath = tuple[str | int, ...]
_LONGEST: Final = 1024 * 1024
"""Length of the longest text that is parsed as a document."""
_REMEMBERED: Final = 128 * 1024
"""Length of the longest text that is remembered with what is shown of it."""
_APPLIED: Final = ("last-applied-configuration", "/last-applied", "cattle.io/applied")
"""Suffixes of annotation names whose value is a copy of the whole object."""
_NOTHING: Final[Mapping[str, Any]] = {}
_STEP = regex(
    r"""(?P<name>[^.\[\]]+)|\["(?P<quoted>[^"]*)"\]|\[(?P<key>\w+)="?(?P<item>[^\]"]*)"?[^\]]*\]|\[[^\]]*\]"""
)
"""A step of a path's text."""
_NAMING: Final = (
    *("name", "key", "header", "headerName", "Name", "Key", "variable", "parameter", "field", "option", "id", "env"),
    *("envName", "envVar", "var", "property", "setting", "attribute", "label", "k", "flag", "arg", "type"),
)
"""Fields of an item that name the value next to it."""
_NAMED: Final = frozenset(
    {
        *("value", "values", "val", "default", "defaultValue", "content", "contents", "text", "string", "Value"),
        *("Values", "v", "raw", "plain", "stringValue", "valueString"),
    }
)
"""Fields of an item that hold the value that another field names."""
_TLS: Final = frozenset({"tls", "ssl", "mtls", "pki", "x509"})
"""Fields whose ``key`` is a private key, unless they say where else it is."""
_SCRIPTS: Final = frozenset({"script", "before_script", "after_script", "commands", "run", "steps"})
"""Fields whose lists are lines of shell; so may be the only item of ``args``."""
_ROUTING: Final = ("routingkey", "routing_key", "routing-key")
_INTEGRATION = regex(r"[0-9a-zA-Z]{32}")
"""A key of PagerDuty; a routing key of a broker is the name of a queue."""
_REFERS: Final = frozenset({"name", "secretName", "secretRef", "secret", "existingSecret", "operator"})
"""Fields next to which a value is that of a label, or the name of a key elsewhere."""
_BASE64 = regex(r"(?:[A-Za-z0-9+/]{4}){3,}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=?|[A-Za-z0-9+/]{2}(?:==)?)")
_MANY: Final = ("password", "token", "secret", "credential", "key", "cred")
"""Words whose mappings hold secrets under arbitrary names: ``tokens: {ada: …}``."""
_SCHEMA: Final = frozenset(
    {"$ref", "properties", "enum", "const", "oneOf", "anyOf", "allOf", "default", "description", "examples"}
)
"""Keys of a mapping that describes a field."""
_SCHEMA_VALUES: Final = frozenset({"default", "const", "enum", "example", "examples", "value", "values"})
"""Schema keys that hold values of the field."""
_TYPES: Final = ("string", "array", "object", "integer", "number", "boolean", "null")
"""Values that a schema has for a field's type."""
_SCHEMA_PARTS: Final = frozenset(
    {"items", "additionalProperties", "oneOf", "anyOf", "allOf", "if", "then", "else", "not"}
)
"""Schema keys that describe the field further."""
_KINDS: Final = ("secret", "credential", "password", "token", "apikey", "privatekey")
"""Suffixes of kinds whose data is secret."""
_ARGUMENT = regex(r"\A(?:-|set|login|rabbitmqctl)|[=/]")
"""An item of a list that may be a command line."""
_COMMAND: Final = ".command"
_OWNED: Final = "fieldsV1"
"""The fields that a manager owns, in ``metadata.managedFields``: half of an object."""
_SPECIAL: Final = frozenset({*DATA, _OWNED, "literal", "args", LEDGER_NOTE})
"""Other names of fields with a meaning of their own."""
_NEVER_SECRET: Final = frozenset({int, float, bool, type(None)})
"""Types of values that are secrets only under a secret's name."""
_ENCODED: Final = 16
"""Length of the shortest text that is checked for base64."""


def hidden(value: Any, *, inside: bool = False) -> Any:
    """Returns the value with ``HIDDEN`` for everything that looks like a secret; the value itself if nothing does.

    A mapping that is a whole Secret loses its data; in any other, names and forms decide.

    Args:
        value: a value from a document, which may be confidential.
        inside: whether it is part of an object of a kind whose data is secret.
    """
    form = type(value)
    if form in _NEVER_SECRET:
        return value
    if isinstance(value, str):
        return _once(_text, value)
    if form is dict or isinstance(value, Mapping):
        named = not _NAMED.isdisjoint(value) and _is_named(value)
        kind = value.get("kind")
        # A schema has a mapping there.
        inside = inside or (isinstance(kind, str) and is_secret_kind(kind))
        own = kind == "Secret"
        if isinstance(kind, str) and is_secret_kind(kind):
            value = _with_hidden_value(value)
        other = {}
        for key, inner in value.items():
            name, secret = str(key), named and key in _NAMED
            ordinary = not secret and _is_ordinary(name)
            shown = hidden(inner, inside=inside) if ordinary else _part(name, inner, secret, inside, own)
            if shown is not inner:
                other[key] = shown
        if "command" in value and "args" in value:
            other |= _command_line(value, other.get("command", value["command"]))
        return {**value, **other} if other and any(one is not value[key] for key, one in other.items()) else value
    if form is list or form is tuple or isinstance(value, list):
        return _items(value, [hidden(item, inside=inside) for item in value])
    return hidden(value.reveal(), inside=inside) if isinstance(value, Confidential) else value


def _command_line(value: Mapping[Any, Any], command: Any) -> dict[str, Any]:
    """Hides in a container's arguments what its command makes a secret."""
    args = value["args"]
    if not isinstance(command, list | tuple) or not isinstance(args, list | tuple):
        return {}
    shown = _items(type(args)((*command, *args)), [*command, *map(hidden, args)])[len(command) :]
    return {"args": _same(args, list(shown))}


def _with_hidden_value(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Hides ``spec.value`` of a kind whose objects are secrets."""
    spec = value.get("spec")
    if not isinstance(spec, Mapping) or "value" not in spec:
        return value
    return _with(value, "spec", _with(spec, "value", hidden_at("secret", spec["value"], True)))


def _is_named(value: Mapping[Any, Any]) -> bool:
    """Whether one field of an item names another field's value as a secret."""
    names = [found for name in _NAMING if isinstance(found := value.get(name), str)]
    # Label selectors have an operator.
    return "operator" not in value and any(map(is_secret, names))


@lru_cache(maxsize=4096)
def _is_ordinary(name: str) -> bool:
    """Whether the name of a field does not matter: only the field's value can make it a secret."""
    lower = name.lower()
    special = name in _SPECIAL or name in _TLS or name in _SCRIPTS
    return not (special or name.endswith(_APPLIED) or lower.endswith(_ROUTING) or is_secret(name))


def _part(name: str, value: Any, secret: bool, inside: bool, own: bool) -> Any:
    # Other kinds than Secret have lists of references under that name.
    if name == "stringData" or (inside and name in DATA and (own or isinstance(value, Mapping))):
        return _hidden_data(value)
    if name == _OWNED and _names_only(value):
        return value
    # Text of a template that becomes data of a Secret.
    if inside and name == "literal" and not is_plain(name, value):
        return _hidden_data(value)
    return hidden_at(name, value, secret, inside=inside)


def _names_only(value: Any) -> bool:
    """Whether a mapping consists of mappings and holds no value."""
    # Most of the mappings are empty.
    return type(value) is dict and all(inner == {} or _names_only(inner) for inner in value.values())


def _items(value: Any, items: list[Any]) -> Any:
    """Returns a list with other items, its command line without secrets; the list itself if nothing differs."""
    if any(isinstance(item, str) and _ARGUMENT.search(item) for item in items):
        words = [str(item) if isinstance(item, str | int | float) else None for item in items]
        items = [
            item if one is word else one for item, word, one in zip(items, words, hidden_arguments(words), strict=True)
        ]
    return _same(value, items)


def _same(value: Any, items: list[Any]) -> Any:
    same = all(one is other or one == other for one, other in zip(items, value, strict=True))
    return value if same else type(value)(items)


def hidden_at(name: str, value: Any, secret: bool = False, *, inside: bool = False) -> Any:
    """Hides the value of a field with that name; ``secret`` marks it as one regardless of the name."""
    if isinstance(value, str):
        if name.endswith(_APPLIED):
            return _once(_noted, value)
        if name == LEDGER_NOTE:
            return _once(_held, value)
        secret = secret or (name.lower().endswith(_ROUTING) and _INTEGRATION.fullmatch(value) is not None)
    elif isinstance(value, Confidential):
        return hidden_at(name, value.reveal(), secret, inside=inside)
    if secret or is_secret(name):
        if is_plain(name, value):
            return value
        if isinstance(value, str | int | float):
            return HIDDEN
        # Lists under "secrets" contain names or references.
        if isinstance(value, list) and not name.lower().endswith("secrets"):
            return _items(value, [hidden_at(name, item, True) for item in value])
        if isinstance(value, list | Mapping) and any(word in name.lower() for word in _MANY):
            return _credentials(name, value)
        if isinstance(value, Mapping) and _is_schema(value):
            return _described(name, value)
    if isinstance(value, list | tuple) and _is_script(name, value):
        return _same(value, [hidden(item, inside=inside) for item in value])
    if name in _TLS and isinstance(value, Mapping) and "key" in value and _REFERS.isdisjoint(value):
        value = _with(value, "key", hidden_at("tlsKey", value["key"], True))
    return hidden(value, inside=inside)


def _is_script(name: str, value: Sequence[Any]) -> bool:
    return name in _SCRIPTS or (name == "args" and len(value) == 1 and not str(value[0]).startswith("-"))


def _with(value: Mapping[Any, Any], key: str, inner: Any) -> Mapping[Any, Any]:
    return value if inner is value[key] else {**value, key: inner}


def _credentials(name: str, value: Any) -> Any:
    """Hides a mapping under a secret's name: texts are secrets, except those that describe the secret."""
    if isinstance(value, list):
        return _items(
            value, [_credentials(name, item) if isinstance(item, Mapping) else hidden(item) for item in value]
        )
    if _is_schema(value):
        return _described(name, value)
    parts = {
        key: hidden_at(str(key), inner, isinstance(inner, str | list) and not is_beside(str(key)))
        if not isinstance(inner, Mapping) or is_beside(str(key))
        else _credentials(name, inner)
        for key, inner in value.items()
    }
    return parts if any(parts[key] is not inner for key, inner in value.items()) else value


def _is_schema(value: Mapping[Any, Any]) -> bool:
    return not _SCHEMA.isdisjoint(value) or value.get("type") in _TYPES


def _described(name: str, value: Any) -> Any:
    """Hides a schema of a field with a secret's name: the values that it allows are secrets."""
    if isinstance(value, list):
        return _items(value, [_described(name, item) for item in value])
    if not isinstance(value, Mapping):
        return hidden(value)
    parts = {key: _says(name, str(key), inner) for key, inner in value.items()}
    return parts if any(parts[key] is not inner for key, inner in value.items()) else value


def _says(name: str, key: str, value: Any) -> Any:
    # Login methods are not secrets.
    if key in _SCHEMA_VALUES and (key != "enum" or not name.lower().endswith("auth")):
        return hidden_at(name if isinstance(value, str | int | float) else "credentials", value, True)
    if key in _SCHEMA_PARTS:
        return _described(name, value)
    if key == "properties" and isinstance(value, Mapping):
        parts = {
            one: hidden_at(str(one), inner) if is_beside(str(one)) else _described(name, inner)
            for one, inner in value.items()
        }
        return parts if any(parts[one] is not inner for one, inner in value.items()) else value
    return hidden(value)


def hidden_below(
    steps: Sequence[str | Mapping[str, Any]], value: Any, kind: str = "", beside: Mapping[str, Any] = _NOTHING
) -> Any:
    """Returns the value of an object's field, hidden as in the whole object.

    Args:
        steps: from the object to the field: names, and for an item of a list what identifies it.
        value: the field's value.
        kind: the object's kind.
        beside: fields next to this one, which may make it a secret.
    """
    whole = {**beside, steps[-1]: value} if beside and isinstance(steps[-1], str) else value
    for step in reversed(steps[:-1] if whole is not value else steps):
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


@lru_cache(maxsize=512)
def is_secret_kind(kind: str) -> bool:
    """Whether objects of a kind hold secrets as data: a Secret, a list of them, or a kind that creates one."""
    return kind.lower().removesuffix("list").removesuffix("s").endswith(_KINDS)


def _hidden_data(value: Any) -> Any:
    """Returns the data of a Secret: its keys, no values."""
    if isinstance(value, Mapping):
        return {key: _hidden_data(inner) for key, inner in value.items()}
    return value if value is None or value in (HIDDEN, CHANGED) else HIDDEN


def _once(how: Callable[[str], str], text: str) -> str:
    """Hides secrets in a text as ``how`` does, once for all objects, fields and findings with it."""
    if len(text) > _REMEMBERED:
        return how(text)
    shown = _other(how, text)
    return text if shown is None else shown


@lru_cache(maxsize=4096)
def _other(how: Callable[[str], str], text: str) -> str | None:
    """Returns the text without its secrets; None if it has none: an equal text is another object."""
    shown = how(text)
    return None if shown is text else shown


def _text(text: str) -> str:
    """Hides secrets in a string of an object: a line of shell, a header, a query, or the content of a file."""
    if len(text) >= _ENCODED and (inner := _decoded(text)) is not None:
        return text if hidden(inner) is inner else HIDDEN
    if not SIGNS.search(text):
        return text
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            document = parse_json(text)
            shown = hidden(document)
            return text if shown is document else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    documents = ":" in text and ("\n" in text.strip() or "{" in text or ": [" in text)
    # To YAML, some settings are texts that end early.
    shown = hidden_assignments(_document(hidden_settings(text)) if documents else text)
    return text if shown == text else shown


def _decoded(text: str) -> str | None:
    """Decodes a base64 text, which may have line breaks; None if the result is not text."""
    compact = "".join(text.split()) if text[-1].isspace() or "\n" in text else text
    if _BASE64.fullmatch(compact) is None:
        return None
    try:
        found = b64decode(compact + "=" * (-len(compact) % 4), validate=True).decode()
    except ValueError:
        return None
    return found if "".join(found.split()).isprintable() else None


def _document(text: str) -> str:
    """Hides the secrets in a YAML text, or a template of one; returns the text itself if it is not YAML."""
    for start, end in yaml_places(text):
        was = text[start:end].rstrip()
        if not is_hidden_or_plain("", was.strip("\"'")):
            text = f"{text[:start]}{HIDDEN}{text[start + len(was) :]}"
    return text


def yaml_places(text: str) -> list[tuple[int, int]]:
    """Returns the positions of secrets in a YAML text, last first; none if it is not YAML."""
    if len(text) > _LONGEST:
        return []
    from modelyard.hiding.documents import placed

    with suppress(ValueError, RecursionError):
        documents = placed(text)
        return sorted(set(_hidden_places(text, documents)), reverse=True)
    return []


def _hidden_places(text: str, documents: list[Any]) -> Iterator[tuple[int, int]]:
    """Yields the positions of the documents' texts that are hidden, whole or in one part."""
    for _, value, shown in hidden_leaves(documents, hidden(documents)):
        if shown is value:
            continue
        # Every text of such documents knows its position.
        start, end = value.start, value.end
        lead, _, rest = shown.partition(HIDDEN)
        secret = value[len(lead) : len(value) - len(rest)]
        if not lead and not rest:
            yield start, end
        elif value == f"{lead}{secret}{rest}" and (at := text.rfind(f"{secret}{rest}", start, end)) > start:
            yield at, at + len(secret)


def hidden_leaves(value: Any, shown: Any, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Any, Any]]:
    """Yields the texts, numbers and so on of a value with their paths and what ``hidden`` shows of them.

    Leaves out mappings and lists of which it shows everything. If it hides one whole, it hides each value in it.
    Values of which it shows everything are among the results: a value may itself be the text ``(hidden)``.
    """
    if isinstance(value, Confidential):
        value = value.reveal()
    if not isinstance(value, Mapping | list | tuple):
        yield path, value, shown
    elif shown is not value:
        whole = shown == HIDDEN
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from hidden_leaves(inner, HIDDEN if whole else shown[key], (*path, key))


def _noted(text: str) -> str:
    """Hides secrets in kubectl's annotation, which is a copy of the whole object."""
    try:
        noted = parse_json(text)
    except ValueError:
        return HIDDEN
    shown = hidden(noted)
    return text if shown is noted else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _held(text: str) -> str:
    """Hides secrets in a ledger of earlier fields: ``[path, value]`` each."""
    try:
        ledger = parse_json(text)
        commands = {path: value for path, value in ledger["held"] if path.endswith(_COMMAND)}
        held = [[path, _field(path, value, commands)] for path, value in ledger["held"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        return HIDDEN
    if held == ledger["held"]:
        return text
    return json.dumps({**ledger, "held": held}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _field(path: str, value: Any, commands: Mapping[str, Any]) -> Any:
    """Hides a field of a ledger, which has a container's command only if that is held too."""
    steps: list[str | Mapping[str, Any]] = [
        {found["key"]: found["item"]} if found["key"] else found["name"] or found["quoted"] or {}
        for found in _STEP.finditer(path)
    ]
    command = commands.get(f"{path.removesuffix('.args')}{_COMMAND}") if path.endswith(".args") else None
    # A ledger does not record the kind of its object: data may be that of a Secret.
    shown = hidden_below(steps, value, "Secret", {} if command is None else {"command": command})
    if path.endswith(".args") and command is None and isinstance(shown, list):
        words = hidden_for_any_program([item if isinstance(item, str) else None for item in shown])
        return [item if word is None else word for item, word in zip(shown, words, strict=True)]
    return shown
