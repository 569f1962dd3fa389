"""The published schema agrees with the code around it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from modelyard.kube.merge import supported_versions
from modelyard.stack import codes, discover, load, schema_text
from modelyard.stack.config import Config
from modelyard.stack.explain import _FORMS
from modelyard.stack.jobs import JobType, Precision
from modelyard.stack.schema import FILE
from modelyard.stack.shape import CONFIG as SHAPE
from modelyard.stack.shape import Each, Named, Shape, field_of
from modelyard.workloads.sizing.sources import WEIGHT

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads(schema_text())
CONFIG = SCHEMA["properties"]["config"]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with the definition that it refers to."""
    if "$ref" not in schema:
        return schema
    return {**SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema}


def shapes(shape: Shape, schema: dict[str, Any], name: str) -> Iterator[tuple[str, Shape, dict[str, Any]]]:
    """Every shape below this one by its path, with what the schema says of its keys."""
    properties = resolved(schema)["properties"]
    yield name, shape, properties
    for key, held in shape.keys.items():
        below = resolved(properties[key])
        match held:
            case Shape():
                yield from shapes(held, below, f"{name}.{key}")
            case Each(each):
                yield from shapes(each, below["items"], f"{name}.{key}")
            case Named(each):
                yield from shapes(each, below["additionalProperties"], f"{name}.{key}")


OURS = {
    key.removeprefix("modelyard:"): value for key, value in CONFIG["properties"].items() if key.startswith("modelyard:")
}
SHAPES = {name: (shape, stated) for name, shape, stated in shapes(SHAPE, {"properties": OURS}, "config")}
COMPUTED = {"files", "seen"}
"""Fields that stand in no file."""


NOTHING = ("", (), {})


def made_by(shape: Shape) -> Any:
    """The type that a shape fills, or the value that it changes."""
    return getattr(shape.kind, "__self__", None) or shape.kind


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_known_keys_and_described_keys_are_the_same() -> None:
    ours = [key for key in CONFIG["properties"] if key.startswith("modelyard:")]
    assert CONFIG["propertyNames"]["then"]["enum"] == ours


def test_every_mapping_of_the_schema_has_a_shape() -> None:
    closed = {id(found["properties"]) for found in objects(SCHEMA) if found is not SCHEMA and found is not CONFIG}
    assert closed == {id(stated) for name, (_, stated) in SHAPES.items() if name != "config"}


@pytest.mark.parametrize("name", SHAPES)
def test_schema_and_code_have_the_same_keys(name: str) -> None:
    shape, stated = SHAPES[name]
    assert set(stated) == set(shape.keys)
    assert set(map(field_of, shape.keys)) == set(made_by(shape)._fields) - COMPUTED


@pytest.mark.parametrize("name", SHAPES)
def test_schema_and_code_have_the_same_defaults(name: str) -> None:
    shape, stated = SHAPES[name]
    code = getattr(made_by(shape), "_field_defaults", {})
    for key in shape.plain:
        mine, said = code.get(field_of(key)), resolved(stated[key]).get("default")
        said = tuple(said) if isinstance(said, list) else said
        # Nothing said and nothing in it are the same to who reads the schema.
        assert (None if mine in NOTHING else mine) == (None if said in NOTHING else said), key


def test_supported_kubernetes_versions_are_those_whose_schemas_are_shipped() -> None:
    version = CONFIG["properties"]["modelyard:kubernetesVersion"]
    assert tuple(version["enum"]) == tuple(sorted(supported_versions()))
    assert version["default"] == Config._field_defaults["kubernetes_version"]


def test_waivable_families_are_those_of_the_code() -> None:
    pattern = SCHEMA["$defs"]["waiver"]["properties"]["code"]["pattern"]
    assert pattern == f"^({'|'.join(codes.FAMILIES)})[0-9]{{3}}$"


def objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    mine = [schema] if schema.get("type") == "object" and "properties" in schema else []
    return mine + [found for value in schema.values() for found in objects(value)]


def test_our_objects_are_closed_and_every_field_is_described() -> None:
    found = objects(SCHEMA)
    assert len(found) >= 12
    for schema in found:
        if schema is SCHEMA or schema is CONFIG:
            continue
        assert schema["additionalProperties"] is False, schema["title"]
        for key, value in schema["properties"].items():
            assert resolved(value).get("description") or resolved(value).get("title"), (schema["title"], key)


@pytest.mark.parametrize("name", sorted(SCHEMA["$defs"]))
def test_examples_and_defaults_follow_their_own_schema(name: str) -> None:
    def parts(schema: Any) -> list[dict[str, Any]]:
        if isinstance(schema, list):
            return [part for item in schema for part in parts(item)]
        if not isinstance(schema, dict):
            return []
        return [schema, *(part for value in schema.values() for part in parts(value))]

    for part in parts(SCHEMA["$defs"][name]):
        validator = Draft202012Validator({**part, "$defs": SCHEMA["$defs"]})
        for example in [*part.get("examples", []), *([part["default"]] if "default" in part else [])]:
            assert validator.is_valid(example), (part, example)


EXAMPLES = discover(ROOT)


def test_the_three_environments_are_there() -> None:
    assert {"dev", "prod", "staging"} <= {found.name for found in EXAMPLES}


@pytest.mark.parametrize("found", EXAMPLES, ids=[found.name for found in EXAMPLES])
def test_example_stacks_load_and_point_editors_at_the_schema(found: Any) -> None:
    stack, findings = load(found.path, found.shown)
    assert findings == ()
    assert stack is not None
    modeline = found.path.read_text().splitlines()[0]
    assert modeline.startswith("# yaml-language-server: $schema=")
    assert (found.path.parent / modeline.partition("=")[2]).resolve() == FILE.resolve()


def test_the_example_environments_differ() -> None:
    configs = {found.name: load(found.path, found.shown)[0].config for found in EXAMPLES}  # type: ignore[union-attr]
    dev, staging, prod = configs["dev"], configs["staging"], configs["prod"]
    assert (dev.training, dev.gpu.model, dev.gpu.per_worker) == ("ray", "A10", 1)
    assert (staging.training, staging.gpu.model, staging.gpu.per_worker) == ("ray", "A100", 4)
    assert staging.autoscaling.mode == "annotations"
    assert (prod.training, prod.gpu.model, prod.platform.release) == ("celery", "A30", "23.07")


def test_choices_of_schema_and_code_are_the_same() -> None:
    assert tuple(SCHEMA["$defs"]["jobType"]["enum"]) == get_args(JobType)
    assert tuple(SCHEMA["$defs"]["model"]["properties"]["precision"]["enum"]) == get_args(Precision) == tuple(WEIGHT)


def test_every_text_pattern_has_a_description() -> None:
    """What is not known is told as text with control characters in it."""
    elsewhere = {"count", "duration-text", "finding-code", "quantity", "reason"}
    formats = set(re.findall(r'"format": "([^"]+)"', schema_text()))
    assert formats - elsewhere - _FORMS.keys() == set()
