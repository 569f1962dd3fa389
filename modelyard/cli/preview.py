"""Show what a branch changes in every stack: two commits are planned and compared; identical changes are shown once."""

import sys
from argparse import ArgumentParser, Namespace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.app import style_for
from modelyard.cli.common import project_root, renamed_option
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.judging import policy_options
from modelyard.cli.signals import ended_by_signal
from modelyard.report.style import safe

if TYPE_CHECKING:
    from modelyard.preview.values import Preview


FORMATS = ("text", "markdown", "html", "json")
_BY_ENDING = {".txt": "text", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".json": "json"}


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "--base", required=True, metavar="REF", help="branch, tag or commit to compare with, such as origin/main"
    )
    parser.add_argument("--head", metavar="REF", help="the commit with the changes (default: the working tree)")
    policy_options(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="text, markdown (a comment), html (a page), or json",
    )
    parser.add_argument("--json", action="store_true", help="short for --format json")
    renamed_option(
        parser,
        "--out",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="write to this file instead of the screen; its extension (.md, .html, .json, .txt) sets the format unless "
        "--format does; replaces an existing file; repeat to write the same preview in several formats",
    )
    parser.add_argument("--report-url", default="", metavar="URL", help="URL of the full report, for markdown")
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="most characters that the markdown may have (default 65000, which GitHub accepts; at least 4000 plus the "
        "length of URL)",
    )
    parser.add_argument(
        "--detailed-exitcode", action="store_true", help="exit code 5 if a stack changes and no finding is an error"
    )


def run(args: Namespace) -> Exit:
    """Plans both commits, compares, and prints or writes."""
    root = project_root(args)
    wanted = _wanted(args)
    if args.out:
        from modelyard.cli.own import refuse_own_files

        refuse_own_files(root, (path for _, path in wanted if path is not None))
    _check_comment(args)
    # The other commit is checked out on disk; remove it however the run ends.
    with ended_by_signal("preview was stopped; its temporary files were removed"):
        found = _previewed(root, args)
    if found.left_out:
        # No format has them: only a working tree can leave files out, and a pull request is compared by its commits.
        names = safe(", ".join(found.left_out))
        sys.stderr.write(f"not compared: {names} (left out by the sparse checkout; --head HEAD compares commits)\n")
    for form, path in wanted:
        text = _text(found, form, args, to_screen=path is None)
        if path is None:
            sys.stdout.write(text)
        else:
            from modelyard.files import write_output

            write_output(path, text, root)
            sys.stderr.write(f"written to {path}\n")
    return _ending(found, args)


def _previewed(root: Path, args: Namespace) -> "Preview":
    from modelyard.cli.many import each
    from modelyard.preview.project import preview
    from modelyard.preview.revisions import RevisionError

    try:
        return preview(root, args.base, args.head, date.today(), each, args.policies or "base")
    except RevisionError as error:
        raise Stop(Exit.USAGE, error.summary, error.remedy) from error


def _wanted(args: Namespace) -> list[tuple[str, Path | None]]:
    """The formats to write, each with its file."""
    form = args.format or ("json" if args.json else None)
    if not args.out:
        return [(form or "text", None)]
    found: list[tuple[str, Path | None]] = []
    for name in args.out:
        path = Path(name)
        known = form if form is not None and len(args.out) == 1 else _BY_ENDING.get(path.suffix.lower(), form)
        if known is None:
            raise Stop(
                Exit.USAGE,
                f"the format of {name} is unknown",
                f"end its name in {', '.join(_BY_ENDING)}, or give --format",
            )
        found.append((known, path))
    return found


def _check_comment(args: Namespace) -> None:
    """Ends the run if the requested comment cannot be made."""
    if not args.report_url and args.limit is None:
        return
    from urllib.parse import urlsplit

    from modelyard.report.preview.markdown import LIMIT, least

    try:
        address = urlsplit(args.report_url)
    except ValueError:
        address = urlsplit("")
    if args.report_url and not (address.scheme in ("http", "https") and address.netloc):
        raise Stop(
            Exit.USAGE, f"--report-url {args.report_url!r} is not a web address", "begin it with https:// or http://"
        )
    smallest = least(args.report_url)
    if (LIMIT if args.limit is None else args.limit) < smallest:
        given = "the default" if args.limit is None else f"--limit {args.limit}"
        remedy = f"set at least {smallest}, or use a shorter --report-url"
        raise Stop(Exit.USAGE, f"{given} is too small: the summary may need {smallest} characters", remedy)


def _text(preview: "Preview", form: str, args: Namespace, *, to_screen: bool) -> str:
    match form:
        case "markdown":
            from modelyard.report.preview.markdown import LIMIT, preview_markdown

            return preview_markdown(preview, limit=LIMIT if args.limit is None else args.limit, report=args.report_url)
        case "json" | "html":
            from modelyard.report.preview.json import preview_document

            document = preview_document(preview, preview.pages)
            if form == "json":
                from modelyard.report.json import json_text

                return json_text(document) + "\n"
            from modelyard.report.html import html_page

            return html_page(document, title=f"modelyard preview: {preview.head.name} against {preview.base.name}")
        case _:
            from modelyard.report.preview.text import preview_text
            from modelyard.report.style import PLAIN

            return "\n".join(preview_text(preview, style_for(args, sys.stdout) if to_screen else PLAIN)) + "\n"


def _ending(preview: "Preview", args: Namespace) -> Exit:
    if any(stack.unplanned for stack in preview.stacks):
        return Exit.USAGE
    if preview.blocked:
        return Exit.FINDINGS
    return Exit.CHANGES if preview.changes and args.detailed_exitcode else Exit.FINE
