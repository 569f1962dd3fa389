"""Files are written completely or not at all, and parsed only by some modules."""

import ast
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from modelyard.files import write_atomically


def test_text_is_written_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, "grün\nzwei\r\n")
    assert path.read_bytes() == "grün\nzwei\r\n".encode()


def test_missing_folders_are_created(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "b" / "c.txt", "x")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "x"


def test_an_existing_file_is_replaced_without_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a long text that was there before")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to("real/a.txt")
    write_atomically(tmp_path / "link.txt", "x")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "x"


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "x")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert pipe.is_fifo()


def test_standard_output_can_be_written_by_its_path(tmp_path: Path) -> None:
    script = "from pathlib import Path; from modelyard.files import write_atomically as w; w(Path('/dev/stdout'), 'x')"
    run = [sys.executable, "-c", script]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "x"
    with (tmp_path / "out").open("w") as out:
        subprocess.run(run, stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "x"
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_new_files_follow_the_umask(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "a.txt", "x")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    seen = []
    replace = Path.replace

    def watch(self: Path, target: Path) -> Path:
        seen.append((path.read_text(), self.read_text()))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watch)
    write_atomically(path, "new")
    assert seen == [("old", "new")]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if step == "fsync" else Path, step, fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_text_that_cannot_be_encoded_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(OSError, match="a"):
        write_atomically(tmp_path / "a" / "b.txt", "y")
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.parametrize("link", [False, True])
def test_an_error_names_the_requested_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: bool) -> None:
    path = tmp_path / "a.txt"
    if link:
        path.symlink_to(tmp_path / "b.txt")
        (tmp_path / "b.txt").write_text("old")

    # The name of the temporary file is too long.
    monkeypatch.setattr("modelyard.files.token", lambda: 300 * "x")
    with pytest.raises(OSError, match="too long") as caught:
        write_atomically(path, "new")
    assert caught.value.filename == str(path)


PARSERS = {
    "json": ("load", "loads", "JSONDecoder"),
    "yaml": (
        *("load", "load_all", "safe_load", "safe_load_all", "full_load", "unsafe_load", "compose", "compose_all"),
        *("parse", "scan", "CParser", "CBaseLoader", "CSafeLoader", "CLoader", "Loader", "BaseLoader"),
    ),
    "tomllib": ("load", "loads"),
}
DOORS = {
    "modelyard/files.py": "parse_json, the door for JSON",
    "modelyard/stack/yaml/document.py": "parse, the door for YAML",
    "modelyard/hiding/documents.py": "reads any text to find its secrets, with limits of its own",
    "modelyard/stack/yaml/edit.py": "needs marks; the text has passed the door",
    "modelyard/stack/yaml/source.py": "needs the events of a text that the door has limited and refused",
    "modelyard/stack/yaml/layout.py": "needs marks; the text has passed the door",
    "modelyard/cluster/kubeconfig.py": "the user's own kubeconfig, which has YAML that the door refuses",
    "modelyard/cluster/remote_credentials.py": "a kubeconfig from a Secret",
    "modelyard/stack/explain.py": "modelyard's own schemas",
    "modelyard/stack/schema.py": "modelyard's own schema",
    "modelyard/policy/shapes.py": "schemas that modelyard writes",
    "modelyard/cli/schema.py": "modelyard's own schemas",
    "modelyard/cli/cache.py": "entries that modelyard wrote, with their checksum",
    "modelyard/kube/merge/schema.py": "the types that modelyard ships",
    "modelyard/kube/merge/path.py": "one text in quotes, as a part of a path",
    "modelyard/runs/functions/runner.py": "runs in a container, without modelyard",
    "modelyard/workloads/environments/solver.py": "a program of its own, asked by modelyard",
}
"""Modules that parse without the doors, and why they may."""


def test_only_reviewed_modules_use_parsers_directly() -> None:
    root = Path(__file__).parents[2]
    found = {
        path.relative_to(root).as_posix()
        for folder in ("modelyard", "components", "policies", "stacks")
        for path in (root / folder).rglob("*.py")
        if "merge/data" not in path.as_posix() and _parses(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(DOORS)


def _parses(tree: ast.AST) -> bool:
    """Returns whether a module calls a parser, imports one by name, or reads the JSON of an HTTP answer."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=package), attr=name) if name in PARSERS.get(package, ()):
                return True
            case ast.ImportFrom(module=str(module), names=names) if any(
                one.name in PARSERS.get(module.partition(".")[0], ()) for one in names
            ):
                return True
            case ast.Call(func=ast.Attribute(attr="json"), args=[]):
                return True
    return False
