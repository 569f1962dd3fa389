"""Reads a project's files for its Python environments: lists and locks."""

from errno import EFBIG
from pathlib import Path
from typing import Final

from modelyard.files import ReadError, read_text
from modelyard.stack.config import Config, Stack
from modelyard.stack.environments import Environment, Fault, Files, Lock
from modelyard.workloads.environments.conda import channels_of
from modelyard.workloads.environments.conda import faults_of as faults_of_conda
from modelyard.workloads.environments.lists import RequirementLine, faults_of, lines_of
from modelyard.workloads.environments.locks import FOLDER, MAX_BYTES, LockError, digest, lock_file, made_of, parse_lock
from modelyard.workloads.facts.environments import image_of

_LOCK_AGAIN: Final = "delete it and lock the Python environment again; do not edit lock files"


def with_files(root: Path, stack: Stack) -> Stack:
    """Returns the stack with the content of its project's files for its environments.

    Nothing is raised: a file that cannot be read is a fault of its environment.
    """
    config = stack.config
    environments = tuple(one._replace(files=_files(root, config, one)) for one in config.environments)
    return stack._replace(config=config._replace(environments=environments))


def _files(root: Path, config: Config, environment: Environment) -> Files:
    faults = list(faults_of_conda(environment))
    requirements = tuple(line.text for line in _lines(root, environment, faults))
    channels, cuda = channels_of(environment), config.platform.cuda
    fingerprint = made_of(environment.python, requirements, environment.conda, channels, cuda)
    where = lock_file(environment.name)
    lock, image = _lock(root, where, faults), image_of(config, environment)
    made = ""
    if lock is not None and lock.made_of == fingerprint and image is not None and not faults:
        made = digest(lock, image)
    return Files(
        requirements=requirements,
        made_of=fingerprint,
        lock_file=where,
        lock=lock,
        digest=made,
        faults=tuple(faults),
    )


def _lines(root: Path, environment: Environment, faults: list[Fault]) -> tuple[RequirementLine, ...]:
    """Returns the list, and records what is wrong with it."""
    if environment.pip and environment.requirements is not None:
        faults.append(Fault("has both pip and requirements", "keep one of them", "requirements"))
        return ()
    if not (environment.pip or environment.requirements is not None or environment.conda):
        remedy = "list them under pip or conda, or name a file in requirements"
        faults.append(Fault("has no packages", remedy))
        return ()
    if environment.requirements is None:
        lines = tuple(RequirementLine(" ".join(text.split()), index) for index, text in enumerate(environment.pip))
        faults += faults_of(lines, "pip")
        return lines
    file = environment.requirements
    text = _text(root, file, faults, "requirements")
    if text is None:
        return ()
    lines = tuple(lines_of(text))
    if not lines:
        faults.append(Fault("lists no packages", "write one requirement a line", "requirements", file=file, line=1))
    faults += faults_of(lines, "requirements", file)
    return lines


def _lock(root: Path, file: str, faults: list[Fault]) -> Lock | None:
    folder = (root / file).parent
    if folder.exists() and not folder.is_dir():
        faults.append(Fault("is not a folder", "move it away: it is the folder of the locks", file=FOLDER))
        return None
    if not (root / file).exists() and not (root / file).is_symlink():
        return None
    text = _text(root, file, faults, "")
    try:
        return parse_lock(text) if text is not None else None
    except LockError as error:
        faults.append(Fault(f"is not a lock file: {error}", _LOCK_AGAIN, file=file))
        return None


def _text(root: Path, file: str, faults: list[Fault], key: str) -> str | None:
    """Returns the text of a project file, or None and records a fault."""
    try:
        return read_text(root / file, limit=MAX_BYTES, within=root)
    except ReadError as error:
        summary, remedy = f"cannot be read: {error.reason}", error.remedy
        if error.missing:
            summary = "does not exist"
            remedy = "add the file, or correct its path, which is relative to the project folder"
        elif error.errno == EFBIG:
            remedy = "list fewer packages"
        elif not key:
            remedy = _LOCK_AGAIN
        faults.append(Fault(summary, remedy, key, file=file))
        return None
