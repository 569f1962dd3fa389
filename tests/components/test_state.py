"""A stack with two states is refused, because each knows nothing of what the other has done."""

from pathlib import Path

import pulumi
import pytest

from modelyard.engine.program.plan import check_state

RELATIVE = "name: it\nbackend:\n  url: file://.\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    (tmp_path / "Pulumi.yaml").write_text(RELATIVE)
    state(tmp_path, ".", "dev")
    return tmp_path


def state(root: Path, folder: str, stack: str) -> None:
    place = root / folder / ".pulumi" / "stacks" / "modelyard"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{stack}.json").write_text("{}")


def test_the_projects_own_state_is_fine(root: Path) -> None:
    check_state(root, "dev")


def test_a_second_state_is_refused_with_a_remedy(root: Path) -> None:
    state(root, "stacks", "dev")
    with pytest.raises(pulumi.RunError, match=r"in stacks/\.pulumi.*; run it in .*, and remove stacks/\.pulumi if"):
        check_state(root, "dev")


def test_a_state_of_another_stack_does_not_matter(root: Path) -> None:
    state(root, "stacks", "prod")
    check_state(root, "dev")


@pytest.mark.parametrize("place", ["file:///var/state", "file://~/state", "s3://bucket", ""])
def test_only_a_relative_path_depends_on_the_current_folder(root: Path, place: str) -> None:
    state(root, "stacks", "dev")
    (root / "Pulumi.yaml").write_text(RELATIVE.replace("file://.", place or "''"))
    check_state(root, "dev")


def test_a_backend_named_by_the_user_is_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state(root, "stacks", "dev")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://bucket")
    check_state(root, "dev")


def test_the_variable_with_the_backend_of_the_project_is_checked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state(root, "stacks", "dev")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "file://.")
    with pytest.raises(pulumi.RunError):
        check_state(root, "dev")


@pytest.mark.parametrize("text", ["", "name: it\n", "name: it\nbackend:\n"])
def test_a_project_without_a_backend_is_accepted(root: Path, text: str) -> None:
    state(root, "stacks", "dev")
    (root / "Pulumi.yaml").write_text(text)
    check_state(root, "dev")


@pytest.mark.parametrize("text", ["", "5", "[a]", "backend: [a]", "backend: {url: [a]}", "a: " + "[" * 20_000])
def test_a_malformed_project_file_is_ignored(root: Path, text: str) -> None:
    (root / "Pulumi.yaml").write_text(text)
    check_state(root, "dev")
