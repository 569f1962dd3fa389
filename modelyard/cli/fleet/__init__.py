"""Where a run plans its stacks: on this machine, in one process for each core, or on other machines (``--on``).

An executor runs one function for many stacks. The function and its arguments determine the results, together with the
files of the given folders, and with the clusters that a live run reads. Decides nothing about plans.
"""

import os
import signal
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from modelyard.cli.exit import Exit, Stop
from modelyard.cli.progress import followed

Item = TypeVar("Item")
Result = TypeVar("Result")

GROUP: Final = "modelyard.executors"
"""The group of entry points that name further executors."""
LOCAL: Final = "local"
RAY: Final = "ray"


class Executor(Protocol):
    """Runs a function for many items."""

    def __call__(
        self, items: Sequence[Item], work: Callable[[Item], Result], folders: tuple[Path, ...], /
    ) -> Generator[Result, None, None]:
        """The results in the order of the items, each as soon as it and its predecessors are ready.

        Raises what the work raises, at the place of the item. Closing the generator ends all work.

        Args:
            items: stack files, or picklable values whose ``name`` is that of a stack; they may have paths below the
                folders.
            work: a function of a module, or a partial of one. Of the project's files, it reads only those that all
                stacks share and those of the item's stack, below the folders.
            folders: projects, or parts of projects.
        """


def executor_options(parser: ArgumentParser) -> None:
    """Adds the options that choose an executor."""
    parser.add_argument(
        "--on",
        default=LOCAL,
        metavar="EXECUTOR",
        help=f"where to process the stacks: {LOCAL} (processes of this machine, the default) or {RAY} (a Ray cluster)",
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="address of the Ray cluster (default: RAY_ADDRESS, else the cluster that runs on this machine, else a new "
        "one on this machine that ends with the run)",
    )


def is_local(args: Namespace) -> bool:
    """Whether the run plans on this machine only."""
    return bool(args.on == LOCAL)


def executor(args: Namespace) -> Executor:
    """The executor that the command line chooses.

    Raises:
        Stop: there is no executor of that name.
    """
    if args.on == RAY:
        from modelyard.cli.fleet.on_ray import on_ray

        return partial(on_ray, address=args.ray_address)
    if args.ray_address is not None:
        raise Stop(Exit.USAGE, f"--ray-address is for --on {RAY}", f"add --on {RAY}, or drop --ray-address")
    if args.on == LOCAL:
        return local
    return _installed(args.on)


def _installed(name: str) -> Executor:
    """An executor of another package."""
    from importlib.metadata import entry_points

    from modelyard.stack.words import plain

    found = {one.name: one for one in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(sorted({LOCAL, RAY, *found}))
        raise Stop(Exit.USAGE, f"unknown executor {plain(name)!r}", f"name one of {known} with --on")
    loaded: Any = found[name].load()
    return cast(Executor, loaded)


WORTH_A_POOL = 48
"""Number of stacks from which a second process saves more time than it takes to start."""


def each(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    folders: tuple[Path, ...] = (),
    on: Executor | None = None,
) -> Iterator[Result]:
    """The results in the order of the items, each as soon as it and its predecessors are ready, with a bar.

    Args:
        items: see ``Executor``.
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
    # Forked children have all imports already; without fork, a single process is used.
    if len(items) < WORTH_A_POOL or workers < 2 or not hasattr(os, "fork"):
        yield from map(work, items)
        return
    import multiprocessing
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
    # Ctrl-C reaches every process of the terminal: only the one that the user started acts on it. Other signals end a
    # child as they would without the parent's handlers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _do(item: Any) -> Any:
    return _work[0](item)
