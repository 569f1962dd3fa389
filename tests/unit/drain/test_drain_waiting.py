"""When a wait goes on, ends well and is given up, on a clock that only waiting moves.

What it prints is in ``tests/golden/test_drain_waiting.txt``.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.probes import BackendDrain, Busy, JobSourceError
from modelyard.probes.waiting import PATIENCE, POLL, GaveUp, terms, wait
from modelyard.workloads.training.backend import Broker, Dashboard, JobSource, Numbers

IDLE, BUSY = Busy(0, 0), Busy(1, 0, ("raysubmit_1 (python train.py)",))
GONE = JobSourceError("out of reach")
WRONG = JobSourceError("HTTP 401", "give a token", lasting=True)
RAY = BackendDrain("ray", ("deployment-ray",), 600, 30, Dashboard("http://ray"))


class World:
    """A side whose answers are given, and a clock that only waiting moves."""

    def __init__(self, answers: Iterable[Busy | JobSourceError]) -> None:
        self.now = 1000.0
        self.looks: list[float] = []
        self.lines: list[str] = []
        self.stops = 1e9
        """Seconds after which somebody wants it to end."""
        self._answers: Iterator[Busy | JobSourceError] = iter(answers)
        self._last: Busy | JobSourceError = IDLE

    async def ask(self, _source: JobSource) -> Busy:
        self.looks.append(self.now - 1000)
        self._last = next(self._answers, self._last)
        if isinstance(self._last, JobSourceError):
            raise self._last
        return self._last

    def stopped(self) -> bool:
        return self.now - 1000 >= self.stops

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, drain: BackendDrain = RAY) -> float:
        """Waits; seconds that it took."""
        asyncio.run(wait(drain, self.ask, self.lines.append, self.stopped, clock=lambda: self.now, sleep=self.sleep))
        return self.now - 1000

    def fails(self, drain: BackendDrain = RAY) -> str:
        with pytest.raises(GaveUp) as error:
            self.wait(drain)
        return str(error.value)


def test_an_idle_backend_is_polled_for_the_quiet_time(golden: Any) -> None:
    world = World([IDLE])
    assert world.wait() == 30
    assert len(world.looks) == 30 / POLL + 1
    golden(*world.lines)


def test_a_job_restarts_the_quiet_time() -> None:
    assert World([IDLE, IDLE, IDLE, BUSY, IDLE]).wait() == 4 * POLL + 30


def test_a_running_job_is_reported_once(golden: Any) -> None:
    world = World([BUSY] * 20 + [IDLE])
    assert world.wait() == 20 * POLL + 30
    golden(*world.lines)


def test_a_long_wait_is_reported_every_ten_minutes() -> None:
    world = World([BUSY] * 500 + [IDLE])
    world.wait(RAY._replace(limit=10000))
    assert [line.rpartition("(")[2] for line in world.lines[:3]] == [
        "waited 0s so far)",
        "waited 10m so far)",
        "waited 20m so far)",
    ]


def test_a_wait_fails_at_the_limit_with_the_jobs_that_still_run(golden: Any) -> None:
    world = World([BUSY])
    golden(world.fails())
    assert world.now - 1000 == 600


def test_a_source_that_does_not_answer_is_never_idle(golden: Any) -> None:
    world = World([GONE])
    failure = world.fails()
    assert world.now - 1000 == PATIENCE
    golden(*world.lines, failure)


def test_a_server_that_answers_again_in_time_is_asked_further() -> None:
    gone = int(PATIENCE / POLL) - 1
    assert World([BUSY] + [GONE] * gone + [IDLE]).wait() == (1 + gone) * POLL + 30


def test_a_missing_answer_restarts_the_quiet_time() -> None:
    assert World([IDLE, IDLE, GONE, IDLE]).wait() == 3 * POLL + 30


def test_a_lasting_error_ends_the_wait_at_once() -> None:
    world = World([WRONG])
    assert f"{WRONG.summary}; {WRONG.remedy}" in world.fails()
    assert world.looks == [0]


def test_a_lasting_error_after_an_answer_does_not_end_the_wait() -> None:
    """A broker that starts again refuses everybody for a moment."""
    assert World([BUSY, WRONG, IDLE]).wait() == 2 * POLL + 30


@pytest.mark.parametrize(
    ("source", "quiet", "seconds"),
    [
        (Dashboard("http://ray"), 1, 1),
        (Broker("http://broker", "/", "q"), 1, 10),
        (Broker("http://broker", "/", "q"), 30, 30),
        (Numbers("http://prometheus", "up", 60), 30, 120),
    ],
)
def test_the_quiet_time_covers_twice_the_age_of_an_answer(source: JobSource, quiet: int, seconds: float) -> None:
    drain = RAY._replace(source=source, quiet=quiet)
    assert terms(drain).quiet == seconds
    assert World([IDLE]).wait(drain) >= seconds


@given(answers=st.lists(st.sampled_from([IDLE, BUSY, Busy(0, 3), GONE]), max_size=60), quiet=st.integers(1, 60))
def test_a_wait_ends_only_after_a_quiet_time_of_idle_answers(answers: list[Any], quiet: int) -> None:
    world = World([*answers, IDLE])
    drain = RAY._replace(quiet=quiet)
    try:
        world.wait(drain)
    except GaveUp:
        return
    seen = [*answers, *[IDLE] * len(world.looks)][: len(world.looks)]
    last = max((at for at, one in zip(world.looks, seen, strict=True) if one is not IDLE), default=-1.0)
    first_idle = min(at for at in world.looks if at > last)
    assert world.looks[-1] - first_idle >= quiet


def test_a_stopped_wait_changes_nothing(golden: Any) -> None:
    world = World([BUSY])
    world.stops = 20
    golden(world.fails())
    assert world.now - 1000 == 20
