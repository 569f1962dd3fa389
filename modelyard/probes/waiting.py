"""When a wait is over: the backend is idle, the limit is reached, or its source no longer answers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from modelyard.probes.values import Busy, Drain, JobSourceError, described, lag
from modelyard.stack.durations import text
from modelyard.stack.words import few
from modelyard.workloads.training.backend import Source

SAYS: Final = "draining "
"""Begins every line of progress."""
POLL: Final = 5.0
"""Seconds between two looks."""
PATIENCE: Final = 120.0
"""Seconds without an answer before a wait fails; a restarting broker is back by then."""
REMINDER: Final = 600.0
"""Seconds after which a wait says once more that it waits."""


class Terms(NamedTuple):
    """What a wait goes by, in seconds."""

    limit: float
    quiet: float
    """How long there must have been no job. One look would not do: a request may be on its way, an answer be old."""


class Progress(NamedTuple):
    """A wait so far; times by the same clock."""

    begun: float
    idle: float | None = None
    """Since when there is no job."""
    lost: float | None = None
    """Time of the first failed query since the last answer."""
    reported: str = ""
    reported_at: float = 0.0


class Verdict(NamedTuple):
    """What is to be done after a look."""

    over: bool
    """Whether the backend is idle."""
    failed: str = ""
    """Why it is given up, empty while it is not."""
    line: str = ""
    """What to tell, empty for nothing new."""


def terms(drain: Drain) -> Terms:
    """The terms of a wait; an answer that may be old is asked for twice as long."""
    return Terms(drain.limit, max(drain.quiet, 2 * lag(drain.source)))


def judge(so_far: Progress, now: float, seen: Busy | JobSourceError, terms: Terms) -> tuple[Progress, Verdict]:
    """What an answer means. A backend that does not answer is never treated as idle."""
    waited = text(int(now - so_far.begun))
    if isinstance(seen, JobSourceError):
        lost = so_far.lost if so_far.lost is not None else now
        after = so_far._replace(idle=None, lost=lost)
        if (seen.lasting and so_far.lost is None and not so_far.reported) or now - lost >= PATIENCE:
            return after, Verdict(False, _sentence(seen))
        return _out_of_time(after, now, terms, f"no answer: {seen.summary}", waited)
    if not seen.idle:
        return _out_of_time(so_far._replace(idle=None, lost=None), now, terms, _named(seen), waited)
    idle = so_far.idle if so_far.idle is not None else now
    after = so_far._replace(idle=idle, lost=None)
    if now - idle >= terms.quiet:
        return after, Verdict(True, line=f"no job for {text(int(terms.quiet))}: continuing")
    return _out_of_time(after, now, terms, str(seen), waited)


def _out_of_time(so_far: Progress, now: float, terms: Terms, state: str, waited: str) -> tuple[Progress, Verdict]:
    if now - so_far.begun >= terms.limit:
        return so_far, Verdict(False, f"{state}, at the limit of {waited}")
    if state == so_far.reported and now - so_far.reported_at < REMINDER:
        return so_far, Verdict(False)
    return so_far._replace(reported=state, reported_at=now), Verdict(False, line=f"{state} (waiting for {waited})")


def _named(seen: Busy) -> str:
    return f"{seen}: {few(seen.jobs)}" if seen.jobs else str(seen)


def _sentence(error: JobSourceError) -> str:
    return f"{error.summary}; {error.remedy}" if error.remedy else error.summary


class GaveUp(Exception):
    """A wait ended without an idle backend; its text says why, and what to do."""


async def wait(
    drain: Drain,
    ask: Callable[[Source], Awaitable[Busy]],
    say: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Waits until the backend of a drain is idle.

    Args:
        drain: what to wait for.
        ask: gives the jobs of the backend now; raises ``JobSourceError``.
        say: takes the lines of progress.
        stopped: whether somebody wants the wait to end.
        clock: seconds, growing.
        sleep: lets time pass.

    Raises:
        GaveUp: the limit is reached, nobody answers, or it was stopped.
    """
    rules = terms(drain)
    pause = min(POLL, max(rules.quiet / 2, 0.5))
    so_far = Progress(clock())
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
                f"{drain.name} was not seen idle by {described(drain.source)}: {verdict.failed}. "
                f"{', '.join(drain.targets)} {'is' if len(drain.targets) == 1 else 'are'} not changed; "
                "run again to keep waiting, or with --no-drain (MODELYARD_NO_DRAIN) to skip the wait"
            )
        if verdict.over:
            return
        await sleep(pause)
    raise GaveUp(f"stopped while {drain.name} had jobs; {', '.join(drain.targets)} not changed")
