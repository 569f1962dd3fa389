"""When an engine is interrupted, when it is killed, and what the user sees."""

import select
import signal
from collections.abc import Iterator

import pytest

from modelyard.engine.keeper import GRACE, INTERRUPT, KILL
from modelyard.engine.stopping import GENTLY, PATIENCE, SOON, TOO_LATE, Stopping
from modelyard.temporary import ECHO

NOTHING: tuple[bytes, list[str]] = (b"", [])


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stopping(clock: Clock) -> Iterator[Stopping]:
    made = Stopping(clock)
    made.begin()
    yield made
    made.close()


def awake(stopping: Stopping) -> bool:
    return select.select([stopping], [], [], 0)[0] == [stopping]


def ask_later(stopping: Stopping, clock: Clock, seconds: float = ECHO) -> None:
    clock.now += seconds
    stopping.ask(signal.SIGTERM)


def test_a_command_without_a_signal_ends_normally(stopping: Stopping, clock: Clock) -> None:
    stopping.listens(True)
    clock.now += 10 * GRACE
    assert stopping.due() == NOTHING
    assert stopping.patience() is None
    assert stopping.signal is None


def test_the_first_signal_interrupts_an_engine_that_listens(stopping: Stopping) -> None:
    stopping.listens(True)
    stopping.ask(signal.SIGTERM)
    assert stopping.due() == (INTERRUPT, [GENTLY])
    assert stopping.due() == NOTHING
    assert stopping.signal == signal.SIGTERM
    assert stopping.patience() == GRACE


def test_an_engine_that_does_not_listen_yet_is_interrupted_when_it_does(stopping: Stopping) -> None:
    stopping.ask(signal.SIGINT)
    assert stopping.due() == (b"", [GENTLY])
    stopping.listens(True)
    assert stopping.due() == (INTERRUPT, [])


def test_an_engine_that_tidies_up_is_left_to_it(stopping: Stopping) -> None:
    stopping.listens(True)
    stopping.due()
    stopping.listens(False)
    stopping.ask(signal.SIGINT)
    assert stopping.due() == (b"", [GENTLY])


def test_the_second_signal_interrupts_again_and_then_kills(stopping: Stopping, clock: Clock) -> None:
    stopping.listens(True)
    stopping.ask(signal.SIGTERM)
    stopping.due()
    ask_later(stopping, clock)
    assert stopping.due() == (INTERRUPT, [SOON])
    assert stopping.patience() == PATIENCE
    clock.now += PATIENCE
    assert stopping.due() == (KILL, [])
    assert stopping.patience() is None


def test_the_third_signal_does_not_wait(stopping: Stopping, clock: Clock) -> None:
    stopping.listens(True)
    stopping.ask(signal.SIGTERM)
    stopping.due()
    ask_later(stopping, clock)
    stopping.due()
    ask_later(stopping, clock)
    assert stopping.due() == (KILL, [])


def test_the_second_signal_kills_what_does_not_listen(stopping: Stopping, clock: Clock) -> None:
    stopping.ask(signal.SIGTERM)
    stopping.due()
    ask_later(stopping, clock)
    assert stopping.due() == (KILL, [SOON])


def test_an_engine_that_goes_on_for_too_long_is_stopped(stopping: Stopping, clock: Clock) -> None:
    stopping.listens(True)
    stopping.ask(signal.SIGTERM)
    stopping.due()
    clock.now += GRACE
    assert stopping.due() == (INTERRUPT, [TOO_LATE])
    clock.now += PATIENCE
    assert stopping.due() == (KILL, [])


@pytest.mark.parametrize(("seconds", "signals"), [(0.0, 1), (ECHO - 0.01, 1), (ECHO, 2)])
def test_signals_at_the_same_time_are_one(stopping: Stopping, clock: Clock, seconds: float, signals: int) -> None:
    stopping.ask(signal.SIGHUP)
    ask_later(stopping, clock, seconds)
    assert stopping.due()[1] == ([GENTLY, SOON] if signals == 2 else [GENTLY])
    assert stopping.signal == signal.SIGHUP


def test_a_stop_request_counts_for_the_next_command_and_is_reported_once(stopping: Stopping, clock: Clock) -> None:
    stopping.ask(signal.SIGTERM)
    stopping.due()
    clock.now += GRACE
    stopping.begin()
    assert stopping.due() == NOTHING
    assert stopping.patience() == GRACE
    stopping.listens(True)
    assert stopping.due() == (INTERRUPT, [])


def test_a_command_that_cleans_up_runs_to_its_end(stopping: Stopping) -> None:
    stopping.ask(signal.SIGTERM)
    stopping.begin(afresh=True)
    stopping.listens(True)
    assert stopping.due() == NOTHING
    assert stopping.signal == signal.SIGTERM


def test_a_signal_wakes_a_wait(stopping: Stopping) -> None:
    assert not awake(stopping)
    stopping.ask(signal.SIGTERM)
    assert awake(stopping)
    stopping.due()
    assert not awake(stopping)
    stopping.listens(True)
    assert awake(stopping)


def test_asking_after_the_end_does_no_harm() -> None:
    stopping = Stopping()
    stopping.close()
    stopping.ask(signal.SIGTERM)
    stopping.listens(True)
    assert stopping.signal == signal.SIGTERM
