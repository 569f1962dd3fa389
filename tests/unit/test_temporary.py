"""No temporary file stays after a run, whenever and however it ends."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from modelyard.temporary import TemporaryError, temporary_folder, write_private

pytestmark = pytest.mark.slow

SEARCH = '''
import os, shutil, signal, sys
from pathlib import Path
from modelyard.cli.exit import Stop
from modelyard.cli.folder import replace_generated
from modelyard.cli.signals import ended_by_signal
from modelyard.files import write_atomically
from modelyard.temporary import temporary_folder, watch

kind, number, handled, stride, out = sys.argv[1:]
number, handled, stride, out = int(number), handled == "True", int(stride), Path(out)


def folder():
    with temporary_folder() as made:
        (made / "tree/deep").mkdir(parents=True)
        (made / "tree/deep/file").write_text("x")


def file():
    write_atomically(out / "asked for", "new")


def generated():
    replace_generated(out / "new", [("a/b", {"asked for": "1"})])


work = {"folder": folder, "file": file, "generated": generated}[kind]


def signalled(frame, event, arg):
    """Before one line, of modelyard or of what removes a folder, in its turn."""
    global left
    name = frame.f_code.co_filename
    if "/modelyard/" not in name and not name.endswith("/shutil.py"):
        return None
    left -= 1
    if left == 0:
        os.kill(os.getpid(), number)
    return signalled


def run():
    watch()
    try:
        if handled:
            with ended_by_signal("stopped"):
                sys.settrace(signalled)
                work()
        else:
            sys.settrace(signalled)
            work()
    except Stop:
        sys.settrace(None)
        sys.exit(128 + number)
    sys.settrace(None)
    os._exit(0 if left > 0 else 1)


work()  # from here on everything is imported
ends = []
while 0 not in ends:
    for place in (out, Path(os.environ["TMPDIR"])):
        for path in place.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    left = stride * len(ends) + 1
    if not (child := os.fork()):
        run()
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    there = [path for place in (out, Path(os.environ["TMPDIR"])) for path in place.rglob("*")]
    finished = any(path.name == "asked for" for path in there)
    known = {"asked for", "new", "a", "b", ".modelyard"} if finished else set()
    assert {path.name for path in there} <= known, (len(ends), ends[-1], there)
print(*ends[:-1])
'''


@pytest.mark.parametrize(("kind", "stride"), [("folder", 1), ("file", 1), ("generated", 9)])
@pytest.mark.parametrize(("number", "handled"), [(signal.SIGHUP, False), (signal.SIGTERM, True)])
def test_a_signal_before_any_line_leaves_no_temporary_file(
    tmp_path: Path, kind: str, stride: int, number: signal.Signals, handled: bool
) -> None:
    """The requested output may exist, but only as a whole."""
    for name in ("tmp", "out"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, kind, str(int(number)), str(handled), str(stride), str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends = done.stdout.split()
    assert len(ends) > 10
    # A signal after the end of a run has its default effect or comes too late.
    assert str(128 + number if handled else -number) in ends
    assert set(ends) <= {str(128 + number), str(-number), "1"}


def test_temporary_files_are_private() -> None:
    with temporary_folder() as folder:
        write_private(folder / "token", "secret")
        assert [path.stat().st_mode & 0o777 for path in (folder, folder / "token")] == [0o700, 0o600]
        with pytest.raises(FileExistsError, match="token"):
            write_private(folder / "token", "other")
    assert not folder.exists()


def test_the_current_folder_is_not_used_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python uses the current folder if no other folder is writable."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(TemporaryError) as error, temporary_folder():
        pass
    assert "TMPDIR" in error.value.remedy
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with temporary_folder() as folder:
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []
