"""Wait until the live plans of stacks have no changes or errors, all pods are available, and every --query is true.

The exit code is 1 if more than --max-failures stacks do not pass in time, or 3 if one of these fails only because the
cluster or the Prometheus server does not answer.
"""

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from modelyard.cli.common import chosen_files, project_root, prometheus
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.options import json_option, stacks_argument
from modelyard.cli.printing import note, say, say_json
from modelyard.cli.signals import ended_by_signal
from modelyard.cli.streams import style_for
from modelyard.stack import durations

if TYPE_CHECKING:
    from modelyard.plan.verification import StackChecks, VerifyCheck
    from modelyard.probes.prometheus import Server

POLL: Final = 5.0
"""Seconds between two looks at a cluster."""


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    stacks_argument(parser)
    gate_options(parser)
    parser.add_argument("--prometheus", metavar="URL", help="the Prometheus server for --query, which needs it")
    json_option(parser)


def gate_options(parser: ArgumentParser) -> None:
    """Adds the options that say what stacks must pass."""
    from modelyard.plan.waves import TIMEOUT

    parser.add_argument(
        "--query",
        action="append",
        default=[],
        type=comparison,
        metavar="PROMQL",
        help="a comparison that must return a series, such as 'max(my_error_ratio) < 0.01' (repeatable)",
    )
    parser.add_argument(
        "--timeout",
        type=duration,
        default=TIMEOUT,
        metavar="TIME",
        help="time in which a stack must pass, such as 15m (default 10m)",
    )
    parser.add_argument(
        "--bake",
        type=duration,
        default=0,
        metavar="TIME",
        help="time for which a stack must keep passing, such as 30m (default: none)",
    )
    parser.add_argument(
        "--max-failures",
        type=failures_allowed,
        default=0,
        metavar="N",
        help="number of stacks that may fail (default 0)",
    )


def duration(text: str) -> int:
    """The seconds of an argument such as ``30m``."""
    try:
        return durations.seconds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def failures_allowed(text: str) -> int:
    """A number of stacks."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a number of stacks")
    return int(text)


def comparison(text: str) -> str:
    """A PromQL comparison, which returns no series if it is false."""
    from modelyard.promql import lexer
    from modelyard.promql.mistake import mistake
    from modelyard.promql.parse import NotValid, parse
    from modelyard.promql.syntax import COMPARISONS, SETS, Binary

    if lexer.too_much(text) or lexer.endless(text) or "\n" in text:
        raise ArgumentTypeError(f"{text!r} is not PromQL: it is too long, or not on one line")
    try:
        tree = parse(text)
    except NotValid as error:
        wrong = mistake(text, str(error))
        what = f"{wrong.words}; {wrong.remedy}" if wrong.remedy else wrong.words
        raise ArgumentTypeError(f"{text!r} is not PromQL: {what}") from error
    if isinstance(tree, Binary) and tree.returns_bool:
        raise ArgumentTypeError(f"{text!r} returns a series even if the comparison is false; drop bool")
    if not (isinstance(tree, Binary) and tree.operator in COMPARISONS | SETS):
        raise ArgumentTypeError(f"{text!r} is not a comparison such as max(my_error_ratio) < 0.01")
    return text


def run(args: Namespace) -> Exit:
    """Waits, and prints what does not pass."""
    from modelyard.plan.verification import failures, wait
    from modelyard.report.verification import verification_document, verification_text

    with ended_by_signal("verify was stopped"):
        root = project_root(args)
        files = chosen_files(root, args)
        server = _server(args)

        def look(stacks: Sequence[str]) -> "StackChecks":
            queries = [] if server is None else [_answer(server, query) for query in args.query]
            return {name: (*_checks(root, name, files[name]), *queries) for name in stacks}

        found = wait(
            look,
            tuple(files),
            timeout=args.timeout,
            bake=args.bake,
            poll=POLL,
            say=note,
            clock=time.monotonic,
            sleep=time.sleep,
        )
    if args.json:
        say_json(verification_document(found, args.max_failures))
    else:
        say(verification_text(found, args.max_failures, style_for(args, sys.stdout)))
    failed = failures(found)
    if len(failed) <= args.max_failures:
        return Exit.FINE
    return Exit.UNREACHABLE if _unanswered(found, failed) else Exit.FINDINGS


def _unanswered(found: "StackChecks", failed: Sequence[str]) -> bool:
    """Whether some stack fails only because there was no answer about it."""
    wrong = [{check.state for check in found[stack]} - {"ok"} for stack in failed]
    return {"unknown"} in wrong


def _server(args: Namespace) -> "Server | None":
    if not args.query:
        return None
    if args.prometheus is None:
        raise Stop(Exit.USAGE, "--query needs a Prometheus server", "give its address with --prometheus URL")
    return prometheus(args.prometheus)


def _checks(root: Path, name: str, file: Path) -> "tuple[VerifyCheck, ...]":
    from modelyard.cluster.connection import ClusterError, connect
    from modelyard.cluster.live import listed
    from modelyard.findings import loud
    from modelyard.plan.project import plan_live
    from modelyard.plan.verification import checks_of, without_answer

    try:
        planned = plan_live(root, file, date.today())
        keys = [one.key for one in planned.plan.targets if one.key.kind == "RayCluster"] if planned.plan else []
        client = connect(planned.stack.context) if planned.stack is not None and keys else None
        pods = {} if client is None else {key: listed(client, "v1", "Pod", key.namespace) for key in keys}
    except ClusterError as error:
        return (without_answer("stack", name, error),)
    if planned.plan is None:
        raise Stop(Exit.USAGE, f"{name} cannot be planned", "", loud(planned.findings))
    return tuple(checks_of(planned.plan, pods))


def _answer(server: "Server", query: str) -> "VerifyCheck":
    from modelyard.plan.verification import VerifyCheck, without_answer
    from modelyard.probes.prometheus import Refused, ServerError, ask

    try:
        answer = ask(server, query)
    except ServerError as error:
        return without_answer("query", query, error)
    if isinstance(answer, Refused):
        raise Stop(Exit.USAGE, f"the Prometheus server rejects {query!r}: {answer.words}", "correct the query")
    if answer.series == 0:
        return VerifyCheck(kind="query", subject=query, state="failed", found="it is not true")
    return VerifyCheck(kind="query", subject=query, state="ok", found="")
