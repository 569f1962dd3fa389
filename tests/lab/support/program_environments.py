"""Environments of programs that the lab runs, each made once for all clones."""

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path

from lab.build import cache_folder
from tests.lab.support.environment import ROOT


def programs(name: str) -> Path:
    """The folder of programs that ``requirements/<name>.txt`` lists."""
    requirements = ROOT / "requirements" / f"{name}.txt"
    tag = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_folder() / f"{name}-{tag}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=True)
            (folder / "ready").touch()
    return folder / "bin"
