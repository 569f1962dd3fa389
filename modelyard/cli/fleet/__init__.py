"""Where a run plans its stacks: on this machine, or on other machines (``--on``).

An executor runs one function for many stacks. The function and its arguments determine the results, together with the
files of the given folders, and with the clusters that a live run reads. Decides nothing about plans.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

from modelyard.cli.exit import Exit, Stop

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
        help=f"where to plan the stacks: {LOCAL} (processes of this machine, the default) or {RAY} (a Ray cluster)",
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
        from modelyard.cli.many import local

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
