"""The files that a project is made of, which no verb writes an output over."""

import os
from collections.abc import Iterable
from pathlib import Path

from modelyard.cli.exit import Exit, Stop
from modelyard.files import refuse_project_links
from modelyard.stack import stack_folder, stack_of

_FOLDERS = ("stacks", "patches", "policies", "components", "environments", ".pulumi")
"""Folders of a project, beside that of its stack files and every ``.git``."""
_FILES = ("Pulumi.yaml", "Pulumi.yml")


def refuse_own_files(root: Path, files: Iterable[Path]) -> None:
    """Ends the run where an output would go through a link of the project, or over a file that it is made of.

    Args:
        root: the project.
        files: those that the user names.

    Raises:
        Stop: one of them is the project's.
        OSError: the link.
    """
    for file in files:
        refuse_project_links(file, root)
        real = _real(file)
        stacks = _real(stack_folder(root))
        if _among_own(root, real) or (real.parent == stacks and (stacks != _real(root) or stack_of(real.name))):
            raise Stop(
                Exit.USAGE,
                f"{file} is among the files that the project is made of; outputs are not written there",
                "name another file",
            )


def refuse_own_folders(root: Path, out: Path, names: Iterable[str]) -> None:
    """The same for a folder of generated files.

    Args:
        root: the project.
        out: the folder that the user names.
        names: folders in it that are written.

    Raises:
        Stop: they would go among the files that the project is made of.
        OSError: a link of the project is in the way.
    """
    refuse_project_links(out, root)
    real, stacks = _real(out), _real(stack_folder(root))
    for folder in (real, *(real / name for name in names)):
        if folder == stacks or _among_own(root, folder):
            raise Stop(
                Exit.USAGE,
                f"{folder} has files that the project is made of; generated files are not written there",
                "name another folder",
            )


def _among_own(root: Path, path: Path) -> bool:
    """Whether a path is one of the project's folders or files, or lies in one of its folders."""
    if any(part.lower() == ".git" for part in path.parts):
        return True
    folders = [stack_folder(root), *(root / name for name in _FOLDERS)]
    # Of stack files that are in the project's folder itself, only that is theirs.
    own = (one for one in map(_real, folders) if one != _real(root))
    return any(path.is_relative_to(one) for one in own) or path in [_real(root) / name for name in _FILES]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
