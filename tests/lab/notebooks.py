"""What a notebook's job and Jupyter run in: papermill and JupyterLab in an environment of their own."""

import fcntl
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.build import cache_folder

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "notebooks.txt"


def notebooks_environment() -> Path:
    """The folder of programs with papermill and JupyterLab, made once for all clones."""
    tag = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_folder() / f"notebooks-{tag}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "notebooks.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--require-hashes", "-r", str(REQUIREMENTS)], check=True)
            (folder / "ready").touch()
    return folder / "bin"


def cell(source: str, **metadata: Any) -> dict[str, Any]:
    """A code cell that did not run yet."""
    return {
        "cell_type": "code",
        "id": hashlib.sha256(source.encode()).hexdigest()[:8],
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def write_notebook(file: Path, *cells: dict[str, Any]) -> Path:
    """A notebook of some cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": list(cells)}
    file.write_text(json.dumps(document))
    return file


def outputs(file: Path) -> list[dict[str, Any]]:
    """Every output of a notebook's cells."""
    return [output for one in json.loads(file.read_text())["cells"] for output in one.get("outputs", ())]


def text_of(file: Path) -> str:
    """What the cells printed."""
    return "".join("".join(output.get("text", "")) for output in outputs(file))


def container(job: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The command and variables of a Job's container, as a kubelet would run it on this machine."""
    (found,) = job["spec"]["template"]["spec"]["containers"]
    program, *rest = found["command"]
    assert program == "python3"
    arguments = [one.replace("$$(", "$(") for one in found["args"]]
    return [str(notebooks_environment() / "python"), *rest, *arguments], {
        one["name"]: one["value"] for one in found["env"]
    }
