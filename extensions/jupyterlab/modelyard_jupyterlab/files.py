"""Files of the server that a request may mean, and how far the result of a job is."""

import json
from pathlib import Path
from typing import Any, Literal

State = Literal["waiting", "running", "stopped", "failed", "complete"]


class Outside(Exception):
    """A path that leads out of the server's folder."""


def inside(root: Path, path: str) -> Path:
    """The file of a path as the page names it, links followed.

    Args:
        root: the server's folder.
        path: relative to it, with ``/``.

    Raises:
        Outside: it is nowhere below the folder.
    """
    try:
        found = (root / path.lstrip("/")).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise Outside(path) from error
    if not found.is_relative_to(root.resolve()):
        raise Outside(path)
    return found


def seen(root: Path, file: Path) -> str | None:
    """A file's path as the page names it; None where it is not below the server's folder."""
    base = root.resolve()
    return file.relative_to(base).as_posix() if file.is_relative_to(base) else None


def shown(root: Path, result: str, mounted: str, workspace: str) -> str | None:
    """A result's path as the page names it; None while it is not there, or not below the server's folder.

    Args:
        root: the server's folder.
        result: its path as the job sees it.
        mounted: the workspace's folder as the job sees it.
        workspace: that folder on the server; empty: at the same path.
    """
    file = Path(result)
    if workspace and file.is_relative_to(mounted):
        file = Path(workspace) / file.relative_to(mounted)
    try:
        return seen(root, file.resolve(strict=True))
    except (OSError, RuntimeError, ValueError):
        return None


def state(result: Path) -> State:
    """How far the job is whose result will be this file.

    While it runs, the job keeps what it has so far in a hidden file beside it, and gives that the result's name at the
    end: of a stopped one too, which a queue starts anew.
    """
    if result.with_name(f".{result.name}").exists():
        return "running"
    try:
        document = json.loads(result.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "waiting"
    except (OSError, ValueError):
        return "stopped"
    cells = [cell for cell in document.get("cells", ()) if cell.get("cell_type") == "code"]
    if any(output.get("output_type") == "error" for cell in cells for output in cell.get("outputs", ())):
        return "failed"
    return "complete" if all(_done(cell) for cell in cells) else "stopped"


def _done(cell: Any) -> bool:
    return bool(cell.get("metadata", {}).get("papermill", {}).get("status") == "completed")
