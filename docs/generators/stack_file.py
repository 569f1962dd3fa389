"""The page of the stack file, from its JSON Schema."""

import json
from typing import TYPE_CHECKING

from generators.markdown import anchor, code, listed, page, table
from generators.paths import ROOT
from generators.schema import Schema, default, examples, form, keys, resolved

if TYPE_CHECKING:
    from modelyard.stack.config import Targets

_FORMS = {"whole number": "count", "quantity": "quantity", "duration": "duration", "true or false": "flag"}


def stack_file() -> str:
    """The page of the stack file."""
    from modelyard.stack.config import Targets

    text = (ROOT / "modelyard" / "stack" / "stack.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    overview, details = [], []
    required = schema["properties"]["config"]["required"]
    for key, value in schema["properties"]["config"]["properties"].items():
        found = resolved(value, schema)
        title = key.removeprefix("modelyard:")
        inner = resolved(found["items"], schema) if "items" in found else found
        shown = f"[{code(key)}](#{anchor(title)})" if "properties" in inner else code(key)
        meaning = " ".join(filter(None, (found.get("description", ""), examples(value))))
        overview.append((shown, form(found, schema), default(found, key in required), meaning))
        if "properties" in inner:
            details += [f"## {title}", "", f"{code(key)}: {found.get('description', '')}", ""]
            details += [*(_targets(inner, schema, Targets()) if title == "targets" else keys(inner, schema)), ""]
            details += _below(inner, schema)
    forms = [(name, schema["$defs"][definition]["description"]) for name, definition in _FORMS.items()]
    return page(
        "Stack file",
        schema["description"],
        "This page is generated from the JSON Schema that `modelyard schema stack` prints; "
        "[the guide](../guides/stack-files.md) explains the sections.",
        "## Keys of `config`",
        "",
        table(("key", "value", "default", "meaning"), overview),
        "modelyard ignores keys of other namespaces (such as `aws:region`) and Pulumi's own top-level keys. "
        "Any other `modelyard:` key is an error.",
        details,
        "## Forms of values",
        table(("form", "how it is written"), forms),
    )


def _targets(section: Schema, root: Schema, targets: "Targets") -> list[str]:
    """The default names of the platform's Deployments and containers."""
    keys = root["$defs"]["target"]["properties"]
    rows = [
        (code(key), f"mapping of {listed(keys)}", code(target.deployment), code(target.container))
        for key, target in zip(section["properties"], targets, strict=True)
    ]
    return table(("key", "value", "default `deployment`", "default `container`"), rows)


def _below(section: Schema, root: Schema) -> list[str]:
    """The keys of mappings by name inside a section, such as the rules of the policy."""
    lines: list[str] = []
    for key, value in section["properties"].items():
        own = resolved(value, root)
        for part in ("additionalProperties", "items"):
            item = resolved(own.get(part, True), root)
            if "properties" in item:
                lines += [f"Each of {code(key)} has:", "", *keys(item, root), ""]
        if "properties" in own and "description" in own:
            lines += [f"{code(key)} has:", "", *keys(own, root), "", *_below(own, root)]
    return lines
