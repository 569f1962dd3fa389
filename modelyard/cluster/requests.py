"""Requests to an API server: sent again while it is busy, and counted."""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx2

from modelyard.cluster.connection import sent, status

PAUSES = (0.1, 0.3, 0.9, 2.0)
"""Seconds before each further attempt; the server may ask for a longer one."""
LONGEST_PAUSE = 5.0
"""The longest pause in seconds that an API server may request; for a longer one, modelyard gives up."""
BUSY = (429, 500, 502, 503, 504)
"""Status codes of an API server that cannot answer at the moment."""


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
    return answer.status_code in BUSY and "failed calling webhook" not in str(status(answer).get("message", ""))


def _wait(answer: httpx2.Response, pause: float) -> float | None:
    seconds = answer.headers.get("Retry-After", "")
    wait = max(pause, float(seconds)) if seconds.isdigit() else pause
    return wait if wait <= LONGEST_PAUSE else None


# Counts the requests that a client sends, and the most at a time.
class RequestCount(NamedTuple):
    """The requests that reading one cluster took."""

    requests: int
    at_once: int
    """The most requests at a time."""
    seconds: float
    """From the first request to the last answer."""


class Counter:
    """Counts the requests of an HTTP client from now on."""

    def __init__(self, http: httpx2.Client) -> None:
        self._lock = threading.Lock()
        self._requests = self._open = self._most = 0
        self._first = self._last = 0.0
        hooks = http.event_hooks
        http.event_hooks = {
            "request": [*hooks["request"], self._sent],
            "response": [*hooks["response"], self._answered],
        }

    def total(self) -> RequestCount:
        """The counts so far."""
        with self._lock:
            return RequestCount(self._requests, self._most, self._last - self._first)

    def _sent(self, _request: Any) -> None:
        with self._lock:
            self._first = self._first or time.monotonic()
            self._requests += 1
            self._open += 1
            self._most = max(self._most, self._open)

    def _answered(self, _response: Any) -> None:
        with self._lock:
            self._last = time.monotonic()
            self._open -= 1
