"""Doing one thing for many stacks: in order, on all cores, without keeping what is done."""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_A_POOL = 48
"""Stacks from which on a second process saves more time than it takes to start."""


def each(items: Sequence[Item], work: Callable[[Item], Result]) -> Iterator[Result]:
    """The results in the order of the items, each as soon as it and its predecessors are there.

    Large numbers go to one process a core. ``work`` and its results must then be picklable, and results small: text
    to print, not plans.
    """
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)
    if len(items) < WORTH_A_POOL or workers < 2:
        yield from map(work, items)
        return
    import multiprocessing

    # Forked children have everything imported already; where there is no fork, one process has to do.
    if "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, items)
        return
    from concurrent.futures import ProcessPoolExecutor

    progress = sys.stderr.isatty() and not sys.stdout.isatty()
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_signals_to_the_parent)
    try:
        # Executor.map would cancel what is left from this thread, while the pool's own thread may be ending the same
        # jobs because a worker died: it then dies of that, with a traceback.
        jobs = deque(pool.submit(work, item) for item in items)
        for number in range(1, len(items) + 1):
            result = jobs.popleft().result()
            if progress and number % 50 == 0:
                sys.stderr.write(f"\r{number} of {len(items)} stacks")
            yield result
    finally:
        # What runs ends by itself. A multiprocessing.Pool would end it by a signal, and wait for ever for what one that
        # a signal reached first had locked.
        pool.shutdown(cancel_futures=True)
    if progress:
        sys.stderr.write("\r\x1b[K")


def _leave_signals_to_the_parent() -> None:
    """Ctrl-C reaches every process of the terminal; only the one that the user started has something to say.

    Other signals end a process here as they would without the handlers of the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
