"""Python environments of programs that the lab runs, and wheels to install, cached for all clones."""

import fcntl
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lab.build import cache_folder
from tests.lab.support.environment import ROOT

_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def programs(name: str) -> Path:
    """The folder of programs of the packages in ``requirements/<name>.txt``."""

    def install(folder: Path, requirements: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), *_PIP, "install"]
        subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=True)

    return _made(name, name, install) / "bin"


def wheels() -> Path:
    """A folder with the wheels that ``requirements/runtime.txt`` lists, for installations without an index."""

    def download(folder: Path, requirements: Path) -> None:
        pip = [sys.executable, *_PIP, "download", "--only-binary", ":all:", "--dest", str(folder)]
        subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=True)

    return _made("wheels", "runtime", download)


def bare_python(folder: Path, name: str) -> Path:
    """Writes a program into a folder that runs this Python without its installed packages."""
    folder.mkdir(parents=True, exist_ok=True)
    python = Path(sys.base_prefix) / "bin" / "python{}.{}".format(*sys.version_info)
    program = folder / name
    program.write_text(f"#!/bin/sh\nexec '{python}' \"$@\"\n")
    program.chmod(0o755)
    return program


def own_wheel(folder: Path) -> Path:
    """This repository's wheel, built into a folder."""
    pip = [sys.executable, *_PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(pip, check=True)
    (made,) = folder.glob("modelyard-*.whl")
    return made


def _made(name: str, listed: str, make: Callable[[Path, Path], None]) -> Path:
    """A folder of the cache, which is rebuilt when ``requirements/<listed>.txt`` changes."""
    requirements = ROOT / "requirements" / f"{listed}.txt"
    tag = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_folder() / f"{name}-{tag}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            make(folder, requirements)
            (folder / "ready").touch()
    return folder
