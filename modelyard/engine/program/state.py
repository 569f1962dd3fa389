"""Where the engine keeps its state."""

import os
from pathlib import Path

import pulumi

from modelyard.files import read_file
from modelyard.stack.yaml.document import parse_plain


def check_state(root: Path, stack: str) -> None:
    """Refuses a stack that has a state in a folder inside the project, beside the project's own.

    A relative place in ``Pulumi.yaml`` counts from the folder where ``pulumi`` runs. In ``stacks/`` it finds the
    project all the same, and makes a state there that knows nothing of the other.

    Raises:
        pulumi.RunError: there is such a state.
    """
    if os.environ.get("PULUMI_BACKEND_URL") or not _relative(root):
        return
    for found in sorted(root.glob("*/.pulumi/stacks/*/*.json")):
        if found.stem == stack:
            folder = found.relative_to(root).parts[0]
            raise pulumi.RunError(
                f"{stack} has a state of its own in {folder}/.pulumi, because pulumi ran in {folder}/; "
                f"run it in {root}, and remove {folder}/.pulumi if nothing was applied from there"
            )


def _relative(root: Path) -> bool:
    project, _ = parse_plain(read_file(root / "Pulumi.yaml", within=root))
    backend = project.get("backend") if isinstance(project, dict) else None
    place = str(backend.get("url") or "") if isinstance(backend, dict) else ""
    return place.startswith("file://") and not place.startswith(("file:///", "file://~"))
