"""The generators of the reference read the source and the schemas correctly."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]


@pytest.fixture
def severities(doc_script: Script) -> Callable[..., dict[str, tuple[str, ...]]]:
    doc_script("generate")
    from generators.severities import severities

    return severities


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('Finding("GPU001", Severity.WARNING, "x")', ("warning",)),
        ('Finding("GPU001", Severity.ERROR if bad else Severity.ADVICE, "x")', ("error", "advice")),
        (
            'Finding("GPU001", Severity.ADVICE if a else Severity.WARNING if b else Severity.ERROR, "x")',
            ("error", "warning", "advice"),
        ),
        ('UNREADABLE = "GPU001"\nFinding(UNREADABLE, Severity.ERROR, "x")', ("error",)),
        ('def _wrong(code): return Finding(code, Severity.ADVICE, "x")\n_wrong("GPU001")', ("advice",)),
        ('TextProblem("GPU001", "x", harmless=True)\nMistake((), "GPU001", "y")', ("error", "warning")),
        ('Problem("GPU001", Severity.ADVICE, "x")', ("advice",)),
        ('TABLE = {1: ("GPU001", Severity.ERROR), 2: ("GPU001", Severity.WARNING)}', ("error", "warning")),
        ('known("GPU001")', ()),
    ],
)
def test_the_severity_of_a_code_is_read_from_the_source(
    source: str, expected: tuple[str, ...], severities: Callable[..., dict[str, tuple[str, ...]]], tmp_path: Path
) -> None:
    (tmp_path / "rules.py").write_text(source, encoding="utf-8")
    assert severities(tmp_path) == {"GPU001": expected}


def test_an_undescribed_variable_is_an_error(doc_script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    doc_script("generate")
    from generators import environment

    monkeypatch.delitem(environment.PROGRAM, "NO_COLOR")
    monkeypatch.setitem(environment.PROGRAM, "NO_COLOUR", "Misspelt.")
    with pytest.raises(ValueError, match=r"missing \['NO_COLOR'\], no longer read \['NO_COLOUR'\]"):
        environment.environment()


def test_each_way_to_read_a_variable_is_found(doc_script: Script, tmp_path: Path) -> None:
    doc_script("generate")
    from generators.environment import variables

    (tmp_path / "one.py").write_text(
        'import os\nfrom os import environ\nNAME = "E"\n'
        'os.environ.get("A")\nos.environ["B"]\nos.getenv("C")\n"D" in os.environ\nos.environ.get(NAME, "x")\n'
        '[os.environ.get(name) for name in ("J", "K")]\nfor key in ("L",):\n    os.environ[key]\n'
        '{"F", "G"} & os.environ.keys()\n{**os.environ, "H": "1"}\nother.get("I")\n',
        encoding="utf-8",
    )
    assert variables([str(tmp_path)]) == set("ABCDEFGJKL")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"enum": ["a", "b", ""]}, "`a`, `b` or empty"),
        ({"const": 1}, "`1`"),
        ({"type": ["integer", "null"], "minimum": 0}, "whole number or null, 0 or more"),
        ({"type": "integer", "minimum": 1, "maximum": 65535}, "whole number, 1 to 65535"),
        ({"type": "integer", "minimum": 1, "maximum": 999999999}, "whole number, 1 or more"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 32}, "list of text, at most 32"),
        ({"type": "object", "additionalProperties": {}, "maxProperties": 8}, "mapping by name, at most 8"),
        # One of several keys, which are described below.
        ({"type": "object", "additionalProperties": False, "maxProperties": 1}, "mapping"),
        ({"type": "array", "items": {"$ref": "#/$defs/one"}}, "list of mappings"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "mapping by name"),
        ({"oneOf": [{"$ref": "urn:modelyard:schema:plan"}, {"type": "null"}]}, "[plan](plan.md) or null"),
        ({"$ref": "urn:modelyard:schema:plan#/$defs/owner"}, "[plan: owner](plan.md#owner)"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "list: text, whole number"),
        ({"type": "array", "items": True}, "list of any value"),
        ({}, "any value"),
    ],
)
def test_a_value_type_is_described_in_words(schema: dict[str, object], expected: str, doc_script: Script) -> None:
    doc_script("generate")
    from generators.schema import form

    assert form(schema, {"$defs": {"one": {"type": "object", "properties": {"a": {}}}}}) == expected


def test_a_mapping_with_several_references_has_one_section(doc_script: Script) -> None:
    doc_script("generate")
    from generators.schema import own_sections, sections

    pair = {"type": "object", "properties": {"before": {}, "after": {}}}
    schema = {
        "properties": {
            "first": {"$ref": "#/$defs/target"},
            "targets": {"type": "array", "items": {"$ref": "#/$defs/target"}},
            "gpus": pair,
        },
        "$defs": {"target": {"description": "One object.", "type": "object", "properties": {"gpus": pair}}},
    }
    titles = [section.title for section in sections(schema, schema)]
    assert titles == ["target", "gpus", "target.gpus"]
    assert own_sections(schema, schema) == {"first": "target", "targets": "target", "gpus": "gpus"}
    assert own_sections(schema["$defs"]["target"], schema, "target.") == {"gpus": "target.gpus"}


def test_a_table_escapes_special_characters(doc_script: Script) -> None:
    doc_script("generate")
    from generators.markdown import table

    lines = table(("a", "b", "c"), [("x|y", "", "<name> and `<code>`"), ("two\nlines", "", "")])
    assert lines == ["| a | c |", "| --- | --- |", "| x\\|y | &lt;name> and `<code>` |", "| two lines |  |"]
