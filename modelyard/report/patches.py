"""The catalogue as text and as JSON."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from modelyard.catalog import Library, PatchVersion
from modelyard.catalog.library import BASE, TEMPLATE, DocumentUse
from modelyard.hiding import hidden, hidden_at
from modelyard.report.style import PLAIN, Style, facts_text, safe, table, wrapped
from modelyard.report.values import text_of
from modelyard.stack.config import Target, Targets
from modelyard.stack.words import listed


def patches_text(library: Library, style: Style = PLAIN) -> list[str]:
    """Two lines per patch: name, versions and what it does; then its targets."""
    newest = [next(iter(versions.values())) for versions in library.patches.values()]
    rows = [(patch.name, _versions(library, patch.name), patch.meta.description) for patch in newest]
    head, *lines = table(rows, ("PATCH", "VERSIONS", "WHAT IT DOES"), style)
    targets = ("\n".join(map(style.dim, wrapped(", ".join(_targets(patch)), 2, style.columns))) for patch in newest)
    return [head, *(line for pair in zip(lines, targets, strict=True) for line in pair)]


def _versions(library: Library, name: str) -> str:
    return ", ".join(
        version if f"{name}/{version}" in library.released else f"{version} (draft)"
        for version in library.patches[name]
    )


def patch_text(library: Library, name: str, version: str = "", style: Style = PLAIN) -> list[str]:
    """One version of a patch, with its parameters; without ``version`` the newest that needs no facts of the stack."""
    patch = library.patches[name][version] if version else library.latest(name)
    lines = [
        style.bold(patch.id),
        *wrapped(patch.meta.description, 2, style.columns),
        f"  files      {style.link(safe(patch.file))}",
    ]
    facts = (
        ("targets", ", ".join(_targets(patch))),
        ("mode", _MODES[patch.meta.use]),
        ("used", used(patch)),
        ("versions", _terms(library, name)),
        ("overrides", ", ".join(patch.meta.overrides)),
    )
    lines += [*facts_text(facts, 13, style), ""]
    properties: dict[str, Any] = patch.schema.get("properties", {})
    # A schema may be only true or false, which does not describe its values.
    described = {name: spec if isinstance(spec, dict) else {} for name, spec in properties.items()}
    rows = [(param, _value_from(patch, param, spec), spec.get("description", "")) for param, spec in described.items()]
    lines += table(rows, ("PARAMETER", "VALUE FROM", "MEANING"), style, indent=2)
    return [*lines, *_files(patch, style)] if patch.built_in else lines


def _files(patch: PatchVersion, style: Style) -> Iterator[str]:
    """The templates of a version that is no file of the project."""
    for name, text in ((TEMPLATE, patch.template), (BASE, patch.base)):
        if text is not None:
            yield from ("", style.link(f"  {patch.file}/{name}"), *(f"    {safe(line)}" for line in text.splitlines()))


def _value_from(patch: PatchVersion, param: str, spec: Mapping[str, Any]) -> str:
    """What gives a parameter its value if the stack file sets no ``params``."""
    if fact := patch.meta.params.get(param):
        return f"fact {fact}"
    return f"default {text_of(hidden_at(param, spec['default']))}" if "default" in spec else "params in the stack"


def _targets(patch: PatchVersion) -> tuple[str, ...]:
    """Names of the objects that a version changes, as far as the template shows them: the vendor names.

    A stack may rename them. For whole objects, their kinds.
    """
    lines = (line for line in patch.template.splitlines() if line.startswith("# target:"))
    params = (line.partition(":")[2].strip().strip("{} ") for line in lines)
    names = [_default_name(patch.meta.params.get(param, param)) for param in params]
    if patch.meta.use == "patched":
        return tuple(names)
    base = (patch.base or "").splitlines()
    kinds = (line.removeprefix("kind:").strip() for line in base if line.startswith("kind:"))
    workloads = {target.deployment for target in Targets()}
    return tuple(dict.fromkeys((*kinds, *(name for name in names if name in workloads))))


def _default_name(fact: str) -> str:
    role = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in fact.partition(".")[0])
    target: Target | None = getattr(Targets(), role, None)
    return fact if target is None else target.deployment


_MODES: dict[DocumentUse, str] = {
    "patched": "",
    "managed": "whole objects that the stack owns",
    "submitted": "whole objects, created for each submitted job",
}


def used(patch: PatchVersion) -> str:
    """When modelyard uses a patch, to continue the word "used"."""
    if patch.meta.use == "submitted":
        return "for submitted runs"
    if patch.meta.when is None:
        return "only if a stack lists it"
    condition = f"if {conditions(patch.meta.when)}" if patch.meta.when else ""
    if patch.meta.cluster == "remote":
        return ", ".join(filter(None, ("for each remote cluster", condition)))
    return condition or "always"


def conditions(facts: Mapping[str, Any]) -> str:
    """Conditions on facts of a stack, in words; a list allows each of its values."""
    return " and ".join(
        f"{path} is {listed([text_of(one) for one in _each(value)], 'or')}" for path, value in facts.items()
    )


def _terms(library: Library, name: str) -> str:
    """Which stacks get which version, newest first: the first whose condition is met; empty if all get the newest."""
    latest = library.latest(name)
    asking: list[PatchVersion] = []
    for patch in takewhile(lambda one: one.meta.version_for, library.patches[name].values()):
        if not any(_covers(newer.meta.version_for, patch.meta.version_for) for newer in asking):
            asking.append(patch)
    words = [f"{one.version} if {conditions(one.meta.version_for)}" for one in asking]
    if words and not latest.meta.version_for:
        words.append(latest.version)
    return ", else ".join(words)


def _covers(newer: Mapping[str, Any], older: Mapping[str, Any]) -> bool:
    """Whether every stack that meets the older condition meets the newer one too."""
    return all(path in older and set(_each(older[path])) <= set(_each(value)) for path, value in newer.items())


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def patches_document(library: Library, name: str = "", version: str = "") -> dict[str, Any]:
    """The catalogue, or one patch of it, with every version or one."""
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
                "use": patch.meta.use,
                "when": "listed" if patch.meta.when is None else dict(patch.meta.when),
                **({"for": dict(patch.meta.version_for)} if patch.meta.version_for else {}),
                "after": list(patch.meta.after),
                "overrides": list(patch.meta.overrides),
                "targets": list(_targets(patch)),
                "params": dict(patch.meta.params),
                "schema": _shown(patch.schema),
            }
            for key, versions in library.patches.items()
            if name in ("", key)
            for patch in versions.values()
            if version in ("", patch.version)
        ],
    }


def _shown(schema: Any, name: str = "") -> Any:
    """A JSON Schema without values that look like secrets, by the name of their parameter or by their form."""
    if isinstance(schema, list):
        return [_shown(part, name) for part in schema]
    if not isinstance(schema, Mapping):
        return hidden(schema)
    return {
        key: {inner: _shown(part, inner) for inner, part in value.items()}
        if key == "properties" and isinstance(value, Mapping)
        else hidden_at(name, value)
        if key in ("default", "const", "enum", "examples")
        else _shown(value, name)
        for key, value in schema.items()
    }
