"""``modelyard fmt``: what it writes, what it leaves alone, how it ends."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Project = Any
Run = Any
LOOSE = ("    model: A10\n    perWorker: 1\n", "    perWorker:   1\n    model: A10\n")


def patch(project: Project) -> Path:
    """An unreleased patch that is not in the layout."""
    folder: Path = project.patch("mine", "# target: x  \n", meta="when: listed\ndescription: mine\n", schema='{"a":1}')
    return folder


def test_it_formats_stack_files_and_unreleased_patches(project: Project, run: Run) -> None:
    before = project.stack_file().read_text()
    project.edit(LOOSE)
    folder = patch(project)
    result = run("fmt")
    assert result.code == 0
    assert project.stack_file().read_text() == before
    assert (folder / "meta.yaml").read_text() == "description: mine\nwhen: listed\n"
    assert (folder / "schema.json").read_text() == '{\n  "a": 1\n}\n'
    assert (folder / "patch.yaml.j2").read_text() == "# target: x\n"
    assert "formatted stacks/Pulumi.dev.yaml\n" in result.out
    assert "6 files checked, 4 changed; 46 released patch versions skipped\n" in result.out


def test_a_second_run_changes_nothing(project: Project, run: Run, cli: SimpleNamespace) -> None:
    project.edit(LOOSE)
    run("fmt")
    before = cli.tree(project.root)
    assert "3 files checked, 0 changed" in run("fmt").out
    assert cli.tree(project.root) == before


def test_the_plan_is_approved_still(project: Project, run: Run) -> None:
    project.edit(LOOSE)
    assert run("plan", "dev", "--out", "before.json").code == 0
    run("fmt")
    assert run("plan", "dev", "--out", "after.json").code == 0
    assert Path("before.json").read_text() == Path("after.json").read_text()


def test_check_changes_nothing_and_ends_with_1(project: Project, refused: Run) -> None:
    project.edit(LOOSE)
    result = refused("fmt", "--check", code=1)
    assert "stacks/Pulumi.dev.yaml is not formatted\n" in result.out


def test_check_of_a_formatted_project_ends_with_0(run: Run) -> None:
    assert run("fmt", "--check").code == 0


def test_diff_changes_nothing_and_shows_what_would(project: Project, refused: Run) -> None:
    project.edit(LOOSE)
    result = refused("fmt", "--diff", code=0)
    assert "--- a/stacks/Pulumi.dev.yaml\n+++ b/stacks/Pulumi.dev.yaml\n" in result.out
    assert "-    perWorker:   1\n" in result.out
    assert "+    perWorker: 1\n" in result.out
    assert refused("fmt", "--diff", "--check", code=1).out == result.out


def test_encrypted_values_are_not_shown(project: Project, run: Run) -> None:
    project.add("modelyard:patches:\n- name:   x\n  params: {token: {secure: v1:hidden}}")
    shown = run("fmt", "--diff").out
    assert "secure: [secret]" in shown
    assert "hidden" not in shown
    run("fmt")
    assert "{token: {secure: v1:hidden}}" in project.stack_file().read_text()


COMMAND = """modelyard:jobs:
- name:   train
  type: training
  command: [python, train.py, "--api-key=hunter2x", --token, hunter3x, "--level=1", "last"]
  image: "images.example.com/train:1"
  env:   {A: "1"}
"""


def test_a_secret_takes_nothing_else_out_of_the_diff(project: Project, run: Run) -> None:
    project.add(COMMAND)
    shown = run("fmt", "--diff").out
    assert "hunter" not in shown
    hidden = 'command: [python, train.py, "--api-key=(hidden)", --token, (hidden), "--level=1", "last"]\n'
    assert shown.count(hidden) == 2
    assert '-    env:   {A: "1"}\n' in shown
    assert 'env: {A: "1"}\n' in shown


@pytest.mark.parametrize("name", ["apiToken", "passphrase", "db_password", "stripeKey", "tokens"])
@pytest.mark.parametrize(
    "described",
    [
        '{"type":"string","default":"hunter2x"}',
        '{"type":"string","enum":["hunter2x","hunter3x"]}',
        '{"const":"hunter2x"}',
        '{"type":"string","examples":["hunter2x"]}',
        '{"type":"array","items":{"const":"hunter2x"}}',
        '{"type":"array","default":["hunter2x"]}',
        '{"oneOf":[{"const":"hunter2x"},{"type":"null"}]}',
        '{"type":"object","properties":{"value":{"default":"hunter2x"}}}',
    ],
)
def test_the_diff_of_a_schema_has_no_secret_that_it_proposes(
    project: Project, run: Run, name: str, described: str
) -> None:
    project.patch("mine", "# target: x\n", schema=f'{{"type":"object","properties":{{"{name}":{described}}}}}')
    shown = run("fmt", "--diff", "patches/mine").out
    assert "hunter" not in shown
    assert any(line[0] == "+" and f'"{name}": ' in line for line in shown.splitlines())
    assert "(hidden)" in shown
    assert "1 would change" in shown


def test_a_released_version_is_never_touched(project: Project, run: Run) -> None:
    meta = project.patches / "ray-head" / "v1" / "meta.yaml"
    meta.write_text(meta.read_text() + "\n\n\n")
    before = meta.read_text()
    for words in (("fmt",), ("fmt", "patches/ray-head"), ("fmt", str(meta))):
        assert run(*words).code == 0
        assert meta.read_text() == before
    assert "1 released patch version skipped" in run("fmt", str(meta)).out


def test_a_lock_that_cannot_be_read_stops_everything(project: Project, refused: Run) -> None:
    project.edit(LOOSE)
    (project.patches / "patches.lock").write_text("<<<<<<< HEAD\n")
    result = refused("fmt", code=2)
    assert "line 1 of patches/patches.lock is not a lock line" in result.words


@pytest.mark.parametrize("path", ["stacks", "stacks/Pulumi.dev.yaml", ".", "../project/stacks"])
def test_paths_narrow_it(project: Project, run: Run, path: str) -> None:
    project.edit(LOOSE)
    result = run("fmt", "--check", path)
    assert result.code == 1
    assert "stacks/Pulumi.dev.yaml is not formatted" in result.out


def test_paths_are_of_the_present_folder(project: Project, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit(LOOSE)
    monkeypatch.chdir(project.root / "stacks")
    assert run("fmt", "--check", "Pulumi.dev.yaml").code == 1
    assert run("fmt", "--check", "Pulumi.prod.yaml").code == 0


@pytest.mark.parametrize(
    ("path", "words"),
    [("Pulumi.yaml", "Pulumi.yaml is neither a stack file nor a file of a patch"), ("nope", "nope does not exist")],
)
def test_a_path_of_something_else_is_refused(project: Project, refused: Run, path: str, words: str) -> None:
    project.edit(LOOSE)
    assert words in refused("fmt", path, "stacks", code=2).words


def test_a_folder_without_a_file_of_the_project_is_refused(project: Project, refused: Run, run: Run) -> None:
    (project.root / "docs").mkdir()
    assert "no stack files or patches of this project are in docs → fmt formats" in refused("fmt", "docs", code=2).words
    assert run("fmt", "docs", "stacks").code == 0
    shutil.rmtree(project.patches)
    project.patches.mkdir()
    assert "0 files checked" in run("fmt", "patches").out


def test_a_file_that_cannot_be_read_is_told_and_keeps_no_other_back(project: Project, run: Run) -> None:
    good = project.stack_file().read_text()
    project.edit(LOOSE)
    broken = project.stack_file("prod")
    broken.write_text("config:\n\tmodelyard:training: ray\n")
    (project.root / "stacks" / "Pulumi.odd.yaml").write_bytes(b"config:\n  a: \xff\n")
    result = run("fmt")
    assert result.code == 2
    assert result.errors == ["CFG002", "CFG004"] or result.errors == ["CFG004", "CFG002"]
    assert "stacks/Pulumi.prod.yaml:2:1" in result.err
    assert "stacks/Pulumi.odd.yaml:2:6" in result.err
    assert broken.read_text() == "config:\n\tmodelyard:training: ray\n"
    assert project.stack_file().read_text() == good


def test_a_layout_that_is_not_known_is_left_and_no_error(project: Project, run: Run) -> None:
    project.stack_file().write_text("config:\n  ? a:b\n  : 1\n")
    result = run("fmt", "--check", "stacks/Pulumi.dev.yaml")
    assert result.code == 0
    assert result.err == "stacks/Pulumi.dev.yaml:2 is not changed: something is between a key and its value\n"


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_mode_of_a_file_stays(project: Project, run: Run) -> None:
    project.edit(LOOSE)
    file = project.stack_file()
    file.chmod(0o640)
    assert run("fmt").code == 0
    assert file.stat().st_mode & 0o777 == 0o640
    assert "perWorker: 1\n" in file.read_text()


@pytest.mark.parametrize("words", [(), ("stacks/Pulumi.dev.yaml",)])
@pytest.mark.parametrize(("leads", "formatted"), [("elsewhere.yaml", False), ("stacks/Pulumi.x.yaml", True)])
def test_a_link_is_left_and_a_file_of_the_project_behind_it_counts(
    project: Project, run: Run, words: tuple[str, ...], leads: str, formatted: bool
) -> None:
    project.edit(LOOSE)
    link, file = project.stack_file(), project.root / leads
    before = link.read_bytes()
    link.rename(file)
    link.symlink_to(file)
    done = run("fmt", *words)
    assert done.code == 0
    assert link.is_symlink()
    assert (file.read_bytes() != before) == formatted
    if not formatted:
        assert done.err == "stacks/Pulumi.dev.yaml is not changed: it is a symbolic link\n"


@pytest.mark.skipif(os.geteuid() == 0 or os.name != "posix", reason="nothing is closed to root")
def test_a_folder_that_cannot_be_written_leaves_the_file(project: Project, refused: Run) -> None:
    project.edit(LOOSE)
    (project.root / "stacks").chmod(0o500)
    try:
        refused("fmt", code=2)
    finally:
        (project.root / "stacks").chmod(0o700)


def test_the_projects_own_files_have_the_layout(run: Run, cli: SimpleNamespace) -> None:
    assert run("-C", str(cli.ROOT), "fmt", "--check").code == 0
