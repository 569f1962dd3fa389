"""A mistake in a file of a patch is one finding with the file, the line and a remedy."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow

TEMPLATE = """# target: deployment-model-service
apiVersion: apps/v1
kind: Deployment
spec:
  strategy:
    rollingUpdate:
      maxUnavailable: {value}
"""


@pytest.mark.parametrize("value", ["abc", "10", "-5%", "'%'", "1.5", "true", "[]"])
def test_an_invalid_number_of_pods_is_an_error_at_its_line(project: Any, refused: Any, value: str) -> None:
    value = f'"{value}"' if value == "10" else value
    project.patch("mine", TEMPLATE.format(value=value), "description: x\nwhen: {training: ray}\n")
    result = refused("check", "dev", code=1)
    assert "PAT008" in result.errors
    assert "patches/mine/v1/patch.yaml.j2:7" in result.text


@pytest.mark.parametrize("value", ["0", "1", "25%", "100%"])
def test_a_valid_number_of_pods_or_percentage_is_not_an_error(project: Any, run: Any, value: str) -> None:
    project.patch("mine", TEMPLATE.format(value=value), "description: x\nwhen: {training: ray}\n")
    assert "PAT008" not in run("check", "dev").errors


SCHEMAS: list[Any] = [
    [],
    "text",
    5,
    None,
    {"properties": []},
    {"properties": {"a": 5}},
    {"properties": "abc"},
    {"required": "a"},
    {"required": [1]},
    {"type": "strin"},
    {"type": 5},
    {"enum": 5},
    {"allOf": {}},
    {"minimum": "a"},
    {"multipleOf": 0},
    {"additionalProperties": 5},
    {"items": "x"},
    {"$ref": 5},
    {"$ref": "#/$defs/none"},
    {"$schema": 5},
    {"$defs": []},
    {"$schema": "é", "properties": 5},
    {"default": 1, "const": "\ud800"},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_an_invalid_schema_is_an_error(project: Any, refused: Any, schema: Any) -> None:
    folder = project.patch("mine", TEMPLATE.format(value=1), "description: x\nwhen: {training: ray}\n")
    (folder / "schema.json").write_text(json.dumps(schema))
    for words in (("check", "dev"), ("patches",)):
        result = refused(*words, code=1)
        assert result.errors == ["PAT009"]
        assert "patches/mine/v1/schema.json:1" in result.text


def test_a_parameter_without_a_description_is_listed(project: Any, run: Any) -> None:
    template = "# target: deployment-ray-head\nspec: {replicas: 1}\n"
    project.patch("mine", template, schema='{"properties": {"a": true, "b": false}}')
    result = run("patches", "mine")
    assert result.code == 0
    assert {"a", "b"} <= {line.split()[0] for line in result.out.splitlines() if " params " in line}


@pytest.mark.parametrize(
    "field",
    ["apiVersion", "kind", "metadata", "metadata.namespace", "spec", "spec.template", "spec.template.spec"],
)
@pytest.mark.parametrize("file", ["patch.yaml.j2", "base.yaml.j2"])
def test_a_field_that_does_not_fit_its_kind_is_one_error(project: Any, refused: Any, file: str, field: str) -> None:
    target = "deployment-model-service" if file == "patch.yaml.j2" else "mine"
    head = f"# target: {target}\napiVersion: apps/v1\nkind: Deployment\n"
    meta = "" if file == "patch.yaml.j2" else "mode: managed\n"
    folder = project.patch("mine", head, f"description: x\nwhen: {{training: ray}}\n{meta}")
    body: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": target}}
    *front, last = field.split(".")
    at = body
    for part in front:
        at = at.setdefault(part, {})
    at[last] = [{}]
    (folder / file).write_text(f"# target: {target}\n{json.dumps(body)}\n")
    result = refused("check", "dev", code=1)
    (code,) = (code for code in result.errors if code.startswith("PAT"))
    assert code in ("PAT007", "PAT008")
    assert f"patches/mine/v1/{file}" in result.text


@pytest.mark.parametrize("amount", ["1e99999999", "-1e-99999999", "9" * 5000])
def test_a_quantity_out_of_range_is_an_error(project: Any, refused: Any, amount: str) -> None:
    limits = f"{{containers: [{{name: model-service, resources: {{limits: {{memory: '{amount}'}}}}}}]}}"
    project.patch("mine", f"{TEMPLATE.partition('spec:')[0]}spec: {{template: {{spec: {limits}}}}}\n")
    assert refused("check", "dev", code=1).errors == ["PAT008"]


@pytest.mark.parametrize("text", ['{{ "\\ud800" }}', 'a: {{ "\\udfff" }}'])
def test_a_template_that_renders_half_a_surrogate_pair_is_an_error(project: Any, refused: Any, text: str) -> None:
    project.patch("mine", f"{TEMPLATE.format(value=1)}  # {text}\n")
    assert refused("check", "dev", code=1).errors == ["PAT007"]


def test_circular_references_end(project: Any, run: Any) -> None:
    circle = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    folder = project.patch("mine", TEMPLATE.format(value=1), "description: x\nwhen: {training: ray}\n")
    (folder / "schema.json").write_text(json.dumps(circle))
    assert run("check", "dev").code in (0, 1)


@pytest.mark.parametrize("key", ["description", "phase", "when", "after", "params", "x"])
@pytest.mark.parametrize("value", ["null", "abc", "[{}]", "{a: {b: []}}"])
def test_invalid_metadata_is_not_an_internal_error(project: Any, run: Any, key: str, value: str) -> None:
    project.patch("mine", TEMPLATE.format(value=1), f"description: x\n{key}: {value}\n")
    result = run("check", "dev")
    assert result.code != 70, result.text
    if "PAT009" in result.errors:
        assert "patches/mine/v1/meta.yaml" in result.text
