"""Each file of a project, damaged in each way: no crash, no waiting, and a message that names the file."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_project import FILES, FOLDERS

pytestmark = pytest.mark.slow


def _instead(make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def _a_file(path: Path) -> None:
    path.write_text("x")


def _to_outside(path: Path) -> None:
    """Makes it a link to an empty folder outside the project."""
    path.unlink()
    outside = path.parents[len(path.parts) - path.parts.index("project") - 1] / "outside"
    outside.mkdir()
    path.symlink_to(outside)


ALIASES = "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{key}: &{key} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]\n"
    for last, key in zip("abcdefgh", "bcdefghi", strict=True)
)
WAYS: dict[str, Callable[[Path], Any]] = {
    "folder": _instead(Path.mkdir),
    "circle": _instead(lambda path: path.symlink_to(path)),
    "pipe": _instead(os.mkfifo),
    "endless": _instead(lambda path: path.symlink_to("/dev/zero")),
    "outside": _instead(lambda path: path.symlink_to("/etc/passwd")),
    "huge": lambda path: os.truncate(path, 3 * 1024**3),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "deep": lambda path: path.write_bytes(b"[" * 20_000 + b"]" * 20_000),
    "never closed": lambda path: path.write_bytes(b"[" * 20_000),
    "mappings": lambda path: path.write_bytes(b'{"a":' * 20_000),
    "levels": lambda path: path.write_bytes(b"[" * 200 + b"]" * 200),
    "list": lambda path: path.write_text("[1, 2]"),
    "dangling": _instead(lambda path: path.symlink_to("nowhere")),
    "utf16": lambda path: path.write_bytes(path.read_text().encode("utf-16")),
    "half": lambda path: path.write_text('{"a": "\\ud800"}'),
    "aliases": lambda path: path.write_text(ALIASES),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_named(project: Any, run: Any, cli: Any, file: str, way: str) -> None:
    shutil.copytree(cli.ROOT / "policies", project.root / "policies")
    path = project.root / file
    WAYS[way](path)
    result = run("check", "dev")
    assert result.code in (1, 2), result.text
    assert Path(file).name in result.text or ("/" in file and str(Path(file).parent) in result.text)
    assert "root:" not in result.text


NO_TEXT = ("folder", "circle", "pipe", "endless", "outside", "huge", "binary", "dangling", "utf16")
"""Damages that leave nothing to format."""


@pytest.mark.parametrize("way", NO_TEXT)
@pytest.mark.parametrize("file", [name for name in FILES if name.startswith(("stacks/Pulumi.", "patches/ray-worker"))])
def test_a_check_of_the_layout_names_a_damaged_file(project: Any, run: Any, file: str, way: str) -> None:
    (project.root / "patches/patches.lock").unlink()
    WAYS[way](project.root / file)
    for words in (("fmt", "--check"), ("fmt", "--diff"), ("fmt",)):
        result = run(*words)
        assert result.code == 2, result.text
        assert file in result.text
        assert "root:" not in result.text


@pytest.mark.parametrize("way", [_a_file, *(WAYS[name] for name in ("circle", "pipe", "dangling")), _to_outside])
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_file_in_place_of_a_folder_is_an_error(
    project: Any, run: Any, cli: Any, folder: str, way: Callable[[Path], Any]
) -> None:
    shutil.copytree(cli.ROOT / "policies", project.root / "policies")
    path = project.root / folder
    shutil.rmtree(path)
    path.touch()
    way(path)
    result = run("check", "dev")
    assert result.code in (1, 2), result.text
    assert folder in result.text


OWNERS = {
    "key": "k:" + "[" * 20_000 + "]" * 20_000,
    "key that is not closed": "k:" + "[" * 20_000,
    "value": "v:" + '{"a":' * 990 + "1" + "}" * 990,
    "levels": "v:" + "[" * 300 + "]" * 300,
    "number": "v:" + "9" * 10_000,
    "half": 'k:{"name":"\\ud800"}',
    "infinite": "v:1e999",
    "list": "k:[1]",
}
"""Invalid path elements of ``managedFields``."""


@pytest.mark.parametrize("element", OWNERS.values(), ids=OWNERS)
def test_damaged_owners_of_fields_are_a_finding(project: Any, run: Any, element: str) -> None:
    file = project.root / "stacks/recorded/dev/deployment.ml-platform.deployment-ray-head.json"
    body = json.loads(file.read_text())
    body["metadata"]["managedFields"][0]["fieldsV1"] = {"f:spec": {element: {}}}
    file.write_text(json.dumps(body))
    for words in (("check", "dev"), ("plan", "dev"), ("diff", "dev"), ("ledger", "dev")):
        result = run(*words)
        assert result.code in (1, 2), result.text
        assert "CFG102" in result.text
