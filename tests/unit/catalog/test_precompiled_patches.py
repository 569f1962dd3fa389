"""The precompiled patches are those in ``patches/``, and render to the same text as with Jinja2."""

import os
import random
from collections.abc import Mapping
from typing import Any

from modelyard.catalog.library import BASE, TEMPLATE, Meta, PatchVersion, built_in_versions, read_meta
from modelyard.catalog.precompile import FILE, precompiled_text
from modelyard.catalog.sandbox import Failed, rendered

MADE: dict[str, Any] = {}
"""What the module that belongs to the patches defines."""
exec(precompiled_text(), MADE)
WORDS = ("", "a", "deployment-ray-head", "16Gi", "true", "ü ✓", '"quoted"', "two\nlines", "{{ x }}")
NUMBERS = (0, 1, 7, -3, 10_000_000)


def value(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A value of a parameter that mostly follows its schema; now and then it is of another type."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kinds = schema.get("type", ["string", "object", "array", "null"])
    kind = chance.choice(kinds if isinstance(kinds, list) else [kinds])
    if chance.random() < 0.02:
        kind = chance.choice(["string", "integer", "null", "array", "object", "boolean"])
    match kind:
        case "string":
            return chance.choice(WORDS)
        case "integer" | "number":
            return chance.choice(NUMBERS) if kind == "integer" else chance.choice((0.5, 2.0, 1e20))
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case "array":
            return [value(schema.get("items", {"type": "string"}), chance) for _ in range(chance.randrange(4))]
        case _:
            inner = schema.get("properties", {})
            more = {word: chance.choice(WORDS) for word in WORDS[: chance.randrange(3)]} if not inner else {}
            return {**{name: value(one, chance) for name, one in inner.items()}, **more}


def parameters(patch: PatchVersion, chance: random.Random) -> dict[str, Any]:
    """Parameters of a version; sometimes an optional one has its default."""
    given = {name: value(one, chance) for name, one in patch.schema["properties"].items()}
    kept = {name for name in given if name not in patch.defaults or chance.random() < 0.8}
    return {**patch.defaults, **{name: given[name] for name in kept}}


def test_the_module_is_what_the_patches_give() -> None:
    text = precompiled_text()
    if os.environ.get("GOLDEN") == "write":
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text, "run make golden"


def test_each_built_in_version_has_its_meta_precompiled() -> None:
    for patch in built_in_versions().values():
        assert Meta(**MADE["METAS"][patch.sha256]) == read_meta(patch.meta_text.encode(), patch.file, []), patch.id


def test_precompiled_templates_render_to_the_text_of_jinja2() -> None:
    sources = {
        (patch.sha256, name): (patch, source)
        for patch in built_in_versions().values()
        for name, source in ((TEMPLATE, patch.template), (BASE, patch.base))
        if source is not None
    }
    # The others use more of Jinja2: variables, ranges, macros.
    assert len(MADE["TEMPLATES"]) >= len(sources) * 4 // 5
    compared = 0
    for key, template in MADE["TEMPLATES"].items():
        patch, source = sources[key]
        for seed in range(40):
            params = parameters(patch, random.Random(f"{patch.id} {seed}"))
            wanted = rendered(source, params)
            try:
                text = template(params)
            except (KeyError, TypeError):
                assert isinstance(wanted, Failed), (patch.id, params)
                continue
            assert text == wanted, (patch.id, params)
            compared += 1
    assert compared > len(MADE["TEMPLATES"]) * 30
