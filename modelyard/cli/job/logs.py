"""Print the logs of a run's workers; if there are several, each line starts with its worker.

The trials of a search are its workers: --worker takes their number. Each log begins at the last start of its
container; --previous prints the log before that. With the name of a stage, only that stage's logs are printed. Logs of
a run in a worker cluster are read there, with the context that the stack sets for it.
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from modelyard.cli.common import reached
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.job import (
    PART,
    StackRuns,
    listed_again,
    run_options,
    run_or_part,
    runs_in,
    worker_client,
)
from modelyard.cli.options import whole_number
from modelyard.cli.printing import note
from modelyard.cli.streams import style_for
from modelyard.report.style import safe

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.hiding import Confidential
    from modelyard.runs.pool import Run
    from modelyard.runs.pool.logs import LogSource


def configure(parser: ArgumentParser) -> None:
    """Adds the verb's arguments."""
    run_options(parser, PART)
    parser.add_argument(
        "--worker", type=whole_number, metavar="N", help="only this worker, or this trial of a search, counted from 0"
    )
    parser.add_argument("--tail", type=whole_number, metavar="N", help="only the last N lines of each worker")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-f", "--follow", action="store_true", help="print new lines, also of new pods, until the run ends"
    )
    which.add_argument("--previous", action="store_true", help="logs of the container before its last restart")


def run(args: Namespace) -> Exit:
    """Prints the lines as they arrive."""
    from modelyard.cli.signals import ended_by_signal
    from modelyard.runs.pool.logs import worker_count
    from modelyard.stack.words import plural

    if args.tail is not None and args.tail < 0:
        raise Stop(
            Exit.USAGE, f"--tail is {args.tail}; it must be 0 or more", "give the number of lines, such as --tail 100"
        )
    found = runs_in(args, args.run)
    with reached():
        logs = _logs(args, found)
    run = logs.run
    why = f"modelyard job why {run.words} shows why"
    if logs.hidden is not None:
        if not logs.known:
            raise logs.hidden
        note(f"{logs.hidden.summary}: {logs.hidden.remedy}")
    waits = args.follow and not logs.over
    if not logs.known and not waits:
        raise Stop(Exit.FINDINGS, f"{run.name} is {run.state} and has no pod, so it has no log", why)
    workers = worker_count(run, args.run)
    if args.worker is not None and waits and workers is not None and args.worker >= workers:
        have = f"it has {plural(workers, 'worker')}, counted from 0" if workers else "name one of its stages instead"
        raise Stop(Exit.USAGE, f"{run.name} has no worker {args.worker}", have)
    if logs.known and not logs.wanted and not waits:
        have = ", ".join(str(source.worker) for source in logs.known if source.worker is not None) or "none"
        raise Stop(Exit.USAGE, f"{run.name} has no pod for worker {args.worker}", f"workers with a pod: {have}")
    if not logs.wanted:
        worker = "" if args.worker is None else f" for worker {args.worker}"
        note(f"{run.name} is {run.state} and has no pod{worker} yet; {why}")
    with ended_by_signal("no longer followed; the run continues"), reached():
        missing, printed = _Following(args, found, logs).write() if args.follow else _in_turn(args, logs)
    for source, words in missing:
        note(f"{source.pod}: {words}")
    if not printed:
        raise Stop(Exit.FINDINGS, f"{run.name} has no readable log output", why)
    return Exit.FINE


class _Logs(NamedTuple):
    """A run, and where its logs are now."""

    run: "Run"
    over: bool
    """Whether the run, or the part that the command line names, has ended."""
    known: "Sequence[LogSource]"
    wanted: "Sequence[LogSource]"
    """The sources that the command line chooses."""
    client: "Client"
    clients: "Mapping[str, Client]"
    """The clients for pods in worker clusters, by pod; ``client`` is for the others."""
    homeless: Collection[str]
    """Pods without a node: the API server returns an empty log, as if they had run and written nothing."""
    hidden: Stop | None
    """Why some pods were not found; None if all were."""

    def lines(
        self, args: Namespace, source: "LogSource", *, marked: bool, since: str = ""
    ) -> Iterator[tuple[str, str]]:
        """The lines of a source as they arrive, each behind its time if they are followed.

        Args:
            args: the command line.
            source: the container.
            marked: whether a line starts with its worker.
            since: the time of the last line that is printed already; lines up to it are left out.

        Raises:
            NoLogError: the source has no log now.
        """
        from modelyard.cluster.logs import LogRequest, NoLogError, log_lines
        from modelyard.report.job import log_line

        if source.pod in self.homeless:
            raise NoLogError("waits for a node, so it has no log yet")
        style = style_for(args, sys.stdout)
        request = LogRequest(
            namespace=self.run.namespace,
            pod=source.pod,
            container=source.container,
            tail=None if since else args.tail,
            previous=args.previous,
            follow=args.follow,
            timestamps=args.follow,
            since=since,
        )
        for line in log_lines(self.clients.get(source.pod, self.client), request):
            written, _, text = line.partition(" ") if args.follow else ("", "", line)
            if not since or written > since:
                yield written, log_line(text, style, source.mark if marked else "")


def _logs(args: Namespace, found: "StackRuns") -> _Logs:
    """The logs of the run that the command line names.

    Raises:
        Stop: there is no such run.
        ClusterError: a cluster does not answer or denies access.
    """
    from modelyard.cluster.lists import pods_of_run
    from modelyard.runs.pool.logs import of_part, sources

    run = run_or_part(found, args.run)
    pods = pods_of_run(found.client, run.namespace, run.name, [part.name for part in run.parts])
    others = _pods_on_other_clusters(found, run)
    theirs = [(client, pod) for client, found_there in others.found for pod in found_there.reveal()]
    pods += [pod for _, pod in theirs]
    over = run.over
    if args.run != run.name:
        pods = of_part(run, args.run, pods)
        # A run that failed starts no further stage.
        over = over or all(part.over for part in run.named(args.run))
    known = sources(run, pods)
    return _Logs(
        run=run,
        over=over,
        known=known,
        wanted=[source for source in known if args.worker in (None, source.worker)],
        client=found.client,
        clients={pod["metadata"]["name"]: client for client, pod in theirs},
        homeless={pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")},
        hidden=others.hidden,
    )


Missing = list[tuple["LogSource", str]]
"""Sources without a log, with the reason."""


def _in_turn(args: Namespace, logs: _Logs) -> tuple[Missing, bool]:
    """Prints the logs of one worker after another; also returns whether any worker has a log."""
    from modelyard.cluster.logs import NoLogError

    missing: Missing = []
    for source in logs.wanted:
        try:
            for _, line in logs.lines(args, source, marked=len(logs.wanted) > 1):
                _write(line)
        except NoLogError as error:
            missing.append((source, str(error)))
    return missing, len(missing) < len(logs.wanted)


POLL: Final = 5.0
"""Seconds between two looks for new pods of a run that is followed."""
_PATIENCE: Final = 12
"""Looks in a row that may fail, and connections to one log; the logs that are open continue meanwhile."""


class _Following:
    """Follows the logs of a run's containers, each in a thread, and starts with those of new pods as it finds them.

    A connection may end before its container does, because a proxy or the API server ends old ones. The log is then
    opened again, from its last line on.
    """

    def __init__(self, args: Namespace, found: "StackRuns", logs: _Logs) -> None:
        from modelyard.runs.pool.logs import worker_count

        self.args = args
        self.found = found
        self.logs = logs
        self.over = logs.over
        self.marked = args.worker is None and worker_count(logs.run, args.run) != 1
        self.arrived: SimpleQueue[str | tuple[LogSource, Exception | None]] = SimpleQueue()
        # Each start of a container has its own log.
        self.reading: set[tuple[str, int]] = set()
        self.read: set[tuple[str, int]] = set()
        self.since: dict[tuple[str, int], str] = {}
        self.cut: dict[tuple[str, int], int] = {}
        self.missing: dict[str, tuple[LogSource, str]] = {}
        self.hidden = logs.hidden and logs.hidden.summary
        self.failed = 0

    def write(self) -> tuple[Missing, bool]:
        """Prints the lines of all workers as they arrive, until the run has ended or is gone.

        Also returns whether any worker has a log.

        Raises:
            Stop: there is no log, because the pods are in a cluster that cannot be read.
            ClusterError: a cluster does not answer any more.
        """
        self._begin()
        polled = time.monotonic()
        while self.reading or not self.over:
            wait = polled + POLL - time.monotonic()
            if wait <= 0:
                polled = time.monotonic()
                self._poll()
                continue
            with suppress(Empty):
                self._take(self.arrived.get(timeout=wait))
        if not self.read and self.logs.hidden is not None:
            raise self.logs.hidden
        pods = {source.pod for source in self.logs.wanted}
        return [one for pod, one in self.missing.items() if pod in pods], bool(self.read)

    def _begin(self) -> None:
        """Starts with the containers whose logs are not read yet, or go on."""
        for source in self.logs.wanted:
            log = source.pod, source.restarts
            if log not in self.reading and (log not in self.read or source.running):
                self.reading.add(log)
                # A daemon thread, so that the end of following does not wait for anyone's next line.
                Thread(target=self._follow, args=(self.logs, source), daemon=True).start()

    def _follow(self, logs: _Logs, source: "LogSource") -> None:
        """Sends the lines of one container, then why they ended."""
        log = source.pod, source.restarts
        try:
            for written, line in logs.lines(self.args, source, marked=self.marked, since=self.since.get(log, "")):
                self.since[log], self.cut[log] = written, 0
                self.arrived.put(line)
        except Exception as error:
            self.arrived.put((source, error))
        else:
            self.arrived.put((source, None))

    def _poll(self) -> None:
        """Looks for new pods, and whether the run has ended."""
        from modelyard.cluster.connection import ClusterError

        try:
            self.logs = _logs(self.args, listed_again(self.found, self.args.remote))
        except ClusterError as lost:
            self.failed += 1
            if self.failed > _PATIENCE or lost.lasting:
                raise
            return
        except Stop:
            self.over = True  # the run was deleted
            return
        self.over, self.failed = self.logs.over, 0
        hidden = self.logs.hidden
        if hidden is not None and not self.over and hidden.summary != self.hidden:
            self.hidden = hidden.summary
            note(f"{hidden.summary}: {hidden.remedy}")
        self._begin()

    def _take(self, arrived: "str | tuple[LogSource, Exception | None]") -> None:
        """Prints a line, or notes that a log has ended and why."""
        if isinstance(arrived, str):
            _write(arrived)
            return
        from modelyard.cluster.connection import ClusterError
        from modelyard.cluster.logs import NoLogError

        source, error = arrived
        log = source.pod, source.restarts
        self.reading.discard(log)
        self.missing.pop(source.pod, None)
        if isinstance(error, NoLogError):
            # Its container may start later.
            self.missing[source.pod] = source, str(error)
        elif isinstance(error, ClusterError) and not error.lasting and self.cut.get(log, 0) < _PATIENCE:
            self.cut[log] = self.cut.get(log, 0) + 1
            self.over = False  # the rest of the log is still to read
        elif error is not None:
            raise error
        else:
            self.read.add(log)


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _Sought(NamedTuple):
    """The pods of a run in its worker clusters."""

    found: "tuple[tuple[Client, Confidential[list[dict[str, Any]]]], ...]"
    """The pods of each cluster that was read, with its client."""
    hidden: Stop | None
    """Why some pods were not found; None if all clusters were read, or the run is in the home cluster."""


def _pods_on_other_clusters(found: "StackRuns", run: "Run") -> _Sought:
    """Finds the pods of a run in its worker clusters.

    Raises:
        ClusterError: a cluster with a context in the stack does not answer or denies access.
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
    from modelyard.cluster.lists import pods_of_run
    from modelyard.hiding import Confidential

    clients, without = [], []
    for name in run.clusters:
        client = worker_client(found.config, name)
        if client is None:
            without.append(name)
            continue
        pods = pods_of_run(client, run.namespace, run.name, [part.name for part in run.parts])
        clients.append((client, Confidential(pods)))
    hidden = None
    if unknown := _cluster_names(without):
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
