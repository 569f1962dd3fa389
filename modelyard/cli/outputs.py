"""Files that verbs write: new ones appear together or not at all, and outputs never replace the project's own files."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from modelyard.cli.exit import Exit, Stop
from modelyard.names import HARDWARE_FILE
from modelyard.temporary import NEW, undone

Undo: TypeAlias = list[Callable[[], object]]
"""What removes the files and folders made so far, in the order in which they were made."""


@contextmanager
def all_or_none() -> Iterator[Undo]:
    """Removes what was made in the block if the block fails, also by a signal.

    What cannot be removed, such as a folder in which someone else put a file, stays.
    """
    undo: Undo = []
    with undone(partial(_undo, undo)):
        yield undo
        undo.clear()


def create(path: Path, text: str, undo: Undo) -> None:
    """Writes a new file, with the folders that it needs.

    Raises:
        OSError: the file exists, or cannot be written; the error names it.
    """
    for folder in missing_folders(path):
        folder.mkdir()
        undo.append(folder.rmdir)
    handle = os.open(path, NEW, 0o666)
    undo.append(path.unlink)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        error.filename = str(path)
        raise


def missing_folders(path: Path) -> list[Path]:
    """The folders above a path that do not exist yet, the outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.exists()]


def _undo(undo: Undo) -> None:
    for step in reversed(undo):
        with suppress(OSError):
            step()


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
    from modelyard.files import refuse_project_links
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


def with_formats(
    names: Sequence[str], by_ending: Mapping[str, str], single: str | None, other: str | None = None
) -> list[tuple[str, Path]]:
    """The output files that the command line names, each with its format.

    Args:
        names: the files.
        by_ending: the format for each file extension.
        single: the format of a file that is the only one; None: as for several.
        other: the format of files with other extensions.

    Raises:
        Stop: the format of a file is unknown.
    """
    found = []
    for name in names:
        path = Path(name)
        form = (single if len(names) == 1 else None) or by_ending.get(path.suffix.lower(), other)
        if form is None:
            remedy = f"end its name in {', '.join(by_ending)}, or give --format"
            raise Stop(Exit.USAGE, f"the format of {name} is unknown", remedy)
        found.append((form, path))
    return found


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
    from modelyard.files import refuse_project_links
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
