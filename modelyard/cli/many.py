"""Runs the same work for many stacks: in order, on all cores, without keeping results."""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_A_POOL = 48
"""Number of stacks from which a second process saves more time than it takes to start."""


def each(items: Sequence[Item], work: Callable[[Item], Result]) -> Iterator[Result]:
    """The results in the order of the items, each as soon as it and its predecessors are ready.

    Large numbers are spread over one process for each core. ``work`` and its results must then be picklable, and
    results small: text to print, not plans.
    """
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

    progress = sys.stderr.isatty() and not sys.stdout.isatty()
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_signals_to_the_parent)
    try:
        # Executor.map would cancel the remaining jobs from this thread while the pool's thread may be ending the same
        # jobs because a worker died; the pool's thread then dies with a traceback.
        jobs = deque(pool.submit(work, item) for item in items)
        for number in range(1, len(items) + 1):
            result = jobs.popleft().result()
            if progress and number % 50 == 0:
                sys.stderr.write(f"\r{number} of {len(items)} stacks")
            yield result
    finally:
        # Running jobs end by themselves. A multiprocessing.Pool would kill them, and wait for ever for a lock held by a
        # process that a signal ended first.
        pool.shutdown(cancel_futures=True)
    if progress:
        sys.stderr.write("\r\x1b[K")


def _leave_signals_to_the_parent() -> None:
    """Leaves Ctrl-C, which reaches every process of the terminal, to the process that the user started.

    Other signals end a child as they would without the parent's handlers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
