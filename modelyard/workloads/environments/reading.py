"""Reads a project's files for its Python environments: lists and locks."""

from collections.abc import Iterator
from errno import EFBIG
from pathlib import Path

from modelyard.files import ReadError, read_text
from modelyard.stack.config import Stack
from modelyard.stack.environments import Environment, Fault, Files, Lock
from modelyard.workloads.environments.conda import channels_of
from modelyard.workloads.environments.conda import faults_of as faults_of_conda
from modelyard.workloads.environments.lists import Line, faults_of, lines_of
from modelyard.workloads.environments.locks import MAX_BYTES, LockError, digest, lock_file, made_of, parse_lock


def with_files(root: Path, stack: Stack) -> Stack:
    """Returns the stack with the content of its project's files for its environments.

    Nothing is raised: a file that cannot be read is a fault of its environment.
    """
    image, cuda = stack.config.runtime.image, stack.config.platform.cuda
    environments = tuple(one._replace(files=_files(root, one, image, cuda)) for one in stack.config.environments)
    return stack._replace(config=stack.config._replace(environments=environments))


def image_of(environment: Environment, runtime: str | None) -> str | None:
    """Returns the image in which the environment is built and its runs run; None if none is set."""
    return environment.image or runtime


def _files(root: Path, environment: Environment, runtime: str | None, cuda: str) -> Files:
    faults: list[Fault] = list(faults_of_conda(environment))
    lines = tuple(_lines(root, environment, faults))
    conda, channels = environment.conda, channels_of(environment)
    fingerprint = made_of(environment.python, (line.text for line in lines), conda, channels, cuda)
    where = lock_file(environment.name)
    lock = _lock(root, where, faults)
    image = image_of(environment, runtime)
    fits = not faults and lock is not None and lock.made_of == fingerprint and image is not None
    made = digest(lock, image) if fits and lock is not None and image is not None else ""
    return Files(
        requirements=tuple(line.text for line in lines),
        made_of=fingerprint,
        lock_file=where,
        lock=lock,
        digest=made,
        faults=tuple(faults),
    )


def _lines(root: Path, environment: Environment, faults: list[Fault]) -> Iterator[Line]:
    """Yields the list, and records what is wrong with it."""
    if environment.pip and environment.requirements is not None:
        faults.append(Fault("has both pip and requirements", "keep one of them", "requirements"))
        return
    if not (environment.pip or environment.requirements is not None or environment.conda):
        remedy = "list them under pip or conda, or name a file in requirements"
        faults.append(Fault("has no packages", remedy))
        return
    if environment.requirements is None:
        lines = tuple(Line(" ".join(text.split()), index) for index, text in enumerate(environment.pip))
        faults += faults_of(lines, "pip")
        yield from lines
        return
    file = environment.requirements
    text = _text(root, file, faults, "requirements")
    if text is None:
        return
    lines = tuple(lines_of(text))
    if not lines:
        faults.append(Fault("lists no packages", "write one requirement a line", "requirements", file=file))
    faults += faults_of(lines, "requirements", file)
    yield from lines


def _lock(root: Path, file: str, faults: list[Fault]) -> Lock | None:
    if not (root / file).exists() and not (root / file).is_symlink():
        return None
    text = _text(root, file, faults, "")
    if text is None:
        return None
    try:
        return parse_lock(text)
    except LockError as error:
        faults.append(
            Fault(
                f"is not a lock file: {error}",
                "delete it and lock the environment again; do not edit lock files",
                file=file,
            )
        )
    return None


def _text(root: Path, file: str, faults: list[Fault], key: str) -> str | None:
    """Returns the text of a project file, or None and records a fault."""

    def fault(summary: str, remedy: str) -> None:
        faults.append(Fault(summary, remedy, key, file=file))

    path = root / file
    try:
        return read_text(path, limit=MAX_BYTES, within=root)
    except ReadError as error:
        if error.missing:
            fault("does not exist", "add the file, or correct its path, which is relative to the project folder")
        else:
            fault(f"cannot be read: {error.reason}", "list fewer packages" if error.errno == EFBIG else error.remedy)
    return None
