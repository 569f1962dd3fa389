"""Show what a branch changes in every stack: two commits are planned and compared; identical changes are shown once."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.cache import Cache, cache_for, cache_option, no_cache, repeatable
from modelyard.cli.common import project_root
from modelyard.cli.exit import Exit, Stop, ended_by
from modelyard.cli.fleet import Executor, each, executor, executor_options
from modelyard.cli.judging import policy_options
from modelyard.cli.options import chosen_format, commit, renamed_option, whole_number
from modelyard.cli.printing import note
from modelyard.cli.signals import ended_by_signal
from modelyard.cli.streams import style_for
from modelyard.files import folder_in_repository
from modelyard.hiding import hidden_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from modelyard.preview.revisions import ComparedRange
    from modelyard.preview.stacks import StackJob
    from modelyard.preview.values import Policing, Preview, StackDiff
    from modelyard.report.code_host import CodeHost, Links


FORMATS = ("text", "markdown", "html", "json")
Outputs = Sequence[tuple[str, Path | None]]
"""The formats to write, each with its file; without one, it goes to standard output."""
_BY_ENDING = {".txt": "text", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".json": "json"}


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "--base",
        type=commit,
        metavar="REF",
        help="compare with the merge base with this branch, tag or commit (default: in CI the pull request's target "
        "branch, else the default branch, such as origin/main)",
    )
    parser.add_argument(
        "--head", type=commit, metavar="REF", help="the commit with the changes (default: the working tree)"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="start from the clusters as they are now, not from the recorded platforms; only reads. The base's "
        "stack files set which contexts are read. A stack whose cluster cannot be read starts from its recorded "
        "platform",
    )
    policy_options(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="text (default), markdown (a comment), html (a page), or json",
    )
    parser.add_argument("--json", action="store_true", help="short for --format json")
    renamed_option(
        parser,
        "--out",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="write to this file instead of the screen; its extension (.md, .html, .json, .txt) sets the format, or "
        "for a single file --format; replaces an existing file (repeatable, to write one preview in several formats)",
    )
    cache_option(parser)
    executor_options(parser)
    parser.add_argument("--report-url", default="", metavar="URL", help="URL of the full report, for markdown")
    parser.add_argument(
        "--repo-url",
        metavar="URL",
        help="URL of the repository on GitHub, GitLab or Bitbucket: in markdown and html, files and lines link to it "
        "(default: in CI the URL of the repository; an empty URL: no links)",
    )
    parser.add_argument(
        "--limit",
        type=whole_number,
        metavar="N",
        help="maximum length of the markdown in characters (default 65000, which GitHub accepts; at least 4000 plus "
        "the length of --report-url)",
    )
    parser.add_argument(
        "--detailed-exitcode",
        action="store_true",
        help="exit code 5 if a stack or a finding of the whole project changes, and no error blocks the change",
    )


def run(args: Namespace) -> Exit:
    """Plans both commits, compares, and prints or writes."""
    root = project_root(args)
    wanted = _wanted(args)
    if args.out:
        from modelyard.cli.outputs import refuse_own_files

        refuse_own_files(root, (path for _, path in wanted if path is not None))
    _check_comment(args)
    host = _code_host(root, args)
    # The other commit is checked out on disk; remove it however the run ends.
    with ended_by_signal("preview was stopped; its temporary files were removed"):
        shown = _shown(root, args, wanted, host)
    if shown.left_out:
        # No format has them: only a working tree can leave files out, and a pull request is compared by its commits.
        names = ", ".join(shown.left_out)
        note(f"not compared: {names} (left out by the sparse checkout; --head HEAD compares commits)")
    for (_, path), text in zip(wanted, shown.texts, strict=True):
        if path is None:
            sys.stdout.write(text)
        else:
            from modelyard.files import write_output

            write_output(path, text, root)
            sys.stderr.write(f"written to {path}\n")
    return Exit(shown.code)


class PreviewOutput(NamedTuple):
    """What a run prints and writes."""

    texts: list[str]
    """In each of the wanted formats."""
    left_out: list[str]
    """Stacks that are not compared."""
    code: int


def _shown(root: Path, args: Namespace, wanted: Outputs, host: "CodeHost | None") -> PreviewOutput:
    """What a run shows: from the cache, or else computed and stored."""
    from modelyard.preview.git import RevisionError
    from modelyard.preview.project import files_named, range_of
    from modelyard.preview.project_files import stack_files
    from modelyard.preview.revisions import default_base

    with ended_by(Exit.USAGE, RevisionError):
        span = range_of(root, args.base or default_base(root, os.environ), args.head, args.policies or "base")
        compute = partial(_computed, root, args, wanted, host=host, on=executor(args), span=span)
        cache = None if no_cache(args) else _cache(root, args, wanted, host)
        if cache is None:
            return compute()[0]
        compared = [span.base, span.head, span.prefix, sorted(span.paths), sorted(span.absent), span.through]

        def key_in(cache: Cache) -> str:
            return cache.of_project(sorted(stack_files(root).values()), span.paths, compared)

        key = key_in(cache)
        if (known := cache.get(key)) is not None:
            return PreviewOutput(*known)
        shown, again = compute()
        if again:
            cache.put_alone(key, key_in, files_named(root), shown)
        return shown


def _cache(root: Path, args: Namespace, wanted: Outputs, host: "CodeHost | None") -> Cache | None:
    forms = [(form, path is None) for form, path in wanted]
    options = [args.policies, args.report_url, args.limit, args.detailed_exitcode, forms, host]
    return cache_for(root, "preview", {"options": options, "style": style_for(args, sys.stdout)})


def _computed(
    root: Path, args: Namespace, wanted: Outputs, *, host: "CodeHost | None", on: Executor, span: "ComparedRange"
) -> tuple[PreviewOutput, bool]:
    """What a run shows, and whether another run would show and print the same."""
    from modelyard.preview.project import preview

    again: list[bool] = []

    def run_each(
        jobs: "Sequence[StackJob]", work: "Callable[[StackJob], StackDiff | None]", folders: tuple[Path, ...]
    ) -> "Iterator[StackDiff | None]":
        for found, same in each(jobs, partial(_noted, work), folders, on):
            again.append(same)
            yield found

    policies: Policing = args.policies or "base"
    found = preview(
        root, span.base.name, args.head, today=date.today(), each=run_each, policies=policies, live=args.live, span=span
    )
    texts = [_text(found, form, args, host, to_screen=path is None) for form, path in wanted]
    code = _ending(found, args)
    # A stack without a plan is planned again.
    return PreviewOutput(texts, list(found.left_out), code), all(again) and repeatable() and code != Exit.USAGE


def _noted(work: "Callable[[StackJob], StackDiff | None]", job: "StackJob") -> "tuple[StackDiff | None, bool]":
    return work(job), repeatable()


def _wanted(args: Namespace) -> Outputs:
    form = chosen_format(args)
    if not args.out:
        return [(form or "text", None)]
    from modelyard.cli.outputs import with_formats

    return with_formats(args.out, _BY_ENDING, form, form)


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


def _code_host(root: Path, args: Namespace) -> "CodeHost | None":
    """The repository that places link to; None without one."""
    from modelyard.report.code_host import code_host, repository_url

    url = repository_url(os.environ) if args.repo_url is None else args.repo_url
    if not url:
        return None
    try:
        return code_host(url, folder_in_repository(root), os.environ)
    except ValueError:
        if args.repo_url is None:
            return None
        words = f"--repo-url {hidden_text(url)!r} is not a web address"
        raise Stop(Exit.USAGE, words, "begin it with https:// or http://") from None


def _links(preview: "Preview", host: "CodeHost | None") -> "Links | None":
    if host is None:
        return None
    from modelyard.report.code_host import Links

    gone = frozenset(stack.file for stack in preview.stacks if stack.status == "removed")
    return Links(host, preview.base.commit, preview.head.commit, gone)


def _text(preview: "Preview", form: str, args: Namespace, host: "CodeHost | None", *, to_screen: bool) -> str:
    match form:
        case "markdown":
            from modelyard.report.preview.markdown import LIMIT, preview_markdown

            return preview_markdown(
                preview,
                limit=LIMIT if args.limit is None else args.limit,
                report=args.report_url,
                links=_links(preview, host),
            )
        case "json" | "html":
            from modelyard.report.preview.json import preview_document

            document = preview_document(preview, preview.pages)
            if form == "json":
                from modelyard.report.json import json_text

                return json_text(document) + "\n"
            from modelyard.report.html.page import html_page

            title = f"modelyard preview: {preview.head.name} against {preview.base.name}"
            return html_page(document, title=title, links=_links(preview, host))
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
