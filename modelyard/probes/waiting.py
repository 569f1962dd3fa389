"""When a drain is over: the training backend is idle, the limit is reached, or the job source no longer answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from modelyard.probes.values import PATIENCE, BackendDrain, Busy, JobSourceError, described, lag
from modelyard.stack.durations import text
from modelyard.stack.words import few
from modelyard.workloads.training.backend import JobSource

SAYS: Final = "draining "
"""The beginning of every line of progress."""
POLL: Final = 5.0
"""Seconds between two requests to the job source."""
REMINDER: Final = 600.0
"""Seconds after which a drain reports again that it waits."""


class Terms(NamedTuple):
    """The times that decide a drain, in seconds."""

    limit: float
    quiet: float
    """How long there must have been no job. A single answer is not enough: a request may be on its way, or the answer
    old."""


class DrainProgress(NamedTuple):
    """The state of a drain; all times are from the same clock."""

    begun: float
    idle: float | None = None
    """The time of the first answer without a job."""
    lost: float | None = None
    """Time of the first failed query since the last answer."""
    reported: str = ""
    reported_at: float = 0.0


class WaitVerdict(NamedTuple):
    """What to do after an answer, or a failed request."""

    over: bool
    """Whether the backend is idle."""
    failed: str = ""
    """Why the drain fails; empty if it does not."""
    line: str = ""
    """The line of progress to report; empty if nothing is new."""


def terms(drain: BackendDrain) -> Terms:
    """The terms of a drain: the backend must be idle for at least twice the maximum age of an answer."""
    return Terms(drain.limit, max(drain.quiet, 2 * lag(drain.source)))


def judge(
    so_far: DrainProgress, now: float, seen: Busy | JobSourceError, terms: Terms
) -> tuple[DrainProgress, WaitVerdict]:
    """What an answer means for a drain. A backend that does not answer is never treated as idle."""
    waited = text(int(now - so_far.begun))
    if isinstance(seen, JobSourceError):
        lost = so_far.lost if so_far.lost is not None else now
        after = so_far._replace(idle=None, lost=lost)
        if (seen.lasting and so_far.lost is None and not so_far.reported) or now - lost >= PATIENCE:
            return after, WaitVerdict(False, _sentence(seen))
        after, verdict = _out_of_time(after, now, terms, f"no answer: {seen.summary}", waited)
        hint = f"; fails after {text(PATIENCE)} without an answer"
        return after, verdict._replace(line=verdict.line + hint) if verdict.line else verdict
    if not seen.idle:
        return _out_of_time(so_far._replace(idle=None, lost=None), now, terms, _named(seen), waited)
    idle = so_far.idle if so_far.idle is not None else now
    after = so_far._replace(idle=idle, lost=None)
    if now - idle >= terms.quiet:
        return after, WaitVerdict(True, line=f"no job for {text(int(terms.quiet))}: continuing")
    return _out_of_time(after, now, terms, str(seen), waited)


def _out_of_time(
    so_far: DrainProgress, now: float, terms: Terms, state: str, waited: str
) -> tuple[DrainProgress, WaitVerdict]:
    if now - so_far.begun >= terms.limit:
        return so_far, WaitVerdict(False, f"{state}, at the limit of {waited}")
    if state == so_far.reported and now - so_far.reported_at < REMINDER:
        return so_far, WaitVerdict(False)
    return so_far._replace(reported=state, reported_at=now), WaitVerdict(
        False, line=f"{state} (waited {waited} so far)"
    )


def _named(seen: Busy) -> str:
    return f"{seen}: {few(seen.jobs)}" if seen.jobs else str(seen)


def _sentence(error: JobSourceError) -> str:
    return f"{error.summary}; {error.remedy}" if error.remedy else error.summary


class GaveUp(Exception):
    """A drain that ended without an idle backend; the text shows why, and what to do."""


async def wait(
    drain: BackendDrain,
    ask: Callable[[JobSource], Awaitable[Busy]],
    say: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Waits until the training backend of a drain is idle.

    Args:
        drain: what to wait for.
        ask: returns the current jobs of the backend, or raises ``JobSourceError``.
        say: receives the lines of progress.
        stopped: returns whether the wait should end early.
        clock: returns seconds of a monotonic clock.
        sleep: waits for a number of seconds.

    Raises:
        GaveUp: the limit is reached, the job source does not answer, or the wait was stopped.
    """
    rules = terms(drain)
    pause = min(POLL, max(rules.quiet / 2, 0.5))
    so_far = DrainProgress(clock())
    while not stopped():
        seen: Busy | JobSourceError
        try:
            seen = await ask(drain.source)
        except JobSourceError as error:
            seen = error
        so_far, verdict = judge(so_far, clock(), seen, rules)
        if verdict.line:
            say(f"{SAYS}{drain.name}: {verdict.line}")
        if verdict.failed:
            raise GaveUp(
                f"the wait for {drain.name}'s jobs failed ({described(drain.source)}): {verdict.failed}. "
                f"{', '.join(drain.targets)} {'is' if len(drain.targets) == 1 else 'are'} not changed; "
                "apply again to keep waiting, or with --no-drain (for pulumi up: MODELYARD_NO_DRAIN=true) to skip the "
                "wait: running jobs then have only the grace period of their pods"
            )
        if verdict.over:
            return
        await sleep(pause)
    are = "is" if len(drain.targets) == 1 else "are"
    raise GaveUp(f"stopped while waiting for {drain.name}'s jobs; {', '.join(drain.targets)} {are} not changed")
