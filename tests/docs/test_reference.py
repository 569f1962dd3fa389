"""The committed reference and picture are what their scripts make today."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

Script = Callable[[str], ModuleType]


def test_the_reference_is_up_to_date(root: Path, doc_script: Script) -> None:
    folder = root / "docs" / "reference"
    committed = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    made = doc_script("generate").reference()
    stale = sorted(name for name in committed.keys() | made.keys() if committed.get(name) != made.get(name))
    assert stale == [], "python docs/generate.py makes them again"


def test_the_picture_is_up_to_date(doc_script: Script, tmp_path: Path) -> None:
    picture = doc_script("picture")
    made = picture.picture(tmp_path)
    assert made == picture.PICTURE.read_text(encoding="utf-8"), "python docs/picture.py draws it again"


def test_the_picture_loads_nothing(doc_script: Script) -> None:
    drawn = doc_script("picture").PICTURE.read_text(encoding="utf-8")
    assert drawn.count("http") == 1  # the namespace of SVG
    assert "url(#" in drawn


def test_every_key_of_the_schema_is_in_the_reference(root: Path) -> None:
    import json

    schema = json.loads((root / "modelyard" / "stack" / "stack.schema.json").read_text(encoding="utf-8"))
    text = (root / "docs" / "reference" / "stack-file.md").read_text(encoding="utf-8")
    keys = {*schema["properties"]["config"]["properties"]}
    for section in ("platform", "gpu", "modelService", "rayHead", "rayWorker", "celery", "autoscaling", "waiver"):
        keys |= schema["$defs"][section]["properties"].keys()
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_the_guide_of_the_lab_has_every_verb(root: Path) -> None:
    import argparse
    import re

    from lab.cli import _parser

    (verbs,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    text = (root / "docs" / "guides" / "lab.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z]+)` \|", text, re.MULTILINE)) == set(verbs.choices)
