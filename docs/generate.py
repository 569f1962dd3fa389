"""Writes the generated pages: ``python docs/generate.py`` makes them from the program's own data.

Generates ``docs/reference``, ``docs/rules``, ``docs/examples``, ``docs/compared.md`` and the picture of the packages.
Do not edit these; a test compares them.
For a new page, add a function in ``docs/generators`` and a line in ``PAGES`` or ``GROUPS``; for a new kind of rule, a
function in ``SOURCES`` of ``docs/generators/rules.py``.
"""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generators import (
    command_line,
    comments,
    compared,
    components,
    environment,
    facts,
    gpus,
    markdown,
    packages,
    patches,
    rules,
    schemas,
    stack_file,
)
from generators.paths import DOCS

PAGES: Mapping[str, Callable[[], str]] = {
    "reference/stack-file.md": stack_file.stack_file,
    "reference/command-line.md": command_line.command_line,
    "reference/exit-codes.md": command_line.exit_codes,
    "reference/environment.md": environment.environment,
    "reference/findings.md": rules.findings,
    "reference/patches.md": patches.patches,
    "reference/facts.md": facts.facts,
    "reference/components.md": components.components,
    "reference/gpus.md": gpus.gpus,
}
GROUPS: tuple[Callable[[], Mapping[str, str]], ...] = (schemas.pages, rules.rule_pages, comments.pages)
ALONE: Mapping[str, Callable[[], str]] = {
    "compared.md": compared.compared_page,
    "images/packages.svg": packages.packages,
}
"""Generated files in folders that have others, too."""
FOLDERS = ("reference", "rules", comments.FOLDER)
"""Folders with generated pages only."""


@cache
def generated() -> Mapping[str, str]:
    """Every generated file by its path below docs/."""
    made = {name: make() for name, make in PAGES.items()}
    for make in GROUPS:
        made |= make()
    made["reference/README.md"] = _index(made)
    return made | {name: make() for name, make in ALONE.items()}


def _index(made: Mapping[str, str]) -> str:
    shown = [*PAGES, f"{schemas.FOLDER}/README.md"]
    lines = [f"- [{markdown.heading(made[name])}]({name.removeprefix('reference/')})" for name in shown]
    return markdown.page("Reference", "Generated from the program's own schemas, parsers and tables.", lines)


def committed() -> dict[str, str]:
    """The generated files in the repository."""
    paths = [path for folder in FOLDERS for path in (DOCS / folder).rglob("*.md")]
    paths += [DOCS / name for name in ALONE if (DOCS / name).exists()]
    return {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def main() -> int:
    """Writes the files, and removes those that are no longer generated."""
    made = generated()
    for name in committed().keys() - made.keys():
        (DOCS / name).unlink()
    for name, text in made.items():
        (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
