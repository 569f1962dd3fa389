"""Where a notebook is in the workspace, and where its result goes.

The workspace is one volume. Jupyter and the job mount it at ``notebooks.path``, so a notebook reads its data
by the same paths in both. If you submit from elsewhere, you name your folder of the volume.
"""

from pathlib import Path
from typing import Final, NamedTuple

from modelyard.stack.names import fresh


# What is wrong with a submission, as a value.
class Problem(NamedTuple):
    """What is wrong, and what to do about it."""

    summary: str
    remedy: str


LONGEST_FILE: Final = 255
"""Bytes of the longest file name on common file systems."""
LONGEST_JOB: Final = 52
"""Characters of the longest job name: pods add eleven characters, and may have 63."""
_PARTIAL: Final = "."
"""Prefix of the result's name while the job runs."""


class Place(NamedTuple):
    """A notebook and its result, as paths in the job's container, and the result's path on the submitter's machine."""

    notebook: str
    result: str
    seen: Path


def job_name(notebook: Path) -> str:
    """A new name for the job of a notebook: the letters and digits of its name, and five random ones."""
    return fresh(notebook.stem, LONGEST_JOB, "notebook")


def locate(notebook: Path, workspace: Path, mounted: str, job: str, shown: str) -> Place | tuple[Problem, ...]:
    """Where a notebook and the result of ``job`` are, or why the job could not reach them.

    Args:
        notebook: the path that the user gave; links in it are resolved.
        workspace: the local folder of the volume.
        mounted: where the volume is in the container.
        job: name of the job.
        shown: the notebook's path in messages.
    """
    if workspace.exists() and not workspace.is_dir():
        return (Problem(f"the workspace {workspace} is not a folder", "name the folder where the volume is mounted"),)
    if not workspace.is_dir():
        remedy = "submit from Jupyter, or name the folder of the volume on this machine with --workspace"
        return (Problem(f"the workspace {workspace} does not exist on this machine", remedy),)
    try:
        root, real = workspace.resolve(), notebook.resolve()
    except (OSError, RuntimeError):
        return (Problem(f"{shown} is a symbolic link that leads to itself", "name the notebook itself"),)
    if real == root or not real.is_relative_to(root):
        leads = "" if real == notebook.absolute() else f" (it is {real})"
        remedy = f"move it below {workspace}: a job sees only this folder"
        return (Problem(f"{shown} is outside the workspace {workspace}{leads}", remedy),)
    strange = [part for part in real.relative_to(root).parts if any(ord(one) < 32 or ord(one) == 127 for one in part)]
    if strange:
        return (Problem(f"{strange[0]!r} has control characters", "rename it"),)
    seen = real.with_name(f"{real.stem}.{job}.ipynb")
    if len(seen.name.encode()) + len(_PARTIAL) > LONGEST_FILE:
        return (Problem(f"the name of {shown} is too long: its result adds .{job} to it", "give it a shorter name"),)
    if seen.exists() or seen.is_symlink():
        return (Problem(f"{seen} exists already", "submit again: the next job has another name"),)
    inside = Path(mounted)
    return Place(str(inside / real.relative_to(root)), str(inside / seen.relative_to(root)), seen)
