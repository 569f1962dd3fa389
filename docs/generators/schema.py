"""JSON Schemas (2020-12) as tables for people to read."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from generators.markdown import anchor, code, listed, table

Schema = Mapping[str, Any]
_COLUMNS = ("key", "value", "default", "meaning")
_FORMATS = {
    "quantity": "quantity",
    "duration-text": "duration",
    "date": "day",
    "release": "`YY.MM` in quotes",
    "version": "`major.minor` in quotes",
    "python": "`major.minor` in quotes",
    "finding-code": "finding code",
    "gpu": "GPU",
    "gpu-name": "name",
    "tflops": "TFLOPS",
    "image": "image",
    "dns-label": "Kubernetes name",
    "dns-name": "Kubernetes name",
    "vpc": "ID of a VPC",
    "subnet": "ID of a subnet",
    "patch-version": "`v1`, `v2`, …",
    "path": "path",
    "url": "address",
    "controller": "address",
    "promql": "PromQL",
    "price": "USD",
}
_TYPES = {"object": "mapping", "array": "list", "string": "text", "integer": "whole number", "boolean": "true or false"}
_COUNTED = ("mapping", "Kubernetes name", "finding code", "whole number")
"""The forms of a list's items that take an s."""
_ANY = 999_999_999
"""A maximum that is no real limit: it only keeps numbers readable."""
_PUBLISHED = "urn:modelyard:schema:"
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


class Section(NamedTuple):
    """A mapping of a document, shown under its own heading."""

    title: str
    schema: Schema


def resolved(schema: Schema | bool, root: Schema) -> dict[str, Any]:
    """A schema with its local reference resolved; its own keys win. ``true`` allows any value."""
    if isinstance(schema, bool):
        return {}
    reference = schema.get("$ref", "")
    if not reference.startswith("#/"):
        return dict(schema)
    target = resolved(root["$defs"][reference.rpartition("/")[2]], root)
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def keys(section: Schema, root: Schema, *, linked: Mapping[str, str] | None = None) -> list[str]:
    """The table of a mapping's keys.

    Args:
        section: a schema with ``properties``.
        root: the document that contains the referenced definitions.
        linked: headings by key, for keys with their own section.
    """
    rows = []
    for key, value in section.get("properties", {}).items():
        found = resolved(value, root)
        shown = f"[{code(key)}](#{anchor(linked[key])})" if linked and key in linked else code(key)
        meaning = " ".join(filter(None, (found.get("description", ""), examples(value))))
        rows.append((shown, form(found, root), default(found, key in section.get("required", ())), meaning))
    return table(_COLUMNS, rows)


def form(schema: Schema, root: Schema) -> str:
    """The form of a value, in a few words."""
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        named = listed(one for one in schema["enum"] if one != "") + (" or empty" if "" in schema["enum"] else "")
        return "true or false" if True in schema["enum"] else named
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        return " or ".join(dict.fromkeys(form(resolved(one, root), root) for one in choices))
    reference = str(schema.get("$ref", ""))
    if reference.startswith(_PUBLISHED):
        name, _, inner = reference.removeprefix(_PUBLISHED).partition("#/$defs/")
        return f"[{name}: {inner}]({name}.md#{anchor(inner)})" if inner else f"[{name}]({name}.md)"
    if schema.get("format") == "count":
        return "whole number" + _bound(schema)
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    kinds = schema.get("type", "any value")
    words = [_kind(kind, schema, root) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(words) + _bound(schema)


def _kind(kind: str, schema: Schema, root: Schema) -> str:
    if kind == "array" and "prefixItems" in schema:
        return "list: " + ", ".join(form(resolved(one, root), root) for one in schema["prefixItems"])
    if kind == "array" and schema.get("items"):
        items = resolved(schema["items"], root)
        inner = "mapping" if "properties" in items else form(items, root)
        return f"list of {inner}{'s' if inner in _COUNTED else ''}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return "mapping by name"
    return _TYPES.get(kind, kind)


def _bound(schema: Schema) -> str:
    """The limits of a number, or of the length of a list or mapping."""
    most = schema.get("maxItems", schema.get("maxProperties"))
    if most is not None and ("items" in schema or isinstance(schema.get("additionalProperties"), Mapping)):
        return f", at most {most}"
    if "minimum" not in schema:
        return ""
    limited = schema.get("maximum", _ANY) < _ANY
    return f", {schema['minimum']} to {schema['maximum']}" if limited else f", {schema['minimum']} or more"


def default(schema: Schema, required: bool) -> str:
    """The default of a value; says so if there is none."""
    if required:
        return "required"
    if "default" not in schema:
        return ""
    value = schema["default"]
    if schema.get("format") == "duration-text":
        from modelyard.stack.durations import text

        return code(text(value))
    return code(value)


def examples(schema: Schema | bool) -> str:
    """A key's own examples, to append to its meaning; ignores the examples of a shared definition."""
    shown = [] if isinstance(schema, bool) else schema.get("examples", ())
    # YAML reads 3.10 without quotes as a number.
    shown = [f'"{one}"' if isinstance(one, str) and _NUMBER.fullmatch(one) else one for one in shown]
    return f"For example {listed(shown)}." if shown else ""


def sections(schema: Schema, root: Schema, before: str = "") -> Iterator[Section]:
    """All mappings with keys below a schema, each once, in reading order.

    Args:
        schema: the start; not included.
        root: the document that contains the referenced definitions.
        before: prefix for titles of mappings without their own name.
    """
    seen: set[str] = set()
    waiting = list(_below(schema, root, before))
    while waiting:
        section = waiting.pop(0)
        if section.title not in seen:
            seen.add(section.title)
            yield section
            waiting += _below(section.schema, root, f"{section.title}.")


def own_sections(schema: Schema, root: Schema, before: str = "") -> dict[str, str]:
    """Section titles by key, for the keys of a mapping with their own section; arguments as in ``sections``."""
    return {
        key: section.title
        for key, value in schema.get("properties", {}).items()
        for section in _inner(value, root, f"{before}{key}")
    }


def _below(schema: Schema, root: Schema, before: str) -> Iterator[Section]:
    for key, value in schema.get("properties", {}).items():
        yield from _inner(value, root, f"{before}{key}")


def _inner(schema: Schema | bool, root: Schema, title: str) -> Iterator[Section]:
    """The mappings with keys that a value may be or contain."""
    if isinstance(schema, bool):
        return
    reference = schema.get("$ref", "")
    if reference.startswith("#/"):
        # A definition is shown once, under its own name, wherever it is referenced.
        title = reference.rpartition("/")[2]
        schema = resolved({"$ref": reference}, root)
    if schema.get("properties"):
        yield Section(title, schema)
    for one in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("prefixItems", ())):
        yield from _inner(one, root, title)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            yield from _inner(schema[part], root, title)
