"""No finding quotes a secret of a stack file, in any place and with any mistake."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from modelyard.stack import load_text
from modelyard.stack.schema import schema_text
from modelyard.stack.yaml.document import parse

SECRET = "hush07x7secret"
NUMBER = 77777712345
COMMAND = f"run --token {SECRET} DB_PASSWORD={SECRET}"
SCHEMA: Mapping[str, Any] = json.loads(schema_text())
WRONG: Mapping[str, Any] = {
    "a text": COMMAND,
    "a list of texts": [COMMAND],
    "a mapping, with the secret in a key": {COMMAND: COMMAND},
    "a command with a character that nobody sees": ["--token", f"{SECRET}\u202e"],
    "a longer one": ["env", "--password", f"{SECRET * 9}\u202e", COMMAND],
    "variables": {"DB_PASSWORD": f"{SECRET}\u202e", "password": NUMBER, f"DB_PASSWORD={SECRET}": None},
    "numbers": {"password": NUMBER, "apiKey": NUMBER + 0.5},
    "variables of a container": [{"name": "DB_PASSWORD", "value": f"{SECRET}\u202e"}],
    "JSON": json.dumps({"password": SECRET, "n": [{"token": SECRET}]}),
}


def places(schema: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of everything that a stack file can have."""
    while "$ref" in schema:
        schema = {**SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema, "$ref": ""}
        schema.pop("$ref")
    yield path
    for key, inner in schema.get("properties", {}).items():
        yield from places(inner, (*path, key))
    for key, step in (("items", 0), ("additionalProperties", "name")):
        if isinstance(schema.get(key), dict):
            yield from places(schema[key], (*path, step))


def with_value(path: tuple[str | int, ...], value: Any) -> str:
    """A stack file with a value at one place. JSON is YAML too."""
    for step in reversed(path[1:]):
        value = [value] if step == 0 else {step: value}
    needed = {"modelyard:platform": {"release": "23.10"}, "modelyard:gpu": {"model": "A10"}}
    return json.dumps({"config": {**needed, **value}}, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_a_finding_about_any_key_quotes_no_secret(value: Any) -> None:
    every = sorted({path for path in places(SCHEMA) if path[:1] == ("config",) and len(path) > 1}, key=str)
    found = 0
    for path in every:
        _, findings = load_text(with_value(path, value), "dev", "x.yaml")
        found += len(findings)
        assert not any(word in repr(findings) for word in (SECRET, str(NUMBER))), (path, findings)
    assert found > len(every) / 2


@pytest.mark.parametrize("sign", "!*&|>%@`[]{},#?:-\"'~=<\\")
@pytest.mark.parametrize("text", ["a: {}", "a: [{}]", "{}: x", "a: &b {}", "- {}", "a: {{password: {}}}", "a: x {}"])
def test_a_secret_that_is_invalid_yaml_is_not_quoted(sign: str, text: str) -> None:
    for secret in (f"{sign}{SECRET}", f"{sign}{sign}{SECRET}", f"{sign}<{SECRET}>", f"{sign}{SECRET}!{SECRET}"):
        _, problems = parse(text.format(secret).encode())
        assert SECRET not in repr(problems), problems
