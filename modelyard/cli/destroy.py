"""Give up everything that a stack owns in its cluster."""

import sys
import time
from argparse import ArgumentParser, Namespace

from modelyard.cli.common import json_option, need_engine, project_root, say, stack_files
from modelyard.cli.exit import Exit, Stop


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("stack", metavar="STACK", help="name of a stack, such as dev")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    json_option(parser)


def run(args: Namespace) -> Exit:
    """Asks and destroys."""
    root = project_root(args)
    stack_files(root, [args.stack], False)
    need_engine()
    if not args.yes:
        sys.stderr.write(
            f"Destroying {args.stack} gives up every field that it owns. A field that nobody else owns goes away or\n"
            "takes the API server's default; it does not return to its earlier value. Only yes counts: "
        )
        sys.stderr.flush()
        if not sys.stdin.isatty() or sys.stdin.readline().strip() != "yes":
            raise Stop(Exit.USAGE, "nothing was changed", "answer yes, or give --yes where nobody can answer")
    from modelyard.engine import EngineError, destroy

    started = time.monotonic()

    def report(line: str) -> None:
        sys.stderr.write(f"  {time.monotonic() - started:5.1f}s  {line}\n")
        sys.stderr.flush()

    try:
        outcome = destroy(root, args.stack, report)
    except EngineError as error:
        raise Stop(Exit.UNREACHABLE, f"{error.summary}\n{error.detail}".rstrip(), error.remedy) from error
    if args.json:
        from modelyard.report.json import json_text

        say([json_text({"formatVersion": 1, "stack": args.stack, **outcome._asdict()})])
    else:
        words = ", ".join(f"{number} {operation}" for operation, number in outcome.changes.items() if number)
        say([f"{args.stack}: {outcome.result} ({words or 'no changes'})"])
    return Exit.FINE
