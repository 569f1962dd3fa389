"""Paths in the repository, and a copy of its project."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def project(folder: Path) -> Path:
    """A copy of the project with its stacks and patches; returns the folder."""
    for name in ("patches", "stacks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    return folder
