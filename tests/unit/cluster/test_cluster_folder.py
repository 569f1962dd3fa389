"""A folder's JSON files are replaced all together, whatever happens meanwhile."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from modelyard.cluster.folder import replace_json, unfinished


def is_own(path: Path) -> bool:
    return path.name in {*OLD, *NEW}


OLD = {"a.json": "old a", "b.json": "old b"}
NEW = {"b.json": "new b", "c.json": "new c"}
BROKEN = """
import os, signal, sys
from pathlib import Path
from modelyard.cluster import folder

place, step, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
owner = folder if step == "write_atomically" else Path
original, calls = getattr(owner, step), []

def counted(*args):
    calls.append(args)
    if len(calls) == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args)

setattr(owner, step, counted)
folder.replace_json(place, {"b.json": "new b", "c.json": "new c"}, lambda path: path.name == "a.json")
"""
FULL = """
import resource, signal, sys
from pathlib import Path
from modelyard.cluster.folder import replace_json

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    replace_json(Path(sys.argv[1]), {"a.json": "x" * 900, "b.json": "x" * 1100}, lambda path: True)
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "recorded" / "dev"
    replace_json(found, OLD, is_own)
    return found


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir() if path != folder)


def test_only_the_new_files_are_left(folder: Path) -> None:
    replace_json(folder, NEW, is_own)
    assert content(folder) == NEW
    assert beside(folder) == []


def test_other_files_in_the_folder_stay(folder: Path) -> None:
    (folder / "NOTES.md").write_text("mine")
    (folder / "more").mkdir()
    (folder / "more" / "x.json").write_text("{}")
    (folder / "link").symlink_to("NOTES.md")
    (folder / "mine.json").write_text("mine")
    for name in (".dev.mine.replacing", ".other.0123456789abcdef.replacing"):
        (folder.parent / name).mkdir()
    replace_json(folder, NEW, is_own)
    assert content(folder) == NEW | {"NOTES.md": "mine", "link": "mine", "mine.json": "mine"}
    assert beside(folder) == [".dev.mine.replacing", ".other.0123456789abcdef.replacing"]
    assert (folder / "more" / "x.json").read_text() == "{}"
    assert (folder / "link").is_symlink()


FOREIGN = {
    "a file": ("mine.txt",),
    "a file beside the folders": ("old/a.json", "new/b.json", "mine.txt"),
    "a file in the old folder": ("old/mine.txt", "new/b.json"),
    "a file in the new folder": ("old/a.json", "new/more/mine.txt"),
    "folders of another maker": ("old/a.json", "new/b.json"),
}


@pytest.mark.parametrize("killed", [False, True], ids=["", "of a killed run"])
@pytest.mark.parametrize("there", [True, False], ids=["recorded", "not recorded"])
@pytest.mark.parametrize("files", FOREIGN.values(), ids=FOREIGN)
def test_a_folder_named_like_an_unfinished_one_stays(
    folder: Path, files: tuple[str, ...], there: bool, killed: bool
) -> None:
    stage = folder.parent / ".dev.0123456789abcdef.replacing"
    if killed:
        assert killed_at(folder, "rename", 2)
        (stage,) = folder.parent.iterdir()
        replace_json(folder.parent / "apart", OLD, is_own)
        (folder.parent / "apart").rename(folder)
    for name in files:
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / name).write_text("mine")
    (stage / "old").mkdir(exist_ok=True)
    (stage / "old/link").symlink_to("mine.txt")
    if not there:
        shutil.rmtree(folder)
    before = {path: path.read_bytes() for path in stage.rglob("*") if path.is_file()}
    replace_json(folder, NEW, is_own)
    assert content(folder) == NEW
    assert {path: path.read_bytes() for path in stage.rglob("*") if path.is_file()} == before
    assert unfinished(folder) == [stage]


@pytest.mark.parametrize("name", [".0123456789abcdef.replacing", ".other.0123456789abcdef.replacing", ".dev.x"])
def test_a_folder_of_another_name_stays(folder: Path, name: str) -> None:
    (folder.parent / name).mkdir()
    replace_json(folder, NEW, is_own)
    assert beside(folder) == [name]
    assert unfinished(folder) == []


def test_a_link_to_a_folder_stays_a_link(folder: Path) -> None:
    link = folder.parent / "other"
    link.symlink_to("dev")
    replace_json(link, NEW, is_own)
    assert link.is_symlink()
    assert content(folder) == NEW


def test_the_folder_is_as_readable_as_before(folder: Path) -> None:
    folder.chmod(0o750)
    replace_json(folder, NEW, is_own)
    assert folder.stat().st_mode & 0o777 == 0o750


def test_a_disk_without_space_changes_nothing(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout == "OSError\n"
    assert content(folder) == OLD
    assert beside(folder) == []


def test_a_failing_last_step_puts_the_old_folder_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, seen = Path.rename, []

    def failing(self: Path, target: Path) -> Path:
        seen.append(self.name)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(KeyboardInterrupt):
        replace_json(folder, NEW, is_own)
    assert seen == ["dev", "new", "old"]
    assert content(folder) == OLD
    assert beside(folder) == []


@pytest.mark.parametrize(("step", "number"), [*(("write_atomically", number) for number in (1, 2, 3)), ("rename", 1)])
def test_a_killed_run_keeps_the_old_folder_and_the_next_run_cleans_up(folder: Path, step: str, number: int) -> None:
    assert killed_at(folder, step, number)
    assert content(folder) == OLD
    assert beside(folder) != []
    replace_json(folder, NEW, is_own)
    assert content(folder) == NEW
    assert beside(folder) == []


def test_a_run_killed_between_the_renames_is_finished_by_the_next(folder: Path) -> None:
    (folder / "NOTES.md").write_text("mine")
    assert killed_at(folder, "rename", 2)
    assert not folder.exists()
    replace_json(folder, {"d.json": "newer"}, is_own)
    assert content(folder) == {"d.json": "newer", "NOTES.md": "mine"}
    assert beside(folder) == []


def killed_at(folder: Path, step: str, number: int) -> bool:
    """Runs until just before the step would be taken for that time, and whether it then was killed."""
    done = subprocess.run([sys.executable, "-c", BROKEN, str(folder), step, str(number)], check=False)
    return done.returncode == -signal.SIGKILL
