"""The forms in which findings go to a CI system, and where they are written."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from modelyard.cli.exit import Exit, Stop
from modelyard.files import repository_of
from modelyard.findings import loud
from modelyard.report.ci.checked import Checked
from modelyard.report.style import PLAIN, Style

FORMATS = ("text", "json", "sarif", "junit", "github")
_FOR_LOGS = ("text", "github")
_BY_ENDING = {".sarif": "sarif", ".xml": "junit", ".json": "json", ".txt": "text"}

Text = Callable[[Style], Sequence[str]]
"""The findings for people, in a style."""


class Wanted(NamedTuple):
    """What a run writes."""

    screen: str
    """The form of standard output."""
    files: tuple[tuple[str, Path], ...] = ()
    """Forms and the files that they go to."""


def format_options(parser: ArgumentParser) -> None:
    """In which form, and into which files."""
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="text, json, sarif (code scanning), junit (test reports), github (annotations and the run's summary)",
    )
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="write to a file, and the findings as text to the screen; its ending (.sarif, .xml, .json, .txt) says the "
        "format unless --format does (repeatable)",
    )


def wanted_formats(args: Namespace) -> Wanted:
    """The forms asked for; ``--json`` is short for ``--format json``.

    With files, the screen has what people read, and in GitHub's log its annotations.

    Raises:
        Stop: two forms are asked for where there can be one, or nothing says the form of a file.
    """
    if args.json and args.format not in (None, "json"):
        raise Stop(Exit.USAGE, f"both --json and --format {args.format} were given", "give one of them")
    form = "json" if args.json else args.format
    if not args.output:
        return Wanted(form or "text")
    files = []
    for name in args.output:
        path = Path(name)
        chosen = form if len(args.output) == 1 and form not in (None, *_FOR_LOGS) else None
        known = chosen or _BY_ENDING.get(path.suffix.lower())
        if known is None:
            remedy = f"end its name in {', '.join(_BY_ENDING)}, or give --format"
            raise Stop(Exit.USAGE, f"nothing says the format of {name}", remedy)
        files.append((known, path))
    return Wanted("github" if form == "github" else "text", tuple(files))


def publish(wanted: Wanted, checked: Checked, text: Text, style: Style, *, notes: bool, root: Path) -> None:
    """Writes findings in the forms wanted.

    Args:
        wanted: see ``wanted_formats``.
        checked: all findings. JSON has them all, the other forms those that the text shows.
        text: the findings for people.
        style: of the screen.
        notes: whether notes and waived findings are shown too.
        root: the project.

    Raises:
        OSError: a file cannot be written; each is there as a whole or not at all.
    """
    visible = checked if notes else checked._replace(findings=loud(checked.findings))
    for form, path in wanted.files:
        from modelyard.files import write_output

        write_output(path, _document(form, checked, visible, text, PLAIN), root)
        sys.stderr.write(f"written to {path}\n")
    sys.stdout.write(_document(wanted.screen, checked, visible, text, style))
    # The runner gives each step a file for its part of the run's summary; the step may have written to it before.
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if wanted.screen == "github" else None
    if summary:
        from modelyard.report.ci.annotations import summary_markdown

        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in summary_markdown(visible))


def _document(form: str, checked: Checked, visible: Checked, text: Text, style: Style) -> str:
    match form:
        case "json":
            from modelyard.report.json import findings_document, json_text

            return json_text(findings_document(checked.findings)) + "\n"
        case "sarif":
            from modelyard.report.ci.sarif import sarif_document
            from modelyard.report.json import json_text

            return json_text(sarif_document(visible, os.environ.get("MODELYARD_DOCS_URL", ""))) + "\n"
        case "junit":
            from modelyard.report.ci.junit import junit_text

            return junit_text(visible)
        case "github":
            from modelyard.report.ci.annotations import annotations_text

            return "".join(f"{line}\n" for line in annotations_text(visible))
        case _:
            return "".join(f"{line}\n" for line in text(style))


def folder_in_repository(root: Path) -> str:
    """The project's path inside the repository around it, with slashes; empty where the project is its root."""
    inside = root.relative_to(repository_of(root)).as_posix()
    return "" if inside == "." else inside
