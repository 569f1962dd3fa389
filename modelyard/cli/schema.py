"""Print a JSON Schema (2020-12) of a file, or of the JSON output of commands."""

import json
import sys
from argparse import ArgumentParser, Namespace
from importlib.resources import files
from typing import Any

from modelyard.cli.exit import Exit

SCHEMAS = {
    "stack": ("modelyard.stack", "stack.schema.json"),
    "prices": ("modelyard.plan.cost", "prices.schema.json"),
    "hardware": ("modelyard.hardware", "hardware.schema.json"),
    "plan": ("modelyard.plan", "plan.schema.json"),
    "policy": ("modelyard.policy", "policy.schema.json"),
    "assertion": ("modelyard.policy", "assertion.schema.json"),
    "preview": ("modelyard.report", "preview.schema.json"),
    "drift": ("modelyard.report", "drift.schema.json"),
    "findings": ("modelyard.report", "findings.schema.json"),
    "outputs": ("modelyard.report", "outputs.schema.json"),
}

_ELSEWHERE = "urn:modelyard:schema:"
"""Prefix of a reference to another schema, or to a part of it."""
_OF_A_FILE = ("$schema", "$id", "$defs")


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        choices=tuple(SCHEMAS),
        default="stack",
        metavar="NAME",
        help=f"one of {', '.join(SCHEMAS)} (default stack)",
    )


def run(args: Namespace) -> Exit:
    """Prints the schema."""
    sys.stdout.write(printed(args.name))
    return Exit.FINE


def printed(name: str) -> str:
    """The text of a schema that refers to no other one: a validator gets it alone and cannot find the others."""
    text = _text(name)
    return json.dumps(bundled(name), indent=2, ensure_ascii=False) + "\n" if f'"$ref": "{_ELSEWHERE}' in text else text


def bundled(name: str) -> dict[str, Any]:
    """A schema that contains the definitions it references in other schemas."""
    schema: dict[str, Any] = json.loads(_text(name))
    own = schema.setdefault("$defs", {})
    names: dict[str, str] = {}
    schema |= {key: _bundle(value, "", own, names) for key, value in schema.items() if key != "$defs"}
    for key in list(own):
        if key not in names.values():
            own[key] = _bundle(own[key], "", own, names)
    return schema


def _bundle(value: Any, source: str, own: dict[str, Any], names: dict[str, str]) -> Any:
    """A part of a schema, with references to other schemas replaced by local references.

    Args:
        value: the part of the schema.
        source: name of the schema that contains the part; empty for the bundled one.
        own: the bundled definitions; found ones are added.
        names: the names of added definitions, by reference.
    """
    if isinstance(value, list):
        return [_bundle(one, source, own, names) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _bundle(one, source, own, names) for key, one in value.items() if key != "$ref"}
    reference = value.get("$ref")
    if not isinstance(reference, str):
        return made | ({"$ref": reference} if "$ref" in value else {})
    if source and reference.startswith("#"):
        # A reference to the whole schema has nothing after #.
        reference = f"{_ELSEWHERE}{source}{reference}".removesuffix("#")
    if not reference.startswith(_ELSEWHERE):
        return {"$ref": reference, **made}
    if reference not in names:
        other, _, key = reference.removeprefix(_ELSEWHERE).partition("#/$defs/")
        schema = json.loads(_text(other))
        part = schema["$defs"][key] if key else {name: one for name, one in schema.items() if name not in _OF_A_FILE}
        name = key or other
        names[reference] = name if name not in own else f"{other}.{name}"
        own[names[reference]] = {}  # reserve the name, for definitions that refer back to themselves
        own[names[reference]] = _bundle(part, other, own, names)
    return {"$ref": f"#/$defs/{names[reference]}", **made}


def _text(name: str) -> str:
    package, file = SCHEMAS[name]
    return files(package).joinpath(file).read_text(encoding="utf-8")
