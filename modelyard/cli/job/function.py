"""A function on a GPU: each call is a run of its own, which holds the GPU until the function returns."""

import functools
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, ParamSpec, TypeVar, get_args

import httpx2

from modelyard.cli.exit import Stop
from modelyard.cluster.connection import ClusterError
from modelyard.runs.functions import Call, CallError, Outcome, call_objects, loaded, pickled, sources_of
from modelyard.runs.notebooks import Choice, Chosen, NotebookPaths, NotebookProblem, choose, job_name
from modelyard.stack import durations
from modelyard.stack.config import Allocation

if TYPE_CHECKING:
    from lightkube import Client

    from modelyard.cluster.answer import Created
    from modelyard.findings import Finding
    from modelyard.hiding import Confidential
    from modelyard.kube.state import ObjectKey
    from modelyard.stack import Stack

PAUSE: Final = 1.0
"""Seconds between two looks at a run."""
TRIES: Final = 60
"""Looks in a row at which the API server may be out of reach before a call fails."""
P = ParamSpec("P")
R = TypeVar("R")


class Options(NamedTuple):
    """Where a call runs; named as the options of ``modelyard job submit``, which say more about each."""

    gpu: str | None = None
    """GPU model, such as ``A10``."""
    stack: str | None = None
    """Name of the stack; None: ``$MODELYARD_STACK``, or the project's only stack."""
    team: str | None = None
    flavor: str | None = None
    allocation: str | None = None
    partition: str | None = None
    slice: str | None = None
    priority: str | None = None
    time_limit: int | str | None = None
    """Seconds, or a text such as ``90m``; None: ``notebooks.timeLimit`` of the stack."""
    project: str | None = None
    """A folder of the project; None: the current one."""


class GpuFunction(Generic[P, R]):
    """A function whose calls run on a GPU; ``__wrapped__`` is the function itself."""

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        """Wraps a function."""
        functools.update_wrapper(self, function)
        self._function, self._options = function, options
        self._warned: set[Finding] = set()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the function on a GPU and returns its result.

        Raises:
            CallError: the call could not be submitted, or its run ended without a result.
            Exception: what the function raised, with its traceback as the cause.
        """
        function = self._function
        name = getattr(function, "__name__", "function")
        result: R = called(
            function, args, kwargs, name=name, options=self._options, sources=sources_of(function), warned=self._warned
        )
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        # Code that runs on a GPU already calls the function itself.
        return functools.partial, (self._function,)


def on_gpu(
    *,
    gpu: str | None = None,
    stack: str | None = None,
    team: str | None = None,
    flavor: str | None = None,
    allocation: Allocation | None = None,
    partition: str | None = None,
    slice: str | None = None,  # noqa: A002
    priority: str | None = None,
    time_limit: int | str | None = None,
    project: str | None = None,
) -> Callable[[Callable[P, R]], GpuFunction[P, R]]:
    """Makes calls of a function run on a GPU, each as a run of its own; :class:`Options` has the arguments."""
    options = Options(
        gpu=gpu,
        stack=stack,
        team=team,
        flavor=flavor,
        allocation=allocation,
        partition=partition,
        slice=slice,
        priority=priority,
        time_limit=time_limit,
        project=project,
    )
    return lambda function: GpuFunction(function, options)


def called(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    name: str,
    options: Options,
    sources: Mapping[str, str],
    warned: "set[Finding]",
) -> Any:
    """The result of a function that ran on a GPU; its output is printed as it comes.

    Args:
        function: the function.
        args: its arguments.
        kwargs: its arguments by name.
        name: its name in messages.
        options: where it runs.
        sources: the text of its file, by the file's name, for tracebacks.
        warned: the warnings that earlier calls have printed; those of this call are added.

    Raises:
        CallError: the call could not be submitted, or its run ended without a result.
        Exception: what the function raised, with its traceback as the cause.
    """
    __tracebackhide__ = True  # in IPython
    call = pickled(function, args, kwargs, name, sources)
    try:
        prepared = _prepared(call, name, options, warned)
        data = _run(prepared, call)
    except Stop as stop:
        raise CallError(_words(stop)) from None
    except ClusterError as error:
        raise CallError(f"{error.summary}; {error.remedy}") from error
    return loaded(data, name)


class _Prepared(NamedTuple):
    """A checked call."""

    client: "Client"
    stack: "Stack"
    key: "ObjectKey"
    """The Job's key."""
    objects: "Confidential[tuple[dict[str, Any], dict[str, Any]]]"
    """The Job and its Secret."""
    gets: str
    """What the run gets, in words."""


def _prepared(call: Call, name: str, options: Options, warned: "set[Finding]") -> _Prepared:
    """A call's objects, checked as a notebook's are."""
    from argparse import Namespace
    from datetime import date

    from modelyard.cli.common import chosen_stack, project_root
    from modelyard.cli.environment import need_built
    from modelyard.cli.job.notebook import checked_job, choice_stop, need_room
    from modelyard.cli.submitting import report_warnings
    from modelyard.cluster.connection import connect
    from modelyard.report.notebook import chosen_words
    from modelyard.runs.jobs import notebook_environment
    from modelyard.stack.words import listed

    root = project_root(Namespace(directory=options.project))
    stack = chosen_stack(root, options.stack)
    problems: list[NotebookProblem] = []
    if options.allocation is not None and options.allocation not in get_args(Allocation):
        remedy = f"use {listed(get_args(Allocation))}"
        problems.append(NotebookProblem(f"unknown allocation {options.allocation!r}", remedy))
        options = options._replace(allocation=None)
    seconds = None
    try:
        seconds = durations.seconds(options.time_limit) if options.time_limit is not None else None
    except ValueError as error:
        problems.append(NotebookProblem(f"time_limit: {error}", "write seconds, or a text such as 90m"))
    if seconds is not None and not 0 < seconds <= durations.LONGEST:
        longest = durations.text(durations.LONGEST)
        problems.append(NotebookProblem(f"time_limit is {options.time_limit}", f"write a time from 1s to {longest}"))
    chosen = choose(
        stack.config,
        Choice(
            flavor=options.flavor,
            device=options.gpu,
            allocation=options.allocation,  # type: ignore[arg-type]
            team=options.team,
            priority=options.priority,
            partition=options.partition,
            slice=options.slice,
        ),
    )
    if problems or not isinstance(chosen, Chosen):
        raise choice_stop([*problems, *(() if isinstance(chosen, Chosen) else chosen)])
    # The Job is that of a notebook, with another program. A function has no file for the template to name.
    run = job_name(Path(name))
    job = checked_job(root, stack, run, place=NotebookPaths(name, name, root), chosen=chosen, parameters={}, shown=name)
    fresh = job._replace(findings=tuple(one for one in job.findings if one not in warned))
    report_warnings(stack, fresh, Namespace(colour="auto", json=False), date.today())
    warned.update(job.findings)
    objects = call_objects(job.first, call, name, Path.cwd(), seconds)
    client = connect(stack.context)
    need_room(client, root, stack, chosen=chosen, who=f"function {name}", shown=name)
    environment, _ = notebook_environment(stack)
    need_built(client, stack, environment, job.key.namespace)
    return _Prepared(client, stack, job.key, objects, chosen_words(chosen))


def _run(prepared: _Prepared, call: Call) -> bytes:
    """The outcome of a call's run; cancels the run if this process is interrupted or ends before it."""
    from modelyard.cli.signals import Signalled, on_signal
    from modelyard.cli.submitting import not_taken
    from modelyard.cluster.answer import Refusal
    from modelyard.cluster.creating import create_all

    def end(number: int) -> None:
        raise Signalled(number)

    client, stack, key, objects, gets = prepared
    try:
        with on_signal(end):
            made = create_all(client, objects, dry=False)
            if isinstance(made, Refusal):
                raise not_taken(made)
            sys.stderr.write(f"run {key.name} is submitted in namespace {key.namespace}: {gets}\n")
            return _outcome(client, stack, made[0], call)
    except (CallError, Stop):
        raise
    except Signalled as signalled:
        _cancel(client, stack, key)
        if signalled.args[0] != signal.SIGINT:
            # Ends this process as the signal would have done at once.
            os.kill(os.getpid(), signalled.args[0])
        raise KeyboardInterrupt from None
    except BaseException:
        _cancel(client, stack, key)
        raise


def _outcome(client: "Client", stack: "Stack", job: "Created", call: Call) -> bytes:
    """Prints a run's output until its outcome is there."""
    from modelyard.cli.submitting import Patience
    from modelyard.cluster.lists import pods_of_run
    from modelyard.cluster.live import read
    from modelyard.runs.pool.states import ENDED, state_of

    key, outcome = job.key, Outcome(call)
    more = f"modelyard job why {stack.name} {key.name} shows why"
    patience = Patience(client, key, f"; {more}")
    printed: dict[str, int] = {}
    left = TRIES
    while True:
        try:
            live = read(client, key)
            for pod in pods_of_run(client, key.namespace, key.name, [key.name]):
                if pod.get("status", {}).get("phase") in ("Running", "Succeeded", "Failed"):
                    _print_log(client, pod, outcome, printed)
            if (data := outcome.data()) is not None:
                return data
            if live is None or live["metadata"]["uid"] != job.uid:
                raise CallError(f"run {key.name} was cancelled")
            state, reason, message = state_of(live)
            if state in ENDED:
                words = ": ".join(filter(None, (reason, message)))
                raise CallError(f"run {key.name} ended without a result{f' ({words})' if words else ''}; {more}")
            patience.look(suspended=bool(live["spec"].get("suspend")))
            left = TRIES
        except ClusterError as error:
            left -= 1
            if not left or not isinstance(error.__cause__, httpx2.TransportError):
                raise
        time.sleep(PAUSE)


def _print_log(client: "Client", pod: Mapping[str, Any], outcome: Outcome, printed: dict[str, int]) -> None:
    """Prints what a pod writes, without the lines that were printed before, until its outcome or end is there, or the
    connection ends.
    """
    from modelyard.cluster.logs import LogRequest, NoLogError, log_lines
    from modelyard.report.job import log_line
    from modelyard.report.style import Style

    metadata, style = pod["metadata"], Style(colour=True)
    name, container = metadata["name"], pod["spec"]["containers"][0]["name"]
    request = LogRequest(metadata["namespace"], name, container, follow=True)
    try:
        for number, line in enumerate(log_lines(client, request), 1):
            # Lines of the outcome count each time: the connection may have ended in the middle of one.
            text = outcome.output(line)
            if text is not None and number > printed.get(name, 0):
                printed[name] = number
                sys.stdout.write(f"{log_line(text, style)}\n")
                sys.stdout.flush()
            elif text is None and outcome.data() is not None:
                return
    except NoLogError:
        return


def _cancel(client: "Client", stack: "Stack", key: "ObjectKey") -> None:
    """Deletes a run, if it was created, with its pods and Secret."""
    from modelyard.cluster.answer import Deletion
    from modelyard.cluster.live import read
    from modelyard.cluster.writing import OvertakenError, RefusedError, delete

    try:
        if (live := read(client, key)) is not None:
            delete(client, Deletion(key, live["metadata"]["uid"]), waits=True)
            sys.stderr.write(f"run {key.name} is cancelled\n")
    except (ClusterError, OvertakenError, RefusedError) as error:
        again = f"modelyard job cancel {stack.name} {key.name}"
        sys.stderr.write(f"run {key.name} could not be cancelled ({error}); try again: {again}\n")


def _words(stop: Stop) -> str:
    """A stop's message, with all findings; options are named as arguments."""
    from modelyard.report.finding import findings_text

    return "\n".join(
        filter(None, (stop.summary.replace("--", ""), *findings_text(stop.findings), stop.remedy.replace("--", "")))
    )
