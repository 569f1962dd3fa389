"""Show which GPUs are supported for training, by which rule, and why.

With --live, show the GPUs of a stack's cluster now: who uses them, which are free or idle, and what waits for quota or
for a node. --team, --node, --nodes, --metrics and --idle are only for --live.
"""

import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from modelyard.cli.common import chosen_stack, project_root, prometheus, reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import DEFAULT_STACK, json_option
from modelyard.cli.printing import say, say_json, say_wrapped
from modelyard.cli.streams import style_for
from modelyard.names import HARDWARE_FILE

if TYPE_CHECKING:
    from modelyard.runs.pool import Usage


_IDLE = 10
"""Minutes without work after which a GPU counts as idle, unless --idle sets another number."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("gpu", nargs="*", metavar="GPU", help="only these GPUs, with all their data")
    parser.add_argument("--supported", action="store_true", help="only supported GPUs")
    parser.add_argument("--cuda", default="11.7", metavar="VERSION", help="CUDA version of the images (default 11.7)")
    parser.add_argument("--embeds-ptx", action="store_true", help="assume that the images contain PTX for newer GPUs")
    live = parser.add_argument_group("with --live")
    live.add_argument(
        "--live", nargs="?", const="", metavar="STACK", help=f"the GPUs of this stack's cluster, now; {DEFAULT_STACK}"
    )
    live.add_argument("--team", metavar="T", help="only this team: its GPUs, quota and queue")
    live.add_argument("--node", metavar="NAME", help="only this node and its pods")
    live.add_argument("--nodes", action="store_true", help="list every node")
    live.add_argument(
        "--metrics",
        metavar="URL",
        help="Prometheus server with DCGM's metrics (default: drain.prometheus of the stack)",
    )
    live.add_argument(
        "--idle",
        type=minutes,
        metavar="MINUTES",
        help=f"minutes without work after which a GPU counts as idle (default {_IDLE})",
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
        return _run_live(args)
    if live := [f"--{name}" for name in ("team", "node", "nodes", "metrics", "idle") if getattr(args, name)]:
        given = shlex.join(("modelyard", "gpus", "--live", "STACK", *_live_words(args)))
        raise Stop(Exit.USAGE, f"{', '.join(live)} cannot be given without --live", given)
    from modelyard.hardware import Ambiguous, GpuModel, find, near_gpus, not_one_gpu
    from modelyard.hardware.table import table
    from modelyard.report.gpus import gpu_text, gpus_document, gpus_text
    from modelyard.stack import discover, find_project

    root = find_project(Path(args.directory or ".").resolve())
    _check_own(root)
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
                    if root is not None and name in (one.name for one in discover(root)):
                        raise Stop(Exit.USAGE, f"{name} is a stack", f"modelyard gpus --live {name}")
                    raise Stop(Exit.USAGE, not_one_gpu(name), near_gpus(name))
        rows = tuple(row for row in rows if row.id in wanted)
    if args.supported:
        rows = tuple(row for row in rows if row.supported == "yes")
        if not rows and not args.json:
            say_wrapped([f"Not supported: {', '.join(args.gpu)}. To see why, run: modelyard gpus {args.gpu[0]}"])
            return Exit.FINE
    if args.json:
        say_json(gpus_document(rows))
        return Exit.FINE
    style = style_for(args, sys.stdout)
    say(gpu_text(rows, style) if args.gpu else gpus_text(rows, style))
    return Exit.FINE


def _live_words(args: Namespace) -> Iterator[str]:
    """The options of the command line that need --live."""
    for name in ("team", "node", "metrics", "idle"):
        if value := getattr(args, name):
            yield from (f"--{name}", str(value))
    if args.nodes:
        yield "--nodes"


def _check_own(root: Path | None) -> None:
    """Ends the run if the GPUs that the project defines, if there is one, cannot be used."""
    from modelyard.hardware.own import load_gpus

    wrong = load_gpus(root).findings if root is not None else ()
    if any(finding.blocks for finding in wrong):
        raise Stop(Exit.USAGE, f"the GPUs in {HARDWARE_FILE} cannot be used", "", wrong)


def _run_live(args: Namespace) -> Exit:
    """Reads the cluster and prints the tables."""
    from modelyard.cluster.connection import connect
    from modelyard.cluster.lists import pool_objects
    from modelyard.report.pool import RoomRequest, pool_document, pool_text
    from modelyard.runs.pool import pool_view
    from modelyard.stack.names import instead
    from modelyard.workloads.facts.pool import namespaces

    stack = chosen_stack(project_root(args), args.live or None)
    with reached():
        objects = pool_objects(connect(stack.context), namespaces(stack.config))
    if hidden := [name for name in ("nodes", "pods") if name in objects.unread]:
        raise Stop(
            Exit.UNREACHABLE,
            f"these credentials may not list the {' and '.join(hidden)} of the cluster",
            "ask for the right to get and list them",
        )
    usage = _usage(args.metrics, stack.config.drain.prometheus, args.idle or _IDLE)
    now = datetime.now(UTC)
    view = pool_view(objects, stack.config, usage, now)
    if args.team is not None:
        if args.team not in (known := {*view.teams, *(team.name for team in stack.config.teams)}):
            raise Stop(Exit.USAGE, f"unknown team {args.team!r}", instead(args.team, known, "teams"))
        view = view.of_team(args.team)
    if args.node is not None:
        if args.node not in (names := {one.name for one in view.nodes}):
            remedy = instead(args.node, names, "GPU nodes") if names else ""
            raise Stop(Exit.USAGE, f"the cluster has no GPU node {args.node!r}", remedy)
        view = view.of_node(args.node)
    asked = RoomRequest(stack.name, now, usage, args.nodes)
    if args.json:
        say_json(pool_document(view, asked))
    else:
        say(pool_text(view, asked, style_for(args, sys.stdout)))
    return Exit.FINE


def _usage(named: str | None, known: str | None, minutes: int) -> "Usage | None":
    """GPU usage; None where no server is known. A server named on the command line must answer."""
    from modelyard.probes.prometheus import ServerError
    from modelyard.runs.pool import Usage, busy_gpus

    url = named if named is not None else known
    if url is None:
        return None
    try:
        return busy_gpus(prometheus(url, named=named is not None), minutes)
    except ServerError as error:
        if named is not None:
            raise Stop(Exit.UNREACHABLE, error.summary, error.remedy) from error
        return Usage({}, minutes, error.summary)
