"""Reading a notebook: where it and its result are, whether papermill can run it, and values for its parameters.

Reads its JSON alone: importing nbformat takes longer than this. The format is nbformat 4 (its JSON Schema):
``nbformat``, ``metadata`` and ``cells`` with ``cell_type`` and ``source``.
"""

import ast
import json
import keyword
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from errno import EFBIG
from pathlib import Path
from typing import Any, Final, NamedTuple

from modelyard.files import ReadError, parse_json, read_file
from modelyard.stack.names import MANY, fresh
from modelyard.stack.words import did_you_mean, few


class NotebookProblem(NamedTuple):
    """What is wrong with a submission, and what to do about it."""

    summary: str
    remedy: str


LONGEST_FILE: Final = 255
"""Bytes of the longest file name on common file systems."""
LONGEST_JOB: Final = 52
"""Characters of the longest job name: pods add eleven characters, and may have 63."""
_PARTIAL: Final = "."
"""Prefix of the result's name while the job runs."""


class NotebookPaths(NamedTuple):
    """A notebook and its result, as paths in the job's container, and the result's path on the submitter's machine.

    The workspace is one volume. Jupyter and the job mount it at ``notebooks.path``, so a notebook reads its data by the
    same paths in both. If you submit from elsewhere, you name your folder of the volume.
    """

    notebook: str
    result: str
    seen: Path


def job_name(notebook: Path) -> str:
    """A new name for the job of a notebook: the letters and digits of its name, and five random ones."""
    return fresh(notebook.stem, LONGEST_JOB, "notebook")


def locate(
    notebook: Path, workspace: Path, mounted: str, job: str, shown: str
) -> NotebookPaths | tuple[NotebookProblem, ...]:
    """Where a notebook and the result of ``job`` are, or why the job could not reach them.

    Args:
        notebook: the path that the user gave; links in it are resolved.
        workspace: the local folder of the volume.
        mounted: where the volume is in the container.
        job: name of the job.
        shown: the notebook's path in messages.
    """
    if workspace.exists() and not workspace.is_dir():
        return (
            NotebookProblem(
                f"the workspace {workspace} is not a folder", "name the folder where the volume is mounted"
            ),
        )
    if not workspace.is_dir():
        remedy = "submit from Jupyter, or name the folder of the volume on this machine with --workspace"
        return (NotebookProblem(f"the workspace {workspace} does not exist on this machine", remedy),)
    try:
        root, real = workspace.resolve(), notebook.resolve()
    except (OSError, RuntimeError):
        return (NotebookProblem(f"{shown} is a symbolic link that leads to itself", "name the notebook itself"),)
    if real == root or not real.is_relative_to(root):
        leads = "" if real == notebook.absolute() else f" (it is {real})"
        remedy = f"move it below {workspace}: a job sees only this folder"
        return (NotebookProblem(f"{shown} is outside the workspace {workspace}{leads}", remedy),)
    strange = [part for part in real.relative_to(root).parts if any(ord(one) < 32 or ord(one) == 127 for one in part)]
    if strange:
        return (NotebookProblem(f"{strange[0]!r} has control characters", "rename it"),)
    seen = real.with_name(f"{real.stem}.{job}.ipynb")
    if len(seen.name.encode()) + len(_PARTIAL) > LONGEST_FILE:
        return (
            NotebookProblem(f"the name of {shown} is too long: its result adds .{job} to it", "give it a shorter name"),
        )
    if seen.exists() or seen.is_symlink():
        return (NotebookProblem(f"{seen} exists already", "submit again: the next job has another name"),)
    inside = Path(mounted)
    return NotebookPaths(str(inside / real.relative_to(root)), str(inside / seen.relative_to(root)), seen)


MAX_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the largest notebook that is read; anything larger is saved output."""
PARAMETERS: Final = "parameters"
"""Tag of the cell after which papermill puts the values of parameters (papermill documentation, parameterize)."""
_SUFFIX: Final = ".ipynb"
_RESTORE: Final = "restore it from a checkpoint or from git"
"""Remedy for what Jupyter cannot open either."""
_CELLS: Final = ("code", "markdown", "raw")


class Notebook(NamedTuple):
    """What a submission needs to know of a notebook."""

    defaults: str | None = None
    """Source of the cell that is tagged ``parameters``, the first if several are; None if no cell is."""


def read_notebook(path: Path, shown: str) -> Notebook | tuple[NotebookProblem, ...]:
    """The notebook in a file, or everything that is wrong with it.

    Args:
        path: the file.
        shown: the path in messages.
    """
    if path.suffix != _SUFFIX:
        return (NotebookProblem(f"{shown} does not end in {_SUFFIX}", f"name a file that ends in {_SUFFIX}"),)
    try:
        return parse_notebook(read_file(path, limit=MAX_BYTES), shown)
    except ReadError as error:
        if error.missing:
            return (NotebookProblem(f"{shown} does not exist", "check the path; save the notebook first"),)
        if error.errno == EFBIG:
            summary = f"{shown} has more than {MAX_BYTES // (1024 * 1024)} MiB"
            return (
                NotebookProblem(summary, "clear its output in Jupyter (Edit, Clear Outputs of All Cells) and save it"),
            )
        return (NotebookProblem(f"{shown} cannot be read: {error.reason}", error.remedy),)


def parse_notebook(content: bytes, shown: str) -> Notebook | tuple[NotebookProblem, ...]:
    """The notebook in a file's content, or everything that is wrong with it."""
    if not content.strip():
        return (NotebookProblem(f"{shown} is empty", _RESTORE),)
    try:
        # By default json would also read UTF-16, which papermill does not.
        document = parse_json(content)
    except json.JSONDecodeError as error:
        # Some messages expect the position after them.
        why = f"{error.msg[:1].lower()}{error.msg[1:]}".removesuffix(" at").removesuffix(" starting")
        return (NotebookProblem(f"{shown}:{error.lineno}:{error.colno}: not valid JSON: {why}", _RESTORE),)
    except UnicodeDecodeError:
        return (NotebookProblem(f"{shown} is not a notebook, because it is not UTF-8 text", _RESTORE),)
    except ValueError as error:
        # The error may be about nesting or numbers: Python reads no integer of more than some thousand digits.
        return (NotebookProblem(f"{shown} is not a notebook: {error}", _RESTORE),)
    if not isinstance(document, dict) or "nbformat" not in document:
        return (NotebookProblem(f"{shown} is JSON but not a notebook: it has no nbformat", _RESTORE),)
    form = document["nbformat"]
    if form != 4 or isinstance(form, bool):
        found = json.dumps(form)
        words = f"{shown} has nbformat {found[:20]}, but papermill runs nbformat 4"
        return (NotebookProblem(words, f"convert it: jupyter nbconvert --to notebook --nbformat 4 {shown}"),)
    cells = document.get("cells")
    if not isinstance(cells, list):
        return (NotebookProblem(f"{shown} is not a notebook: cells is not a list", _RESTORE),)
    broken = [
        NotebookProblem(f"{shown} is not a notebook: cell {number} {what}", _RESTORE)
        for number, cell in enumerate(cells, 1)
        if (what := _broken(cell))
    ]
    return tuple(broken) or _judged(document, cells, shown)


def _broken(cell: Any) -> str:
    """What is wrong with the form of a cell; empty if nothing is."""
    if not isinstance(cell, dict):
        return "is not an object"
    if cell.get("cell_type") not in _CELLS:
        return "has an unknown type"
    source = cell.get("source")
    if not isinstance(source, str) and not (isinstance(source, list) and all(isinstance(one, str) for one in source)):
        return "has no source"
    return "" if isinstance(cell.get("metadata", {}), dict) else "has metadata that is not an object"


def _judged(document: Mapping[str, Any], cells: list[Any], shown: str) -> Notebook | tuple[NotebookProblem, ...]:
    code = [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
    metadata = document.get("metadata")
    problems = []
    if not code:
        problems.append(NotebookProblem(f"{shown} has no code cell", "write some code and save it"))
    if not isinstance(metadata, dict):
        problems.append(NotebookProblem(f"{shown} is not a notebook: metadata is not an object", _RESTORE))
        return tuple(problems)
    kernel, language = _kernel(metadata)
    if not kernel:
        problems.append(
            NotebookProblem(f"{shown} names no kernel", "open it in Jupyter, choose a Python kernel and save it")
        )
    elif language not in ("", "python"):
        words = f"{shown} is for the kernel {kernel} ({language}); jobs run Python notebooks"
        problems.append(NotebookProblem(words, "choose a Python kernel in Jupyter and save it"))
    if problems:
        return tuple(problems)
    return Notebook(next(("".join(cell["source"]) for cell in code if PARAMETERS in _tags(cell)), None))


def _kernel(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Name and language of the kernel, each empty if the notebook does not set it."""
    spec, info = (metadata.get(key) for key in ("kernelspec", "language_info"))
    spec, info = (one if isinstance(one, dict) else {} for one in (spec, info))
    name, language = spec.get("name"), spec.get("language") or info.get("name")
    return (name if isinstance(name, str) else "", language.lower() if isinstance(language, str) else "")


def _tags(cell: Mapping[str, Any]) -> Iterator[Any]:
    tags = cell.get("metadata", {}).get("tags")
    return iter(tags if isinstance(tags, list) else ())


def parse_parameters(
    words: Iterable[str], notebook: Notebook | None, shown: str
) -> tuple[dict[str, str], tuple[NotebookProblem, ...]]:
    """Names and values of texts ``name=value``, and what is wrong with these.

    A value stays text: papermill reads numbers, true, false and none in it, as its own ``-p`` does.

    Args:
        words: the texts, as the user wrote them.
        notebook: the notebook for the parameters; None if it could not be read.
        shown: the notebook's path in messages.
    """
    found: dict[str, str] = {}
    problems = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier() or keyword.iskeyword(name):
            remedy = "write -p name=value, with the name of a variable of the notebook"
            problems.append(NotebookProblem(f"{word!r} is not a parameter", remedy))
        elif name in found:
            problems.append(NotebookProblem(f"the parameter {name} was given twice", "give it once"))
        elif any(ord(one) < 32 for one in value):
            problems.append(NotebookProblem(f"the parameter {name} has control characters", "give it plain text"))
        else:
            found[name] = value
    if notebook is not None and notebook.defaults is not None:
        have = variables(notebook.defaults)
        problems += [_unknown(name, have, shown) for name in found if have is not None and name not in have]
    elif found and notebook is not None:
        words_ = f"{shown} has no cell tagged parameters, so its own values would override those of -p"
        remedy = "tag the cell with the defaults: in JupyterLab, Property Inspector, Cell Tags, parameters"
        problems.append(NotebookProblem(words_, remedy))
    return found, tuple(problems)


def _unknown(name: str, have: tuple[str, ...], shown: str) -> NotebookProblem:
    """The problem of a parameter that the cell does not set: papermill accepts it, and usually nothing reads it."""
    summary = f"{shown} has no parameter {name}: its cell tagged {PARAMETERS} sets {few(have, MANY) or 'none'}"
    return NotebookProblem(summary, did_you_mean(name, have) or f"set its default there: {name} = …")


# The variables that a notebook's cell sets, found with Python's parser: parameters can override them.
LONGEST: Final = 1_000_000
"""Characters of the longest cell that is parsed."""
_HIDDEN: Final = re.compile(
    r"^\s*%%|^[ \t]*%run\b|\bimport[ \t]+\*|\b(?:exec|eval|globals|locals|vars|get_ipython)\b", re.MULTILINE
)
"""Calls and statements that may set variables whose names do not appear in the cell."""
_LINE: Final = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
"""A line for IPython: a magic, a shell command, a request for help."""
_ANSWER: Final = re.compile(r"^([ \t]*[\w, \t]+=[ \t]*)[%!].*$", re.MULTILINE)
"""A line that stores the result of a magic or a command."""


def variables(cell: str) -> tuple[str, ...] | None:
    """The names that a cell sets, in the order of the cell; None if they cannot be determined."""
    if len(cell) > LONGEST or _HIDDEN.search(cell):
        return None
    plain = _LINE.sub(r"\1pass", _ANSWER.sub(r"\1None", cell))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = ast.walk(ast.parse(plain))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return tuple(dict.fromkeys(node.id for node in sorted(names, key=lambda one: (one.lineno, one.col_offset))))
