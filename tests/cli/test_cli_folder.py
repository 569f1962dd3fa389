"""Folders of generated files: all of them or none, however many there are."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from modelyard.cli.exit import Stop
from modelyard.cli.folder import replace_generated


def test_folders_are_staged_one_after_the_other(tmp_path: Path) -> None:
    """The files of a folder are on the disk, but not in their place, when the next folder is asked for."""
    seen = []

    def folders() -> Iterator[tuple[str, Mapping[str, str]]]:
        for name in "ab":
            yield name, {"x.yaml": name}
            seen.append({path.read_text(): path.name for path in tmp_path.rglob("*") if path.is_file()})

    assert replace_generated(tmp_path, folders()).written == 2
    assert ["a" in seen[0], "b" in seen[0], "a" in seen[1], "b" in seen[1]] == [True, False, True, True]
    assert not {"x.yaml", ".modelyard"} & {*seen[0].values(), *seen[1].values()}
    assert [(tmp_path / name / "x.yaml").read_text() for name in "ab"] == ["a", "b"]
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"x.yaml", ".modelyard"}


@pytest.mark.parametrize("reason", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("no plan")])
def test_an_error_leaves_nothing_behind(tmp_path: Path, reason: BaseException) -> None:
    replace_generated(tmp_path, [("a", {"x.yaml": "before"})])
    there = sorted(tmp_path.rglob("*"))

    def folders() -> Iterator[tuple[str, Mapping[str, str]]]:
        yield "a", {"x.yaml": "after"}
        yield "b/c", {"deep/y.yaml": "new"}
        raise reason

    with pytest.raises(type(reason)):
        replace_generated(tmp_path, folders())
    assert sorted(tmp_path.rglob("*")) == there
    assert (tmp_path / "a" / "x.yaml").read_text() == "before"


def test_a_second_run_replaces_files_and_deletes_old_ones(tmp_path: Path) -> None:
    assert replace_generated(tmp_path, [("a", {"x.yaml": "1", "old.yaml": "1"})]).written == 2
    assert replace_generated(tmp_path, [("a", {"x.yaml": "2"})]).written == 1
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".modelyard", "x.yaml"]


def test_the_manifest_is_what_sha256sum_checks(tmp_path: Path) -> None:
    replace_generated(tmp_path, [("a", {"x.yaml": "1", "far/y.yaml": "2"})])
    subprocess.run(["sha256sum", "--check", "--strict", ".modelyard"], cwd=tmp_path / "a", check=True)


@pytest.mark.parametrize("again", [{"x.yaml": "2"}, {"y.yaml": "1"}], ids=["written again", "no longer generated"])
def test_a_changed_file_is_not_replaced_or_deleted(tmp_path: Path, again: Mapping[str, str]) -> None:
    replace_generated(tmp_path, [("a", {"x.yaml": "1"})])
    (tmp_path / "a/x.yaml").write_text("mine")
    if "x.yaml" in again:
        with pytest.raises(Stop, match="changed since"):
            replace_generated(tmp_path, [("a", again)])
    else:
        assert replace_generated(tmp_path, [("a", again)]).kept == (tmp_path / "a/x.yaml",)
        # It no longer counts as generated.
        assert replace_generated(tmp_path, [("a", again)]).kept == ()
    assert (tmp_path / "a/x.yaml").read_text() == "mine"


DIGEST = hashlib.sha256(b"mine").hexdigest()


@pytest.mark.parametrize(
    "line",
    [
        "{name}",
        "{digest}",
        "{digest} {name}",
        "{digest} *{name}",
        "{digest}  ./{name}",
        "{digest}  far/../{name}",
        "{digest}  /{folder}/{name}",
        "{digest}  ../a/{name}",
        "{digest}  {name}/",
        "{digest}  {name}\r",
        "{digest}  {name}\0",
        "{digest}  .",
        "{digest}  .modelyard",
        f"{0:064}  {{name}}",
        "\ufeff{digest}  {name}",
    ],
)
@pytest.mark.parametrize("again", ["x.yaml", "y.yaml"], ids=["written again", "no longer generated"])
def test_without_a_valid_manifest_no_file_is_replaced_or_deleted(tmp_path: Path, line: str, again: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.yaml").write_text("mine")
    text = line.format(name="x.yaml", digest=DIGEST, folder=tmp_path / "a")
    (tmp_path / "a/.modelyard").write_bytes(text.encode() + b"\n")
    with suppress(Stop):
        replace_generated(tmp_path, [("a", {again: "new"})])
    assert (tmp_path / "a/x.yaml").read_text() == "mine"


@pytest.mark.parametrize("step", range(1, 7))
def test_a_killed_run_does_not_block_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """The next run, of another plan, replaces the files of both runs, whatever the killed run had renamed."""
    replace_generated(tmp_path, [("a", {"x.yaml": "1", "y.yaml": "1", "stale.yaml": "1"})])
    rename, calls = os.rename, []

    def killed(*args: Any, **options: Any) -> None:
        calls.append(args)
        if len(calls) == step:
            raise SystemExit
        rename(*args, **options)

    monkeypatch.setattr(os, "rename", killed)
    with suppress(SystemExit):
        replace_generated(tmp_path, [("a", {"x.yaml": "2", "y.yaml": "2"})])
    monkeypatch.setattr(os, "rename", rename)
    assert replace_generated(tmp_path, [("a", {"x.yaml": "3"})]).kept == ()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".modelyard", "x.yaml"]


FILES = {"x.yaml": "1", "far/y.yaml": "1"}
LINKS = ["out", "out/vendor", "out/vendor/a", "out/vendor/a/.modelyard", "out/vendor/a/x.yaml", "out/vendor/a/far"]


@pytest.mark.parametrize("leads", ["folder", "../outside", "nowhere", "."])
@pytest.mark.parametrize("link", [*LINKS, "out/vendor/a/far/y.yaml"])
@pytest.mark.parametrize("before", [True, False])
def test_nothing_is_written_or_deleted_through_a_link(
    tmp_path: Path, cli: Any, link: str, leads: str, before: bool
) -> None:
    """The manifest behind the link may have right digests: a stranger can compute them."""
    base = tmp_path / "project"
    for folder in (base / "folder", tmp_path / "outside"):
        for inside in ("", "vendor/a", "a", "far"):
            (folder / inside).mkdir(parents=True, exist_ok=True)
            names = {"x.yaml": "theirs", "y.yaml": "theirs", "prod.yaml": "theirs"}
            for name, text in names.items():
                (folder / inside / name).write_text(text)
            digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in names.items()}
            (folder / inside / ".modelyard").write_text("".join(f"{one}  {name}\n" for name, one in digests.items()))
    if before:
        replace_generated(base, [("out/vendor/a", FILES)])
    path = base / link
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to((tmp_path / "outside") if leads == "../outside" else base / leads)
    there = cli.tree(tmp_path)
    with pytest.raises(Stop, match="symbolic link"):
        replace_generated(base, [("out/vendor/b", FILES), ("out/vendor/a", FILES)])
    assert path.is_symlink()
    assert cli.tree(tmp_path) == there


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert replace_generated(tmp_path / "link", [("a", FILES)]).written == 2
    assert (tmp_path / "real/a/far/y.yaml").read_text() == "1"


def test_a_committed_link_to_the_stack_files_leaves_them(project: Any, refused: Any) -> None:
    stacks = project.root / "stacks"
    (stacks / ".modelyard").write_text("Pulumi.prod.yaml\n")
    (project.root / "out/vendor").mkdir(parents=True)
    (project.root / "out/vendor/dev").symlink_to("../../stacks")
    for words in ((), ("--out", "out/vendor")):
        # The path may be longer than a line.
        said = "".join(refused("render", "dev", *words, code=2).words.split())
        assert "out/vendor/devisasymboliclink" in said


def test_a_stack_named_like_the_parent_folder_is_refused(project: Any, refused: Any) -> None:
    (project.root / "stacks/Pulumi....yaml").write_text(project.stack_file().read_text())
    refused("render", "..", code=2)
    assert refused("render", "--all", code=2).errors == ["CFG001"]
