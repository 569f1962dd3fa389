"""When a wait goes on, ends well and is given up; time is told, none passes."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelyard.probes import Busy, Drain, JobSourceError
from modelyard.probes.waiting import PATIENCE, POLL, GaveUp, terms, wait
from modelyard.workloads.training.backend import Broker, Dashboard, Numbers, Source

IDLE, BUSY = Busy(0, 0), Busy(1, 0, ("raysubmit_1 (python train.py)",))
GONE = JobSourceError("out of reach")
WRONG = JobSourceError("HTTP 401", "give a token", lasting=True)
RAY = Drain("ray", ("deployment-ray",), 600, 30, Dashboard("http://ray"))


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

    async def ask(self, _source: Source) -> Busy:
        self.looks.append(self.now - 1000)
        self._last = next(self._answers, self._last)
        if isinstance(self._last, JobSourceError):
            raise self._last
        return self._last

    def stopped(self) -> bool:
        return self.now - 1000 >= self.stops

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, drain: Drain = RAY) -> float:
        """Waits; seconds that it took."""
        asyncio.run(wait(drain, self.ask, self.lines.append, self.stopped, clock=lambda: self.now, sleep=self.sleep))
        return self.now - 1000

    def fails(self, drain: Drain = RAY) -> str:
        with pytest.raises(GaveUp) as error:
            self.wait(drain)
        return str(error.value)


def test_an_idle_side_is_looked_at_for_the_quiet_time() -> None:
    world = World([IDLE])
    assert world.wait() == 30
    assert len(world.looks) == 30 / POLL + 1
    assert world.lines == ["draining Ray: no job (waiting for 0s)", "draining Ray: no job for 30s: continuing"]


def test_a_job_in_between_starts_the_quiet_time_again() -> None:
    assert World([IDLE, IDLE, IDLE, BUSY, IDLE]).wait() == 4 * POLL + 30


def test_a_running_job_is_waited_for_and_told_once() -> None:
    world = World([BUSY] * 20 + [IDLE])
    assert world.wait() == 20 * POLL + 30
    assert world.lines[0] == "draining Ray: 1 running job: raysubmit_1 (python train.py) (waiting for 0s)"
    assert len(world.lines) == 3


def test_a_long_wait_says_now_and_then_that_it_goes_on() -> None:
    world = World([BUSY] * 500 + [IDLE])
    world.wait(RAY._replace(limit=10000))
    assert [line.rpartition("(")[2] for line in world.lines[:3]] == [
        "waiting for 0s)",
        "waiting for 10m)",
        "waiting for 20m)",
    ]


def test_at_the_limit_it_is_given_up_with_what_still_runs() -> None:
    world = World([BUSY])
    said = world.fails()
    assert world.now - 1000 == 600
    assert "Ray was not seen idle by the jobs API of http://ray: 1 running job: raysubmit_1 (python train.py)" in said
    assert "at the limit of 10m. deployment-ray is not changed; run again to keep waiting" in said
    assert "--no-drain (MODELYARD_NO_DRAIN)" in said


def test_nobody_answering_is_never_idle() -> None:
    world = World([GONE])
    assert "out of reach" in world.fails()
    assert world.now - 1000 == PATIENCE
    assert [line.rpartition("; ")[2] for line in world.lines] == ["fails after 2m without an answer"]


def test_a_server_that_comes_back_in_time_is_asked_on() -> None:
    gone = int(PATIENCE / POLL) - 1
    assert World([BUSY] + [GONE] * gone + [IDLE]).wait() == (1 + gone) * POLL + 30


def test_silence_starts_the_quiet_time_again() -> None:
    assert World([IDLE, IDLE, GONE, IDLE]).wait() == 3 * POLL + 30


def test_what_will_not_get_better_ends_the_wait_at_once() -> None:
    world = World([WRONG])
    assert "HTTP 401; give a token" in world.fails()
    assert world.looks == [0]


def test_later_even_that_may_pass_by() -> None:
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
def test_an_answer_that_may_be_old_is_asked_for_twice_as_long(source: Source, quiet: int, seconds: float) -> None:
    drain = RAY._replace(source=source, quiet=quiet)
    assert terms(drain).quiet == seconds
    assert World([IDLE]).wait(drain) >= seconds


@given(answers=st.lists(st.sampled_from([IDLE, BUSY, Busy(0, 3), GONE]), max_size=60), quiet=st.integers(1, 60))
def test_it_ends_well_only_after_a_quiet_time_without_a_job_or_a_silence(answers: list[Any], quiet: int) -> None:
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


def test_a_wait_that_is_stopped_changes_nothing() -> None:
    world = World([BUSY])
    world.stops = 20
    assert world.fails() == "stopped while Ray had jobs; deployment-ray not changed"
    assert world.now - 1000 == 20
