"""Schemas and patterns in a project's files: they fetch nothing, and matching takes linear time."""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from modelyard.catalog import load_library
from modelyard.findings import MOST_SHOWN
from modelyard.policy.shapes import misfits
from modelyard.untrusted import (
    MAX_PATTERN,
    MAX_TEXT,
    BadSchema,
    Checker,
    TooMuch,
    compiled,
    fullmatch,
    pattern_problem,
)
from tests.support.processor_time import takes_at_most


class Counting(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    server: Counting

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Counting]:
    with Counting() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()


OUTSIDE = [
    {"$ref": "URL/a"},
    {"$ref": "URL/a#/$defs/x"},
    {"$dynamicRef": "URL/a#x"},
    {"$id": "URL/base/", "$ref": "other"},
    {"$id": "URL/base/", "properties": {"a": {"$dynamicRef": "other#x"}}},
    {"properties": {"a": {"items": {"$ref": "URL/a"}}}},
    {"$defs": {"x": {"$id": "URL/x/", "$ref": "y"}}, "$ref": "#/$defs/x"},
    {"allOf": [{"if": {"$ref": "URL/a"}}]},
    {"$ref": "file:FILE"},
    {"$ref": "file://FILE"},
    {"$ref": "relative.json"},
    {"$id": "URL/a", "$ref": "b", "$defs": {"x": {"$id": "b"}}},
    {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    {"$defs": {"x": {"$id": "URL/x/"}}},
    {"$ref": "#/properties/a", "properties": {"a": {}}},
    {"$ref": "#/$defs/a%62", "$defs": {"ab": {}}},
    {"$recursiveRef": "#"},
    {"$dynamicRef": "#x", "$dynamicAnchor": "x"},
]
INSIDE = [
    {"$schema": "URL/meta"},
    {"$schema": "URL/meta", "$vocabulary": {"URL/v": True}},
    {"$id": "URL/a", "$ref": "#/$defs/x", "$defs": {"x": {"$comment": "URL"}}},
    {"properties": {"a": {"default": {"$ref": "URL/a"}, "examples": [{"$ref": "URL/a"}]}}},
    {"enum": [{"$ref": "URL/a"}, {}]},
]


def filled(value: Any, url: str, file: Path) -> Any:
    if isinstance(value, dict):
        return {key.replace("URL", url): filled(inner, url, file) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, url, file) for inner in value]
    return value.replace("URL", url).replace("FILE", str(file)) if isinstance(value, str) else value


@pytest.mark.parametrize("schema", OUTSIDE + INSIDE, ids=str)
def test_a_schema_fetches_no_address_and_reads_no_file(schema: Any, server: Counting, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}")
    wanted = filled(schema, server.url, file)
    if schema in INSIDE:
        compiled(wanted).is_valid({})
    else:
        with pytest.raises(BadSchema, match=r"is outside the schema|is not in its \$defs|its own \$id"):
            compiled(wanted)
    assert server.asked == []


@pytest.mark.parametrize("schema", OUTSIDE + INSIDE, ids=str)
def test_the_schema_of_a_patch_fetches_no_address(schema: Any, server: Counting, tmp_path: Path) -> None:
    folder = tmp_path / "patches/mine/v1"
    folder.mkdir(parents=True)
    (folder / "patch.yaml.j2").write_text("# target: a\nkind: Service\n")
    (folder / "meta.yaml").write_text("description: mine\n")
    (folder / "schema.json").write_text(json.dumps(filled(schema, server.url, tmp_path / "a.json")))
    assert bool(load_library(tmp_path).findings) == (schema in OUTSIDE)
    assert server.asked == []


@pytest.mark.parametrize("schema", OUTSIDE + INSIDE, ids=str)
def test_the_parameter_schema_of_a_rule_fetches_no_address(schema: Any, server: Counting, tmp_path: Path) -> None:
    wanted = filled(schema, server.url, tmp_path / "a.json")
    text = json.dumps({"type": "object", "properties": {"most": wanted}, "additionalProperties": False})
    for params in ({"most": 1, "unknown": 2}, {"most": {}}):
        with suppress(BadSchema):
            misfits(params, text)
    assert server.asked == []


def doubled(keyword: str, times: int) -> dict[str, Any]:
    """Returns a schema in which each definition refers twice to the next one."""
    refer = [[{"$ref": f"#/$defs/a{number + 1}"}] * 2 for number in range(times)]
    defs: dict[str, Any] = {f"a{number}": {keyword: both} for number, both in enumerate(refer)}
    return {"$ref": "#/$defs/a0", "$defs": {**defs, f"a{times}": {"type": "string"}}}


def nested(keyword: str, times: int) -> dict[str, Any]:
    """Returns a schema with a nested keyword that evaluates everything next to it again."""
    schema: dict[str, Any] = {"properties": {"a": True}}
    for _ in range(times):
        schema = {"allOf": [schema], keyword: False}
    return schema


ENDLESS = {
    **{f"{keyword} twice": doubled(keyword, 40) for keyword in ("allOf", "anyOf", "oneOf", "prefixItems")},
    **{keyword: nested(keyword, 40) for keyword in ("unevaluatedProperties", "unevaluatedItems")},
    "in a circle": {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
    "a long chain": {
        "$ref": "#/$defs/a0",
        "$defs": {f"a{number}": {"not": {"$ref": f"#/$defs/a{number + 1}"}} for number in range(5000)} | {"a5000": {}},
    },
    "very many": {"allOf": [{"required": ["a"]}] * 10_000},
}


@pytest.mark.parametrize("schema", ENDLESS.values(), ids=ENDLESS)
def test_a_schema_that_could_take_too_long_is_rejected(schema: Any) -> None:
    with pytest.raises(BadSchema):
        Checker(schema)


SLOW = "[01]*1[01]{900}[xy]"
"""Each character may be where any of the last 900 began: no engine is quick here."""


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"a": {"pattern": SLOW}}}, {"a": "01" * 1_000_000}),
        ({"patternProperties": {SLOW: {}}}, {"01" * 1_000_000: 1}),
        ({"propertyNames": {"pattern": SLOW}}, {"a": {}, "b": ["01" * 1_000_000]}),
        ({"allOf": [{"items": {"pattern": SLOW}}] * 100}, {"a": ["01" * 1_000] * 100}),
        (doubled("allOf", 10), {"a": [0] * 1_000_000}),
    ],
    ids=["text", "key", "names", "many patterns", "many values"],
)
def test_a_value_that_takes_too_long_to_check_is_not_checked(schema: Any, value: Any) -> None:
    with pytest.raises(TooMuch):
        Checker(schema).is_valid(value)


def test_only_the_first_of_many_errors_are_collected() -> None:
    checker = Checker({"properties": {"a": {"items": {"type": "string"}}, "b": {"type": "string"}}})
    value = {"a": [1] * 1_000_000, "b": 2}
    assert not checker.is_valid(value)
    errors, whole = checker.errors(value)
    assert MOST_SHOWN < len(errors) < 10_000
    assert not whole
    assert [str(part) for part in errors[0].instance_path] == ["a", "0"]
    assert checker.errors({"a": ["x"], "b": 2})[1]


def test_an_error_after_many_valid_items_is_reported() -> None:
    checker = Checker({"properties": {"a": {"items": {"type": "string"}}}})
    errors, _ = checker.errors({"a": [*["x"] * 100_000, 1]})
    assert [error.instance_path for error in errors] == [["a", 100_000]]


HANGS = ["(a+)+", "(a|a)*", "(a*)*", "(.*a){25}", "([a-z]+)*", "(a|aa)+", "(?:a?){40}a{40}"]


@pytest.mark.parametrize("pattern", HANGS)
def test_a_pattern_never_backtracks(pattern: str) -> None:
    text = "a" * 5000 + "!"
    with takes_at_most(5):  # backtracking would never end
        assert pattern_problem(pattern) == ""
        assert not fullmatch(pattern, text)
        schema = {"properties": {"a": {"pattern": f"^{pattern}$"}}}
        assert not compiled(schema).is_valid({"a": text})
        assert [misfit.path for misfit in misfits({"a": text}, json.dumps(schema))] == [("a",)]


@pytest.mark.parametrize(
    "pattern",
    ["(?!a)b", "(?<=a)b", r"(a)\1", "(?P<x>a)(?P=x)", "a" * (MAX_PATTERN + 1), r"(\w{900}){900}", "a)|(b", "(", 7],
)
def test_an_unsupported_pattern_has_a_reason(pattern: Any) -> None:
    assert pattern_problem(pattern)


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_an_unsupported_pattern_in_a_schema_is_an_error_with_its_path(keyword: str) -> None:
    value: Any = "^(?!a)" if keyword == "pattern" else {"^(?!a)": {}}
    with pytest.raises(BadSchema) as refused:
        compiled({"properties": {"a": {keyword: value}}})
    assert refused.value.path[:3] == ("properties", "a", keyword)


@pytest.mark.parametrize(
    ("pattern", "text", "whole"),
    [
        ("a|b", "b", True),
        ("a|b", "ab", False),
        ("a", "a\n", False),
        ("a$", "a", True),
        ("(?i)ABC", "abc", True),
        (r"[\w.-]+/x:v\d+", "re-g.io/x:v12", True),
        (".*", "", True),
        (".*", "a\nb", False),
        ("é+", "éé", True),
    ],
)
def test_a_full_match_is_the_same_as_in_python(pattern: str, text: str, whole: bool) -> None:
    assert pattern_problem(pattern) == ""
    assert fullmatch(pattern, text) is whole


def test_a_matched_text_has_a_maximum_length() -> None:
    with pytest.raises(ValueError, match="more than"):
        fullmatch(".*", "a" * (MAX_TEXT + 1))
