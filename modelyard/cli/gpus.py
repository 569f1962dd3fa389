"""Show which GPUs are supported for training, by which rule, and why.

With --live, show the GPUs of a stack's cluster now: who uses them, which are free or idle, and what waits for quota or
for a node.
"""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from modelyard.cli.app import style_for
from modelyard.cli.common import json_option, say, say_wrapped
from modelyard.cli.exit import Exit, Stop
from modelyard.names import HARDWARE_FILE


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("gpu", nargs="*", metavar="GPU", help="only these GPUs, with their sources")
    parser.add_argument("--supported", action="store_true", help="only supported GPUs")
    parser.add_argument("--cuda", default="11.7", metavar="VERSION", help="CUDA version of the images (default 11.7)")
    parser.add_argument("--embeds-ptx", action="store_true", help="assume that the images contain PTX for newer GPUs")
    live = parser.add_argument_group("with --live")
    live.add_argument("--live", nargs="?", const="", metavar="STACK", help="the GPUs of this stack's cluster, now")
    live.add_argument("--team", metavar="T", help="only this team: its GPUs, quota and queue")
    live.add_argument("--node", metavar="NAME", help="only this node and its pods")
    live.add_argument("--nodes", action="store_true", help="list every node")
    live.add_argument(
        "--metrics", metavar="URL", help="Prometheus server with DCGM's metrics (default drain.prometheus)"
    )
    live.add_argument(
        "--idle",
        type=minutes,
        default=10,
        metavar="MINUTES",
        help="minutes without work after which a GPU counts as idle (default 10)",
    )
    json_option(parser)


def minutes(text: str) -> int:
    """A whole number of minutes, at most a week."""
    most = 7 * 24 * 60
    if not (text.isdecimal() and 1 <= int(text[:9]) <= most):
        raise ArgumentTypeError(f"{text[:20]!r} is not a whole number of minutes from 1 to {most}")
    return int(text)


def run(args: Namespace) -> Exit:
    """Prints the table."""
    if args.live is not None:
        if args.gpu or args.supported:
            raise Stop(
                Exit.USAGE,
                "--live cannot be combined with GPU names or --supported",
                "drop them: modelyard gpus --live STACK",
            )
        from modelyard.cli.gpus_live import run as run_live

        return run_live(args)
    if idle := [f"--{name}" for name in ("team", "node", "nodes", "metrics") if getattr(args, name)]:
        raise Stop(Exit.USAGE, f"{', '.join(idle)} cannot be given without --live", "modelyard gpus --live STACK")
    from modelyard.hardware import Ambiguous, GpuModel, find, near_gpus
    from modelyard.hardware.table import table
    from modelyard.report.gpus import gpu_text, gpus_document, gpus_text

    _check_own(args)
    try:
        rows = table(args.cuda, args.embeds_ptx)
    except ValueError as error:
        raise Stop(Exit.USAGE, str(error), "give a version such as 11.7 or 12.4") from error
    if args.gpu:
        wanted: set[str] = set()
        for name in args.gpu:
            match find(name):
                case GpuModel() as gpu:
                    wanted.update(gpu.members or (gpu.id,))
                case Ambiguous(_, gpus):
                    wanted |= {gpu.id for gpu in gpus}
                case _:
                    raise Stop(Exit.USAGE, f"unknown GPU {name!r}", near_gpus(name))
        rows = tuple(row for row in rows if row.id in wanted)
    if args.supported:
        rows = tuple(row for row in rows if row.supported == "yes")
        if not rows and not args.json:
            say_wrapped([f"Not supported: {', '.join(args.gpu)}. To see why, run: modelyard gpus {args.gpu[0]}"])
            return Exit.FINE
    if args.json:
        from modelyard.report.json import json_text

        say([json_text(gpus_document(rows))])
        return Exit.FINE
    style = style_for(args, sys.stdout)
    say(gpu_text(rows, style) if args.gpu else gpus_text(rows, style))
    return Exit.FINE


def _check_own(args: Namespace) -> None:
    """Ends the run if the GPUs that the project defines, if there is one, cannot be used."""
    from modelyard.hardware.own import load_gpus
    from modelyard.stack import find_project

    root = find_project(Path(args.directory or ".").resolve())
    wrong = load_gpus(root).findings if root is not None else ()
    if any(finding.blocks for finding in wrong):
        raise Stop(Exit.USAGE, f"the GPUs in {HARDWARE_FILE} cannot be used", "", wrong)
