"""``modelyard fmt``: what it writes, what it does not change, how it ends.

What it prints is in ``tests/golden/test_cli_fmt.txt``.
"""

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


def test_it_formats_stack_files_and_unreleased_patches(project: Project, run: Run, golden: Any) -> None:
    before = project.stack_file().read_text()
    project.edit(LOOSE)
    folder = patch(project)
    golden(run("fmt"))
    assert project.stack_file().read_text() == before
    assert (folder / "meta.yaml").read_text() == "description: mine\nwhen: listed\n"
    assert (folder / "schema.json").read_text() == '{\n  "a": 1\n}\n'
    assert (folder / "patch.yaml.j2").read_text() == "# target: x\n"


def test_a_second_run_changes_nothing(project: Project, run: Run, cli: SimpleNamespace) -> None:
    project.edit(LOOSE)
    run("fmt")
    before = cli.tree(project.root)
    assert run("fmt").code == 0
    assert cli.tree(project.root) == before


def test_formatting_does_not_change_the_plan(project: Project, run: Run) -> None:
    project.edit(LOOSE)
    assert run("plan", "dev", "--out", "before.json").code == 0
    run("fmt")
    assert run("plan", "dev", "--out", "after.json").code == 0
    assert Path("before.json").read_text() == Path("after.json").read_text()


def test_check_and_diff_change_nothing(project: Project, refused: Run, golden: Any) -> None:
    assert refused("fmt", "--check", code=0).err == ""
    project.edit(LOOSE)
    diff = refused("fmt", "--diff", code=0)
    golden(refused("fmt", "--check", code=1), diff)
    assert refused("fmt", "--diff", "--check", code=1).out == diff.out


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


def test_a_diff_hides_only_secrets(project: Project, run: Run) -> None:
    project.add(COMMAND)
    shown = run("fmt", "--diff").out
    assert "hunter" not in shown
    hidden = 'command: [python, train.py, "--api-key=(hidden)", --token, (hidden), "--level=1", "last"]\n'
    assert shown.count(hidden) == 2
    assert '-    env:   {A: "1"}\n' in shown
    assert 'env: {A: "1"}\n' in shown


@pytest.mark.slow
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
    assert "+++ b/patches/mine/v1/schema.json\n" in shown


def test_a_released_version_is_never_touched(project: Project, run: Run) -> None:
    meta = project.patches / "ray-head" / "v1" / "meta.yaml"
    meta.write_text(meta.read_text() + "\n\n\n")
    before = meta.read_text()
    for words in (("fmt",), ("fmt", "patches/ray-head"), ("fmt", str(meta))):
        assert run(*words).code == 0
        assert meta.read_text() == before


def test_a_lock_that_cannot_be_read_stops_everything(project: Project, refused: Run) -> None:
    project.edit(LOOSE)
    (project.patches / "patches.lock").write_text("<<<<<<< HEAD\n")
    assert "line 1 of patches/patches.lock " in refused("fmt", code=2).words


@pytest.mark.parametrize("path", ["stacks", "stacks/Pulumi.dev.yaml", ".", "../project/stacks"])
def test_paths_choose_files(project: Project, run: Run, path: str) -> None:
    project.edit(LOOSE)
    result = run("fmt", "--check", path)
    assert result.code == 1
    assert "stacks/Pulumi.dev.yaml" in result.out


def test_paths_are_relative_to_the_current_folder(project: Project, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    project.edit(LOOSE)
    monkeypatch.chdir(project.root / "stacks")
    assert run("fmt", "--check", "Pulumi.dev.yaml").code == 1
    assert run("fmt", "--check", "Pulumi.prod.yaml").code == 0


def test_paths_without_a_file_of_the_project_are_refused(project: Project, refused: Run, run: Run, golden: Any) -> None:
    project.edit(LOOSE)
    (project.root / "docs").mkdir()
    golden(*(refused("fmt", *line.split(), code=2) for line in ("Pulumi.yaml stacks", "nope stacks", "docs")))
    assert run("fmt", "docs", "stacks").code == 0
    shutil.rmtree(project.patches)
    project.patches.mkdir()
    assert run("fmt", "patches").code == 0


def test_a_file_that_cannot_be_read_does_not_stop_the_others(project: Project, run: Run) -> None:
    good = project.stack_file().read_text()
    project.edit(LOOSE)
    broken = project.stack_file("prod")
    broken.write_text("config:\n\tmodelyard:training: ray\n")
    (project.root / "stacks" / "Pulumi.odd.yaml").write_bytes(b"config:\n  a: \xff\n")
    result = run("fmt")
    assert result.code == 2
    assert "1 changed, 2 could not be read" in result.out
    assert sorted(result.errors) == ["CFG002", "CFG004"]
    assert "stacks/Pulumi.prod.yaml:2:1" in result.err
    assert "stacks/Pulumi.odd.yaml:2:6" in result.err
    assert broken.read_text() == "config:\n\tmodelyard:training: ray\n"
    assert project.stack_file().read_text() == good


def test_an_unknown_layout_is_not_changed_and_not_an_error(project: Project, refused: Run) -> None:
    project.stack_file().write_text("config:\n  ? a:b\n  : 1\n")
    result = refused("fmt", "stacks/Pulumi.dev.yaml", code=0)
    assert result.err.startswith("stacks/Pulumi.dev.yaml:2 ")


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_mode_of_a_file_stays(project: Project, run: Run) -> None:
    project.edit(LOOSE)
    file = project.stack_file()
    file.chmod(0o640)
    assert run("fmt").code == 0
    assert file.stat().st_mode & 0o777 == 0o640
    assert "perWorker: 1\n" in file.read_text()


@pytest.mark.parametrize("words", [(), ("stacks/Pulumi.dev.yaml",)])
@pytest.mark.parametrize(("leads", "formatted"), [("other.yaml", False), ("stacks/Pulumi.x.yaml", True)])
def test_a_link_is_not_changed_but_its_file_in_the_project_is(
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
    assert ("symbolic link" in done.err) != formatted


@pytest.mark.skipif(os.geteuid() == 0 or os.name != "posix", reason="root can write everywhere")
def test_a_folder_that_cannot_be_written_leaves_the_file(project: Project, refused: Run) -> None:
    project.edit(LOOSE)
    (project.root / "stacks").chmod(0o500)
    try:
        refused("fmt", code=2)
    finally:
        (project.root / "stacks").chmod(0o700)


def test_the_projects_own_files_have_the_layout(run: Run, cli: SimpleNamespace) -> None:
    assert run("-C", str(cli.ROOT), "fmt", "--check").code == 0
