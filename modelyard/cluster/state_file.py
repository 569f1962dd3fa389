"""Reads the engine's state from the file of a local backend, as ``pulumi stack export`` prints it.

Starting Pulumi takes more processor time than reading a cluster. Reads only what certainly has the form that this
version of Pulumi writes; for everything else, ``engine_state`` asks Pulumi.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from modelyard.cluster.backend import BACKEND, backend_variables
from modelyard.files import ReadError, parse_json, read_file
from modelyard.stack.project import project_name

_FOLDER: Final = re.compile(r"file://([A-Za-z0-9_./-]+)\?metadata=skip")
"""A local backend without files of attributes, which may be damaged. Other characters may need decoding."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_LAYOUT: Final = b"version: 1"
"""The content of ``meta.yaml`` if each project has a folder."""
_COMPRESSED: Final = (".gz", ".zst")
_FORMS: Final[tuple[tuple[int, list[str]], ...]] = ((3, []), (4, ["hooks"]))
"""The versions of a state and the features that it uses; modelyard's program uses hooks."""


def resources_in_file(root: Path, stack: str) -> list[Mapping[str, Any]] | None:
    """The resources of a stack in a local backend; empty if nothing was ever applied; None if Pulumi must be asked.

    Pulumi replaces the file as a whole, so it is complete while an apply runs.

    Args:
        root: the project's folder.
        stack: name of the stack.

    Raises:
        BackendError: credentials would reach an address that the operator did not name.
    """
    folder = _FOLDER.fullmatch(backend_variables(root).reveal().get(BACKEND, ""))
    project = project_name(root)
    # Without Pulumi, a plan says so instead of an apply.
    if folder is None or not _NAME.fullmatch(project) or shutil.which("pulumi") is None:
        return None
    state = Path(os.path.abspath(root / folder[1])) / ".pulumi"  # noqa: PTH100 (as Pulumi, which follows no link)
    file = state / "stacks" / project / f"{stack}.json"
    try:
        if read_file(state / "meta.yaml").strip() != _LAYOUT:
            return None
        if any(os.path.lexists(f"{file}{ending}") for ending in _COMPRESSED):
            return None
        try:
            found = parse_json(read_file(file))
        except ReadError as error:
            return [] if error.missing else None
        if (found["version"], found.get("features") or []) not in _FORMS:
            return None
        resources: list[Mapping[str, Any]] = (found["checkpoint"].get("latest") or {}).get("resources") or []
    except (ReadError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return resources
