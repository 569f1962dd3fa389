"""Whether papermill can run a file as a notebook, from its JSON alone: importing nbformat takes longer than this.

The format is nbformat 4 (its JSON Schema): ``nbformat``, ``metadata`` and ``cells`` with ``cell_type`` and ``source``.
"""

import json
from collections.abc import Iterator, Mapping
from errno import EFBIG
from pathlib import Path
from typing import Any, Final, NamedTuple

from modelyard.files import ReadError, parse_json, read_file
from modelyard.runs.notebooks.place import Problem

MAX_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the largest notebook that is read; anything larger is saved output."""
PARAMETERS: Final = "parameters"
"""Tag of the cell after which papermill puts the values of parameters (papermill documentation, parameterize)."""
_SUFFIX: Final = ".ipynb"
_CELLS: Final = ("code", "markdown", "raw")


class Notebook(NamedTuple):
    """What a submission needs to know of a notebook."""

    kernel: str
    """Name of the kernel that runs it."""
    has_parameters: bool
    """Whether a cell is tagged ``parameters``."""
    defaults: str = ""
    """Source of the cell that is tagged ``parameters``; of the first if several are."""


def read_notebook(path: Path, shown: str) -> Notebook | tuple[Problem, ...]:
    """The notebook in a file, or everything that is wrong with it.

    Args:
        path: the file.
        shown: the path in messages.
    """
    if path.suffix != _SUFFIX:
        return (Problem(f"{shown} does not end in {_SUFFIX}", f"name a file that ends in {_SUFFIX}"),)
    try:
        return parse_notebook(read_file(path, limit=MAX_BYTES), shown)
    except ReadError as error:
        if error.missing:
            return (Problem(f"{shown} does not exist", "check the path; save the notebook first"),)
        if error.errno == EFBIG:
            summary = f"{shown} has more than {MAX_BYTES // (1024 * 1024)} MiB"
            return (Problem(summary, "clear its output in Jupyter (Edit, Clear Outputs of All Cells) and save it"),)
        return (Problem(f"{shown} cannot be read: {error.reason}", error.remedy),)


def parse_notebook(content: bytes, shown: str) -> Notebook | tuple[Problem, ...]:
    """The notebook in a file's content, or everything that is wrong with it."""
    again = "open it in Jupyter and save it again"
    if not content.strip():
        return (Problem(f"{shown} is empty", again),)
    try:
        # By default json would also read UTF-16, which papermill does not.
        document = parse_json(content)
    except json.JSONDecodeError as error:
        words = f"{shown}:{error.lineno}: not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        return (Problem(words, again),)
    except UnicodeDecodeError:
        return (Problem(f"{shown} is not a notebook, because it is not UTF-8 text", again),)
    except ValueError as error:
        # The error may be about nesting or numbers: Python reads no integer of more than some thousand digits.
        return (Problem(f"{shown} is not a notebook: {error}", again),)
    if not isinstance(document, dict) or "nbformat" not in document:
        return (Problem(f"{shown} is JSON but not a notebook: it has no nbformat", again),)
    form = document["nbformat"]
    if form != 4 or isinstance(form, bool):
        found = json.dumps(form) if isinstance(form, str) else str(form)
        words = f"{shown} has nbformat {found[:20]}, but papermill runs nbformat 4"
        return (Problem(words, f"convert it: jupyter nbconvert --to notebook --nbformat 4 {shown}"),)
    cells = document.get("cells")
    if not isinstance(cells, list):
        return (Problem(f"{shown} is not a notebook: cells is not a list", again),)
    broken = [
        Problem(f"{shown} is not a notebook: cell {number} {what}", again)
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


def _judged(document: Mapping[str, Any], cells: list[Any], shown: str) -> Notebook | tuple[Problem, ...]:
    code = [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
    metadata = document.get("metadata")
    problems = []
    if not code:
        problems.append(Problem(f"{shown} has no code cell", "write some code and save it"))
    if not isinstance(metadata, dict):
        problems.append(Problem(f"{shown} is not a notebook: metadata is not an object", "save it again in Jupyter"))
        return tuple(problems)
    kernel, language = _kernel(metadata)
    if not kernel:
        problems.append(Problem(f"{shown} names no kernel", "open it in Jupyter, choose a Python kernel and save it"))
    elif language not in ("", "python"):
        words = f"{shown} is for the kernel {kernel} ({language}); jobs run Python notebooks"
        problems.append(Problem(words, "choose a Python kernel in Jupyter and save it"))
    if problems:
        return tuple(problems)
    tagged = [cell for cell in code if PARAMETERS in _tags(cell)]
    return Notebook(kernel, bool(tagged), "".join(tagged[0]["source"]) if tagged else "")


def _kernel(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Name and language of the kernel, each empty if the notebook does not set it."""
    spec, info = (metadata.get(key) for key in ("kernelspec", "language_info"))
    spec, info = (one if isinstance(one, dict) else {} for one in (spec, info))
    name, language = spec.get("name"), spec.get("language") or info.get("name")
    return (name if isinstance(name, str) else "", language.lower() if isinstance(language, str) else "")


def _tags(cell: Mapping[str, Any]) -> Iterator[Any]:
    tags = cell.get("metadata", {}).get("tags")
    return iter(tags if isinstance(tags, list) else ())
