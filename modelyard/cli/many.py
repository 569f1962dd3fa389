"""Runs the same work for many stacks: in order, by an executor, without keeping results."""

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from modelyard.cli.progress import followed

if TYPE_CHECKING:
    from modelyard.cli.fleet import Executor

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_A_POOL = 48
"""Number of stacks from which a second process saves more time than it takes to start."""


def each(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    folders: tuple[Path, ...] = (),
    on: "Executor | None" = None,
) -> Iterator[Result]:
    """The results in the order of the items, each as soon as it and its predecessors are ready, with a bar.

    Args:
        items: see ``fleet.Executor``.
        work: its results must be small: text to print, not plans.
        folders: of the files that the work reads.
        on: runs the work; None for this machine.
    """
    return followed((on or local)(items, work, folders), len(items))


def local(
    items: Sequence[Item], work: Callable[[Item], Result], _folders: tuple[Path, ...] = (), /
) -> Generator[Result, None, None]:
    """An executor on this machine. Spreads large numbers over one process for each core."""
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)
    if len(items) < WORTH_A_POOL or workers < 2:
        yield from map(work, items)
        return
    import multiprocessing

    # Forked children have all imports already; without fork, a single process is used.
    if "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, items)
        return
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(work,))
    try:
        # Executor.map would cancel the remaining jobs from this thread while the pool's thread may be ending the same
        # jobs because a worker died; the pool's thread then dies with a traceback.
        jobs = deque(pool.submit(_do, item) for item in items)
        while jobs:
            yield jobs.popleft().result()
    finally:
        # Running jobs end by themselves. A multiprocessing.Pool would kill them, and wait for ever for a lock held by a
        # process that a signal ended first.
        pool.shutdown(cancel_futures=True)


_work: list[Callable[[Any], Any]] = []
"""In a process of a pool: its work. A fork inherits it, so it need not be picklable: it may have a credential."""


def _start(work: Callable[[Any], Any]) -> None:
    """Prepares a process of a pool."""
    _work.append(work)
    _leave_signals_to_the_parent()


def _do(item: Any) -> Any:
    return _work[0](item)


def _leave_signals_to_the_parent() -> None:
    """Leaves Ctrl-C, which reaches every process of the terminal, to the process that the user started.

    Other signals end a child as they would without the parent's handlers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
