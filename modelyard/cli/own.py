"""The files of a project, which no verb overwrites with output."""

import os
from collections.abc import Iterable
from pathlib import Path

from modelyard.cli.exit import Exit, Stop
from modelyard.files import refuse_project_links
from modelyard.names import HARDWARE_FILE

_FOLDERS = ("stacks", "patches", "policies", "components", "environments", ".pulumi")
"""Folders of a project, besides those of its stack files and every ``.git``."""


def refuse_own_files(root: Path, files: Iterable[Path]) -> None:
    """Ends the run if an output would go through a link of the project, or overwrite one of its files.

    Args:
        root: the project.
        files: the output files that the user names.

    Raises:
        Stop: a file belongs to the project.
        OSError: an output would go through a link of the project.
    """
    from modelyard.stack import stack_folder, stack_of

    for file in files:
        refuse_project_links(file, root)
        real = _real(file)
        stacks = _real(stack_folder(root))
        if _among_own(root, real) or (real.parent == stacks and (stacks != _real(root) or stack_of(real.name))):
            raise Stop(
                Exit.USAGE,
                f"{file} is a file of the project; outputs cannot replace it",
                "name another file",
            )


def refuse_own_folders(root: Path, out: Path, names: Iterable[str]) -> None:
    """Ends the run if a folder of generated files would overwrite the project's files.

    Args:
        root: the project.
        out: the output folder that the user names.
        names: the folders in it to write.

    Raises:
        Stop: the output would mix with the project's files.
        OSError: an output would go through a link of the project.
    """
    from modelyard.stack import stack_folder

    refuse_project_links(out, root)
    real, stacks = _real(out), _real(stack_folder(root))
    for folder in (real, *(real / name for name in names)):
        if folder == stacks or _among_own(root, folder):
            raise Stop(
                Exit.USAGE,
                f"{folder} is for files of the project; generated files cannot go there",
                "name another folder",
            )


def _among_own(root: Path, path: Path) -> bool:
    """Whether a path is one of the project's folders or files, or lies inside one of its folders."""
    from modelyard.stack import stack_folder
    from modelyard.stack.project import PROJECT_FILES

    if any(part.lower() == ".git" for part in path.parts):
        return True
    folders = [stack_folder(root), *(root / name for name in _FOLDERS)]
    # Stack files directly in the project's folder do not claim that whole folder.
    own = (one for one in map(_real, folders) if one != _real(root))
    files = [_real(root) / name for name in (*PROJECT_FILES, HARDWARE_FILE)]
    return any(path.is_relative_to(one) for one in own) or path in files


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
