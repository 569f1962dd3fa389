"""Checks Pulumi.yaml, as far as every run needs it: a mapping with a name, Python, a program, and a stack file folder
in the project.

All other keys belong to Pulumi.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from modelyard.files import MAX_YAML_BYTES, ReadError, read_file
from modelyard.findings import Finding, ordered
from modelyard.stack import codes
from modelyard.stack.mistakes import of_problem
from modelyard.stack.project import DEFAULT_FOLDER, PROJECT_FILES, outside
from modelyard.stack.schema import PREFIX
from modelyard.stack.words import plain, quoted
from modelyard.stack.yaml.document import Document, parse
from modelyard.stack.yaml.source import TextProblem

_EXAMPLE = "write name, runtime: {name: python} and main: stacks/"


def check_project(root: Path, *, only_folder: bool = False) -> tuple[Finding, ...]:
    """Returns the findings about the project file of a folder; nothing is raised.

    Args:
        root: the folder.
        only_folder: whether to check only the setting that locates the stack files.
    """
    file = next((root / name for name in PROJECT_FILES if (root / name).is_file()), root / PROJECT_FILES[0])
    try:
        content = read_file(file, limit=MAX_YAML_BYTES, within=root)
    except ReadError as error:
        problem = TextProblem(codes.UNREADABLE, f"{file.name} cannot be read: {error.reason}", remedy=error.remedy)
        return (of_problem(problem, file.name),)
    document, problems = parse(content)
    found = [problem for problem in problems if not problem.harmless]
    if document is not None:
        found += _shape(document, root, only_folder)
    return ordered(of_problem(problem, file.name) for problem in found)


def _shape(document: Document, root: Path, only_folder: bool) -> Iterator[TextProblem]:
    value = document.value
    if not isinstance(value, dict):
        what = "empty" if value is None else "a list" if isinstance(value, list) else "one plain value"
        yield TextProblem(codes.SHAPE, f"the project file is {what}, not a mapping", 1, 1, remedy=_EXAMPLE)
        return
    yield from _folder(document, value, root)
    if only_folder:
        return
    yield from _name(document, value)
    yield from _runtime(document, value)
    yield from _config(document, value)
    main = value.get("main")
    if "main" in value and not (isinstance(main, str) and main):
        yield _wrong(document, "main", f"main is {_given(main)}", "name the folder of the program: main: stacks/")
    elif main is not None and not os.path.exists(root / main):  # noqa: PTH110 (what no name can be is none)
        summary = f"main is {quoted(main)}, which does not exist"
        yield _wrong(document, "main", summary, "name the folder of the program: main: stacks/")


def _folder(document: Document, value: dict[str, Any], root: Path) -> Iterator[TextProblem]:
    if isinstance(value.get("config"), str):
        summary = f"config is {_given(value['config'])}, an old name of stackConfigDir that modelyard does not read"
        yield _wrong(document, "config", summary, "write stackConfigDir")
    folder = value.get("stackConfigDir")
    if folder is None or folder == "":
        if error := outside(root, DEFAULT_FOLDER):
            summary = f"the folder of the stack files, {DEFAULT_FOLDER}, cannot be used: {error.reason}"
            yield TextProblem(codes.FORM, summary, 1, 1, remedy="make it a folder of the project")
    elif not isinstance(folder, str):
        summary = f"stackConfigDir is {_given(folder)}, not text"
        yield _wrong(document, "stackConfigDir", summary, "name the folder of the stack files")
    elif error := outside(root, folder):
        summary = f"stackConfigDir is {_given(folder)}: {error.reason}"
        yield _wrong(document, "stackConfigDir", summary, error.remedy)


def _name(document: Document, value: dict[str, Any]) -> Iterator[TextProblem]:
    if "name" not in value:
        yield TextProblem(
            codes.MISSING_KEY, "the project has no name", 1, 1, remedy="add `name:` with the name of the project"
        )
    elif not (isinstance(value["name"], str) and value["name"].strip()):
        yield _wrong(document, "name", f"name is {_given(value['name'])}, not text", "give the project a name")


def _runtime(document: Document, value: dict[str, Any]) -> Iterator[TextProblem]:
    if "runtime" not in value:
        yield TextProblem(codes.MISSING_KEY, "the project has no runtime", 1, 1, remedy="add `runtime: {name: python}`")
        return
    runtime = value["runtime"]
    name = runtime.get("name") if isinstance(runtime, dict) else runtime
    if name != "python":
        written = _given(name) if name is not None or not isinstance(runtime, dict) else "without a name"
        yield _wrong(document, "runtime", f"runtime is {written}, but the program is Python", "write runtime: python")


def _config(document: Document, value: dict[str, Any]) -> Iterator[TextProblem]:
    """Finds values that Pulumi gives to all stacks: a plan is made of stack files, and would not have them."""
    config = value.get("config")
    for key, given in config.items() if isinstance(config, dict) else ():
        # Pulumi reads a key without a namespace as one of the project. What only declares a type sets nothing.
        full = key if ":" in key else f"{value.get('name')}:{key}"
        declared = isinstance(given, dict) and not {"value", "default"} & given.keys()
        if full.startswith(PREFIX) and not declared:
            summary = f"config sets {plain(key)}, which modelyard reads only from stack files"
            place = document.keys[("config", key)]
            yield TextProblem(codes.UNKNOWN_KEY, summary, *place, "move its value to `config:` of the stack files")


def _wrong(document: Document, key: str, summary: str, remedy: str) -> TextProblem:
    return TextProblem(codes.FORM, summary, *document.values.get((key,), (1, 1)), remedy)


def _given(value: Any) -> str:
    if value is None or value == "":
        return "empty"
    return quoted(value) if isinstance(value, str) else plain(str(value))
