"""Values that are accepted without a validator are valid."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from modelyard.catalog.library import built_in_versions
from modelyard.policy.shapes import ASSERTION_SCHEMA, RULES_SCHEMA
from modelyard.schemas import surely_valid
from modelyard.stack import schema as stack_schema
from modelyard.stack.yaml.document import parse_plain

ROOT = Path(__file__).resolve().parents[2]
OWN = [path.read_text(encoding="utf-8") for path in (stack_schema.FILE, RULES_SCHEMA, ASSERTION_SCHEMA)]
BUILT_IN = [patch.schema_text for patch in built_in_versions().values()]
ODD = [
    None,
    True,
    1,
    1.0,
    0,
    -1,
    2.5,
    float("inf"),
    "",
    "a",
    "a\n",
    "ü",
    "16Gi",
    "2026-01-31",
    [],
    (),
    {},
    {"a": 1},
    [1],
]


def changed(value: Any, chance: random.Random) -> Any:
    """Returns a value with one part replaced, added or removed."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        match chance.randrange(12):
            case 0:
                return {key: inner for key, inner in value.items() if key != name}
            case 1:
                return {**value, chance.choice(["other", "modelyard:x", "name", "a\n"]): chance.choice(ODD)}
            case _:
                return {**value, name: changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], changed(value[at], chance), *value[at + 1 :]]
    if isinstance(value, str) and chance.random() < 0.5:
        at = chance.randrange(len(value) + 1)
        return value[:at] + chance.choice(["\n", "ü", "-", "/", "..", "0", "x" * 300]) + value[at:]
    return chance.choice(ODD)


def stacks() -> list[Any]:
    """Returns the stack files of the project and of the examples."""
    files = [*ROOT.glob("stacks/Pulumi.*.yaml"), *ROOT.glob("examples/**/Pulumi.*.yaml")]
    found = [parse_plain(path.read_bytes())[0] for path in files]
    return [one for one in found if "modelyard:platform" in one["config"]]


def test_the_stack_files_are_accepted_without_a_validator() -> None:
    schema = json.loads(OWN[0])
    found = stacks()
    assert len(found) >= 3
    for value in found:
        config = {key: inner for key, inner in value["config"].items() if key.startswith("modelyard:")}
        assert surely_valid(schema, {"config": config})


def test_a_changed_stack_file_is_accepted_only_if_it_is_valid() -> None:
    schema = json.loads(OWN[0])
    validator = Draft202012Validator(OWN[0], validate_formats=True)
    chance = random.Random(1)
    counts = {True: 0, False: 0}
    for original in stacks() * 150:
        value = original
        for _ in range(chance.randrange(1, 4)):
            value = changed(value, chance)
        accepted = surely_valid(schema, value)
        if accepted:
            assert validator.is_valid(value), value
        counts[accepted] += 1
    assert min(counts.values()) > 30, counts


@pytest.mark.parametrize("text", [*OWN, *BUILT_IN], ids=lambda text: json.loads(text)["title"])
def test_each_keyword_of_the_built_in_schemas_is_known(text: str) -> None:
    """An unknown keyword would send each value to the validator."""
    from modelyard.schemas import _CHECKS, _NOTES

    waiting, seen = [json.loads(text)], set[str]()
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        seen |= schema.keys()
        for key, inner in schema.items():
            if key in ("properties", "$defs"):
                waiting += inner.values()
            elif key in ("items", "additionalProperties", "propertyNames", "if", "then"):
                waiting.append(inner)
    assert seen <= _CHECKS.keys() | _NOTES


@pytest.mark.parametrize("text", BUILT_IN, ids=lambda text: json.loads(text)["title"])
def test_patch_parameters_are_accepted_only_if_they_are_valid(text: str) -> None:
    schema = json.loads(text)
    validator = Draft202012Validator(text, validate_formats=True)
    chance = random.Random(text)
    for _ in range(300):
        value = {name: chance.choice([*ODD, one.get("default")]) for name, one in schema["properties"].items()}
        assert not surely_valid(schema, value) or validator.is_valid(value), value
    for name, one in schema["properties"].items():
        for odd in ODD:
            part = {"$defs": schema.get("$defs", {}), "properties": {name: one}}
            assert not surely_valid(part, {name: odd}) or Draft202012Validator(part).is_valid({name: odd}), (name, odd)
