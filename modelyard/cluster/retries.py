"""Asks a busy API server again after the pause that it requests, a limited number of times."""

import time
from collections.abc import Callable
from typing import Any

import httpx2

from modelyard.cluster.connection import sent
from modelyard.files import parse_json

PAUSES = (0.1, 0.3, 0.9, 2.0)
"""Seconds before each further attempt; the server may ask for a longer one."""
LONGEST_PAUSE = 5.0
"""The longest pause in seconds that an API server may request; for a longer one, modelyard gives up."""
_BUSY = (429, 500, 502, 503, 504)


def patiently(send: Callable[[], httpx2.Response], again: Callable[[httpx2.Response], bool]) -> httpx2.Response:
    """The answer to a request that may be repeated: the first answer that ``again`` does not reject, or the last."""
    answer = sent(send)
    for pause in PAUSES:
        wait = _wait(answer, pause) if again(answer) else None
        if wait is None:
            break
        time.sleep(wait)
        answer = send()
    return answer


def busy(answer: httpx2.Response) -> bool:
    """Whether the API server cannot answer at the moment: it starts, sheds load, or has briefly lost its storage."""
    # A required webhook that does not answer is no reason to wait: asking again ends the same way.
    return answer.status_code in _BUSY and "failed calling webhook" not in str(status(answer).get("message", ""))


def status(answer: httpx2.Response) -> dict[str, Any]:
    """The answer's JSON object, a ``Status`` after an error; empty if the answer is not a JSON object."""
    try:
        found = parse_json(answer.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _wait(answer: httpx2.Response, pause: float) -> float | None:
    said = answer.headers.get("Retry-After", "")
    wait = max(pause, float(said)) if said.isdigit() else pause
    return wait if wait <= LONGEST_PAUSE else None
