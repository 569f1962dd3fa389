"""Plans stacks as tasks of a Ray cluster (``--on ray``).

The files that all stacks share are one object of Ray's store, which each worker process gets and unpacks once. A task
gets the files of up to 25 stacks, and returns what a process of this machine would. Files are read and sent while
earlier tasks run, so the driver never has more than some of them in memory.
"""

import os
import pickle
import signal
import socket
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from modelyard import __version__
from modelyard.cli.exit import Exit, Stop
from modelyard.cli.fleet.snapshot import dump, pack

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST: Final = 25
"""Stacks of a task: planning them takes about 0.4 seconds."""
TASKS_OF_A_CPU: Final = 4
"""Tasks for each CPU, so that CPUs that start late or are slower find fewer left."""
AT_ONCE: Final = 128 * 1024 * 1024
"""Bytes of stacks' files that are in Ray's store before the results of the first are read."""
_PATIENCE: Final = 5.0
"""Seconds in which running tasks may end after a Ctrl-C, before their processes are stopped."""


def on_ray(
    items: Sequence[Item], work: Callable[[Item], Result], folders: tuple[Path, ...], /, *, address: str | None
) -> Generator[Result, None, None]:
    """An executor: see ``fleet.Executor``.

    Raises:
        Stop: Ray is not installed, its cluster cannot be reached, or its workers have another modelyard.
    """
    ray = _ray()
    snapshot = pack(folders)
    with _connected(ray, address):
        # In a list, a worker gets the content when it asks for it; as an argument, with every task.
        shared = [ray.put(snapshot.content)]
        call = {"number": len(folders), "work": ray.put(dump(work, folders))}
        task = ray.remote(max_retries=3, name="modelyard")(_task())

        def submitted(part: Sequence[Item]) -> _Submitted:
            content = snapshot.files_of(part)
            files = ray.put(content)
            result = task.remote(__version__, snapshot.digest, shared, **call, items=dump(part, folders), files=files)
            return _Submitted(result, files, len(content))

        cpus = int(ray.cluster_resources().get("CPU", 0))
        yield from _results(ray, map(submitted, _parts(items, cpus)))


class _Submitted(NamedTuple):
    """A task."""

    result: Hashable
    """Ray's reference to it."""
    files: Hashable
    """Kept until the result is read: if a node is lost with a result, the task runs again."""
    size: int
    """Bytes of its files."""


def _ray() -> Any:
    # The command line reports nothing about its users.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise Stop(Exit.USAGE, "--on ray needs Ray, which is not installed", "pip install 'modelyard[ray]'") from None
    return ray


def _parts(items: Sequence[Item], cpus: int) -> Iterator[Sequence[Item]]:
    """The items of each task."""
    size = max(1, min(MOST, len(items) // (TASKS_OF_A_CPU * max(1, cpus))))
    return (items[start : start + size] for start in range(0, len(items), size))


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """A connection to the cluster for one run.

    Raises:
        Stop: there is none.
    """
    handler = signal.getsignal(signal.SIGTERM)
    check_address(address or os.environ.get("RAY_ADDRESS", ""))
    try:
        # Workers look for modules in the driver's working folder, which may be anybody's.
        with chdir(os.sep):
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=True)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = address or os.environ.get("RAY_ADDRESS") or "of this machine"
        raise Stop(Exit.UNREACHABLE, f"the Ray cluster {where} cannot be used: {_first(error)}", _REACH) from None
    # Ray prints that it lost a node or retries a task to standard output, whatever log_to_driver says.
    ray._private.worker._worker_logs_enabled = False
    # Ray sets its own, with which the run would end without the exit code of a signal.
    with suppress(ValueError):
        signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        ray.shutdown()


def check_address(address: str) -> None:
    """Ends the run at once if nothing listens at ``HOST:PORT``: Ray itself would try for a quarter of an hour.

    Raises:
        Stop: nothing listens there.
    """
    host, colon, port = address.rpartition(":")
    if "://" in address or not (colon and port.isascii() and port.isdigit() and int(port) < 65536):
        return  # Another form, such as auto, which Ray checks.
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        words = f"the Ray cluster {address} cannot be reached: {error.strerror or error}"
        raise Stop(Exit.UNREACHABLE, words, _REACH) from None


_REACH: Final = "check --ray-address, and that the cluster runs the same versions of Ray and Python"


def _results(ray: Any, submitted: Iterator[_Submitted]) -> Generator[Any, None, None]:
    """The results of tasks in order; cancels the tasks that are left when the run ends early."""
    tasks: deque[_Submitted] = deque()
    size = 0
    try:
        while True:
            while size < AT_ONCE and (task := next(submitted, None)):
                tasks.append(task)
                size += task.size
            if not tasks:
                return
            answer, found = _answer(ray, tasks[0].result)
            size -= tasks.popleft().size
            if answer != "done":
                raise _refused(answer, found)
            for succeeded, value in pickle.loads(found):
                if not succeeded:
                    raise value
                yield value
    finally:
        left = [task.result for task in tasks]
        for result in left:
            ray.cancel(result)
        if left:
            ray.wait(left, num_returns=len(left), timeout=_PATIENCE)


def _answer(ray: Any, task: Any) -> tuple[str, Any]:
    try:
        found: tuple[str, Any] = ray.get(task)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        words = f"the Ray cluster lost a task: {type(error).__name__}"
        raise Stop(Exit.UNREACHABLE, words, "run it again; Ray's logs show why the worker or node ended") from error
    return found


def _refused(answer: str, found: str) -> Stop:
    if answer == "version":
        words = f"the Ray workers have modelyard {found}, and this is modelyard {__version__}"
    else:
        words = f"the Ray workers have no modelyard: {found}"
    return Stop(Exit.UNREACHABLE, words, f"install modelyard=={__version__} on the workers")


def _first(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _task() -> Callable[..., tuple[str, Any]]:
    """The function of a task. A function inside a function is sent as code: it also runs where modelyard is missing."""

    def part(
        version: str, digest: str, content: list[Any], *, number: int, work: bytes, items: bytes, files: bytes
    ) -> tuple[str, bytes | str]:
        try:
            import modelyard
        except ImportError as error:
            return "missing", str(error)
        if modelyard.__version__ != version:
            return "version", str(modelyard.__version__)
        import ray

        from modelyard.cli.fleet.worker import run

        return "done", run(digest, lambda: ray.get(content[0]), number, work=work, items=items, files=files)

    return part
