"""The patches of this project, from ``patches/``."""

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
            parts += _meta_lines(patch.meta)
            rows = []
            for parameter, spec in patch.schema.get("properties", {}).items():
                fact = patch.meta.params.get(parameter, "")
                source = code(fact) if fact else ""
                if parameter in patch.defaults and patch.defaults[parameter] not in (None, []):
                    source = " or ".join(filter(None, (source, f"default {code(patch.defaults[parameter])}")))
                rows.append((code(parameter), _types(spec), source, spec.get("description", "")))
            parts += ["", *table(("parameter", "type", "from", "meaning"), rows), ""]
    return page(
        "Patches",
        "This page lists the patches of this project. The value of a parameter is a fact of the stack, unless the "
        "stack file passes another value under `modelyard:patches`. "
        "[The guide](../guides/own-patch.md) shows how to write a patch.",
        parts,
    )


def _meta_lines(meta: Any) -> Iterator[str]:
    if meta.when is None:
        yield "- taken by stacks that list it"
    elif meta.when:
        yield "- taken when " + " and ".join(
            f"{code(fact)} is {code(value) if isinstance(value, str) else str(value).lower()}"
            for fact, value in meta.when.items()
        )
    else:
        yield "- taken by every stack"
    if meta.phase != "normal":
        yield f"- phase {code(meta.phase)}"
    if meta.after:
        yield "- merged after " + listed(meta.after)
    if meta.overrides:
        yield "- overrides " + listed(meta.overrides)


def _types(spec: Schema) -> str:
    kinds = spec.get("type", "any")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{words}, {spec['minimum']} or more" if "minimum" in spec else words
