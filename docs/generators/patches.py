"""The built-in patches, from ``patches/``."""

import json
from collections.abc import Iterator
from typing import Any

from generators.markdown import code, listed, page, table
from generators.paths import ROOT
from generators.schema import Schema


def patches() -> str:
    """The page of patches."""
    from modelyard.catalog import load_library

    library = load_library(ROOT)
    parts: list[str] = []
    for name, versions in library.patches.items():
        for version, patch in versions.items():
            state = "released" if f"{name}/{version}" in library.released else "not released"
            parts += [f"## {patch.id}", "", f"{patch.meta.description} ({state})", ""]
            parts += _meta_lines(patch)
            rows = []
            for parameter, spec in patch.schema.get("properties", {}).items():
                fact = patch.meta.params.get(parameter, "")
                source = code(fact) if fact else ""
                if parameter in patch.defaults and patch.defaults[parameter] not in (None, []):
                    default = patch.defaults[parameter]
                    shown = f"default {code(default if default != '' else json.dumps(default))}"
                    source = " or ".join(filter(None, (source, shown)))
                rows.append((code(parameter), _types(spec), source, spec.get("description", "")))
            parts += ["", *table(("parameter", "type", "from", "meaning"), rows), ""]
    return page(
        "Patches",
        "This page lists the [built-in patches](../GLOSSARY.md). A parameter gets its value from a [fact](facts.md) or "
        "from its default, unless the stack file sets it under `modelyard:patches`. The fact `targets.deployments` is "
        "true if every workload of the platform is a Deployment. Descriptions of released versions cannot change; a "
        "side in them is a training backend. "
        "[The guide](../guides/own-patch.md) shows how to write a patch.",
        parts,
    )


def _meta_lines(patch: Any) -> Iterator[str]:
    from modelyard.report.patches import conditions, used

    meta = patch.meta
    yield f"- used {used(patch)}"
    if meta.version_for:
        yield f"- this version if {conditions(meta.version_for)}; otherwise the next older version"
    if meta.phase != "normal":
        yield f"- its target changes in phase {code(meta.phase)} of the [order](../ARCHITECTURE.md#order)"
    if meta.after:
        yield "- merged after " + listed(meta.after)
    if meta.overrides:
        yield "- overrides " + listed(meta.overrides)


def _types(spec: Schema) -> str:
    if "enum" in spec:
        return " or ".join(code(value) if value else '`""`' for value in spec["enum"])
    kinds = spec.get("type", "any")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{words}, {spec['minimum']} or more" if "minimum" in spec else words
