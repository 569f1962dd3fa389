"""Work that takes a while, beside the program's event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="modelyard")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def aside(work: Callable[Arguments, Result], *args: Arguments.args, **options: Arguments.kwargs) -> Result:
    """What ``work`` returns, while the program goes on.

    The loop's own threads would not do for a hook: every resource under way holds one of them until it is registered,
    and it is not registered before its hooks are through. With as many resources as threads, all would wait for ever.
    """
    return await asyncio.get_running_loop().run_in_executor(_THREADS, lambda: work(*args, **options))
