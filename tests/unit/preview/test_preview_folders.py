"""A preview finds changed stack files in the folder of Pulumi.yaml and behind links."""

import shutil
from pathlib import Path

import pytest

from modelyard.preview.git import RevisionError
from tests.support.git_repository import Repository

pytestmark = pytest.mark.slow

INSIDE = (
    ".", "./", "stacks/..", "stacks", "stacks/", "./stacks", "stacks/../stacks", "stacks/./../stacks//", "patches/..",
    "conf", "./conf/", "conf/deep", "conf/../conf/deep", "nowhere/../conf", "policies", "link", "link/deep",
)  # fmt: skip
"""Folders of the project; ``link`` leads to ``conf``."""
KINDS = (".", "stacks/..", "conf", "nowhere/../conf", "conf/deep", "link/deep")
"""One of each kind: the project itself, another folder, and one below, each as it is or by a way around."""
OUTSIDE = ("..", "../other", "stacks/../../other", "/", "/{root}", "{root}/stacks", "out", "out/deep", "[stacks]", "{}")
"""Folders that are none of the project, and what is no folder; ``out`` is a link out of it."""
HEADS = pytest.mark.parametrize("head", [None, "feature"], ids=["working tree", "commit"])


def named(repository: Repository, folder: str) -> None:
    path = repository.root / "Pulumi.yaml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("stackConfigDir")]
    path.write_text("\n".join([*lines, f"stackConfigDir: {folder}", ""]))


def moved(repository: Repository, folder: str) -> Path:
    """Moves the stack files to a folder that Pulumi.yaml then names."""
    if folder.startswith("link"):
        (repository.root / "conf").mkdir()
        (repository.root / "link").symlink_to("conf")
    # As Pulumi reads it: each .. takes a name back, whether it is there or not.
    to = (repository.root / Path(*_plain(folder))).resolve()
    to.mkdir(parents=True, exist_ok=True)
    for file in (repository.root / "stacks").glob("Pulumi.*.yaml"):
        file.rename(to / file.name)
    named(repository, folder)
    return to


def _plain(folder: str) -> list[str]:
    parts: list[str] = []
    for part in folder.split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def edited(file: Path) -> None:
    text = file.read_text()
    assert "memory: 32Gi" in text
    file.write_text(text.replace("memory: 32Gi", "memory: 40Gi", 1))


def told(repository: Repository, head: str | None) -> dict[str, str]:
    """Stacks that a preview finds changed, and how."""
    if head is not None:
        repository.commit()
        repository.git("checkout", "--quiet", "main")
    found = repository.preview(head=head)
    assert {one.stack for one in found.stacks} | set(found.unchanged) == {"dev", "prod", "staging"}
    assert not any(one.unplanned for one in found.stacks)
    return {one.stack: one.status for one in found.stacks}


@HEADS
@pytest.mark.parametrize("folder", INSIDE)
def test_a_change_is_found_in_any_folder_of_stack_files(repository: Repository, folder: str, head: str | None) -> None:
    to = moved(repository, folder)
    repository.on_main()
    edited(to / "Pulumi.dev.yaml")
    assert told(repository, head) == {"dev": "changed"}


@HEADS
@pytest.mark.parametrize("folder", KINDS)
@pytest.mark.parametrize("back", [False, True], ids=["away", "back"])
def test_a_change_is_found_if_the_folder_changes_too(
    repository: Repository, folder: str, back: bool, head: str | None
) -> None:
    if back:
        to = moved(repository, folder)
        repository.on_main()
        for file in to.glob("Pulumi.*.yaml"):
            file.rename(repository.root / "stacks" / file.name)
        named(repository, "stacks")
        to = repository.root / "stacks"
    else:
        to = moved(repository, folder)
    edited(to / "Pulumi.dev.yaml")
    assert told(repository, head) == {"dev": "changed"}


@HEADS
def test_stacks_outside_the_folder_of_pulumi_yaml_are_removed(repository: Repository, head: str | None) -> None:
    named(repository, "nowhere")
    assert told(repository, head) == dict.fromkeys(("dev", "prod", "staging"), "removed")


@pytest.mark.parametrize("side", ["base", "head", "working tree"])
@pytest.mark.parametrize("folder", OUTSIDE)
def test_a_folder_outside_the_project_is_refused(
    repository: Repository, tmp_path: Path, folder: str, side: str
) -> None:
    shutil.copytree(repository.root / "stacks", tmp_path / "other")
    (repository.root / "out").symlink_to(tmp_path / "other")
    (tmp_path / "other/deep").mkdir()
    named(repository, folder.replace("{root}", str(repository.root)))
    if side == "base":
        repository.on_main()
        named(repository, "stacks")
        edited(repository.root / "stacks/Pulumi.dev.yaml")
    elif side == "head":
        repository.commit()
        repository.git("checkout", "--quiet", "main")
    with pytest.raises(RevisionError, match="stackConfigDir") as error:
        repository.preview(head="feature" if side == "head" else None)
    assert "Pulumi.yaml:" in error.value.remedy


def _stack_file(root: Path) -> Path:
    (root / "shared").mkdir()
    (root / "stacks/Pulumi.dev.yaml").rename(root / "shared/dev.yaml")
    (root / "stacks/Pulumi.dev.yaml").symlink_to("../shared/dev.yaml")
    return root / "shared/dev.yaml"


def _stack_file_by_two_links(root: Path) -> Path:
    file = _stack_file(root)
    (root / "shared").rename(root / "deep")
    (root / "shared").symlink_to("deep")
    return root / "deep" / file.name


def _all_stack_files(root: Path) -> Path:
    (root / "stacks").rename(root / "conf")
    (root / "stacks").symlink_to("conf")
    return root / "conf/Pulumi.dev.yaml"


LINKS = (_stack_file, _stack_file_by_two_links, _all_stack_files)


@HEADS
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_a_change_behind_a_link_is_found(repository: Repository, link: object, head: str | None) -> None:
    assert callable(link)
    file = link(repository.root)
    repository.on_main()
    edited(file)
    assert told(repository, head) == {"dev": "changed"}


@HEADS
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_a_file_that_becomes_a_link_is_still_compared(repository: Repository, link: object, head: str | None) -> None:
    assert callable(link)
    edited(link(repository.root))
    assert told(repository, head) == {"dev": "changed"}


@HEADS
@pytest.mark.parametrize("folder", ["patches", "policies"])
def test_a_change_of_shared_files_behind_a_link_is_found(repository: Repository, folder: str, head: str | None) -> None:
    (repository.root / "policies").mkdir()
    (repository.root / "policies/policy.yaml").write_text("rules: {}\n")
    (repository.root / folder).rename(repository.root / "shared")
    (repository.root / folder).symlink_to("shared")
    repository.on_main()
    if folder == "patches":
        (repository.root / "shared/patches.lock").write_text("broken\n")
    else:
        (repository.root / "shared/policy.yaml").write_text("rules: 5\n")
    if head is not None:
        repository.commit()
        repository.git("checkout", "--quiet", "main")
    assert repository.preview(head=head).project.new


@HEADS
def test_a_recording_is_compared_in_any_folder_of_stack_files(repository: Repository, head: str | None) -> None:
    moved(repository, "conf")
    repository.on_main()
    path = repository.root / "stacks/recorded/dev/cluster.json"
    path.write_text(path.read_text().replace('"formatVersion": 1', '"formatVersion": 7'))
    if head is not None:
        repository.commit()
        repository.git("checkout", "--quiet", "main")
    found = repository.preview(head=head)
    assert [(one.stack, one.unplanned) for one in found.stacks] == [("dev", True)]


@HEADS
def test_no_stacks_at_all_are_no_preview(repository: Repository, head: str | None) -> None:
    for file in (repository.root / "stacks").glob("Pulumi.*.yaml"):
        file.unlink()
    repository.on_main()
    (repository.root / "README.md").write_text("more\n")
    if head is not None:
        repository.commit()
    with pytest.raises(RevisionError, match="stack files"):
        repository.preview(head=head)


@HEADS
@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside.yaml", "../outside.yaml"])
def test_a_stack_file_linked_outside_is_not_removed(
    repository: Repository, tmp_path: Path, target: str, head: str | None
) -> None:
    file = repository.root / "stacks/Pulumi.dev.yaml"
    shutil.copy(file, tmp_path / "outside.yaml")
    file.unlink()
    file.symlink_to(target)
    if head is not None:
        repository.commit()
        repository.git("checkout", "--quiet", "main")
    (found,) = repository.preview(head=head).stacks
    assert (found.stack, found.status, found.unplanned) == ("dev", "changed", True)
    assert [finding.code for finding in found.new] == ["CFG001"]
