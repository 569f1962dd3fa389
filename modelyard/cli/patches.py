"""Show the patches of this project: names, versions, purpose, and whether they are released."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.app import style_for
from modelyard.cli.common import json_option, project_root, say
from modelyard.cli.exit import Exit, Stop
from modelyard.findings import Finding

if TYPE_CHECKING:
    from modelyard.catalog import Library


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="show one patch with its parameters and their sources")
    parser.add_argument(
        "--release",
        action="store_true",
        help="add the versions that are not in patches.lock yet, with NAME only those of that patch",
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Lists, shows or releases."""
    from modelyard.catalog import load_library
    from modelyard.report.patches import patch_text, patches_document, patches_text

    root = project_root(args)
    library = load_library(root)
    if args.name is not None and args.name not in library.patches:
        raise Stop(Exit.USAGE, f"unknown patch {args.name!r}", library.near(args.name), library.findings)
    if args.release:
        return _release(root, library, args.name)
    style = style_for(args, sys.stdout)
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(patches_document(library, args.name))])
    elif args.name is not None:
        say(patch_text(library, args.name, style))
    else:
        say(patches_text(library, style))
    return _report(library.findings)


def _release(root: Path, library: "Library", only: str | None) -> Exit:
    """Adds the versions of one patch, or of all, to the lock."""
    from modelyard.catalog import PATCHES_FOLDER
    from modelyard.catalog.lock import LOCK_FILE, lock_text, read_lock
    from modelyard.files import write_atomically

    if library.findings:
        raise Stop(Exit.USAGE, "nothing was released", "", library.findings)
    folder = root / PATCHES_FOLDER
    locked, _ = read_lock(folder)
    fresh = {
        f"{name}/{version}": patch.sha256
        for name, versions in library.patches.items()
        for version, patch in versions.items()
        if only in (None, name) and f"{name}/{version}" not in locked
    }
    if fresh:
        write_atomically(folder / LOCK_FILE, lock_text(locked | fresh), within=root)
    already = "every version is already released" if only is None else f"every version of {only} is already released"
    say([f"released {name}" for name in sorted(fresh)] or [already])
    return Exit.FINE


def _report(findings: tuple[Finding, ...]) -> Exit:
    if not findings:
        return Exit.FINE
    from modelyard.report.finding import findings_text

    sys.stderr.write("\n".join(findings_text(findings)) + "\n")
    return Exit.FINDINGS
