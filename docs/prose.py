"""Lints prose: ``python docs/prose.py`` checks pages and the texts of the program against docs/GLOSSARY.md.

Reads every Markdown page, and from the source every docstring and every text of three words or more. Uses vale with
the rules in ``docs/prose/modelyard/``. ``make lint`` runs this.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from lab.build import build_alone
from lab.errors import LabError
from lab.tools import VALE

ROOT = Path(__file__).resolve().parent.parent
_SETTINGS = ROOT / "docs" / "prose" / "vale.ini"
_PACKAGES = ("modelyard", "components", "policies")
_WORDS = 3
"""Fewest words of a checked text; shorter ones are keys and names."""


class Violation(NamedTuple):
    """A text to rewrite."""

    path: Path
    line: int
    message: str


_NOT_READ = {"docs/GLOSSARY.md", "docs/reference/patches.md", "modelyard/catalog/precompiled.py"}
"""Files that are not checked: the glossary names words to avoid, and what is written from released patches."""


def pages(root: Path) -> list[Path]:
    """The Markdown that people read."""
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "modelyard" / "explanations").glob("*.md")]
    # Headings of schema pages are keys; their texts are checked in the schemas.
    read = (path for path in found if path.parent.name != "schemas")
    return sorted(path for path in read if path.relative_to(root).as_posix() not in _NOT_READ)


def sources(root: Path) -> list[Path]:
    """The Python files and JSON Schemas whose texts people read."""
    kinds = ("*.py", "*.schema.json")
    found = (path for package in _PACKAGES for kind in kinds for path in (root / package).rglob(kind))
    return sorted(path for path in found if path.relative_to(root).as_posix() not in _NOT_READ)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The texts of a Python file with their lines; X stands for an embedded expression."""
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            text = "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            text = node.value
        else:
            continue
        if len(text.split()) >= _WORDS:
            yield node.lineno, text


def violations(root: Path, vale: Path) -> list[Violation]:
    """Every text below ``root`` that breaks a rule, in order of files and lines.

    Raises:
        RuntimeError: vale cannot read its rules.
    """
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        places: dict[str, tuple[Path, dict[int, int]]] = {}
        for number, path in enumerate((*pages(root), *sources(root))):
            text = path.read_text(encoding="utf-8")
            lines = list(_READERS[path.suffix](text))
            copy = work / f"{number}.md"
            copy.write_text("\n".join(line for _, line in lines) + "\n", encoding="utf-8")
            places[str(copy)] = (path, {at: line for at, (line, _) in enumerate(lines, 1)})
        command = [str(vale), "--no-global", "--config", str(_SETTINGS), "--output", "JSON", "--no-exit", str(work)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(done.stderr or done.stdout) from None
        if not isinstance(found, dict) or (found and not set(found) <= set(places)):
            raise RuntimeError(done.stdout)
        return sorted(
            Violation(places[copy][0].relative_to(root), places[copy][1].get(alert["Line"], 1), alert["Message"])
            for copy, alerts in found.items()
            for alert in alerts
        )


def _of_source(text: str) -> Iterator[tuple[int, str]]:
    """Lines of Markdown for vale, each with its line in the source; blank lines separate texts."""
    for line, prose in texts(text):
        for offset, part in enumerate(prose.splitlines()):
            yield line + offset, part.strip().replace("``", "`")
        yield line, ""


def _of_schema(text: str) -> Iterator[tuple[int, str]]:
    """The descriptions of a JSON Schema with their lines."""
    for line, words in enumerate(text.splitlines(), 1):
        for found in _DESCRIPTION.findall(words):
            yield line, found
            yield line, ""


_DESCRIPTION = re.compile(r'"(?:description|title)":\s*"((?:[^"\\]|\\.)*)"')
_READERS = {".py": _of_source, ".json": _of_schema, ".md": lambda text: enumerate(text.splitlines(), 1)}


def main() -> int:
    """Prints each violation as file:line and returns the exit code."""
    try:
        vale = build_alone(VALE)
    except LabError as error:
        sys.stderr.write(f"prose is not checked: {error}\n")
        return 1 if os.environ.get("CI") else 0
    found = violations(ROOT, vale)
    for one in found:
        sys.stdout.write(f"{one.path}:{one.line}: {one.message}\n")
    if found:
        sys.stderr.write(f"{len(found)} texts to rewrite\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
