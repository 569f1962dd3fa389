"""The published schema agrees with the code around it."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from modelyard.merge import supported_versions
from modelyard.sizing.sources import WEIGHT
from modelyard.stack import codes, discover, load, schema_text
from modelyard.stack.config import Config, Drain
from modelyard.stack.decode import (
    AWS,
    AWS_NETWORK,
    BUCKET,
    CLUSTER,
    DRAIN,
    ENVIRONMENT,
    FLAVOR,
    JOB,
    JOBS,
    MODEL,
    NODE_POOL,
    PARTITION,
    PATCH,
    PIPELINE,
    PLACE,
    PRIORITY,
    PROVIDER,
    QUOTA,
    REMOTE,
    REMOTE_QUOTA,
    RESOURCE,
    SCALE,
    SECTIONS,
    SPARK,
    STAGE,
    TARGETS,
    TEAM,
    TOLERATION,
    WAIVER,
    WORKER_CLUSTER,
)
from modelyard.stack.explain import _FORMS
from modelyard.stack.jobs import JOB_TYPES, Job, Model, Precision, Resource
from modelyard.stack.nodepools import NodePool
from modelyard.stack.pool import Flavor, Priority, Quota, Team, Toleration
from modelyard.stack.schema import FILE

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads(schema_text())
CONFIG = SCHEMA["properties"]["config"]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with the definition that it refers to."""
    if "$ref" not in schema:
        return schema
    return {**SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema}


def section(name: str) -> dict[str, Any]:
    return resolved(CONFIG["properties"][f"modelyard:{name}"])["properties"]


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_known_keys_and_described_keys_are_the_same() -> None:
    ours = [key for key in CONFIG["properties"] if key.startswith("modelyard:")]
    assert CONFIG["propertyNames"]["then"]["enum"] == ours


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_sections_of_schema_and_code_have_the_same_keys(name: str) -> None:
    _, made, fields = SECTIONS[name]
    assert set(section(name)) == set(fields)
    assert {field for field, _ in fields.values()} == set(made._fields)  # type: ignore[attr-defined]


def test_lists_of_schema_and_code_have_the_same_keys() -> None:
    assert set(SCHEMA["$defs"]["patch"]["properties"]) == set(PATCH)
    assert set(SCHEMA["$defs"]["waiver"]["properties"]) == set(WAIVER)
    assert set(SCHEMA["$defs"]["targets"]["properties"]) == set(TARGETS)
    assert set(SCHEMA["$defs"]["environment"]["properties"]) == set(ENVIRONMENT)
    assert set(SCHEMA["$defs"]["resource"]["properties"]) == {*RESOURCE, "remote", "scale"}
    assert set(SCHEMA["$defs"]["scale"]["properties"]) == set(SCALE)
    assert set(SCHEMA["$defs"]["provider"]["properties"]) == {*PROVIDER, "aws"}
    assert set(SCHEMA["$defs"]["awsAccount"]["properties"]) == {*AWS, "networks"}
    assert set(SCHEMA["$defs"]["awsNetwork"]["properties"]) == set(AWS_NETWORK)
    assert set(SCHEMA["$defs"]["bucket"]["properties"]) == set(BUCKET)
    assert set(SCHEMA["$defs"]["place"]["properties"]) == set(PLACE)
    assert set(SCHEMA["$defs"]["cluster"]["properties"]) == {*CLUSTER, "quota"}
    assert set(SCHEMA["$defs"]["remoteQuota"]["properties"]) == set(REMOTE_QUOTA)
    assert set(SCHEMA["$defs"]["remote"]["properties"]) == {*REMOTE, "cluster", "data", "model"}
    assert set(SCHEMA["$defs"]["job"]["properties"]) == {*JOB, "model", "spark"}
    assert set(SCHEMA["$defs"]["spark"]["properties"]) == set(SPARK)
    assert set(SCHEMA["$defs"]["pipeline"]["properties"]) == {*PIPELINE, "stages", "artifacts", "inputs"}
    assert set(SCHEMA["$defs"]["stage"]["properties"]) == set(STAGE)
    assert set(SCHEMA["$defs"]["model"]["properties"]) == set(MODEL)
    assert set(SCHEMA["$defs"]["nodePool"]["properties"]) == set(NODE_POOL)
    assert set(SCHEMA["$defs"]["flavor"]["properties"]) == {*FLAVOR, "tolerations"}
    assert set(SCHEMA["$defs"]["partition"]["properties"]) == set(PARTITION)
    assert set(SCHEMA["$defs"]["toleration"]["properties"]) == set(TOLERATION)
    assert set(SCHEMA["$defs"]["team"]["properties"]) == {*TEAM, "quotas"}
    assert set(SCHEMA["$defs"]["quota"]["properties"]) == set(QUOTA)
    assert set(SCHEMA["$defs"]["workerCluster"]["properties"]) == set(WORKER_CLUSTER)
    assert set(SCHEMA["$defs"]["priority"]["properties"]) == set(PRIORITY)
    sections = {
        *SECTIONS,
        "drain",
        "targets",
        "providers",
        "buckets",
        "environments",
        "resources",
        "jobs",
        "pipelines",
        "nodePools",
        "flavors",
        "partitions",
        "workerClusters",
        "teams",
        "priorities",
        "patches",
        "waivers",
        "training",
        "kubernetesVersion",
        "prices",
        "policy",
    }
    assert {key.removeprefix("modelyard:") for key in CONFIG["properties"] if key.startswith("modelyard:")} == sections
    assert {field for field, _, _ in SECTIONS.values()} < set(Config._fields)


def test_the_drain_of_schema_and_code_has_the_same_keys_and_defaults() -> None:
    assert set(section("drain")) == {*DRAIN, *JOBS}
    parts = [(section("drain"), Drain, DRAIN)]
    parts += [(resolved(section("drain")[side])["properties"], kind, fields) for side, (kind, fields) in JOBS.items()]
    for stated, kind, fields in parts:
        assert set(stated) - set(JOBS) == set(fields)
        assert {field for field, _ in fields.values()} | set(kind._fields) & set(JOBS) == set(kind._fields)
        code = {field: value for field, value in kind._field_defaults.items() if field not in JOBS}
        found = {
            fields[key][0]: resolved(stated[key])["default"] for key in fields if "default" in resolved(stated[key])
        }
        assert found == {field: value for field, value in code.items() if value is not None}


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_defaults_of_schema_and_code_are_the_same(name: str) -> None:
    _, made, fields = SECTIONS[name]
    code = made._field_defaults  # type: ignore[attr-defined]
    stated = {fields[key][0]: resolved(value)["default"] for key, value in section(name).items() if "default" in value}
    lists = {field: list(value) if isinstance(value, tuple) else value for field, value in code.items()}
    assert stated == {field: value for field, value in lists.items() if value is not None}


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


def test_lists_of_jobs_have_the_same_defaults_and_choices_in_schema_and_code() -> None:
    for name, kind, fields in (
        ("resource", Resource, RESOURCE),
        ("job", Job, JOB),
        ("model", Model, MODEL),
        ("nodePool", NodePool, NODE_POOL),
        ("flavor", Flavor, FLAVOR),
        ("toleration", Toleration, TOLERATION),
        ("team", Team, TEAM),
        ("quota", Quota, QUOTA),
        ("priority", Priority, PRIORITY),
    ):
        stated = SCHEMA["$defs"][name]["properties"]
        own = {field for field, _ in fields.values()}
        code = {
            field: value for field, value in kind._field_defaults.items() if field in own and value not in ("", {}, ())
        }
        found = {
            fields[key][0]: stated[key]["default"] for key in fields if stated[key].get("default") not in (None, {})
        }
        assert found == {field: value for field, value in code.items() if value is not None}
    assert tuple(SCHEMA["$defs"]["jobType"]["enum"]) == JOB_TYPES
    assert tuple(SCHEMA["$defs"]["model"]["properties"]["precision"]["enum"]) == get_args(Precision) == tuple(WEIGHT)


def test_every_form_of_text_has_words_of_its_own() -> None:
    """What is not known is told as text with control characters in it."""
    elsewhere = {"count", "duration-text", "finding-code", "quantity", "reason"}
    formats = set(re.findall(r'"format": "([^"]+)"', schema_text()))
    assert formats - elsewhere - _FORMS.keys() == set()
