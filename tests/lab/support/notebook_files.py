"""Notebooks, and the Python environment with papermill and JupyterLab that runs them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.lab.support.program_environments import programs

ROOT = Path(__file__).resolve().parents[3]


def cell(source: str, **metadata: Any) -> dict[str, Any]:
    """A code cell that has not run."""
    return {
        "cell_type": "code",
        "id": hashlib.sha256(source.encode()).hexdigest()[:8],
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def write_notebook(file: Path, *cells: dict[str, Any]) -> Path:
    """Writes a notebook with these cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": list(cells)}
    file.write_text(json.dumps(document))
    return file


def outputs(file: Path) -> list[dict[str, Any]]:
    """The outputs of all cells of a notebook."""
    return [output for one in json.loads(file.read_text())["cells"] for output in one.get("outputs", ())]


def text_of(file: Path) -> str:
    """The text that the cells of a notebook printed."""
    return "".join("".join(output.get("text", "")) for output in outputs(file))


def container(job: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The command and variables of a Job's container, as a kubelet would run it on this machine."""
    (found,) = job["spec"]["template"]["spec"]["containers"]
    program, *rest = found["command"]
    assert program == "python3"
    arguments = [one.replace("$$(", "$(") for one in found["args"]]
    return [str(programs("notebooks") / "python"), *rest, *arguments], {
        one["name"]: one["value"] for one in found["env"]
    }
