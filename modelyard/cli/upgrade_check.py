"""Show what the new built-in patches of this modelyard would change in each stack, before the project uses them."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from modelyard.cli.common import project_root
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option
from modelyard.cli.printing import say, say_json, say_wrapped
from modelyard.cli.signals import ended_by_signal
from modelyard.cli.streams import style_for


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument(
        "--detailed-exitcode",
        action="store_true",
        help="exit code 5 if there are new built-in versions and no error blocks a stack that they change",
    )
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Plans every stack with the current lock and with the new versions, compares, and prints."""
    from modelyard import __version__
    from modelyard.catalog import load_library, new_built_in
    from modelyard.stack.words import listed

    root = project_root(args)
    library = load_library(root)
    if library.findings:
        raise Stop(Exit.FINDINGS, "the patches of the project have errors", "correct them first", library.findings)
    new = new_built_in(root, library)
    if not new:
        if args.json:
            say_json(_document((), None))
        else:
            say_wrapped([f"modelyard {__version__} has no new built-in patch versions for this project."])
        return Exit.FINE
    from modelyard.cli.fleet import each
    from modelyard.preview.project import upgrade
    from modelyard.report.preview.text import preview_text

    with ended_by_signal("upgrade-check was stopped; its temporary files were removed"):
        found = upgrade(root, new, date.today(), each)
    ids = [patch.id for patch in new.values()]
    if args.json:
        from modelyard.report.preview.json import preview_document

        say_json(_document(ids, preview_document(found)))
    else:
        say_wrapped([f"New built-in patch versions in modelyard {__version__}: {listed(ids, 'and')}", ""])
        say(preview_text(found, style_for(args, sys.stdout)))
        say(["", "To use them, run: modelyard patches --release"])
    if found.blocked:
        return Exit.FINDINGS
    return Exit.CHANGES if args.detailed_exitcode else Exit.FINE


def _document(versions: Sequence[str], preview: Mapping[str, Any] | None) -> dict[str, Any]:
    """The new versions and what they would change."""
    return {"formatVersion": 1, "versions": list(versions), "preview": preview}
