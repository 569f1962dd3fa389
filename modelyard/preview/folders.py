"""The stack files of a project among the paths of its commit."""

from pathlib import Path

from modelyard.names import RECORDED
from modelyard.preview.git import RevisionError
from modelyard.preview.links import Wanted, below
from modelyard.stack import check_project, stack_folder, stack_of
from modelyard.stack.project import PROJECT_FILES


def folder_of(root: Path) -> str:
    """The folder of the stack files, relative to the project's root, with a slash at its end; empty for the root
    itself.
    """
    inside = stack_folder(root).relative_to(root).as_posix()
    return "" if inside == "." else f"{inside}/"


def wanted_of(root: Path, where: str) -> Wanted:
    """Selects the stack files and the recorded platforms of a project.

    Call it a second time to follow a link in place of their folder.

    Raises:
        RevisionError: its Pulumi.yaml does not set a usable folder of stack files.
    """
    wrong = check_project(root, only_folder=True) if any((root / name).exists() for name in PROJECT_FILES) else ()
    if wrong:
        first = wrong[0]
        raise RevisionError(
            f"{first.file} {where} cannot be used, so its stacks are unknown: {first.summary}",
            f"{first.remedy} ({first.file}:{first.line})",
        )
    folder, recorded = folder_of(root), below(f"{RECORDED}/")
    return lambda path: bool(stack_at(path, folder)) or folder.startswith(f"{path}/") or recorded(path)


def stack_at(path: str, folder: str) -> str:
    """The stack of a stack file, empty for other files."""
    name = path.removeprefix(folder)
    return stack_of(name) if path.startswith(folder) and "/" not in name else ""
