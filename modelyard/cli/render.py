"""Write the rendered patches of stacks as files, one per patch and target, or as a kustomization for GitOps.

If the plan of a stack has an error, no file is written. Files of an earlier run that are no longer generated are
deleted, unless someone has changed them.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from modelyard.cli.common import chosen_files, plan_one, project_root, requests_text
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.fleet import each
from modelyard.cli.judging import Judging, base_option, judged, judging
from modelyard.cli.options import json_option, renamed_option, stack_options
from modelyard.cli.printing import note, say, say_findings, say_json
from modelyard.findings import Finding, loud
from modelyard.report.style import safe

if TYPE_CHECKING:
    from modelyard.report.rendered import RenderedRemote


class RenderedFiles(NamedTuple):
    """One stack's files by relative name, small enough to pass between processes, or why there are none."""

    stack: str
    files: Mapping[str, str]
    findings: tuple[Finding, ...] = ()
    """Findings about the files, or the errors that prevent them."""
    failed: Exit = Exit.FINE
    remotes: "tuple[RenderedRemote, ...]" = ()
    left: int = 0
    """Number of the platform cluster's objects in no file: they are created whole, and the format has patches only."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stack_options(parser)
    parser.add_argument(
        "--format",
        choices=("vendor", "kustomize"),
        default="vendor",
        help="vendor: one file per patch and target, in order; kustomize: a base and patches that build to the plan; "
        "each remote cluster has its own folder",
    )
    parser.add_argument(
        "--as-printed",
        action="store_true",
        help="vendor format only: autoscaling patches as the vendor's pages print them: queries that are not valid "
        "PromQL, and no field replicas where the autoscaler already runs",
    )
    renamed_option(
        parser,
        "--out-dir",
        "--out",
        metavar="DIR",
        help="folder to write to (default out/<format>; a stack is a subfolder)",
    )
    parser.add_argument("--print", action="store_true", dest="show", help="print the files instead of writing them")
    base_option(parser)
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Renders and writes every stack, or nothing if one of them has errors."""
    if args.as_printed and args.format != "vendor":
        raise Stop(
            Exit.USAGE,
            f"--as-printed is a form of the vendor's files, not of {args.format}",
            "drop --as-printed or --format",
        )
    root = project_root(args)
    with judging(root, args) as by:
        return _run(root, args, by)


def _run(root: Path, args: Namespace, by: Judging) -> Exit:
    files = chosen_files(root, args)
    rendered = _all_or_none(each(tuple(files.items()), partial(_render, root, args, by)), len(files))
    shown: list[RenderedFiles] = []

    def kept() -> Iterator[RenderedFiles]:
        for one in rendered:
            shown.append(one if args.json or args.show else one._replace(files={}))
            yield one

    base, inner = (Path(args.out_dir), "") if args.out_dir else (root, f"out/{args.format}/")
    out = base / inner
    written = 0
    if args.show:
        # Printed output cannot be taken back, so hold all of it until the last stack.
        for one in list(kept()):
            if not args.json:
                _print(one)
    else:
        from modelyard.cli.folder import replace_generated
        from modelyard.cli.outputs import refuse_own_folders

        refuse_own_folders(root, out, files)
        written, left = replace_generated(base, ((f"{inner}{one.stack}", one.files) for one in kept()))
        _report_kept([_shown(path, root) for path in left])
    if args.json:
        from modelyard.report.rendered import RenderedStack, rendered_document

        stacks = [RenderedStack(one.stack, one.files, one.findings, one.remotes) for one in shown]
        say_json(rendered_document(args.format, None if args.show else _shown(out, root), stacks), applied=True)
        return Exit.FINE
    if not args.show:
        from modelyard.stack.words import plural

        remotes = [(remote, _shown(out / one.stack / remote.folder, root)) for one in shown for remote in one.remotes]
        say(
            [
                f"{plural(written, 'file')} written to {_shown(out, root)}",
                *(f"remote cluster {one.name}: {folder}" for one, folder in remotes),
            ]
        )
    say_findings([finding for one in shown for finding in one.findings], args)
    _report_left(shown)
    return Exit.FINE


def _report_left(shown: Sequence[RenderedFiles]) -> None:
    """Reports on standard error which objects the files lack."""
    if left := sum(one.left for one in shown):
        from modelyard.stack.words import plural

        note(
            f"{plural(left, 'object')} of the plan {'is' if left == 1 else 'are'} created, not patched, and not in "
            "these files; --format kustomize includes them"
        )


def _report_kept(files: Sequence[str]) -> None:
    """Reports on standard error files of an earlier run that may contain manual changes."""
    if files:
        from modelyard.stack.words import plural

        names = ", ".join(files[:_NAMED]) + (", …" if len(files) > _NAMED else "")
        note(
            f"{plural(len(files), 'file')} no longer generated but not deleted, because the manifest does not prove "
            f"that modelyard wrote their content: {names}"
        )


def _render(root: Path, args: Namespace, by: Judging, stack: tuple[str, Path]) -> RenderedFiles:
    from modelyard.plan.missing import MISSING

    name, file = stack
    today = date.today()
    planned = plan_one(root, file, today, live=args.live)
    if args.verbose:
        sys.stderr.write(requests_text(planned))
    result = judged(root, planned, by, today)
    if result.plan is None or result.stack is None:
        return RenderedFiles(stack=name, files={}, findings=loud(result.findings), failed=Exit.USAGE)
    errors = tuple(finding for finding in result.plan.findings if finding.blocks)
    if errors:
        return RenderedFiles(stack=name, files={}, findings=errors, failed=Exit.FINDINGS)
    from modelyard.report.rendered import kustomize_files, rendered_remotes, vendor_files

    remotes = rendered_remotes(result.plan)
    if args.format == "kustomize":
        left_out = tuple(one for one in result.plan.findings if one.code == MISSING)
        return RenderedFiles(name, kustomize_files(result.plan), left_out, remotes=remotes)
    from modelyard.plan.autoscaling import as_printed, emptied_replicas
    from modelyard.plan.project import chosen_patches

    if args.as_printed:
        config = result.stack.config
        printed = config._replace(autoscaling=config.autoscaling._replace(queries="vendor"))
        chosen = as_printed(chosen_patches(root, result.stack._replace(config=printed)), result.plan.targets)
    else:
        chosen = chosen_patches(root, result.stack)
    documents = [(one.patch, document) for one in chosen for document in one.render().documents]
    found = emptied_replicas(result.plan.asked, (document for _, document in documents))
    placed = tuple(finding._replace(stack=name, file=result.stack.file) for finding in found)
    patched = {document.target for _, document in documents}
    left = sum(target.name not in patched for target in result.plan.asked)
    return RenderedFiles(name, vendor_files(result.plan, documents), placed, remotes=remotes, left=left)


def _all_or_none(stacks: Iterable[RenderedFiles], number: int) -> Iterator[RenderedFiles]:
    """Yields the stacks as they arrive; if any had errors, ends the run after the last one with all errors."""
    failed: list[RenderedFiles] = []
    for one in stacks:
        if one.failed is not Exit.FINE:
            failed.append(one._replace(files={}))
        elif not failed:
            yield one
    if not failed:
        return
    raise Stop(
        max(one.failed for one in failed),
        f"nothing was written: {_who(failed, number)}",
        f"correct them first; modelyard check {failed[0].stack if number == 1 else '--all'} shows all findings",
        [finding for one in failed for finding in one.findings],
    )


def _who(failed: Sequence[RenderedFiles], number: int) -> str:
    names = ", ".join(one.stack for one in failed[:_NAMED]) + (", …" if len(failed) > _NAMED else "")
    have = "has" if len(failed) == 1 else "have"
    return f"{names} has errors" if number == 1 else f"{len(failed)} of {number} stacks {have} errors ({names})"


_NAMED = 5
"""Most stacks with errors to list by name."""


def _print(one: RenderedFiles) -> None:
    """Prints the files in sequence: unchanged into a pipe, with escapes on a terminal."""
    terminal = sys.stdout.isatty()
    for name, text in one.files.items():
        lines = text.rstrip("\n").split("\n")
        say([f"# {one.stack}/{name}", *(map(safe, lines) if terminal else lines), ""])


def _shown(path: Path, root: Path) -> str:
    try:
        return Path(realpath(path)).relative_to(root).as_posix()
    except ValueError:
        return str(path)
