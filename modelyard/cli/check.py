"""Show only the findings of one or more stacks, policies included.

The exit code is 1 if a finding is an error, and 2 if a stack cannot be planned.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.cli.cache import Cache, Form, Fresh, cache_for, cache_option, no_cache, results
from modelyard.cli.common import chosen_files, plan_one, project_root, prometheus, requests_text
from modelyard.cli.exit import Exit, Stop, ended_by, exit_code
from modelyard.cli.fleet import each, executor, executor_options, is_local
from modelyard.cli.judging import Judging, base_option, judged, judging
from modelyard.cli.options import chosen_format, json_option, renamed_option, stack_options
from modelyard.cli.streams import style_for
from modelyard.files import folder_in_repository
from modelyard.findings import Finding, Severity, loud, ordered
from modelyard.report.ci import FORMATS, document
from modelyard.report.style import PLAIN, Style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from modelyard.explanations import Explanation
    from modelyard.plan.project import Planned
    from modelyard.probes.prometheus import Server
    from modelyard.report.ci.checked import Checked


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument("--notes", action="store_true", help="also show notes and waived findings")
    base_option(parser)
    parser.add_argument(
        "--prometheus", metavar="URL", help="also run the autoscaler's queries against this Prometheus server"
    )
    cache_option(parser)
    format_options(parser)
    executor_options(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Checks, and prints the findings or writes them to files."""
    root = project_root(args)
    wanted = wanted_formats(args)
    if wanted.files:
        from modelyard.cli.outputs import refuse_own_files

        refuse_own_files(root, (path for _, path in wanted.files))
    files = chosen_files(root, args)
    server = prometheus(args.prometheus) if args.prometheus is not None else None
    if server is not None and not is_local(args):
        raise Stop(Exit.USAGE, "--prometheus asks the server from this machine", "drop --prometheus or --on")
    on = executor(args)
    with judging(root, args) as by:
        cache = _cache(root, args, by)
        # What is printed depends on the findings of all stacks together.
        whole = _whole(cache, root, args, wanted, files) if cache is not None else ""
        if cache is not None and whole and (known := cache.get(whole)) is not None:
            sys.stdout.write(known["text"])
            return Exit(known["code"])
        what = CheckOptions(root, by, date.today(), server, live=args.live, verbose=args.verbose)
        work, run_each = partial(_check, what), partial(each, folders=by.folders(root), on=on)
        loaded = partial(_with_rules, root, by, run_each)
        found = list(results(cache, tuple(files.values()), loaded, work, _FORM))
        rules = _rules(root, by) if by.policies and wanted.rules else {}
    sys.stderr.writelines(one.errors for one in found)
    from modelyard.report.ci.checked import Checked

    checked = Checked(
        findings=ordered(finding for one in found for finding in one.findings),
        stacks={name: path.relative_to(root).as_posix() for name, path in files.items()},
        unplanned=frozenset(name for name, one in zip(files, found, strict=True) if not one.planned),
        folder=folder_in_repository(root),
        rules=rules,
        documentation=os.environ.get("MODELYARD_DOCS_URL", ""),
    )
    visible = checked if args.notes else _visible(checked)
    printed = _publish(wanted, checked, visible, style_for(args, sys.stdout), root)
    code = Exit.USAGE if checked.unplanned else exit_code(checked.findings)
    if cache is not None and whole:
        cache.put_whole(whole, files.values(), {"text": printed, "code": code})
    return code


def _whole(cache: Cache, root: Path, args: Namespace, wanted: "WantedOutputs", files: "Mapping[str, Path]") -> str:
    """The key of all that a run prints; empty if it also writes files."""
    if wanted.files or wanted.screen == "github":
        return ""
    documentation = os.environ.get("MODELYARD_DOCS_URL", "")
    style = style_for(args, sys.stdout)
    more = [wanted.screen, args.notes, style, folder_in_repository(root), documentation, sorted(files)]
    return cache.whole(files.values(), more)


def _cache(root: Path, args: Namespace, by: Judging) -> Cache | None:
    if no_cache(args) or args.prometheus is not None:
        return None
    return cache_for(root, "check", {"policies": by.policies, "base": args.base, "commit": by.commit})


def _with_rules(
    root: Path,
    by: Judging,
    run_each: "Callable[[Sequence[Path], CheckWork], Iterator[Fresh[StackFindings]]]",
    files: Sequence[Path],
    work: "CheckWork",
) -> "Iterator[Fresh[StackFindings]]":
    """As ``run_each``. The project's rules are loaded before any fork, so that each process has them."""
    if by.policies:
        _rules(root, by)
    return run_each(files, work)


def _rules(root: Path, by: Judging) -> "Mapping[str, Explanation]":
    """The pages of the project's own rules."""
    from modelyard.policy.loading import explained

    return explained(root, by.base)


class CheckOptions(NamedTuple):
    """What to check in each stack."""

    root: Path
    by: Judging
    today: date
    server: "Server | None"
    live: bool
    verbose: bool


class StackFindings(NamedTuple):
    """One stack's findings."""

    planned: bool
    findings: tuple[Finding, ...]
    errors: str = ""
    """For standard error."""


CheckWork = Callable[[Path], Fresh[StackFindings]]


def _stored(one: StackFindings) -> list[Any]:
    return [one.planned, [(code, severity.value, *rest) for code, severity, *rest in one.findings]]


def _restored(value: Any) -> StackFindings:
    planned, findings = value
    return StackFindings(planned, tuple(Finding(code, Severity(severity), *rest) for code, severity, *rest in findings))


_FORM: Form[StackFindings] = Form(_stored, _restored)


def _check(what: CheckOptions, file: Path) -> Fresh[StackFindings]:
    from modelyard.hardware.own import in_project
    from modelyard.plan.project import named_files

    with in_project(what.root):
        planned = plan_one(what.root, file, what.today, live=what.live)
        found = _findings(what, result := judged(what.root, planned, what.by, what.today))
    if what.verbose:
        found = found._replace(errors=requests_text(planned))
    return Fresh(found, None if result.stack is None else named_files(result.stack))


def _findings(what: CheckOptions, result: "Planned") -> StackFindings:
    from modelyard.plan.project import not_checked

    if result.partial is not None and result.stack is not None:
        answers = _answers(what, result._replace(plan=result.partial))
        return StackFindings(True, (*result.known, not_checked(result.stack), *answers))
    if result.plan is None or result.stack is None:
        return StackFindings(False, result.findings)
    return StackFindings(True, (*result.plan.findings, *_answers(what, result)))


def _answers(what: CheckOptions, result: "Planned") -> tuple[Finding, ...]:
    """Findings from a Prometheus server's answers to the stack's queries."""
    if what.server is None or result.stack is None or result.plan is None:
        return ()
    from modelyard.plan.checks.live_queries import answers
    from modelyard.probes.prometheus import ServerError

    with ended_by(Exit.UNREACHABLE, ServerError):
        return answers(result.stack, result.plan, what.server, what.today)


# Output formats for CI systems, by the file ending that selects them.
_BY_ENDING = {**{one.ending: name for name, one in FORMATS.items() if one.ending}, ".json": "json", ".txt": "text"}
_FOR_LOGS = ("text", *(name for name, one in FORMATS.items() if not one.ending))


class WantedOutputs(NamedTuple):
    """The formats and files that a run writes."""

    screen: str
    """Format of standard output."""
    files: tuple[tuple[str, Path], ...] = ()
    """Formats with the files that they go to."""

    @property
    def rules(self) -> bool:
        """Whether a format describes rules."""
        return any(form in FORMATS and FORMATS[form].rules for form in (self.screen, *(one for one, _ in self.files)))


def format_options(parser: ArgumentParser) -> None:
    """Adds the options for output formats and files."""
    parser.add_argument(
        "--format",
        choices=("text", "json", *FORMATS),
        help=", ".join(("text (default)", "json", *(f"{name} ({one.purpose})" for name, one in FORMATS.items()))),
    )
    renamed_option(
        parser,
        "--out",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="write the findings to this file, and as text to the screen; the file's extension "
        f"({', '.join(_BY_ENDING)}) sets its format, or for a single file --format json, sarif or junit; replaces an "
        "existing file (repeatable)",
    )


def wanted_formats(args: Namespace) -> WantedOutputs:
    """The requested formats.

    With files, the screen shows the text for people, and in GitHub's log its annotations.

    Raises:
        Stop: two formats are requested where only one is possible, or a file's format is unknown.
    """
    form = chosen_format(args)
    if not args.out:
        return WantedOutputs(form or "text")
    from modelyard.cli.outputs import with_formats

    files = with_formats(args.out, _BY_ENDING, None if form in _FOR_LOGS else form)
    return WantedOutputs("github" if form == "github" else "text", tuple(files))


def _publish(wanted: WantedOutputs, checked: "Checked", visible: "Checked", style: Style, root: Path) -> str:
    """Writes findings in the requested formats, and returns what the screen shows, in its style."""
    for form, path in wanted.files:
        from modelyard.files import write_output

        write_output(path, _document(form, checked, visible, PLAIN), root)
        sys.stderr.write(f"written to {path}\n")
    printed = _document(wanted.screen, checked, visible, style)
    sys.stdout.write(printed)
    # The runner gives each step a file for its summary; the step may have written to it before.
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if wanted.screen == "github" else None
    if summary:
        from modelyard.report.ci.annotations import summary_markdown

        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in summary_markdown(visible))
    return printed


def _visible(checked: "Checked") -> "Checked":
    """The run without ``--notes``; that checks were left out is still shown."""
    from modelyard.cluster.recorded import ABSENT

    shown = ordered((*loud(checked.findings), *(one for one in checked.findings if one.code == ABSENT)))
    return checked._replace(findings=shown, left_out=ordered({*checked.findings} - {*shown}))


def _document(form: str, checked: "Checked", visible: "Checked", style: Style) -> str:
    """A text in a format. JSON has all findings, other formats those that people see."""
    if form in FORMATS:
        return document(form, visible)
    if form == "json":
        from modelyard.report.json import findings_document, json_text

        return json_text(findings_document(checked.findings)) + "\n"
    from modelyard.report.finding import findings_text

    return "".join(f"{line}\n" for line in (*findings_text(visible.findings, style), visible.counted))
