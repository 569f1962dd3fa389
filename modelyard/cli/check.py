"""Show only the findings of one or more stacks, policies included. Exit code 1 if one is an error."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.app import style_for
from modelyard.cli.common import (
    exit_code,
    json_option,
    plan_one,
    project_root,
    renamed_option,
    stack_files,
    stack_options,
)
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.judging import Judging, base_option, judged, judging
from modelyard.cli.many import each
from modelyard.files import repository_of
from modelyard.findings import Finding, loud, ordered
from modelyard.report.ci import FORMATS, document
from modelyard.report.ci.checked import Checked
from modelyard.report.style import PLAIN, Style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from modelyard.explanations import Explanation
    from modelyard.plan.project import Planned
    from modelyard.probes.prometheus import Server


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    base_option(parser)
    parser.add_argument(
        "--prometheus", metavar="URL", help="also run the autoscaler's queries against this Prometheus server"
    )
    format_options(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Checks, and prints the findings or writes them to files."""
    root = project_root(args)
    wanted = wanted_formats(args)
    if wanted.files:
        from modelyard.cli.own import refuse_own_files

        refuse_own_files(root, (path for _, path in wanted.files))
    files = stack_files(root, args.stacks, args.all)
    server = _server(args.prometheus)
    with judging(root, args) as by:
        rules = _rules(root, by) if by.policies else {}
        what = What(args.live, by, server, args.verbose)
        found = list(each(tuple(files.values()), partial(_check, root, what)))
    checked = Checked(
        findings=ordered(finding for one in found for finding in one.findings),
        stacks={name: path.relative_to(root).as_posix() for name, path in files.items()},
        unplanned=frozenset(name for name, one in zip(files, found, strict=True) if not one.planned),
        folder=folder_in_repository(root),
        rules=rules,
        documentation=os.environ.get("MODELYARD_DOCS_URL", ""),
    )

    def text(style: Style) -> list[str]:
        return _text(checked, args.notes, style)

    publish(wanted, checked, text, style_for(args, sys.stdout), notes=args.notes, root=root)
    return exit_code(checked.findings, bool(checked.unplanned))


def _rules(root: Path, by: Judging) -> "Mapping[str, Explanation]":
    """The pages of the project's own rules; loaded before any fork, so that each process has them."""
    from modelyard.policy.pages import explained

    return explained(root, by.base)


class What(NamedTuple):
    """What to check in each stack."""

    live: bool
    by: Judging
    server: "Server | None"
    verbose: bool


class One(NamedTuple):
    """One stack's findings."""

    planned: bool
    findings: tuple[Finding, ...]


def _check(root: Path, what: What, file: Path) -> One:
    from modelyard.cluster.recorded import ABSENT
    from modelyard.plan.project import not_checked

    result = judged(root, plan_one(root, file, what.live, what.verbose), what.by)
    if result.partial is not None and result.stack is not None:
        known = (one for one in result.findings if one.code != ABSENT)
        answers = _answers(result._replace(plan=result.partial), what.server)
        return One(True, (*known, not_checked(result.stack), *_prices(root, result), *answers))
    if result.plan is None or result.stack is None:
        return One(False, result.findings)
    return One(True, (*result.plan.findings, *_prices(root, result), *_answers(result, what.server)))


def _prices(root: Path, result: "Planned") -> tuple[Finding, ...]:
    """Findings of the stack's price file."""
    if result.stack is None or result.stack.config.prices is None:
        return ()
    from modelyard.plan.cost.project import prices_of

    return prices_of(root, result.stack)[1]


def _answers(result: "Planned", server: "Server | None") -> tuple[Finding, ...]:
    """Findings from a Prometheus server's answers to the stack's queries."""
    if server is None or result.stack is None or result.plan is None:
        return ()
    from modelyard.plan.checks.live_queries import answers
    from modelyard.probes.prometheus import ServerError

    try:
        return answers(result.stack, result.plan, server, date.today())
    except ServerError as error:
        raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error


def _server(address: str | None) -> "Server | None":
    if address is None:
        return None
    from modelyard.probes.prometheus import BadAddress, server

    try:
        return server(address, os.environ, named=True)
    except BadAddress as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error


def _text(checked: Checked, notes: bool, style: Style) -> list[str]:
    from modelyard.report.finding import findings_text, tally
    from modelyard.stack.words import plural

    shown = checked.findings if notes else _shown(checked.findings)
    words = tally(checked.findings)
    hint = " (list them with --notes)" if len(shown) < len(checked.findings) else ""
    return [
        *findings_text(shown, style),
        f"{plural(len(checked.stacks), 'stack')} checked: {words or 'no findings'}{hint}",
    ]


# Output formats for CI systems, by the file ending that selects them.
_BY_ENDING = {**{one.ending: name for name, one in FORMATS.items() if one.ending}, ".json": "json", ".txt": "text"}
_FOR_LOGS = ("text", *(name for name, one in FORMATS.items() if not one.ending))

Text = Callable[[Style], Sequence[str]]
"""Renders the findings for people, in a style."""


class Wanted(NamedTuple):
    """The formats and files that a run writes."""

    screen: str
    """Format of standard output."""
    files: tuple[tuple[str, Path], ...] = ()
    """Formats with the files that they go to."""


def format_options(parser: ArgumentParser) -> None:
    """Adds the options for output formats and files."""
    parser.add_argument(
        "--format",
        choices=("text", "json", *FORMATS),
        help=", ".join(("text", "json", *(f"{name} ({one.purpose})" for name, one in FORMATS.items()))),
    )
    renamed_option(
        parser,
        "--out",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help=f"write to a file, and the findings as text to the screen; its ending ({', '.join(_BY_ENDING)}) says the "
        "format unless --format does; replaces an existing file (repeatable)",
    )


def wanted_formats(args: Namespace) -> Wanted:
    """The requested formats; ``--json`` is short for ``--format json``.

    With files, the screen shows the text for people, and in GitHub's log its annotations.

    Raises:
        Stop: two formats are requested where only one is possible, or a file's format is unknown.
    """
    if args.json and args.format not in (None, "json"):
        raise Stop(Exit.USAGE, f"both --json and --format {args.format} were given", "give one of them")
    form = "json" if args.json else args.format
    if not args.out:
        return Wanted(form or "text")
    files = []
    for name in args.out:
        path = Path(name)
        chosen = form if len(args.out) == 1 and form not in (None, *_FOR_LOGS) else None
        known = chosen or _BY_ENDING.get(path.suffix.lower())
        if known is None:
            remedy = f"end its name in {', '.join(_BY_ENDING)}, or give --format"
            raise Stop(Exit.USAGE, f"the format of {name} is unknown", remedy)
        files.append((known, path))
    return Wanted("github" if form == "github" else "text", tuple(files))


def publish(wanted: Wanted, checked: Checked, text: Text, style: Style, *, notes: bool, root: Path) -> None:
    """Writes findings in the requested formats.

    Args:
        wanted: see ``wanted_formats``.
        checked: all findings. JSON contains all of them, other formats those that the text shows.
        text: renders the findings for people.
        style: of the screen.
        notes: whether to show notes and waived findings too.
        root: the project.

    Raises:
        OSError: a file cannot be written; each file is complete or absent.
    """
    visible = checked if notes else checked._replace(findings=_shown(checked.findings))
    for form, path in wanted.files:
        from modelyard.files import write_output

        write_output(path, _document(form, checked, visible, text, PLAIN), root)
        sys.stderr.write(f"written to {path}\n")
    sys.stdout.write(_document(wanted.screen, checked, visible, text, style))
    # The runner gives each step a file for its summary; the step may have written to it before.
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if wanted.screen == "github" else None
    if summary:
        from modelyard.report.ci.annotations import summary_markdown

        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in summary_markdown(visible))


def _shown(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings to show without ``--notes``, among them that checks were left out."""
    from modelyard.cluster.recorded import ABSENT

    return ordered((*loud(findings), *(one for one in findings if one.code == ABSENT)))


def _document(form: str, checked: Checked, visible: Checked, text: Text, style: Style) -> str:
    if form in FORMATS:
        return document(form, visible)
    if form == "json":
        from modelyard.report.json import findings_document, json_text

        return json_text(findings_document(checked.findings)) + "\n"
    return "".join(f"{line}\n" for line in text(style))


def folder_in_repository(root: Path) -> str:
    """The project's path inside the repository around it, with slashes; empty where the project is its root."""
    inside = root.relative_to(repository_of(root)).as_posix()
    return "" if inside == "." else inside
