"""The time limit for untrusted code works wherever its signal arrives."""

import gc
import sys
import time
from contextlib import suppress
from typing import Any

import pytest

from modelyard.timelimit import TimeBudget, TimeUp


class Slow:
    """Has a finalizer, in which Python drops exceptions."""

    def __del__(self) -> None:
        _spin(0.3)


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("of_cpu", [False, True])
@pytest.mark.parametrize("where", ["__del__", "a callback of the garbage collector", "a handler of everything"])
def test_a_lost_signal_is_followed_by_another(monkeypatch: pytest.MonkeyPatch, where: str, of_cpu: bool) -> None:
    # Pytest's hook formats a traceback; on a busy machine, that takes until the next signal, which then ends the hook.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    def collected(_phase: str, _info: dict[str, Any]) -> None:
        _spin(0.3)

    # Of the limit: on a busy machine, a tenth of a second of CPU time can take seconds.
    clock = time.process_time if of_cpu else time.monotonic
    began = clock()
    with pytest.raises(TimeUp), TimeBudget(total=60, refill=0, of_cpu=of_cpu).limit(0.1):
        if where == "__del__":
            Slow()
        elif where == "a handler of everything":
            with suppress(BaseException):
                _spin(5)
        else:
            gc.callbacks.append(collected)
            try:
                gc.collect(0)
            finally:
                gc.callbacks.remove(collected)
        _spin(5)
    assert clock() - began < 3


def test_no_signal_comes_after_the_limit() -> None:
    with pytest.raises(TimeUp), TimeBudget(total=60, refill=0).limit(0.05):
        _spin(5)
    _spin(0.6)


def test_processor_time_does_not_count_sleeping() -> None:
    budget = TimeBudget(total=0.2, refill=0, of_cpu=True)
    with budget.limit(0.1):
        time.sleep(0.4)
    assert not budget.spent
    with pytest.raises(TimeUp), budget.limit(0.1):
        _spin(5)
