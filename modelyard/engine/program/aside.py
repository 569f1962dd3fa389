"""Runs slow work next to the program's event loop."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

from modelyard.probes.values import STOP

_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="modelyard")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def aside(work: Callable[Arguments, Result], *args: Arguments.args, **options: Arguments.kwargs) -> Result:
    """Runs ``work`` while the program continues, and returns its result.

    A hook cannot use the loop's own threads: every resource in progress holds one of them until it is registered, which
    happens only after its hooks. With as many resources as threads, all would wait forever.
    """
    return await asyncio.get_running_loop().run_in_executor(_THREADS, lambda: work(*args, **options))


# Whether this run should stop: the only way for a wait in the program to find out.
def stop_asked() -> bool:
    """True when ``modelyard apply`` was asked to stop or has ended; never in a direct ``pulumi up``."""
    owner, _, path = os.environ.get(STOP, "").partition(":")
    return bool(path) and (Path(path).exists() or not _is_there(int(owner)))


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
