"""The catalogue as text and as JSON."""

from typing import Any

from modelyard.catalog import Library, PatchVersion
from modelyard.report.style import PLAIN, Style, table
from modelyard.report.values import text_of


def patches_text(library: Library, style: Style = PLAIN) -> list[str]:
    """One line a patch."""
    rows = []
    for name, versions in library.patches.items():
        newest = next(iter(versions.values()))
        drafts = [version for version in versions if f"{name}/{version}" not in library.released]
        state = "draft: " + ", ".join(drafts) if drafts else "released"
        rows.append((name, ", ".join(versions), state, newest.meta.description))
    return table(rows, ("PATCH", "VERSIONS", "STATE", "WHAT IT DOES"), style)


def patch_text(library: Library, name: str, style: Style = PLAIN) -> list[str]:
    """One patch: its newest version's terms and parameters."""
    patch = library.latest(name)
    lines = [f"{style.bold(patch.id)}  {patch.meta.description}", f"  files      {style.link(patch.file)}"]
    lines.append(f"  target     {_targets(patch)}")
    lines.append(f"  takes part {_when(patch)}")
    if patch.meta.overrides:
        lines.append(f"  overrides  {', '.join(patch.meta.overrides)}")
    lines.append("")
    properties: dict[str, Any] = patch.schema.get("properties", {})
    rows = [
        (
            param,
            patch.meta.params.get(param) or (f"default {text_of(spec['default'])}" if "default" in spec else "params"),
            spec.get("description", ""),
        )
        for param, spec in properties.items()
    ]
    return [*lines, *table(rows, ("PARAMETER", "FROM", "MEANING"), style, indent=2)]


def _targets(patch: PatchVersion) -> str:
    lines = (line for line in patch.template.splitlines() if line.startswith("# target:"))
    names = [line.split(":", 1)[1].strip().strip("{} ") for line in lines]
    return ", ".join(patch.meta.params.get(name, name) for name in names)


def _when(patch: PatchVersion) -> str:
    if patch.meta.when is None:
        return "only where a stack lists it"
    return " and ".join(f"{path} is {text_of(value)}" for path, value in patch.meta.when.items()) or "always"


def patches_document(library: Library, name: str | None) -> dict[str, Any]:
    """The catalogue, or one patch of it, with every version."""
    return {
        "formatVersion": 1,
        "patches": [
            {
                "name": patch.name,
                "version": patch.version,
                "description": patch.meta.description,
                "released": f"{patch.name}/{patch.version}" in library.released,
                "sha256": patch.sha256,
                "phase": patch.meta.phase,
                "when": "listed" if patch.meta.when is None else dict(patch.meta.when),
                "after": list(patch.meta.after),
                "overrides": list(patch.meta.overrides),
                "targets": _targets(patch).split(", "),
                "params": dict(patch.meta.params),
                "schema": patch.schema,
            }
            for key, versions in library.patches.items()
            if name in (None, key)
            for patch in versions.values()
        ],
    }
