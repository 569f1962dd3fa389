"""Processor time of a block, the same alone and after ten thousand other tests."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def takes_at_most(seconds: float) -> Iterator[None]:
    """Fails if the block takes more processor time.

    The garbage collector is off: it would walk through what all tests before have left, and a time limit's signal that
    arrives in one of its callbacks is lost (tests/unit/test_timelimit.py).
    """
    gc.disable()
    began = time.process_time()
    try:
        yield
        assert time.process_time() - began < seconds
    finally:
        gc.enable()
