"""States of a local backend that are read without Pulumi; the program here answers that the stack is missing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelyard.cluster.engine_state import resources_in_file, state_objects
from modelyard.kube.state import ObjectKey, StateObject

HEAD = ObjectKey("apps/v1", "Deployment", "ml", "head")
REQUEST = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "head", "namespace": "ml"}}
WHOLE = {"type": "kubernetes:apps/v1:Deployment", "inputs": REQUEST}
STATE = {"version": 3, "checkpoint": {"stack": "organization/it/dev", "latest": {"resources": [WHOLE]}}}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose backend is its own folder, with a Pulumi that has no stack and notes each start."""
    (tmp_path / "Pulumi.yaml").write_text("name: it\nruntime: python\nbackend: {url: 'file://.?metadata=skip'}\n")
    program = tmp_path / "pulumi"
    program.write_text(f"#!/bin/sh\necho \"error: no stack named 'dev' found\" >&2; touch {tmp_path}/started; exit 6\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    (tmp_path / ".pulumi" / "stacks" / "it").mkdir(parents=True)
    (tmp_path / ".pulumi" / "meta.yaml").write_text("version: 1\n")
    return tmp_path


def saved(root: Path, state: Any) -> Path:
    file = root / ".pulumi" / "stacks" / "it" / "dev.json"
    file.write_text(json.dumps(state))
    return file


@pytest.mark.parametrize("form", [{"version": 3}, {"version": 4, "features": ["hooks"]}], ids=str)
def test_a_state_in_a_folder_is_read_without_pulumi(root: Path, form: dict[str, Any]) -> None:
    saved(root, {**STATE, **form})
    assert state_objects(root, "dev") == {HEAD: StateObject(managed=True)}
    assert not (root / "started").exists()


def test_a_variable_names_the_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(root, STATE)
    (root / ".pulumi").rename(tmp_path / "other")
    (tmp_path / "there").mkdir()
    (tmp_path / "other").rename(tmp_path / "there" / ".pulumi")
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}/there?metadata=skip")
    assert resources_in_file(root, "dev") == [WHOLE]


def test_a_stack_that_was_never_applied_has_no_resources(root: Path) -> None:
    assert resources_in_file(root, "dev") == []
    saved(root, {"version": 3, "checkpoint": {"stack": "organization/it/dev"}})
    assert resources_in_file(root, "dev") == []


def without_layout(root: Path) -> None:
    (root / ".pulumi" / "meta.yaml").unlink()


def other_layout(root: Path) -> None:
    (root / ".pulumi" / "meta.yaml").write_text("version: 2\n")


def compressed(root: Path) -> None:
    (root / ".pulumi" / "stacks" / "it" / "dev.json.gz").write_bytes(b"")


def other_version(root: Path) -> None:
    saved(root, {**STATE, "version": 5})


def other_feature(root: Path) -> None:
    saved(root, {**STATE, "version": 4, "features": ["hooks", "views"]})


def cut_short(root: Path) -> None:
    file = root / ".pulumi" / "stacks" / "it" / "dev.json"
    file.write_text(file.read_text()[:-1])


def other_form(root: Path) -> None:
    saved(root, [])


def folder(root: Path) -> None:
    file = root / ".pulumi" / "stacks" / "it" / "dev.json"
    file.unlink()
    file.mkdir()


def with_attributes(root: Path) -> None:
    file = root / "Pulumi.yaml"
    file.write_text(file.read_text().replace("?metadata=skip", ""))


def encoded(root: Path) -> None:
    file = root / "Pulumi.yaml"
    file.write_text(file.read_text().replace("file://.", "file://%2E"))


def without_name(root: Path) -> None:
    file = root / "Pulumi.yaml"
    file.write_text(file.read_text().replace("name: it", "name: it/..%2Fit"))


def without_pulumi(root: Path) -> None:
    (root / "pulumi").unlink()


@pytest.mark.parametrize(
    "change",
    [
        without_layout,
        other_layout,
        compressed,
        other_version,
        other_feature,
        cut_short,
        other_form,
        folder,
        with_attributes,
        encoded,
        without_name,
        without_pulumi,
    ],
)
def test_pulumi_is_asked_about_any_other_state(root: Path, change: Callable[[Path], None]) -> None:
    saved(root, STATE)
    assert resources_in_file(root, "dev") == [WHOLE]
    change(root)
    assert resources_in_file(root, "dev") is None
