"""The committed reference and pictures are the current output of their scripts."""

import argparse
import json
import re
from argparse import SUPPRESS
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]


def test_generated_pages_are_up_to_date(doc_script: Script) -> None:
    generate = doc_script("generate")
    committed, made = generate.committed(), generate.generated()
    stale = sorted(name for name in committed.keys() | made.keys() if committed.get(name) != made.get(name))
    assert stale == [], "python docs/generate.py makes them again"


def test_generated_pages_have_no_command_blocks(doc_script: Script, commands: ModuleType) -> None:
    for name, text in doc_script("generate").committed().items():
        assert not [block.place for block in commands.blocks(text, name) if block.is_command]


def test_the_picture_is_up_to_date(doc_script: Script, tmp_path: Path) -> None:
    picture = doc_script("picture")
    made = picture.picture(tmp_path)
    assert made == picture.PICTURE.read_text(encoding="utf-8"), "python docs/picture.py draws it again"


@pytest.mark.parametrize("name", ["plan.svg", "packages.svg", "logo.svg"])
def test_a_picture_loads_nothing(name: str, root: Path) -> None:
    drawn = (root / "docs" / "images" / name).read_text(encoding="utf-8")
    assert re.sub(">[^<]*<", "><", drawn).count("http") == 1  # the namespace of SVG
    assert set(re.findall(r"url\((.)", drawn)) <= {"#"}
    assert "@import" not in drawn


def test_every_package_is_in_the_picture(root: Path) -> None:
    drawn = (root / "docs" / "images" / "packages.svg").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (root / "modelyard").glob("*/__init__.py")} - {"explanations"}
    missing = sorted(name for name in packages if f">{name}</text>" not in drawn)
    assert missing == [], "the contract of layers in pyproject.toml does not place them"


def test_every_package_is_in_the_architecture(root: Path) -> None:
    text = (root / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (root / "modelyard").glob("*/__init__.py")} - {"explanations"}
    assert set(re.findall(r"^\| `modelyard/(\w+)` \|", text, re.MULTILINE)) == packages


def test_every_key_of_the_schema_is_in_the_reference(root: Path) -> None:
    schema = json.loads((root / "modelyard" / "stack" / "stack.schema.json").read_text(encoding="utf-8"))
    text = (root / "docs" / "reference" / "stack-file.md").read_text(encoding="utf-8")
    keys = {*schema["properties"]["config"]["properties"]}
    keys |= {key for definition in schema["$defs"].values() for key in definition.get("properties", {})}
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_every_option_of_every_verb_is_in_the_reference(root: Path) -> None:
    from modelyard.cli.parser import VERBS, verb_parser

    text = (root / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == VERBS.keys()
    for verb in VERBS:
        shown = [action for action in verb_parser(verb)._actions if action.help != SUPPRESS]
        options = {name for action in shown for name in action.option_strings}
        common = {"-h", "--help", "-C", "--colour", "--color"}
        assert {name for name in options - common if name not in sections[verb]} == set()


def test_every_code_is_in_the_table_with_its_severity(root: Path) -> None:
    from modelyard.explanations import explanations

    text = (root / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[([A-Z]{3}\d{3})\]\(\.\./rules/\1\.md\) \| ([a-z, ]+) \|", text, re.MULTILINE)
    assert {code for code, _ in rows} >= explanations().keys()
    assert {word for _, words in rows for word in words.split(", ")} == {"error", "warning", "note"}


def test_the_lab_guide_has_every_verb(root: Path) -> None:
    from lab.cli import _parser

    (verbs,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    text = (root / "docs" / "guides" / "lab.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE)) == set(verbs.choices)
