"""Print the logs of a run's workers; if there are several, each line starts with its worker.

The trials of a search are its workers: --worker takes their number. Each log begins at the last start of its
container; --previous prints the log before that. With the name of a stage, only that stage's logs are printed. Logs of
a run in a worker cluster are read there, with the context that the stack sets for it.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from modelyard.cli.common import note
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.job import PART, StackRuns, reached, run_options, run_or_part, runs_in, worker_contexts
from modelyard.cli.streams import style_for
from modelyard.report.style import safe

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.hiding import Confidential
    from modelyard.runs.pool import Run
    from modelyard.runs.pool.logs import Source


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    run_options(parser, PART)
    parser.add_argument(
        "--worker", type=int, metavar="N", help="only this worker, or this trial of a search, counted from 0"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="follow the pods that exist now, until they end")
    parser.add_argument("--tail", type=int, metavar="N", help="only the last N lines of each worker")
    parser.add_argument("--previous", action="store_true", help="logs of the container before its last restart")


def run(args: Namespace) -> Exit:
    """Prints the lines as they arrive."""
    from modelyard.cli.signals import ended_by_signal
    from modelyard.cluster.lists import pods_of_run
    from modelyard.runs.pool.logs import of_part, sources

    if args.tail is not None and args.tail < 0:
        raise Stop(
            Exit.USAGE, f"--tail is {args.tail}; it must be 0 or more", "give the number of lines, such as --tail 100"
        )
    found = runs_in(args, args.run)
    one = run_or_part(found, args.run)
    with reached():
        pods = pods_of_run(found.client, one.namespace, one.name, [part.name for part in one.parts])
    elsewhere = _pods_elsewhere(found, one)
    theirs = [(client, pod) for client, found_there in elsewhere.found for pod in found_there.reveal()]
    clients = {pod["metadata"]["name"]: client for client, pod in theirs}
    pods += [pod for _, pod in theirs]
    if args.run != one.name:
        pods = of_part(one, args.run, pods)
    # For pods without a node the API server returns an empty log, as if they had run and written nothing.
    homeless = {pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")}
    known = sources(one, pods)
    wanted = [source for source in known if args.worker in (None, source.worker)]
    why = f"modelyard job why {one.words} shows why"
    if elsewhere.hidden is not None:
        if not known:
            raise elsewhere.hidden
        note(f"{elsewhere.hidden.summary}: {elsewhere.hidden.remedy}")
    if not known:
        raise Stop(Exit.FINDINGS, f"{one.name} is {one.state} and has no pod, so it has no log", why)
    if not wanted:
        have = ", ".join(str(source.worker) for source in known if source.worker is not None) or "none"
        raise Stop(Exit.USAGE, f"{one.name} has no pod for worker {args.worker}", f"workers with a pod: {have}")
    style = style_for(args, sys.stdout)

    def lines_of(source: "Source") -> Iterator[str]:
        from modelyard.cluster.logs import LogRequest, NoLogError, log_lines
        from modelyard.report.job import log_line

        if source.pod in homeless:
            raise NoLogError("waits for a node, so it has no log yet")
        mark = source.mark if len(wanted) > 1 else ""
        request = LogRequest(
            namespace=one.namespace,
            pod=source.pod,
            container=source.container,
            tail=args.tail,
            previous=args.previous,
            follow=args.follow,
        )
        for line in log_lines(clients.get(source.pod, found.client), request):
            yield log_line(line, style, mark)

    with ended_by_signal("no longer followed; the run continues"), reached():
        missing = (_together if args.follow and len(wanted) > 1 else _in_turn)(wanted, lines_of)
    for source, words in missing:
        note(f"{source.pod}: {words}")
    if len(missing) == len(wanted):
        raise Stop(Exit.FINDINGS, f"{one.name} has no readable log output", why)
    return Exit.FINE


Lines = Callable[["Source"], Iterator[str]]
Missing = list[tuple["Source", str]]


def _in_turn(wanted: "Sequence[Source]", lines_of: Lines) -> Missing:
    """Prints the logs of one worker after another, and returns the workers without a log."""
    from modelyard.cluster.logs import NoLogError

    missing: Missing = []
    for source in wanted:
        try:
            for line in lines_of(source):
                _write(line)
        except NoLogError as error:
            missing.append((source, str(error)))
    return missing


def _together(wanted: "Sequence[Source]", lines_of: Lines) -> Missing:
    """Prints the lines of all workers as they arrive, and returns the workers without a log."""
    from modelyard.cluster.logs import NoLogError

    lines: SimpleQueue[str | tuple[Source, Exception | None]] = SimpleQueue()

    def read(source: "Source") -> None:
        try:
            for line in lines_of(source):
                lines.put(line)
        except Exception as error:
            lines.put((source, error))
        else:
            lines.put((source, None))

    for source in wanted:
        # A daemon thread, so that the end of following does not wait for anyone's next line.
        Thread(target=read, args=(source,), daemon=True).start()
    missing: Missing = []
    left = len(wanted)
    while left:
        got = lines.get()
        if isinstance(got, str):
            _write(got)
            continue
        left -= 1
        source, error = got
        if isinstance(error, NoLogError):
            missing.append((source, str(error)))
        elif error is not None:
            raise error
    return missing


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _Sought(NamedTuple):
    """The pods of a run in its worker clusters."""

    found: "tuple[tuple[Client, Confidential[list[dict[str, Any]]]], ...]"
    """The pods of each cluster that was read, with its client."""
    hidden: Stop | None
    """Why some pods were not found; None if all clusters were read, or the run is in the home cluster."""


def _pods_elsewhere(found: "StackRuns", run: "Run") -> _Sought:
    """Finds the pods of a run in its worker clusters.

    Raises:
        Stop: a cluster with a context in the stack cannot be reached.
    """
    if not run.clusters:
        return _Sought((), None)
    if run.over:
        return _Sought(
            (),
            Stop(
                Exit.FINDINGS,
                f"{run.name} {run.state} in {_cluster_names(run.clusters)}, where Kueue deletes pods and "
                "their logs as soon as a run ends",
                "follow the log while a run is active, with --follow, or collect the logs of that cluster",
            ),
        )
    from modelyard.cluster.connection import connect
    from modelyard.cluster.lists import pods_of_run
    from modelyard.hiding import Confidential

    contexts = worker_contexts(found.config)
    clients = []
    with reached():
        for name in run.clusters:
            if name in contexts:
                client = connect(contexts[name])
                pods = pods_of_run(client, run.namespace, run.name, [part.name for part in run.parts])
                clients.append((client, Confidential(pods)))
    hidden = None
    if unknown := _cluster_names(name for name in run.clusters if name not in contexts):
        hidden = Stop(
            Exit.FINDINGS,
            f"{run.name} also runs in {unknown}, where its other pods and logs are"
            if clients
            else f"{run.name} runs in {unknown}, where its pods and logs are",
            f"set a context for {unknown} under workerClusters, or run this in that cluster: kubectl --namespace "
            f"{run.namespace} logs --selector modelyard.dev/run={run.name}",
        )
    return _Sought(tuple(clients), hidden)


def _cluster_names(clusters: Iterable[str]) -> str:
    return ", ".join(map(safe, clusters))
