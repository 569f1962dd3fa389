"""Asking a busy API server again: after the pause that it asks for, and not for ever."""

import time
from collections.abc import Callable
from typing import Any

import httpx2

from modelyard.cluster.connection import sent

PAUSES = (0.1, 0.3, 0.9, 2.0)
"""Seconds before each further attempt; the server may ask for a longer one."""
LONGEST_PAUSE = 5.0
"""Seconds that an API server may ask us to wait before the next attempt; past it we give up."""
_BUSY = (429, 500, 502, 503, 504)


def patiently(send: Callable[[], httpx2.Response], again: Callable[[httpx2.Response], bool]) -> httpx2.Response:
    """The answer to one request that may be sent more than once: the first that ``again`` does not turn down, or the
    last.
    """
    answer = sent(send)
    for pause in PAUSES:
        wait = _wait(answer, pause) if again(answer) else None
        if wait is None:
            break
        time.sleep(wait)
        answer = send()
    return answer


def busy(answer: httpx2.Response) -> bool:
    """Whether the API server could not answer now: it starts, sheds load, or has lost its storage for a moment."""
    # A webhook that must be asked and does not answer is no reason to wait: asking again ends the same way.
    return answer.status_code in _BUSY and "failed calling webhook" not in str(status(answer).get("message", ""))


def status(answer: httpx2.Response) -> dict[str, Any]:
    """The answer's JSON object, a ``Status`` where something went wrong; empty where it is none."""
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _wait(answer: httpx2.Response, pause: float) -> float | None:
    said = answer.headers.get("Retry-After", "")
    wait = max(pause, float(said)) if said.isdigit() else pause
    return wait if wait <= LONGEST_PAUSE else None
