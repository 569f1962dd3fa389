"""What a hook does must not wait for the threads that wait for the hook."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from modelyard.engine.program.hooks import aside


def test_it_runs_while_every_thread_of_the_loop_is_taken() -> None:
    async def program() -> str:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(max_workers=1))
        done = threading.Event()
        waiting = loop.run_in_executor(None, done.wait, 30)
        found = await asyncio.wait_for(aside("-".join, ("a", "b")), 10)
        done.set()
        assert await waiting
        return found

    assert asyncio.run(program()) == "a-b"
