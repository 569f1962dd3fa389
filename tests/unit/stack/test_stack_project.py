"""Where the project and its stack files are, and what happens when a file cannot be read."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from modelyard.files import MAX_YAML_BYTES, ReadError
from modelyard.stack import check_project, codes, discover, find_project, load, misnamed, project_name, stack_folder


@pytest.fixture
def project(tmp_path: Path, stackfiles) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    (tmp_path / "stacks" / "recorded").mkdir(parents=True)
    for name in ("prod", "dev", "eu.west"):
        (tmp_path / "stacks" / f"Pulumi.{name}.yaml").write_text(stackfiles.BASE)
    for name in ("Pulumi.yaml", "Pulumi..yaml~", "Pulumi.a b.yaml", "Pulumi.dev.yml", "notes.txt"):
        (tmp_path / "stacks" / name).write_text("")
    return tmp_path


def test_the_project_is_the_nearest_folder_upward(project: Path) -> None:
    assert find_project(project / "stacks" / "recorded") == project / "stacks"
    (project / "stacks" / "Pulumi.yaml").unlink()
    assert find_project(project / "stacks" / "recorded") == project
    assert find_project(project) == project
    assert find_project(project.parent) is None


def test_a_relative_start_is_fine(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert find_project(Path()) == project


def test_stacks_are_discovered_in_order(project: Path) -> None:
    assert [(found.name, found.shown) for found in discover(project)] == [
        ("dev", "stacks/Pulumi.dev.yaml"),
        ("eu.west", "stacks/Pulumi.eu.west.yaml"),
        ("prod", "stacks/Pulumi.prod.yaml"),
    ]
    assert all(found.path.is_file() for found in discover(project))


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("stackConfigDir: envs\n", "envs"),
        ("name: x\nstackConfigDir: ./envs/\n", "envs"),
        ("# stackConfigDir: envs\n", "stacks"),
        ("stackConfigDir: [envs]\n", "stacks"),
        ("stackConfigDir: 'envs\n", "stacks"),
        ("", "stacks"),
    ],
)
def test_the_folder_of_the_stacks(project: Path, text: str, folder: str) -> None:
    (project / "Pulumi.yaml").write_text(text)
    assert stack_folder(project) == project / folder


@pytest.mark.parametrize(
    "folder", ["..", "../stacks", "stacks/../../stacks", "/stacks", "{root}/stacks", "out", "out/in"]
)
def test_a_folder_outside_the_project_has_no_stack_files(project: Path, folder: str) -> None:
    inner = project / "inner"
    inner.mkdir()
    (inner / "out").symlink_to(project / "stacks")
    named = folder.replace("{root}", str(inner))
    (inner / "Pulumi.yaml").write_text(f"name: x\nstackConfigDir: {named}\n")
    for reads in (stack_folder, discover, misnamed):
        with pytest.raises(ReadError):
            reads(inner)
    (finding,) = check_project(inner, only_folder=True)
    assert (finding.code, finding.file, finding.line, finding.column) == (codes.FORM, "Pulumi.yaml", 2, 17)


def test_a_default_folder_linked_outside_is_an_error(project: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    (inner / "stacks").symlink_to(project / "stacks")
    (inner / "Pulumi.yaml").write_text("name: x\n")
    (finding,) = check_project(inner, only_folder=True)
    assert (finding.code, finding.file) == (codes.FORM, "Pulumi.yaml")
    assert "outside" in finding.summary


@pytest.mark.parametrize("key", ["stackConfigDir", '"stack\\x43onfigDir"'])
@pytest.mark.parametrize("folder", ["envs", "./envs", "stacks/../envs", "nowhere/../envs/"])
def test_a_folder_is_read_as_pulumi_reads_it(project: Path, key: str, folder: str) -> None:
    (project / "Pulumi.yaml").write_text(f"name: x\n{key}: {folder}\n")
    assert stack_folder(project) == project / "envs"
    assert check_project(project, only_folder=True) == ()


def test_no_stacks_are_no_error(tmp_path: Path) -> None:
    assert discover(tmp_path) == ()


def only_finding(path: Path):
    stack, findings = load(path, f"stacks/{path.name}")
    assert stack is None
    (finding,) = findings
    assert finding.blocks
    return finding


def test_the_finding_of_a_missing_stack_lists_the_stacks(project: Path) -> None:
    finding = only_finding(project / "stacks" / "Pulumi.prd.yaml")
    assert finding.code == codes.UNREADABLE
    assert "'prd'" in finding.summary
    assert "prod?" in finding.remedy
    assert finding.remedy.endswith(" dev, eu.west and prod")


def test_the_finding_of_a_missing_folder_has_its_name(tmp_path: Path) -> None:
    finding = only_finding(tmp_path / "envs" / "Pulumi.dev.yaml")
    assert finding.remedy.startswith("envs/ ")


def test_names_of_other_files_are_refused(project: Path) -> None:
    finding = only_finding(project / "stacks" / "Pulumi.a b.yaml")
    assert "not the name" in finding.summary


@pytest.mark.parametrize("make", [Path.mkdir, getattr(os, "mkfifo", Path.mkdir)], ids=["folder", "pipe"])
def test_a_folder_or_a_pipe_is_refused_and_not_read(project: Path, make: Callable[[Path], None]) -> None:
    make(project / "stacks" / "Pulumi.other.yaml")
    assert "regular file" in only_finding(project / "stacks" / "Pulumi.other.yaml").summary


def test_a_huge_file_is_refused_before_it_is_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "stacks" / "Pulumi.huge.yaml"
    with path.open("wb") as stream:
        stream.truncate(50 * 1024 * 1024)
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("the file was read"))
    finding = only_finding(path)
    assert finding.code == codes.LIMIT
    assert re.findall(r"[\d,]+", finding.summary) == ["52,428,800", f"{MAX_YAML_BYTES:,}"]


def test_a_file_without_permission_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "stacks" / "Pulumi.dev.yaml"
    path.chmod(0)
    if os.access(path, os.R_OK):
        # The superuser may read everything: only the refusal itself can be played here.
        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
    finding = only_finding(path)
    assert finding.code == codes.UNREADABLE
    assert finding.summary.endswith("permission denied")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("name: ml\nruntime: python\n", "ml"),
        ("runtime: python\n", ""),
        ("name: [1]\n", ""),
        ("name: [\n", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_project_is_what_its_file_says(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    assert project_name(tmp_path) == name
    assert project_name(tmp_path / "nowhere") == ""
