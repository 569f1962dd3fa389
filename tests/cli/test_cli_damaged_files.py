"""Each file of a project, damaged in each way: no crash, no waiting, and a message that names the file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def _instead(make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


WAYS: dict[str, Callable[[Path], Any]] = {
    "folder": _instead(Path.mkdir),
    "circle": _instead(lambda path: path.symlink_to(path)),
    "pipe": _instead(os.mkfifo),
    "endless": _instead(lambda path: path.symlink_to("/dev/zero")),
    "outside": _instead(lambda path: path.symlink_to("/etc/passwd")),
    "huge": lambda path: os.truncate(path, 3 * 1024**3),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "deep": lambda path: path.write_bytes(b"[" * 20_000 + b"]" * 20_000),
    "list": lambda path: path.write_text("[1, 2]"),
}
FILES = (
    "stacks/Pulumi.dev.yaml",
    "stacks/recorded/dev/cluster.json",
    "stacks/recorded/dev/deployment.ml-platform.deployment-ray-model-training-worker.json",
    "patches/patches.lock",
    "patches/ray-worker/v1/schema.json",
    "patches/ray-worker/v1/meta.yaml",
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_named(project: Any, run: Any, file: str, way: str) -> None:
    project.own_patches()
    path = project.root / file
    WAYS[way](path)
    result = run("check", "dev")
    assert result.code in (1, 2), result.text
    assert Path(file).name in result.text or str(Path(file).parent) in result.text
    assert "root:" not in result.text
